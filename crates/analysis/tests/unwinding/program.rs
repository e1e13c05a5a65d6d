//! Programs that are built for a test, and what they write of themselves: one sample each.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use analysis::stacks::{
    files::{DebugKey, FileId, Files},
    happening::{Architecture, Happening, Head, Map, Registers, Sample},
    profile::Naming,
    resolve::Resolver,
};

/// perf's places of DWARF's registers; rip is `PERF_REG_X86_IP`.
const PERF_PLACES: [usize; 17] = [0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8];

/// Builds the chain; `None`, and a line that says so, where there is no such compiler.
pub(crate) fn build(name: &str, compiler: &str, flags: &[&str]) -> Option<PathBuf> {
    build_of("chain.c", &format!("chain-{name}"), compiler, flags)
}

/// Builds one of the sources next to this file, in the same way.
pub(crate) fn build_of(
    source: &str,
    name: &str,
    compiler: &str,
    flags: &[&str],
) -> Option<PathBuf> {
    // Tests run at the same time, so no two write one file.
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/unwinding").join(source);
    let (to, from) = (made.display().to_string(), source.display().to_string());
    let words = [&[compiler, "-w", "-pthread", "-o", &to], flags, &[&from]].concat();
    tool(&words).map(|()| made)
}

/// Runs a tool on a file; `None`, and a line, where there is none.
pub(crate) fn tool(words: &[&str]) -> Option<()> {
    let (program, rest) = words.split_first()?;
    let Ok(output) = Command::new(program).args(rest).output() else {
        skip::skip!("no {program}");
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
    Some(())
}

/// What a process wrote of its own registers, stack and mappings.
#[derive(Debug, Default)]
pub(crate) struct ProcessDump {
    maps: Vec<(u64, u64, u64, String)>,
    registers: Vec<u64>,
    stack: Vec<u8>,
    cut: bool,
    back: Vec<u64>,
}

impl ProcessDump {
    /// Runs a program in one of its modes.
    pub(crate) fn by(program: &Path, words: &[&str]) -> Self {
        let output = Command::new(program).args(words).output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let mut dump = ProcessDump::default();
        for line in text.lines() {
            let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
            match kind {
                "map" => dump.maps.extend(mapping(rest)),
                "back" => dump.back.push(number(rest)),
                "reg" => dump.registers.push(number(rest)),
                "cut" => dump.cut = rest == "1",
                "stack" => dump.stack = bytes(rest),
                _ => {}
            }
        }
        assert_eq!(dump.registers.len(), PERF_PLACES.len(), "it told its registers: {text}");
        dump
    }

    /// Frames by our own unwinding, outermost first.
    pub(crate) fn unwound(&self, files: &dyn Files) -> Unwound {
        let architecture = Architecture::X86_64;
        let mut registers = Registers { values: [0; 64], mask: 0, architecture };
        for (value, place) in self.registers.iter().zip(PERF_PLACES) {
            registers.values[place] = *value;
            registers.mask |= 1 << place;
        }
        let (registers, stack, stack_cut) = (Some(registers), self.stack.as_slice(), self.cut);
        self.resolved(files, Sample { registers, stack, stack_cut, ..Sample::default() })
    }

    /// Frames by backtrace(3), outermost first.
    pub(crate) fn backtrace(&self, files: &dyn Files) -> Unwound {
        self.resolved(files, Sample { chain: &self.back, ..Sample::default() })
    }

    fn resolved(&self, files: &dyn Files, sample: Sample<'_>) -> Unwound {
        let head = Head { stack_bytes: 65528, ..Head::default() };
        let mut resolver = Resolver::new(files, &head, Vec::new());
        let mut out = Vec::new();
        resolver.take(&Happening::Name { pid: 7, tid: 7, name: "chain", exec: true }, &mut out);
        for (start, end, offset, path) in &self.maps {
            let (start, length, offset) = (*start, end - start, *offset);
            let map = Map { pid: 7, start, length, offset, path, build_id: None };
            assert!(!resolver.take(&Happening::Map(map), &mut out));
        }
        let ip = self.registers[self.registers.len() - 1];
        let sample = Sample { pid: 7, tid: 7, ip, ..sample };
        assert!(resolver.take(&Happening::Sample(sample), &mut out));
        let named = |place: &u32| {
            let frame = resolver.frame(*place).expect("a frame");
            let mark = match frame.naming {
                Naming::Unknown(_) => "?",
                _ if frame.inlined => "+",
                _ => "",
            };
            format!("{mark}{}", frame.name)
        };
        Unwound { frames: out.iter().map(named).collect(), faults: resolver.faults() }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unwound {
    /// Names, outermost first; `?` before what is unknown, `+` before what is inlined.
    pub(crate) frames: Vec<String>,
    pub(crate) faults: Vec<String>,
}

impl Unwound {
    /// Everything from `main` or a thread's function inwards, and whether nothing is unknown.
    pub(crate) fn own(&self) -> Vec<&str> {
        let first = self.frames.iter().position(|name| name == "main" || name == "thread");
        let own = first.and_then(|first| self.frames.get(first..)).unwrap_or_default();
        own.iter().map(String::as_str).collect()
    }

    pub(crate) fn is_whole(&self) -> bool {
        !self.frames.iter().any(|name| name.starts_with('?'))
    }
}

/// The files of this machine.
#[derive(Debug, Default)]
pub(crate) struct Here {
    /// A debug file for anyone who asks.
    pub(crate) debug: Option<PathBuf>,
    /// What takes the place of the file of this name.
    pub(crate) instead: Option<(String, Vec<u8>)>,
    /// Files that are not at hand.
    pub(crate) without: Vec<String>,
}

impl Files for Here {
    fn file(&self, id: &FileId) -> Option<Arc<[u8]>> {
        if self.without.iter().any(|name| id.path.contains(name)) {
            return None;
        }
        if let Some((name, bytes)) = &self.instead
            && id.path.contains(name)
        {
            return Some(bytes.clone().into());
        }
        fs::read(&id.path).ok().map(Into::into)
    }

    fn debug(&self, key: DebugKey<'_>) -> Option<Arc<[u8]>> {
        // Only the program has one here, never its libraries.
        matches!(key, DebugKey::Name(name) if name.starts_with("chain")).then_some(())?;
        fs::read(self.debug.as_ref()?).ok().map(Into::into)
    }

    fn kernel_symbols(&self) -> Result<Arc<[u8]>, String> {
        Err("not asked for".to_owned())
    }
}

fn number(text: &str) -> u64 {
    u64::from_str_radix(text.trim(), 16).expect("a number")
}

fn bytes(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.bytes().map(|digit| (digit as char).to_digit(16).expect("a digit") as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// A line of `/proc/PID/maps` that is executable.
fn mapping(line: &str) -> Option<(u64, u64, u64, String)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let executable = words.next()?.contains('x');
    let offset = number(words.next()?);
    let path = words.nth(2).unwrap_or("//anon").to_owned();
    executable.then(|| (number(start), number(end), offset, path))
}
