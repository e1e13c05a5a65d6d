//! A local user who wants root's files: guard is started by root where another user has set a trap.
//!
//! Each attack is a row: a real user without rights (65534) prepares, the real `guard` runs as root with 256 MiB of
//! room, and has to end within five seconds with its documented code and one clear line; the victim, a file of
//! root's, is as it was. Without root nobody can play the other user, and it is skipped with that reason.

#![expect(clippy::unwrap_used, reason = "what a test cannot do ends the test")]

mod attacks;
mod scene;

use std::{
    fmt::Write,
    os::unix::fs::MetadataExt,
    process::Command,
    time::{Duration, Instant},
};

use attacks::{ATTACKS, Attack};
use scene::{PATIENCE, Scene};

/// What is wrong with how guard took an attack; nothing where it stood.
fn wrong(attack: &Attack) -> Option<String> {
    let scene = Scene::new();
    (attack.prepare)(&scene);
    let ended = scene.guard(attack.verb);
    let mut wrong = String::new();
    let lines: Vec<&str> = ended.said.lines().filter(|line| !line.is_empty()).collect();
    if !scene.is_untouched() {
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
    let failed: Vec<String> = ATTACKS.iter().filter_map(wrong).collect();
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), ATTACKS.len(), failed.join("\n"));
}

#[test]
fn a_user_who_exchanges_the_folder_while_guard_starts_wins_nothing() {
    if !rustix::process::geteuid().is_root() {
        return skip::skip!("only root can play another user");
    }
    let scene = Scene::new();
    let victims = scene.path("victims");
    std::fs::create_dir(&victims).unwrap();
    let script = format!(
        "cd {}; end=$(($(date +%s) + 3)); while [ $(date +%s) -lt $end ]; do \
         rm -rf state; ln -s {} state; rm -f state; mkdir state; ln -s {} state/lock; \
         cp {} state/journal; done 2>/dev/null",
        scene.path("shared").display(),
        victims.display(),
        scene.victim().display(),
        scene.forged_by_other().display(),
    );
    let mut racer = scene.other(&script).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(2);
    let mut runs = 0;
    while Instant::now() < until {
        let verb = if runs % 10 == 9 { "run" } else { "restore" };
        let state = scene.path("shared/state");
        let ended = scene.guard_at(verb, &state);
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
    assert!(runs > 5 && scene.is_untouched(), "{runs} runs");
    assert_eq!(std::fs::read_dir(&victims).unwrap().count(), 0);
}

#[test]
fn an_honest_entry_beside_a_forged_one_is_put_back() {
    let Some(group) = scene::Group::make() else { return };
    let scene = Scene::new();
    scene.journal(&[scene.change(&scene.victim(), "forged\n"), group.shares("700\n", "1024\n")]);
    let ended = scene.guard("restore");
    assert_eq!(ended.code, Some(3), "{}", ended.said);
    assert!(ended.said.contains("victim”: guard changes nothing there"), "{}", ended.said);
    assert!(ended.said.contains("1024 is 700 again") && scene.is_untouched(), "{}", ended.said);
    assert_eq!(group.read("cpu.shares"), "700\n");
    assert!(!scene.state().join("journal").exists());
}

#[test]
fn what_is_mounted_over_a_group_is_not_written_to() {
    let Some(group) = scene::Group::make() else { return };
    let scene = Scene::new();
    let fake = scene.path("fake");
    std::fs::create_dir(&fake).unwrap();
    std::fs::write(fake.join("cpu.shares"), "1024\n").unwrap();
    let shares = group.path().join("cpu.shares");
    let line = scene.change_of(&fake.join("cpu.shares"), &shares, ("700\n", "1024\n"));
    scene.journal(&[line]);
    let script = format!(
        "mount --bind {} {} && exec \"$0\" restore --state {}",
        fake.display(),
        group.path().display(),
        scene.state().display()
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).arg(scene::guard());
    let ended = scene::end(command);
    if ended.said.contains("mount:") || ended.said.contains("unshare:") {
        return skip::skip!("{}", ended.said.trim());
    }
    assert_eq!(ended.code, Some(3), "{}", ended.said);
    assert_eq!(std::fs::read_to_string(fake.join("cpu.shares")).unwrap(), "1024\n");
}
