//! A local user of the device who knows how the agent names things, and is there first.
//!
//! A real user without rights (65534) sets traps in a temporary folder that everybody may write to, as `/tmp`; the
//! real agent runs there as root. The victim, a file of root's, is as it was, and nothing of the agent's is left.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use model::{
    traffic::Control,
    wire::{Frame, Order, Part},
};

use super::{
    contention::{ordered, traffic},
    dialogue::Agent,
};

const OTHER: u32 = 65534;
const VICTIM: &str = "root's own words\n";

struct Scene {
    place: tempfile::TempDir,
}

impl Scene {
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip::skip!("only root can play another user");
            return None;
        }
        let scene = Self { place: tempfile::tempdir().unwrap() };
        let mode = |path: &Path, bits| {
            fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap()
        };
        mode(scene.place.path(), 0o755);
        fs::write(scene.path("victim"), VICTIM).unwrap();
        fs::create_dir(scene.path("shared")).unwrap();
        mode(&scene.path("shared"), 0o1777);
        Some(scene)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn other(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir("/").uid(OTHER).gid(OTHER);
        command.env("S", self.path("shared")).env("V", self.path("victim"));
        command
    }

    fn agent(&self) -> Agent {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headroom-agent"));
        command.env("TMPDIR", self.path("shared"));
        Agent::start_as(command).0
    }

    fn is_untouched(&self) -> bool {
        fs::read_to_string(self.path("victim")).unwrap() == VICTIM
    }

    /// What root has in the shared folder.
    fn of_root(&self) -> Vec<(String, u32)> {
        let entries = fs::read_dir(self.path("shared")).unwrap().flatten();
        let known = entries.filter_map(|entry| {
            let metadata = entry.path().symlink_metadata().ok().filter(|found| found.uid() == 0)?;
            Some((entry.file_name().into_string().unwrap(), metadata.mode() & 0o7777))
        });
        known.collect()
    }
}

/// One that runs guard, with a policy that nobody is bounded by.
fn guarded() -> Order {
    let policy = "[protect]\ninterfaces = [\"{interface}\"]\n".to_owned();
    Order::trial(ordered(Some(traffic()), None, Control::Guard(policy)))
}

#[test]
fn names_that_another_user_makes_and_removes_meanwhile_lead_nowhere() {
    let Some(scene) = Scene::new() else { return };
    let mut agent = scene.agent();
    let script = "cd $S; end=$(($(date +%s) + 3)); while [ $(date +%s) -lt $end ]; do \
                  for f in headroom-*; do ln -s $V $f/guard.toml; ln -s $V $f/guard; \
                  rm -rf $f; ln -s $V $f; done; done 2>/dev/null";
    let mut racer = scene.other(script).spawn().unwrap();
    agent.order(&guarded());
    agent.hello();
    let mut seen = Vec::new();
    // What the agent has there is its own user's alone.
    let until = Instant::now() + Duration::from_secs(1);
    while seen.is_empty() && Instant::now() < until {
        seen = scene.of_root();
        sleep(Duration::from_millis(5));
    }
    match agent.frame() {
        Frame::Part(Part::Traffic(traffic)) => {
            assert!(traffic.guard.is_some_and(|guard| guard.restored));
        }
        Frame::Refused(why) => eprintln!("not every step was taken: {why}"),
        other => panic!("{other:?}"),
    }
    racer.kill().unwrap();
    racer.wait().unwrap();
    assert!(scene.is_untouched());
    assert!(seen.iter().all(|(_, mode)| *mode == 0o700) && !seen.is_empty(), "{seen:?}");
    agent.orders = None;
    agent.ended();
    assert_eq!(scene.of_root(), []);
}

#[test]
fn a_killed_agent_leaves_no_folder_at_whatever_moment() {
    let Some(scene) = Scene::new() else { return };
    for late in (0..60).map(|step| Duration::from_micros(step * 2000)) {
        let mut agent = scene.agent();
        agent.order(&guarded());
        agent.hello();
        let begun = Instant::now();
        while scene.of_root().is_empty() && begun.elapsed() < Duration::from_secs(5) {
            std::hint::spin_loop();
        }
        sleep(late);
        agent.child.kill().unwrap();
        agent.child.wait().unwrap();
        while !scene.of_root().is_empty() {
            let waited = begun.elapsed();
            assert!(waited < Duration::from_secs(20), "{late:?}: {:?}", scene.of_root());
            sleep(Duration::from_millis(20));
        }
    }
}
