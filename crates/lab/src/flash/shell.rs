//! One script on a device, by ssh, from its start to its end: with an input, a deadline, and a limit for what it says.

use std::{
    io::{self, Read},
    os::unix::process::CommandExt,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    Cancel, Error,
    host::{self, Leave},
    last_words::LastWords,
    remote::Destination,
};

/// So much of an answer is read, bytes.
const LONGEST: u64 = 1 << 20;

/// How ssh ends where it is ssh that failed: ssh(1), EXIT STATUS.
const SSH_FAILED: i32 = 255;

/// ssh gives up a device that does not let it in, and one that falls silent.
const OPTIONS: [&str; 10] = [
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=4",
    "-n",
];

const PACE: Duration = Duration::from_millis(20);

/// What a script says, and with what code it ends.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: i32,
    pub(super) output: String,
    /// The end of its error output.
    pub(super) said: String,
}

/// Where scripts run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shell<'a> {
    pub(super) destination: &'a Destination,
    pub(super) cancel: &'a Cancel,
}

impl Shell<'_> {
    /// Runs a script that reads nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`], also where it is not done in time; [`Error::Interrupted`].
    pub(super) fn run(&self, script: &str, limit: Duration) -> Result<Answer, Error> {
        self.carry_out(script, limit, None::<io::Empty>)
    }

    /// Runs a script that reads this.
    pub(super) fn run_with(
        &self,
        script: &str,
        limit: Duration,
        input: impl Read + Send + 'static,
    ) -> Result<Answer, Error> {
        self.carry_out(script, limit, Some(input))
    }

    fn carry_out(
        &self,
        script: &str,
        limit: Duration,
        input: Option<impl Read + Send + 'static>,
    ) -> Result<Answer, Error> {
        self.cancel.check()?;
        host::require("ssh", "openssh-client")?;
        let options = if input.is_some() { &OPTIONS[..9] } else { &OPTIONS[..] };
        let mut command = host::bound("TERM");
        command.arg("ssh").args(options).args(self.destination.arguments()).arg(script);
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(Error::file("start", "ssh"))?;
        if let (Some(mut to), Some(mut input)) = (child.stdin.take(), input) {
            // It ends when ssh does; what is missing is missed by the script.
            thread::spawn(move || io::copy(&mut input, &mut to));
        }
        let said = child.stderr.take().map(LastWords::of);
        let output = child.stdout.take();
        let reader = thread::spawn(move || {
            let mut bytes = Vec::new();
            output.map(|output| output.take(LONGEST).read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let status = self.wait(&mut child, limit);
        let said = said.as_ref().map(LastWords::message).unwrap_or_default();
        let unreachable =
            |said: String| Error::Unreachable { address: self.destination.to_string(), said };
        let code = match status? {
            None => return Err(unreachable(format!("no answer for {} s", limit.as_secs()))),
            Some(SSH_FAILED) => return Err(unreachable(said)),
            Some(code) => code,
        };
        Ok(Answer { code, output: reader.join().unwrap_or_default(), said })
    }

    /// Its exit code; `None` where it was not done in time, and was ended.
    fn wait(&self, child: &mut Child, limit: Duration) -> Result<Option<i32>, Error> {
        let until = Instant::now() + limit;
        loop {
            if let Some(status) = child.try_wait().map_err(Error::file("wait for", "ssh"))? {
                return Ok(Some(status.code().unwrap_or(SSH_FAILED)));
            }
            let is_stopped = self.cancel.is_stopped();
            if is_stopped || Instant::now() > until {
                let at_once = Duration::ZERO;
                let leave = Leave { by_itself: at_once, after_signal: at_once, with_group: true };
                host::see_off(child, leave);
                return if is_stopped { Err(Error::Interrupted) } else { Ok(None) };
            }
            thread::sleep(PACE);
        }
    }
}
