//! A local user who wants root's files: guard is started by root where another user has set a trap.
//!
//! Each attack is a row: a real user without rights (65534) prepares, the real `guard` runs as root with 256 MiB of
//! room, and has to end within five seconds with its documented code and one clear line; the victim, a file of
//! root's, is as it was. Without root no one can play the other user, and it is skipped with that reason.

#![expect(clippy::unwrap_used, reason = "what a test cannot do ends the test")]

mod attacks;
mod device;

use std::{
    fmt::Write,
    os::unix::fs::MetadataExt,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use attacks::{ATTACKS, Attack, GROUPS};
use device::{Device, PATIENCE};

/// What is wrong with how guard took an attack; nothing where it stood.
fn wrong(attack: &Attack) -> Option<String> {
    let device = Device::new();
    (attack.prepare)(&device);
    let ended = device.guard(attack.verb);
    let mut wrong = String::new();
    let lines: Vec<&str> = ended.said.lines().filter(|line| !line.is_empty()).collect();
    if !device.is_untouched() {
        let _ = write!(wrong, " the victim was changed;");
    }
    if ended.took > PATIENCE {
        let _ = write!(wrong, " it took {:?};", ended.took);
    }
    if ended.code != Some(attack.code) || lines.len() != 1 || !ended.said.contains(attack.says) {
        let _ = write!(wrong, " {:?}: {:?};", ended.code, ended.said);
    }
    (!wrong.is_empty()).then(|| format!("{}:{wrong}", attack.name))
}

#[test]
fn no_trap_of_another_user_has_guard_write_hang_or_fill_memory() {
    if !rustix::process::geteuid().is_root() {
        return skip::skip!("only root can play another user");
    }
    let has_groups = Path::new(GROUPS).join("cpu.shares").exists();
    if !has_groups {
        skip::skip!("attacks by a control group of version 1: {GROUPS} is none");
    }
    let possible = ATTACKS.iter().filter(|attack| has_groups || !attack.by_groups);
    let failed: Vec<String> = possible.filter_map(wrong).collect();
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), ATTACKS.len(), failed.join("\n"));
}

#[test]
fn a_user_who_exchanges_the_folder_while_guard_starts_wins_nothing() {
    if !rustix::process::geteuid().is_root() {
        return skip::skip!("only root can play another user");
    }
    let device = Device::new();
    let victims = device.path("victims");
    std::fs::create_dir(&victims).unwrap();
    let script = format!(
        "cd {}; end=$(($(date +%s) + 3)); while [ $(date +%s) -lt $end ]; do \
         rm -rf state; ln -s {} state; rm -f state; mkdir state; ln -s {} state/lock; \
         cp {} state/journal; done 2>/dev/null",
        device.path("shared").display(),
        victims.display(),
        device.victim().display(),
        device.forged_by_other().display(),
    );
    let mut racer = device.other(&script).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(2);
    let mut runs = 0;
    while Instant::now() < until {
        let verb = if runs % 10 == 9 { "run" } else { "restore" };
        let state = device.path("shared/state");
        let ended = device.guard_at(verb, &state);
        assert!(ended.took <= PATIENCE && ended.said.lines().count() <= 1, "{}", ended.said);
        // A guard that came first has made a folder that the other user cannot remove.
        let ours = std::fs::symlink_metadata(&state).is_ok_and(|found| found.uid() == 0);
        if ours {
            std::fs::remove_dir_all(&state).unwrap();
        }
        runs += 1;
    }
    racer.kill().unwrap();
    racer.wait().unwrap();
    assert!(runs > 5 && device.is_untouched(), "{runs} runs");
    assert_eq!(std::fs::read_dir(&victims).unwrap().count(), 0);
}

#[test]
fn an_honest_entry_next_to_a_forged_one_is_put_back() {
    let Some(group) = device::Group::make() else { return };
    let device = Device::new();
    device.journal(&[device.change(&device.victim(), "forged\n"), group.shares("700\n", "1024\n")]);
    let ended = device.guard("restore");
    assert_eq!(ended.code, Some(3), "{}", ended.said);
    assert!(ended.said.contains("victim”: guard changes nothing there"), "{}", ended.said);
    assert!(ended.said.contains("1024 is 700 again") && device.is_untouched(), "{}", ended.said);
    assert_eq!(group.read("cpu.shares"), "700\n");
    assert!(!device.state().join("journal").exists());
}

#[test]
fn what_is_mounted_over_a_group_is_not_written_to() {
    let Some(group) = device::Group::make() else { return };
    let device = Device::new();
    let fake = device.path("fake");
    std::fs::create_dir(&fake).unwrap();
    std::fs::write(fake.join("cpu.shares"), "1024\n").unwrap();
    let shares = group.path().join("cpu.shares");
    let line = Device::change_of(&fake.join("cpu.shares"), &shares, "700\n", "1024\n");
    device.journal(&[line]);
    let script = format!(
        "mount --bind {} {} && exec \"$0\" restore --state {}",
        fake.display(),
        group.path().display(),
        device.state().display()
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).arg(device::guard());
    let ended = device::end(command);
    if ended.said.contains("mount:") || ended.said.contains("unshare:") {
        return skip::skip!("{}", ended.said.trim());
    }
    assert_eq!(ended.code, Some(3), "{}", ended.said);
    assert_eq!(std::fs::read_to_string(fake.join("cpu.shares")).unwrap(), "1024\n");
}
