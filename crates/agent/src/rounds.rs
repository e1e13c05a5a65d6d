//! A load of rounds: commands at fixed moments, one at a time, which make the subject work.
//!
//! The caller says when the time has come and when a child has ended.

use std::{
    path::{Path, PathBuf},
    process::{Child, ExitStatus},
};

use linux::system::monotonic_ns;
use model::{
    sample::{LoadFailure, Rounds},
    span::Span,
    wire::Refusal,
};
use rustix::process::Signal;

use crate::{
    load::Load,
    reading::{LONGEST, Output},
    transcript::Transcript,
    words::{self, Words},
};

#[derive(Debug, Default)]
pub(crate) struct Replies {
    pub(crate) due_ns: u64,
    pub(crate) started_ns: u64,
    /// Each command that ended well, by its place in the round: when it had ended, ns, and what it said.
    pub(crate) said: Vec<(usize, u64, Output)>,
}

/// Rounds at work. Dropping it ends the command that runs.
#[derive(Debug)]
pub(crate) struct RoundLoad {
    commands: Vec<Words>,
    every_ns: u64,
    group: Option<PathBuf>,
    due_ns: u64,
    /// The command that runs, and its place in the round.
    running: Option<(usize, Child)>,
    rounds: Rounds,
    /// What the commands write on their standard error, in memory: that of the first failure is told. `None` where
    /// the kernel has no such files, or once nobody asks any more.
    said: Option<Transcript>,
    /// The first command that failed: how, and what it said.
    failed: Option<(usize, String)>,
    succeeded: bool,
    /// What the commands of this round said; `None` where nobody listens. All rounds are listened to alike, so that none
    /// can be known from the others.
    heard: Option<Replies>,
    /// Where the command that runs writes.
    hearing: Option<Output>,
    /// The last round that has ended, where somebody listens.
    ended: Option<Replies>,
}

impl RoundLoad {
    /// Rounds of these commands, the first of which is due at `from_ns`.
    pub(crate) fn new(
        commands: &[Vec<String>],
        from_ns: u64,
        every: Span,
        group: Option<&Path>,
    ) -> Self {
        let words = commands.iter().filter(|words| !words.is_empty());
        Self {
            commands: words.map(|words| Words::new(words)).collect(),
            every_ns: every.as_nanos().max(1),
            group: group.map(Path::to_owned),
            due_ns: from_ns,
            running: None,
            rounds: Rounds::default(),
            said: Transcript::new().ok(),
            failed: None,
            succeeded: false,
            heard: None,
            hearing: None,
            ended: None,
        }
    }

    /// Takes the end of the running command, if it has ended: its place in the round.
    fn take_ended(&mut self) -> Option<usize> {
        let (place, child) = self.running.as_mut()?;
        let place = *place;
        let status = match child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => Some(status),
            Err(_) => None,
        };
        self.take_end(place, status);
        self.running = None;
        Some(place)
    }

    fn take_end(&mut self, place: usize, status: Option<ExitStatus>) {
        let said = self.hearing.take();
        if status.is_some_and(|status| status.success()) {
            self.succeeded = true;
            if let (Some(heard), Some(said)) = (&mut self.heard, said) {
                heard.said.push((place, monotonic_ns(), said));
            }
            return;
        }
        self.rounds.failed += 1;
        if let (None, Some(status)) = (&self.failed, status) {
            let words = self.said.as_ref().and_then(Transcript::last_words);
            let words = words.map(|words| format!(": {words}")).unwrap_or_default();
            self.failed = Some((place, format!("{status}{words}")));
            self.said = None;
        }
    }

    /// Starts the first command from this place on that can be started; none is the round's end.
    fn start_from(&mut self, place: usize) -> Result<(), Refusal> {
        for place in place..self.commands.len() {
            let hearing = self.heard.is_some().then(|| Output::new(LONGEST)).transpose();
            let started = hearing.map_err(|error| refused(&self.commands[place], &error));
            let started = started.and_then(|hearing| {
                self.hearing = hearing;
                self.start(&self.commands[place])
            });
            match started {
                Ok(child) => {
                    self.running = Some((place, child));
                    return Ok(());
                }
                Err(refusal) if self.rounds.ended == 0 => return Err(refusal),
                Err(_) => self.rounds.failed += 1,
            }
        }
        self.rounds.ended += 1;
        self.ended = self.heard.as_mut().map(std::mem::take);
        Ok(())
    }

    fn start(&self, words: &Words) -> Result<Child, Refusal> {
        let direct = |command: &mut std::process::Command| {
            if let Some(said) = &self.said {
                said.clear()?;
                command.stderr(said.writer()?);
            }
            self.hearing.as_ref().map_or(Ok(()), |hearing| hearing.direct(command))
        };
        words.start(self.group.as_deref(), direct).map_err(|error| refused(words, &error))
    }
}

impl Load for RoundLoad {
    fn due_ns(&self) -> u64 {
        self.due_ns
    }

    fn is_running(&mut self) -> bool {
        self.running.is_some()
    }

    /// Moments that have passed are skipped, and later ones do not move.
    fn advance(&mut self, now_ns: u64) -> Result<(), Refusal> {
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
        if let Some(heard) = &mut self.heard {
            let due_ns = self.due_ns - self.every_ns;
            *heard = Replies { due_ns, started_ns: now_ns, said: Vec::new() };
        }
        self.start_from(0)
    }

    fn child_ended(&mut self) -> Result<(), Refusal> {
        self.take_ended().map_or(Ok(()), |place| self.start_from(place + 1))
    }

    /// A round may end by itself. A load of which not one command has ended well made nothing work.
    fn wind_up(&mut self) -> Result<(), Refusal> {
        match &self.failed {
            Some((place, why)) if !self.succeeded && self.rounds.ended > 0 => {
                let what = format!("the load `{}` ended by itself", self.commands[*place].line());
                let failed = self.rounds.failed;
                let why = format!("each of its {failed} commands failed, the first with {why}");
                Err(Refusal::new(what, why))
            }
            _ => Ok(()),
        }
    }

    fn reap(&mut self) -> Result<(), Refusal> {
        self.take_ended();
        Ok(())
    }

    fn rounds(&self) -> Rounds {
        self.rounds
    }

    fn failure(&self) -> Option<LoadFailure> {
        let (place, why) = self.failed.as_ref()?;
        Some(LoadFailure { command: self.commands[*place].line(), why: why.clone() })
    }

    fn listen(&mut self) {
        self.heard = Some(Replies::default());
    }

    fn take_heard(&mut self) -> Option<Replies> {
        self.ended.take()
    }
}

fn refused(words: &Words, error: &std::io::Error) -> Refusal {
    Refusal::new(format!("cannot start the load `{}`", words.line()), error)
}

impl Drop for RoundLoad {
    fn drop(&mut self) {
        let Some((_, mut child)) = self.running.take() else { return };
        words::signal(&child, Signal::KILL);
        let _ = child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(round: &[&[&str]], every: u64) -> RoundLoad {
        let words = |words: &&[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let round: Vec<Vec<String>> = round.iter().map(words).collect();
        RoundLoad::new(&round, 1000, Span::from_nanos(every), None)
    }

    fn until_ended(load: &mut RoundLoad) {
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
}
