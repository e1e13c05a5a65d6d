//! stress-ng in a group of our own, where a device has no applications to measure with yet.
//!
//! It ends with the measurement: by Drop, and where that cannot be, by its own time-out.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use linux::cgroup;

use crate::{
    failure::{ENVIRONMENT, Failure},
    groups::{Controller, Hierarchies},
    policy::{Policy, Rule},
};

/// Enters its groups before it becomes stress-ng, so that no worker is ever outside.
const ENTER: &str = "for group in $HEADROOM_GROUPS; do echo $$ >\"$group/cgroup.procs\" || exit 1; done\n\
                     exec stress-ng \"$@\"";
/// How often, and how long each time, what was killed is waited for.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct StandIn {
    child: Child,
    groups: Vec<PathBuf>,
    path: String,
}

impl StandIn {
    /// Starts stress-ng with these words, for at most this many seconds.
    ///
    /// # Errors
    ///
    /// Where there is no stress-ng, it does not take the words, or no group can be made.
    pub fn start(words: &str, most_s: u64, hierarchies: &Hierarchies) -> Result<Self, Failure> {
        let path = format!("/headroom-stand-in-{}", std::process::id());
        let mut groups = Vec::new();
        for controller in [Controller::Cpu, Controller::Cpuacct] {
            let Some(tree) = hierarchies.tree(controller) else { continue };
            let folder = tree.folder(&path);
            if !groups.contains(&folder) && fs::canonicalize(&folder).is_err() {
                cgroup::create(&folder).map_err(|error| {
                    remove(&groups);
                    Failure::environment(&error)
                })?;
                groups.push(folder);
            }
        }
        let names: Vec<String> = groups.iter().map(|group| group.display().to_string()).collect();
        let mut command = Command::new("sh");
        command.args(["-c", ENTER, "sh"]).args(words.split_ascii_whitespace());
        command.args(["--timeout", &format!("{most_s}s")]);
        command.env("HEADROOM_GROUPS", names.join(" "));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let spawned = command.spawn();
        let child = spawned.map_err(|error| {
            remove(&groups);
            Failure { code: ENVIRONMENT, line: format!("cannot start sh for stress-ng: {error}") }
        })?;
        let mut stand_in = Self { child, groups, path };
        // Words that it does not know, or a device without it, end it at once.
        sleep(Duration::from_millis(500));
        match stand_in.child.try_wait() {
            Ok(None) => Ok(stand_in),
            _ => Err(Failure {
                code: ENVIRONMENT,
                line: format!(
                    "`stress-ng {words}` ended at once: is it installed, and does it know these words?"
                ),
            }),
        }
    }

    /// The policy with the stand-in as its only application.
    pub fn in_place_of_applications(&self, policy: &Policy) -> Policy {
        let rule = Rule {
            name: "stress-ng".to_owned(),
            group: Some(self.path.clone()),
            ..Rule::default()
        };
        Policy { applications: vec![rule], ..policy.clone() }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            let members: Vec<u32> =
                self.groups.iter().flat_map(|group| cgroup::members_below(group)).collect();
            for pid in &members {
                // One that has ended meanwhile is what is wanted.
                let _ = linux::process::kill(*pid);
            }
            let _ = self.child.try_wait();
            if members.is_empty() {
                break;
            }
            sleep(PAUSE);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        remove(&self.groups);
    }
}

/// A group that has just lost its last process is busy for a moment.
fn remove(groups: &[PathBuf]) {
    for group in groups {
        for _ in 0..TRIES {
            if cgroup::remove(group).is_ok() || !group.exists() {
                break;
            }
            sleep(PAUSE);
        }
    }
}
