//! One difference at a time, alongside the named one.

use model::{
    identity::{KernelIdentity, Overlay},
    span::Span,
};

use super::*;
use crate::judge::test_data::{compared, pairs, recording};

/// A sum of one digit.
fn sum(digit: &str) -> Sha256Hex {
    digit.repeat(64).parse().unwrap()
}

fn file(path: &str, digit: &str) -> FileIdentity {
    FileIdentity { path: path.to_owned(), sha256: Some(sum(digit)), doubt: None }
}

fn identity() -> Identity {
    let process = |role, name: &str, files| ProcessIdentity {
        role,
        name: name.to_owned(),
        command: vec![format!("/usr/bin/{name}"), "--every".to_owned(), "1s".to_owned()],
        files,
    };
    Identity {
        agent: Some(sum("a")),
        kernel: KernelIdentity {
            notes: Some(sum("b")),
            modules: Some(sum("c")),
            command_line: Some("console=ttyS0".to_owned()),
        },
        processes: vec![
            process(
                Role::Subject,
                "stationd",
                vec![file("/run/headroom/put/stationd", "1"), file("/lib/libc.so.6", "2")],
            ),
            process(Role::Load, "monitor", vec![file("/usr/bin/monitor", "3")]),
        ],
        interfaces: vec![InterfaceIdentity {
            name: "wlan0".to_owned(),
            megahertz: Some(2412),
            width_megahertz: Some(20),
            address: Some("02:00:00:00:00:00".to_owned()),
        }],
        overlays: vec![Overlay {
            at: "/".to_owned(),
            upper: "/overlay/upper".to_owned(),
            files: 0,
        }],
    }
}

/// Two trials that are the same in everything.
fn twins() -> [Trial; 2] {
    let (_, trials) = compared(&pairs(1, 0.0, 0.0, 1));
    let mut trials: [Trial; 2] = trials.try_into().unwrap();
    for trial in &mut trials {
        trial.planned.order.identify = true;
        recording(trial).identity = Some(Box::new(identity()));
    }
    trials
}

/// What is said of twins after something was done to the second one.
fn after(allowed: &Difference, change: impl Fn(&mut Identity)) -> Vec<String> {
    let [base, mut variant] = twins();
    change(recording(&mut variant).identity.as_mut().unwrap());
    strangers(&base, &variant, allowed)
}

fn program(base: &str, variant: &str) -> Difference {
    Difference::Program { name: "stationd".to_owned(), base: sum(base), variant: sum(variant) }
}

fn image() -> Difference {
    Difference::Image { base: "e".to_owned(), variant: "f".to_owned() }
}

#[test]
fn twins_have_no_strangers() {
    for allowed in [Difference::Nothing, Difference::Variants, program("1", "1"), image()] {
        assert_eq!(after(&allowed, |_| {}), [""; 0], "{allowed:?}");
    }
}

#[test]
fn each_thing_that_differs_is_named_and_only_an_image_may_bring_it() {
    type Change = fn(&mut Identity);
    let changes: [(Change, &str); 6] = [
        (
            |of| of.agent = Some(sum("9")),
            "the agent: aaaaaaaaaaaa in `before`, 999999999999 in `after`",
        ),
        (|of| of.kernel.notes = None, "the kernel: bbbbbbbbbbbb in `before`, unknown in `after`"),
        (
            |of| of.kernel.modules = Some(sum("9")),
            "the kernel's modules: cccccccccccc in `before`, 999999999999 in `after`",
        ),
        (
            |of| of.kernel.command_line = Some("quiet".to_owned()),
            "the kernel's command line: console=ttyS0 in `before`, quiet in `after`",
        ),
        (
            |of| of.processes[0].files[1].sha256 = Some(sum("9")),
            "/lib/libc.so.6 of `stationd`: 222222222222 in `before`, 999999999999 in `after`",
        ),
        (|of| drop(of.processes.pop()), "`monitor` was measured in `before` alone"),
    ];
    for (change, line) in changes {
        for allowed in [Difference::Nothing, Difference::Variants, program("1", "1")] {
            assert_eq!(after(&allowed, change), [line], "{allowed:?}");
        }
        assert_eq!(after(&image(), change), [""; 0], "{line}");
    }
}

#[test]
fn a_channel_may_never_differ() {
    for allowed in [Difference::Nothing, Difference::Variants, program("1", "1"), image()] {
        let found = after(&allowed, |of| of.interfaces[0].megahertz = Some(2437));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("the access-point interfaces: wlan0"), "{found:?}");
        assert!(found[0].contains("at 2412 MHz") && found[0].contains("at 2437 MHz"), "{found:?}");
    }
}

#[test]
fn words_may_differ_between_variants_only_and_bring_files_of_their_own() {
    let change = |of: &mut Identity| {
        of.processes[0].command.push("--config".to_owned());
        of.processes[0].files.push(file("/etc/other.toml", "7"));
    };
    assert_eq!(after(&Difference::Variants, change), [""; 0]);
    let found = after(&Difference::Nothing, change);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("the words of `stationd`: `/usr/bin/stationd --every 1s` in"),
        "{found:?}"
    );
    assert_eq!(found[1], "/etc/other.toml is a file of `stationd` in `after` alone");
    let only_the_file =
        after(&Difference::Variants, |of| of.processes[0].files.push(file("/lib/x.so", "7")));
    assert_eq!(only_the_file, ["/lib/x.so is a file of `stationd` in `after` alone"]);
}

