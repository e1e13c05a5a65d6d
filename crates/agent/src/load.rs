//! The load: rounds of commands at fixed moments, which make the subject work.
//!
//! Starts programs, one at a time, in the load's control group, and hears of their end. It never waits
//! but when it is told to stop: the caller says when the time has come and when a child has ended.

use std::{
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use linux::process;
use model::{
    sample::Rounds,
    wire::{LoadOrder, Refusal},
};
use rustix::process::{Pid, Signal};

use crate::programs;

/// A load at work. Dropping it ends the command that runs.
#[derive(Debug)]
pub struct Load {
    commands: Vec<Words>,
    every_ns: u64,
    group: Option<PathBuf>,
    due_ns: u64,
    /// The command that runs, and its place in the round.
    running: Option<(usize, Child)>,
    rounds: Rounds,
}

/// A command's words, and the file that the first one means.
#[derive(Debug)]
struct Words {
    words: Vec<String>,
    program: Option<PathBuf>,
}

impl Load {
    /// A load whose first round is due at `from_ns`.
    pub fn new(order: &LoadOrder, from_ns: u64, group: Option<&Path>) -> Self {
        let words = order.round.iter().filter(|words| !words.is_empty());
        let commands = words
            // Looked up once, so that the search through `PATH` is not part of every round.
            .map(|words| Words { program: programs::resolve(&words[0]), words: words.clone() })
            .collect();
        Self {
            commands,
            every_ns: order.every.as_nanos().max(1),
            group: group.map(Path::to_owned),
            due_ns: from_ns,
            running: None,
            rounds: Rounds::default(),
        }
    }

    /// When the next round is due.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// The rounds so far.
    pub fn rounds(&self) -> Rounds {
        self.rounds
    }

    /// Whether a command runs.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Starts the round that is due at `now_ns`, if one is. Moments that have passed are skipped, and
    /// later ones do not move.
    ///
    /// # Errors
    ///
    /// [`Refusal::Load`] where a program of the first round cannot be started.
    pub fn advance(&mut self, now_ns: u64) -> Result<(), Refusal> {
        if now_ns < self.due_ns {
            return Ok(());
        }
        let moments = (now_ns - self.due_ns) / self.every_ns + 1;
        self.due_ns += moments * self.every_ns;
        if self.is_running() {
            self.rounds.skipped += moments;
            return Ok(());
        }
        self.rounds.skipped += moments - 1;
        self.rounds.started += 1;
        self.start_from(0)
    }

    /// Takes the end of the running command, if it has ended, and starts the next one of the round.
    ///
    /// # Errors
    ///
    /// As [`Load::advance`].
    pub fn child_ended(&mut self) -> Result<(), Refusal> {
        match self.reap() {
            Some(place) => self.start_from(place + 1),
            None => Ok(()),
        }
    }

    /// Takes the end of the running command without starting another.
    pub fn reap(&mut self) -> Option<usize> {
        let (place, child) = self.running.as_mut()?;
        let place = *place;
        let success = match child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => status.success(),
            Err(_) => false,
        };
        self.rounds.failed += u64::from(!success);
        self.running = None;
        Some(place)
    }

    /// Starts the first command from this place on that can be started; none is the round's end.
    fn start_from(&mut self, place: usize) -> Result<(), Refusal> {
        for place in place..self.commands.len() {
            match self.commands[place].start(self.group.as_deref()) {
                Ok(child) => {
                    self.running = Some((place, child));
                    return Ok(());
                }
                Err(refusal) if self.rounds.ended == 0 => return Err(refusal),
                Err(_) => self.rounds.failed += 1,
            }
        }
        self.rounds.ended += 1;
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let Some((_, mut child)) = self.running.take() else { return };
        // The command leads a process group of its own: what it started ends with it.
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        let _ = child.wait();
    }
}

impl Words {
    fn start(&self, group: Option<&Path>) -> Result<Child, Refusal> {
        let program = self.program.as_deref().unwrap_or(Path::new(&self.words[0]));
        let mut command = Command::new(program);
        command.arg0(&self.words[0]).args(&self.words[1..]).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        process::spawn_in(group, command).map_err(|error| Refusal::Load {
            command: self.words.join(" "),
            why: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use model::span::Span;

    use super::*;

    fn load(round: &[&[&str]], every: u64) -> Load {
        let words = |words: &&[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let round = round.iter().map(words).collect();
        Load::new(&LoadOrder { round, every: Span::from_nanos(every) }, 1000, None)
    }

    fn until_ended(load: &mut Load) {
        while load.is_running() {
            std::thread::sleep(std::time::Duration::from_millis(1));
            load.child_ended().unwrap();
        }
    }

    #[test]
    fn a_round_runs_its_commands_one_after_the_other() {
        let mut load = load(&[&["true"], &["false"], &["sh", "-c", "exit 3"]], 100);
        load.advance(999).unwrap();
        assert_eq!(load.rounds(), Rounds::default());
        load.advance(1000).unwrap();
        until_ended(&mut load);
        assert_eq!(load.rounds(), Rounds { started: 1, ended: 1, failed: 2, skipped: 0 });
        assert_eq!(load.due_ns(), 1100);
    }

    #[test]
    fn a_round_that_is_due_while_one_runs_is_skipped_and_later_ones_do_not_move() {
        let mut load = load(&[&["sleep", "60"]], 100);
        load.advance(1003).unwrap();
        load.advance(1101).unwrap();
        load.advance(1399).unwrap();
        assert_eq!(load.rounds(), Rounds { started: 1, ended: 0, failed: 0, skipped: 3 });
        assert_eq!(load.due_ns(), 1400);
    }

    #[test]
    fn moments_that_were_missed_are_skipped() {
        let mut load = load(&[&["true"]], 100);
        load.advance(1250).unwrap();
        assert_eq!((load.rounds().started, load.rounds().skipped), (1, 2));
        assert_eq!(load.due_ns(), 1300);
    }

    #[test]
    fn a_program_that_cannot_start_is_refused_in_the_first_round() {
        let mut load = load(&[&["/no/such/program", "-x"]], 100);
        let Err(Refusal::Load { command, why }) = load.advance(1000) else { panic!("it started") };
        assert_eq!(command, "/no/such/program -x");
        assert!(why.contains("No such file"), "{why}");
    }

    #[test]
    fn a_program_that_vanishes_later_is_a_failure_and_not_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/bin/true", &link).unwrap();
        let mut load = load(&[&[link.to_str().unwrap()]], 100);
        load.advance(1000).unwrap();
        until_ended(&mut load);
        std::fs::remove_file(&link).unwrap();
        load.advance(1100).unwrap();
        assert_eq!(load.rounds(), Rounds { started: 2, ended: 2, failed: 1, skipped: 0 });
    }

    #[test]
    fn what_runs_ends_when_the_load_is_dropped() {
        let mut load = load(&[&["sh", "-c", "sleep 60; true"]], 100);
        load.advance(1000).unwrap();
        let pid = load.running.as_ref().map(|(_, child)| child.id()).unwrap();
        drop(load);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}
