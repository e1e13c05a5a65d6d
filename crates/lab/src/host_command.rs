//! Commands on this machine that do something to a device: those of its device file.
//!
//! Each leads a process group, has a deadline, and ends with its group when headroom ends, also after `kill -9`. What
//! one leaves in the background once it is done is its own: a daemon, a virtual machine. It says what the end of its
//! error output says.

use std::{
    env,
    ffi::OsStr,
    fs::File,
    io::{Read, Seek, SeekFrom},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use crate::{
    Cancel, Error,
    device_file::{self, DeviceFile},
    host::{self, Leave},
};

pub const DEADLINE: Duration = Duration::from_secs(300);

/// How a command ends where another user holds the device: `EX_TEMPFAIL` of sysexits.h.
const HELD: i32 = 75;

const LOOK: Duration = Duration::from_millis(50);

/// What is kept of the end of its output and of its error output, bytes.
const KEPT: [u64; 2] = [1 << 20, 4 << 10];

/// Runs a program and ends its group when it gets SIGTERM, as the kernel sends it when headroom ends: what the program
/// started would else outlive it. A second is left to put things right. What runs behind `&` reads nothing unless it is
/// told to.
const LEADER: &str = r#"exec 3<&0; trap 'trap "" TERM; kill -TERM 0; sleep 1; kill -KILL 0' TERM; "$@" <&3 3<&- & wait "$!""#;

/// The leader takes a second from SIGTERM to its end.
const AFTER_SIGNAL: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug)]
pub struct HostCommand<'a> {
    /// The device that it is for, as messages call it.
    pub device: &'a str,
    /// What it is in the file, as `[power] on`.
    pub name: &'a str,
    pub text: &'a str,
    pub folder: &'a Path,
    pub values: &'a [(&'a str, &'a OsStr)],
    pub deadline: Duration,
}

impl<'a> HostCommand<'a> {
    /// This one of the device's file, with the usual deadline and no values.
    pub fn of(device: &'a DeviceFile, name: &'a str, command: &'a device_file::Command) -> Self {
        let DeviceFile { name: of, folder, .. } = device;
        Self { device: of, name, text: &command.0, folder, values: &[], deadline: DEADLINE }
    }

    /// The same as a program that lives on without headroom.
    pub(crate) fn by_itself(&self) -> Command {
        self.said_to(Command::new("sh"))
    }

    fn said_to(&self, mut shell: Command) -> Command {
        shell.args(["-c", self.text]).current_dir(self.folder).envs(self.values.iter().copied());
        shell
    }

    /// Runs it to its end: the end of its output.
    pub fn run(&self, cancel: &Cancel) -> Result<String, Error> {
        let command = self.said_to(in_group("sh"));
        let ended = finish(command, self.deadline, cancel)?;
        let said = ended.last_line();
        match ended.code() {
            Some(0) => Ok(ended.output),
            Some(HELD) => {
                let by = if said.is_empty() { "somebody else" } else { said };
                Err(Error::Held { device: self.device.to_owned(), by: by.to_owned() })
            }
            _ => {
                let tail = if said.is_empty() { "it said nothing" } else { said }.to_owned();
                let program = format!("`{}` of {}", self.name, self.device);
                Err(ended.failure(&program, self.deadline, tail))
            }
        }
    }
}

/// A program in a process group that ends when this process does: add its arguments. As for [`host::bound`], the thread
/// that starts it must live as long as it.
pub(crate) fn in_group(program: impl AsRef<OsStr>) -> Command {
    let mut command = host::bound("TERM");
    command.args(["sh", "-c", LEADER, "sh"]).arg(program).process_group(0);
    command.stdin(Stdio::null());
    command
}

#[derive(Debug)]
pub(crate) struct Exit {
    /// `None`: it was ended, because its time was over.
    status: Option<ExitStatus>,
    pub(crate) output: String,
    said: String,
}

impl Exit {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    pub(crate) fn failure(&self, program: &str, deadline: Duration, tail: String) -> Error {
        let status = match self.status {
            Some(status) => status.to_string(),
            None => format!("not done within {} s, so it was ended", deadline.as_secs()),
        };
        Error::Program { program: program.to_owned(), status, tail }
    }

    pub(crate) fn said(&self) -> &str {
        &self.said
    }

    /// The end of its error output in one line.
    pub(crate) fn words(&self) -> String {
        self.said.trim().replace('\n', "; ")
    }

    /// The last line of its error output that says anything.
    pub(crate) fn last_line(&self) -> &str {
        let mut lines = self.said.lines().rev().map(str::trim);
        lines.find(|line| !line.is_empty()).unwrap_or_default()
    }
}

/// Runs a program that [`in_group`] began to its end, or to its deadline's.
pub(crate) fn finish(
    mut command: Command,
    deadline: Duration,
    cancel: &Cancel,
) -> Result<Exit, Error> {
    cancel.check()?;
    // Files rather than pipes: what it leaves in the background may go on writing.
    let temporary = || tempfile::tempfile().map_err(Error::file("make a file in", env::temp_dir()));
    let (mut output, mut said) = (temporary()?, temporary()?);
    let copy = |file: &File| file.try_clone().map_err(Error::file("write", env::temp_dir()));
    command.stdout(copy(&output)?).stderr(copy(&said)?);
    let mut child = command.spawn().map_err(Error::file("start", "setpriv"))?;
    let status = wait(&mut child, deadline, cancel)?;
    Ok(Exit { status, output: end_of(&mut output, KEPT[0]), said: end_of(&mut said, KEPT[1]) })
}

