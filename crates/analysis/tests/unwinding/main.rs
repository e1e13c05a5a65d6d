//! Unwinding real programs: what we find is what backtrace(3) found in the program itself.
//!
//! Programs are built here with the machine's compiler, in the ways that programs on access points are
//! built. Where there is no compiler a test says so and passes.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the tests build programs, run and read them"
)]

mod aarch64;
mod edited;
mod functions;
mod program;
mod samples;

use program::{Here, ProcessDump, Unwound, build, tool};

const MODES: [&str; 7] =
    ["plain", "recursion", "qsort", "signal", "elsewhere", "thread", "realigned"];

/// The plain chain, where debug information says what was inlined.
const MELTED: [&str; 6] = ["main", "outer", "middle", "+melted", "inner", "dump"];

/// What stands between `main` and the end, in each mode.
fn expected(mode: &str) -> Vec<&'static str> {
    let tail = ["middle", "inner", "dump"];
    let head: Vec<&str> = match mode {
        "plain" => vec!["main", "outer"],
        "recursion" => [vec!["main"], vec!["deeper"; 101]].concat(),
        "thread" => vec!["thread", "outer"],
        "realigned" => vec!["main", "realigned", "outer"],
        _ => return Vec::new(),
    };
    [head, tail.to_vec()].concat()
}

/// Our own frames end as backtrace's do, for all modes.
fn agree(program: &std::path::Path) {
    for mode in MODES {
        let dump = ProcessDump::by(program, &[mode]);
        let files = Here::default();
        let (ours, oracle) = (dump.unwound(&files), dump.backtrace(&files));
        if mode == "elsewhere" {
            // The rest is on another stack, which was not copied.
            assert!(
                ours.frames.ends_with(&["handler", "middle", "inner", "dump"].map(str::to_owned))
            );
            continue;
        }
        assert!(ours.is_whole(), "{mode}: {ours:?}, but backtrace {oracle:?}");
        assert_eq!(ours.frames, oracle.frames, "{mode}");
        let expected = expected(mode);
        if !expected.is_empty() {
            assert_eq!(ours.own(), expected, "{mode}");
        }
    }
}

macro_rules! agrees {
    ($($name:ident: $($flag:literal)*;)*) => {
        $(#[test]
        fn $name() {
            if let Some(program) = build(stringify!($name), "cc", &[$($flag),*]) {
                agree(&program);
            }
        })*
    };
}

agrees! {
    optimised_code_is_unwound: "-O2";
    plain_code_is_unwound: "-O0";
    small_code_is_unwound: "-Os" "-fno-plt";
    code_without_frame_pointers_is_unwound: "-O2" "-fomit-frame-pointer";
    code_with_frame_pointers_is_unwound: "-O2" "-fno-omit-frame-pointer";
    a_program_at_a_fixed_address_is_unwound: "-O2" "-no-pie";
    a_program_whose_addresses_are_not_its_offsets_is_unwound: "-O2" "-Wl,-Ttext=0x301000";
    a_program_with_code_and_data_in_one_segment_is_unwound: "-O2" "-Wl,-z,noseparate-code";
    lazily_bound_code_is_unwound: "-O2" "-Wl,-z,lazy" "-fcf-protection";
}

#[test]
fn static_programs_are_unwound() {
    for (name, flags) in [("static", ["-O2", "-static"]), ("static-pie", ["-O2", "-static-pie"])] {
        if let Some(program) = build(name, "cc", &flags) {
            agree(&program);
        }
    }
}

#[test]
fn a_stripped_program_has_names_made_from_its_functions_starts() {
    let Some(program) = build("stripped", "cc", &["-O2", "-s"]) else { return };
    let seen = ProcessDump::by(&program, &["plain"]).unwound(&Here::default());
    assert!(seen.is_whole(), "{seen:?}");
    assert!(is_made_up(&seen), "{seen:?}");
}

/// Whether `main`, `outer`, `middle`, `inner` and `dump` have names of addresses.
fn is_made_up(seen: &Unwound) -> bool {
    let inner = seen.frames.iter().rev().take(5);
    seen.frames.len() > 5 && inner.clone().all(|name| name.starts_with("fun_"))
}

#[test]
fn a_program_without_section_headers_is_unwound() {
    let Some(program) = build("sectionless", "cc", &["-O2", "-rdynamic"]) else { return };
    let mut bytes = std::fs::read(&program).expect("read");
    // e_shoff, and e_shentsize, e_shnum, e_shstrndx: elf.h.
    bytes[40..48].fill(0);
    bytes[58..64].fill(0);
    let files = Here { instead: Some(("chain-sectionless".into(), bytes)), ..Here::default() };
    let seen = ProcessDump::by(&program, &["plain"]).unwound(&files);
    assert!(seen.is_whole(), "{seen:?}");
    assert_eq!(seen.own(), expected("plain"));
}

