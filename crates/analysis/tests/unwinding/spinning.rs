//! Loops with the CPU's spin-wait hint in real programs: which of a function's calls are waiting.
//!
//! The programs are built and not run: a sample is a call's return address below the function that is called.

use std::{path::Path, sync::Arc};

use analysis::stacks::{
    happening::{Happening, Head, Map, Sample},
    hint::Spin,
    object::Elf,
    profile::Frame,
    resolve::Resolver,
    symbols::Symbols,
};

use crate::program::{Here, build_of, tool};

const START: u64 = 0x5000_0000_0000;

struct Program {
    path: String,
    elf: Elf,
    symbols: Symbols,
}

impl Program {
    fn of(path: &Path) -> Self {
        let bytes: Arc<[u8]> = std::fs::read(path).expect("read").into();
        let elf = Elf::parse(bytes).expect("an ELF file");
        let symbols = Symbols::of(&elf, None, None);
        Program { path: path.display().to_string(), elf, symbols }
    }

    fn named(&self, name: &str) -> (u64, u64) {
        self.symbols.named(name).expect(name)
    }

    /// The addresses behind a function's calls of another one.
    fn calls(&self, caller: &str, callee: &str) -> Vec<u64> {
        let (start, end) = self.named(caller);
        let (callee, _) = self.named(callee);
        let code = &self.elf.at(start)[..(end - start) as usize];
        let calls = code.windows(5).zip(start..).filter(|(code, at)| {
            let distance = i32::from_le_bytes([code[1], code[2], code[3], code[4]]);
            code[0] == 0xe8 && (at + 5).wrapping_add_signed(distance.into()) == callee
        });
        let found: Vec<u64> = calls.map(|(_, at)| at + 5).collect();
        assert!(!found.is_empty(), "{caller} calls {callee}");
        found
    }

    fn runs_at(&self, address: u64) -> u64 {
        START + self.elf.offset_of(address).expect("in the file")
    }

    /// The frames of a sample below a call, outermost first, of the program in `path`.
    fn frames(&self, path: &str, callee: &str, behind: u64) -> Vec<Frame> {
        let chain = [self.runs_at(self.named(callee).0), self.runs_at(behind)];
        let files = Here::default();
        let mut resolver = Resolver::new(&files, &Head::default(), Vec::new());
        let mut out = Vec::new();
        let length = 1 << 32;
        let (pid, offset, build_id) = (Some(7), 0, None);
        let map = Map { pid, start: START, length, offset, path, build_id };
        assert!(!resolver.take(&Happening::Map(map), &mut out));
        let sample = Sample { pid: 7, tid: 7, ip: chain[0], chain: &chain, ..Sample::default() };
        assert!(resolver.take(&Happening::Sample(sample), &mut out));
        out.iter().map(|place| resolver.frames()[*place as usize].clone()).collect()
    }

    /// Of each call, the function whose loop it is in.
    fn waits(&self, caller: &str, callee: &str) -> Vec<Option<String>> {
        let calls = self.calls(caller, callee).into_iter();
        let owner = |behind| {
            let frames = self.frames(&self.path, callee, behind);
            frames.into_iter().find(|one| one.spin != Spin::None).map(|one| one.name)
        };
        calls.map(owner).collect()
    }
}

fn agrees(program: &Program, melted: &str) {
    let some = |name: &str| Some(name.to_owned());
    let of = |caller, callee| program.waits(caller, callee);
    // A compiler may put the first look before the loop: it runs once.
    assert!(of("spins", "look").contains(&some("spins")));
    assert!(of("spins", "look").iter().all(|owner| owner.is_none() || *owner == some("spins")));
    assert!(of("spins", "work").iter().all(Option::is_none), "what stands around it");
    assert!(of("holds", "look").contains(&some(melted)));
    assert!(of("holds", "work").iter().all(Option::is_none), "the loop around the loop");
    assert!(of("serves", "look").contains(&some("serves")));
    assert!(of("serves", "work").iter().all(Option::is_none), "work that was found");
    assert!(of("works", "look").iter().all(Option::is_none), "without a hint");
}

#[test]
fn what_a_loop_with_the_hint_asks_is_waiting_and_nothing_else() {
    for (name, flag) in [("o0", "-O0"), ("o1", "-O1"), ("o2", "-O2"), ("os", "-Os"), ("o3", "-O3")]
    {
        let name = format!("spinning-{name}");
        let Some(path) = build_of("spinning.c", &name, "cc", &[flag]) else { return };
        agrees(&Program::of(&path), "holds");
    }
}

#[test]
fn a_loop_that_was_inlined_belongs_to_the_function_that_it_was_written_in() {
    let flags = ["-O2", "-g"];
    let Some(path) = build_of("spinning.c", "spinning-g", "cc", &flags) else { return };
    agrees(&Program::of(&path), "melted");
}

#[test]
fn without_symbols_a_function_is_known_by_its_unwind_information() {
    let Some(path) = build_of("spinning.c", "spinning-s", "cc", &["-O2"]) else { return };
    let program = Program::of(&path);
    let bare = format!("{}-bare", program.path);
    if tool(&["objcopy", "--strip-all", &program.path, &bare]).is_none() {
        return;
    }
    let name = format!("fun_{:x}", program.named("spins").0);
    let calls = program.calls("spins", "look").into_iter();
    let marked = calls.flat_map(|behind| program.frames(&bare, "look", behind));
    let marked: Vec<_> = marked.filter(|one| one.spin != Spin::None).map(|one| one.name).collect();
    assert!(!marked.is_empty() && marked.iter().all(|one| *one == name), "{marked:?}");
}
