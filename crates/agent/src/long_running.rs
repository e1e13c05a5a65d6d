//! A load of programs that are started together, once, and must run until they are ended.
//!
//! Any other end ends the measurement, and so does one that says “I failed”: a consumer that checks what it reads can
//! thus make the trial invalid.

use std::{
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::ExitStatus,
};

use model::wire::Refusal;
use rustix::process::Signal;

use crate::{
    load::Load,
    resident::{Keep, PATIENCE, Resident},
};

/// The programs, before and after their start. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct LongRunning {
    commands: Vec<Vec<String>>,
    group: Option<PathBuf>,
    due_ns: u64,
    running: Vec<Resident>,
    ending: bool,
}

impl LongRunning {
    pub(crate) fn new(commands: &[Vec<String>], from_ns: u64, group: Option<&Path>) -> Self {
        let commands = commands.iter().filter(|words| !words.is_empty()).cloned().collect();
        let group = group.map(Path::to_owned);
        Self { commands, group, due_ns: from_ns, running: Vec::new(), ending: false }
    }
}

impl Load for LongRunning {
    /// Never again after the start.
    fn due_ns(&self) -> u64 {
        self.due_ns
    }

    fn is_running(&mut self) -> bool {
        self.running.iter_mut().any(|program| program.ended().is_none())
    }

    fn advance(&mut self, now_ns: u64) -> Result<(), Refusal> {
        if now_ns < self.due_ns {
            return Ok(());
        }
        self.due_ns = u64::MAX;
        for words in &self.commands {
            let program = Resident::start(words, self.group.as_deref(), Keep::Errors);
            let refused = |error: std::io::Error| {
                Refusal::new(format!("cannot start the load `{}`", words.join(" ")), error)
            };
            self.running.push(program.map_err(refused)?);
        }
        Ok(())
    }

    /// Looks whether one of them has ended that should not have, or not like this.
    fn child_ended(&mut self) -> Result<(), Refusal> {
        let ending = self.ending;
        let failed = self.running.iter_mut().find_map(|program| {
            let status = program.ended()?;
            (!ending || !is_good(status)).then(|| obituary(program))
        });
        failed.map_or(Ok(()), Err)
    }

    fn wind_up(&mut self) -> Result<(), Refusal> {
        // One may have ended just before.
        self.child_ended()?;
        self.ending = true;
        self.running.iter_mut().for_each(Resident::ask_to_end);
        Ok(())
    }

    fn reap(&mut self) -> Result<(), Refusal> {
        self.child_ended()
    }

    /// Those that still run could not say whether they were content.
    fn kill(&mut self) -> Result<(), Refusal> {
        let mut left = self.running.iter_mut().filter_map(|program| {
            let runs = program.ended().is_none();
            runs.then(|| program.line().to_owned())
        });
        let Some(command) = left.next() else { return Ok(()) };
        self.running.iter_mut().for_each(Resident::kill);
        let patience = PATIENCE.as_secs();
        Err(Refusal::plain(format!(
            "the load `{command}` did not end within {patience} s of SIGTERM and was killed"
        )))
    }
}

impl Drop for LongRunning {
    fn drop(&mut self) {
        // All are asked before the first is waited for.
        self.running.iter_mut().for_each(Resident::ask_to_end);
    }
}

/// How a program may end that was asked to: content, or by the signal that asked.
fn is_good(status: ExitStatus) -> bool {
    status.success() || status.signal() == Some(Signal::TERM.as_raw())
}

fn obituary(program: &Resident) -> Refusal {
    Refusal::new(format!("the load `{}` ended by itself", program.line()), program.obituary())
}

#[cfg(test)]
mod tests {
    use std::{thread::sleep, time::Duration};

    use super::*;

    fn programs(scripts: &[&str]) -> LongRunning {
        let words = |script: &&str| ["sh", "-c", script].map(str::to_owned).to_vec();
        let commands: Vec<_> = scripts.iter().map(words).collect();
        let mut programs = LongRunning::new(&commands, 1000, None);
        programs.advance(1000).unwrap();
        programs
    }

    fn until_over(programs: &mut LongRunning) {
        assert!((0..1000).any(|_| {
            sleep(Duration::from_millis(5));
            !programs.is_running()
        }));
    }

    #[test]
    fn all_start_together_when_they_are_due_and_never_again() {
        let sleep = ["sleep", "60"].map(str::to_owned).to_vec();
        let mut programs = LongRunning::new(&[sleep.clone(), Vec::new(), sleep], 1000, None);
        programs.advance(999).unwrap();
        assert_eq!((programs.due_ns(), programs.is_running()), (1000, false));
        programs.advance(1003).unwrap();
        programs.advance(9999).unwrap();
        assert_eq!((programs.due_ns(), programs.running.len()), (u64::MAX, 2));
    }

    #[test]
    fn one_that_ends_content_or_by_the_signal_is_good() {
        let content = "trap 'exit 0' TERM; while :; do sleep 0.01; done";
        let mut programs = programs(&["sleep 60", content]);
        sleep(Duration::from_millis(300));
        programs.wind_up().unwrap();
        until_over(&mut programs);
        programs.child_ended().unwrap();
        programs.kill().unwrap();
    }

    #[test]
    fn one_that_does_not_end_is_killed_and_reported() {
        let mut programs = programs(&["trap '' TERM; while :; do sleep 0.01; done"]);
        sleep(Duration::from_millis(300));
        programs.wind_up().unwrap();
        sleep(Duration::from_millis(100));
        let why = programs.kill().unwrap_err().to_string();
        assert!(why.contains("SIGTERM") && !programs.is_running(), "{why}");
    }
}