#[test]
fn the_named_program_may_differ_and_must_be_the_one_that_was_named() {
    let new = |of: &mut Identity| of.processes[0].files[0].sha256 = Some(sum("4"));
    assert_eq!(after(&program("1", "4"), new), [""; 0]);
    assert_eq!(
        after(&program("1", "5"), new),
        ["`stationd` in `after` is 444444444444, and 555555555555 was to be measured"]
    );
    assert_eq!(after(&Difference::Variants, new).len(), 1);
    let gone = after(&program("1", "4"), |of| of.processes[0].files.remove(0).path.clear());
    assert!(
        gone.contains(&"nothing that was measured in `after` has `stationd` in it".to_owned()),
        "{gone:?}"
    );
}

#[test]
fn who_starts_the_named_program_names_another_path_on_each_side() {
    let started_by_a_shell = |of: &mut Trial, side: &str, digit: &str| {
        let process = &mut recording(of).identity.as_mut().unwrap().processes[0];
        process.files =
            vec![file("/bin/sh", "2"), file(&format!("/run/headroom/put/{side}/stationd"), digit)];
    };
    let [mut base, mut variant] = twins();
    started_by_a_shell(&mut base, "a", "1");
    started_by_a_shell(&mut variant, "b", "4");
    assert_eq!(strangers(&base, &variant, &program("1", "4")), [""; 0]);
    let other = strangers(&base, &variant, &program("1", "5"));
    assert_eq!(
        other,
        ["`stationd` in `after` is 444444444444, and 555555555555 was to be measured"]
    );
}

#[test]
fn overlays_that_differ_and_files_that_changed_speak_against_a_side_but_for_our_own() {
    let doubtful = |doubt: FileDoubt| {
        move |of: &mut Identity| of.processes[0].files[1].doubt = Some(doubt.clone())
    };
    let of = |doubt| after(&Difference::Nothing, doubtful(doubt));
    assert_eq!(
        of(FileDoubt::ChangedSinceBoot(40)),
        ["/lib/libc.so.6 of `stationd` was written after the kernel booted"]
    );
    assert_eq!(of(FileDoubt::Replaced).len(), 1);
    assert_eq!(
        of(FileDoubt::Unreadable("no".to_owned())),
        ["/lib/libc.so.6 of `stationd` cannot be read: no"]
    );
    assert_eq!(of(FileDoubt::InOverlay("/overlay/upper".to_owned())).len(), 1);
    let ours = after(&Difference::Nothing, |of| {
        of.processes[0].files[0].doubt = Some(FileDoubt::ChangedSinceBoot(40));
    });
    assert_eq!(ours, [""; 0]);
    let overlay = after(&Difference::Nothing, |of| of.overlays[0].files = 3);
    assert_eq!(
        overlay,
        [
            "the overlays: 0 files in /overlay/upper in `before`, 3 files in /overlay/upper in `after`"
        ]
    );
}

#[test]
fn plans_and_facts_are_compared_too() {
    let [base, mut variant] = twins();
    variant.planned.order.warm_up = Span::from_secs(9);
    variant.planned.order.state = None;
    recording(&mut variant).facts.clk_tck = 250;
    let found = strangers(&base, &variant, &Difference::Variants);
    assert_eq!(found[0], "the warm-up: 5s in `before`, 9s in `after`");
    assert!(found[1].starts_with("the machine's state: "), "{found:?}");
    assert_eq!(found[2], "CLK_TCK: 100 in `before`, 250 in `after`");
    assert_eq!(found.len(), 3);
}

#[test]
fn an_identity_is_missed_only_where_it_was_asked_for() {
    let [base, mut variant] = twins();
    recording(&mut variant).identity = None;
    let found = strangers(&base, &variant, &Difference::Nothing);
    assert_eq!(found, ["the agent did not say what it measured in `after`"]);
    variant.planned.order.identify = false;
    assert_eq!(strangers(&base, &variant, &Difference::Nothing), [""; 0]);
}

#[test]
fn a_line_that_many_pairs_share_is_reported_once_and_a_side_must_agree_with_itself() {
    let [base, variant] = twins();
    let mut later = variant.clone();
    recording(&mut later).identity.as_mut().unwrap().agent = Some(sum("9"));
    let pairs = [(&base, &variant), (&base, &later), (&base, &later)];
    assert_eq!(
        across(&pairs, &Difference::Nothing),
        [
            "the agent: aaaaaaaaaaaa in `before`, 999999999999 in `after`",
            "trials of `after` differ among themselves: the agent: aaaaaaaaaaaa in an earlier trial, 999999999999 in a later one",
        ]
    );
    assert_eq!(across(&[], &Difference::Nothing), [""; 0]);
}

#[test]
fn of_several_processes_of_one_name_those_with_the_same_words_are_compared() {
    let [mut base, mut variant] = twins();
    let second = |of: &mut Identity| {
        let mut process = of.processes[1].clone();
        process.command = vec!["monitor".to_owned(), "wlan1".to_owned()];
        of.processes.push(process);
    };
    second(recording(&mut base).identity.as_mut().unwrap());
    let of = recording(&mut variant).identity.as_mut().unwrap();
    second(of);
    of.processes.reverse();
    assert_eq!(strangers(&base, &variant, &Difference::Nothing), [""; 0]);
    recording(&mut variant).identity.as_mut().unwrap().processes.remove(0);
    let found = strangers(&base, &variant, &Difference::Nothing);
    assert_eq!(found, ["`monitor` was measured in `before` alone"]);
}
