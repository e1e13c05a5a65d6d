//! Where functions begin, in real programs: what nm says, and what is refused.

use std::{path::Path, process::Command};

use analysis::stacks::{object::Elf, symbols::Functions};

use crate::program::build;

fn functions(program: &Path) -> Functions {
    let bytes = std::fs::read(program).expect("read");
    Functions::of(&Elf::parse(bytes.into()).expect("an ELF file"), None)
}

#[test]
fn functions_begin_where_nm_says() {
    let Some(program) = build("starts", "cc", &["-O2", "-Wl,-Ttext=0x301000"]) else { return };
    let Ok(nm) = Command::new("nm").arg(&program).output() else { return };
    let functions = functions(&program);
    let text = String::from_utf8_lossy(&nm.stdout).into_owned();
    let mut compared = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [address, "t" | "T", name @ ("main" | "inner" | "handler" | "compare" | "thread")] =
            words[..]
        {
            let place = functions.function_start(name).expect(name);
            assert_eq!(place.vaddr, u64::from_str_radix(address, 16).expect("hexadecimal"));
            assert_eq!(functions.function_start(&format!("0x{address}")).as_ref(), Ok(&place));
            assert!(place.file_offset < place.vaddr, "the text is not where it is in the file");
            compared += 1;
        }
    }
    assert_eq!(compared, 5);
}

#[test]
fn what_is_no_functions_start_is_refused_in_a_line() {
    let Some(program) = build("refused", "cc", &["-O2"]) else { return };
    let functions = functions(&program);
    let inner = functions.function_start("inner").expect("inner").vaddr;
    let refused = |asked: &str| functions.function_start(asked).expect_err(asked);
    let within = format!("{:#x}", inner + 1);
    assert!(refused(&within).starts_with(&format!("{within} is not proven")), "{within}");
    assert!(refused("qsort").starts_with("`qsort` is imported"), "{}", refused("qsort"));
    assert_eq!(refused("deep"), "no function `deep`; near it: deeper");
    assert_eq!(refused("0xzz"), "no function `0xzz`");
}

#[test]
fn a_stripped_programs_functions_are_found_by_address_alone() {
    let Some(program) = build("stripped-starts", "cc", &["-O2"]) else { return };
    let inner = functions(&program).function_start("inner").expect("inner");
    let stripped = format!("{}-bare", program.display());
    if crate::program::tool(&["objcopy", "--strip-all", &program.display().to_string(), &stripped])
        .is_none()
    {
        return;
    }
    let functions = functions(Path::new(&stripped));
    let nameless = functions.function_start("inner").unwrap_err();
    assert!(nameless.starts_with("no function `inner`: the file has no symbols"), "{nameless}");
    let place = functions.function_start(&format!("{:#x}", inner.vaddr)).expect("a start");
    assert_eq!(place.symbol, format!("fun_{:x}", inner.vaddr));
    assert_eq!(place.file_offset, inner.file_offset);
}

/// This test's own program is Rust: paths, hashes and many instances of one generic function.
#[test]
fn rust_functions_are_found_by_the_ends_of_their_paths() {
    let functions = functions(&std::env::current_exe().expect("a path"));
    let whole = "unwinding::functions::counted_for_a_test";
    let place = functions.function_start(whole).expect("by the path");
    assert_eq!(place.symbol, whole);
    for asked in ["counted_for_a_test", "functions::counted_for_a_test"] {
        assert_eq!(functions.function_start(asked).as_ref(), Ok(&place));
    }
    let part = functions.function_start("for_a_test").unwrap_err();
    assert!(part.starts_with("no function"), "{part}");
    if let Err(several) = functions.function_start("drop_in_place") {
        assert!(several.matches(" (0x").count() <= 8, "{several}");
    }
    assert_eq!(counted_for_a_test(1), 2);
}

#[inline(never)]
fn counted_for_a_test(number: u32) -> u32 {
    std::hint::black_box(number) + 1
}