/// `None` where it was ended because its time was over.
fn wait(
    child: &mut Child,
    deadline: Duration,
    cancel: &Cancel,
) -> Result<Option<ExitStatus>, Error> {
    let until = Instant::now() + deadline;
    while !host::has_ended_within(child, LOOK) {
        let is_over = Instant::now() >= until;
        if is_over || cancel.is_stopped() {
            end(child);
            return if is_over { Ok(None) } else { Err(Error::Interrupted) };
        }
    }
    child.wait().map(Some).map_err(Error::file("wait for", "setpriv"))
}

/// Ends a program that [`in_group`] began, with all that it started.
pub(crate) fn end(child: &mut Child) {
    let leave = Leave { by_itself: Duration::ZERO, after_signal: AFTER_SIGNAL, with_group: true };
    host::see_off(child, leave);
}

fn end_of(file: &mut File, most: u64) -> String {
    let mut bytes = Vec::new();
    let length = file.seek(SeekFrom::End(0)).unwrap_or_default();
    // What cannot be read is not said.
    let _ = file.seek(SeekFrom::Start(length.saturating_sub(most)));
    let _ = file.take(most).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use super::*;

    fn command<'a>(text: &'a str, folder: &'a Path) -> HostCommand<'a> {
        let (device, name) = ("ap", "[power] on");
        HostCommand { device, name, text, folder, values: &[], deadline: DEADLINE }
    }

    fn error_of(text: &str) -> String {
        command(text, Path::new(".")).run(&Cancel::default()).unwrap_err().to_string()
    }

    /// Processes with this word on their command line; it stands there in no other.
    fn running(word: &str) -> usize {
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let lines = pids.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        lines.filter(|line| String::from_utf8_lossy(line).contains(word)).count()
    }

    /// A command that goes on for as many seconds, in a child of its shell, and is known by that number.
    fn endless(seconds: u32) -> (String, String) {
        let word = format!("{seconds}.{}", std::process::id());
        (format!("sleep {word} & sleep {word}"), word)
    }

    #[test]
    fn a_command_runs_in_its_folder_with_its_values_in_the_environment() {
        let folder = tempfile::tempdir().unwrap();
        let values = [("HEADROOM_IMAGE", OsStr::new("an image; touch no"))];
        let text = "printf %s \"$HEADROOM_IMAGE\" >made";
        let command = HostCommand { values: &values, ..command(text, folder.path()) };
        command.run(&Cancel::default()).unwrap();
        let made = fs::read_to_string(folder.path().join("made")).unwrap();
        assert_eq!(made, "an image; touch no");
        assert!(!folder.path().join("no").exists());
    }

    #[test]
    fn what_it_says_last_is_its_reason_and_75_is_that_somebody_else_holds_the_device() {
        let failed = "`[power] on` of ap failed (exit status: ";
        for (text, expected) in [
            ("echo first >&2; echo no such outlet >&2; echo; exit 3", "3): no such outlet"),
            ("exit 1", "1): it said nothing"),
        ] {
            assert_eq!(error_of(text), format!("{failed}{expected}"));
        }
        assert!(error_of("no-such-program").contains("not found"));
        let held = error_of("echo alice, until five >&2; exit 75");
        assert_eq!(held, "ap is held by alice, until five; wait until it is free");
        assert!(error_of("exit 75").starts_with("ap is held by somebody else; "));
    }

    #[test]
    fn one_that_takes_too_long_or_is_waited_for_no_more_ends_with_all_that_it_started() {
        let (text, word) = endless(3001);
        let deadline = Duration::from_millis(300);
        let command = HostCommand { deadline, ..command(&text, Path::new(".")) };
        let error = command.run(&Cancel::default()).unwrap_err().to_string();
        assert!(error.contains("not done within 0 s, so it was ended"), "{error}");
        assert_eq!(running(&word), 0);
        let cancel = Cancel::default();
        let stopping = cancel.clone();
        let stopper = thread::spawn(move || {
            thread::sleep(deadline);
            stopping.stop();
        });
        let command = HostCommand { deadline: DEADLINE, ..command };
        assert!(matches!(command.run(&cancel), Err(Error::Interrupted)));
        assert_eq!(running(&word), 0);
        stopper.join().unwrap();
    }

    #[test]
    fn what_a_command_leaves_in_the_background_goes_on() {
        // Not for long: no one ends it.
        let (_, word) = endless(5);
        command(&format!("sleep {word} &"), Path::new(".")).run(&Cancel::default()).unwrap();
        assert_eq!(running(&word), 1);
    }

    #[test]
    #[ignore = "it is run, and killed, by the test below"]
    fn a_process_that_waits_for_a_command() {
        let word = env::var("HEADROOM_TEST_WORD").unwrap();
        let text = format!("sleep {word} & sleep {word}");
        command(&text, Path::new(".")).run(&Cancel::default()).unwrap();
    }

    #[test]
    fn it_ends_when_whoever_waits_for_it_is_killed() {
        let (_, word) = endless(3004);
        let mut command = Command::new(env::current_exe().unwrap());
        let name = "host_command::tests::a_process_that_waits_for_a_command";
        command.args(["--ignored", "--exact", name]).env("HEADROOM_TEST_WORD", &word);
        let mut waiting = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let wait_for = |what: &str, is_so: &dyn Fn() -> bool| {
            let until = Instant::now() + Duration::from_secs(10);
            while !is_so() {
                assert!(Instant::now() < until, "{what}");
                thread::sleep(Duration::from_millis(10));
            }
        };
        wait_for("its two sleeps never ran", &|| running(&format!("sleep\0{word}")) == 2);
        waiting.kill().unwrap();
        waiting.wait().unwrap();
        wait_for("it outlived its parent", &|| running(&word) == 0);
    }
}