#[test]
fn code_without_tables_is_unwound_and_inlined_functions_are_distinguished_from_their_callers() {
    const BARE: [&str; 3] = ["-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"];
    let plain = expected("plain");
    // By its debug frames, by its calls; and with tables: what was put into `middle` stands behind it.
    let cases: [(&str, &[&str], &[&str]); 4] = [
        ("debug-frame", &["-g", "-gz=none"], &MELTED),
        ("packed-debug-frame", &["-g", "-gz=zlib"], &MELTED),
        ("no-tables", &[], &plain),
        ("inlined", &["-g", "-funwind-tables", "-fasynchronous-unwind-tables"], &MELTED),
    ];
    for (name, flags, expected) in cases {
        let Some(program) = build(name, "cc", &[&BARE, flags].concat()) else { return };
        let seen = ProcessDump::by(&program, &["plain"]).unwound(&Here::default());
        assert!(seen.is_whole(), "{name}: {seen:?}");
        assert_eq!(seen.own(), expected, "{name}");
    }
}

#[test]
fn a_debug_file_gives_names_if_it_is_of_the_same_build() {
    let Some(program) = build("debuglink", "cc", &["-O2", "-g"]) else { return };
    let path = program.display().to_string();
    let (debug, stripped) = (format!("{path}.debug"), format!("{path}-stripped"));
    let steps = [
        vec!["objcopy", "--only-keep-debug", &path, &debug],
        vec!["objcopy", "--strip-all", "--add-gnu-debuglink", &debug, &path, &stripped],
    ];
    for step in &steps {
        if std::path::Path::new(&debug).exists() && step[1] == "--only-keep-debug" {
            std::fs::remove_file(&debug).expect("remove");
        }
        if tool(step).is_none() {
            return;
        }
    }
    let dump = ProcessDump::by(stripped.as_ref(), &["plain"]);
    let files = Here { debug: Some(debug.into()), ..Here::default() };
    let seen = dump.unwound(&files);
    assert_eq!(seen.own(), MELTED, "{seen:?}");

    let Some(other) = build("debuglink-other", "cc", &["-O1", "-g"]) else { return };
    let seen = dump.unwound(&Here { debug: Some(other), ..Here::default() });
    assert!(seen.is_whole() && is_made_up(&seen), "{seen:?}");
    assert!(seen.faults.iter().any(|line| line.contains("another build")), "{seen:?}");
}

#[test]
fn a_copy_that_is_too_short_is_reported() {
    let Some(program) = build("short", "cc", &["-O2"]) else { return };
    let seen = ProcessDump::by(&program, &["recursion", "4096"]).unwound(&Here::default());
    assert_eq!(seen.frames[1], "?stack copy too short", "{seen:?}");
    assert_eq!(seen.frames.last().map(String::as_str), Some("dump"));
    assert!(seen.frames.iter().filter(|name| *name == "deeper").count() > 10);
}

#[test]
fn a_missing_file_is_reported() {
    let Some(program) = build("missing", "cc", &["-O2"]) else { return };
    let dump = ProcessDump::by(&program, &["plain"]);
    let seen = dump.unwound(&Here { without: vec!["libc".into()], ..Here::default() });
    assert_eq!(seen.frames[1], "?no file", "{seen:?}");
    assert_eq!(seen.own(), expected("plain"));
    let seen = dump.unwound(&Here { without: vec!["chain-missing".into()], ..Here::default() });
    assert_eq!(seen.frames, ["chain", "?no file"]);
    assert!(seen.faults.iter().any(|line| line.contains("not at hand")), "{seen:?}");
}

#[test]
fn musl_programs_are_unwound() {
    for (name, flags) in [("musl-static", ["-O2", "-static"]), ("musl", ["-O2", "-fPIE"])] {
        let Some(program) = build(name, "musl-gcc", &flags) else { return };
        if name == "musl" && !std::path::Path::new("/lib/ld-musl-x86_64.so.1").exists() {
            return;
        }
        for mode in MODES {
            let seen = ProcessDump::by(&program, &[mode]).unwound(&Here::default());
            let expected = expected(mode);
            if !expected.is_empty() {
                assert_eq!(seen.own(), expected, "{mode}: {seen:?}");
            }
            if mode == "elsewhere" {
                continue;
            }
            assert!(seen.own().ends_with(&["middle", "inner", "dump"]), "{mode}: {seen:?}");
            let second = if mode == "thread" { "outer" } else { expected_second(mode) };
            assert_eq!(seen.own().get(1), Some(&second), "{mode}: {seen:?}");
            // musl's own static functions have no symbols where it is stripped, but the stack goes on.
            assert!(!STOPS.contains(&&*seen.frames[1]), "{mode}: {seen:?}");
        }
    }
}

const STOPS: [&str; 3] = ["?no unwind info", "?broken unwind info", "?no file"];

fn expected_second(mode: &str) -> &'static str {
    match mode {
        "recursion" => "deeper",
        "qsort" => "sorted",
        "signal" => "interrupted",
        "realigned" => "realigned",
        _ => "outer",
    }
}
