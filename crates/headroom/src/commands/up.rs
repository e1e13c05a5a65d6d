//! `headroom up`: an access point with clients to play with, as a shell, a script or one command.
//!
//! The access point's console is a serial line with a shell. A person's terminal is joined to it in
//! raw mode; a script or a command is wrapped in two marks, and what stands between them is its output.

#![expect(clippy::print_stderr, reason = "a verb talks to the person who typed it")]

use std::{
    io::{self, IsTerminal, Read, Write},
    net::{Ipv4Addr, TcpListener},
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use lab::{
    Lab, image,
    study_file::{MOST_RADIOS, STATIONS_A_RADIO},
    uploads,
    vm::{self, Forward, Machine, Shape, snapshot},
};
use model::{name::RelativePath, plural::count, study::Mode};
use rustix::termios::{self, OptionalActions, Termios};

use crate::{
    failure::{Failure, Verdict},
    flags::{self, ModeWord},
    options::Options,
};

/// Ctrl-], as telnet has it: no shell wants this key.
const LEAVE: u8 = 0x1d;

/// A word that the shell prints around a command's output. It is assembled by the shell, so that the
/// echo of the command line does not look like it.
const BEGIN: &str = "headroom-begin";
const END: &str = "headroom-end";

pub(crate) fn raise(options: &Options, flags: &flags::Up) -> Result<Verdict, Failure> {
    check(flags.clients, flags.radios)?;
    flags.forward.map_or(Ok(()), is_free)?;
    let programs = flags.with.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let mut lab = options.lab_apart_from_output()?;
    lab.cache = lab.cache.trusting_unchanged_files();
    let image = image::obtain(&lab, &[])?;
    let mode = match flags.mode {
        ModeWord::Counted => Mode::Counted,
        ModeWord::RealTime => Mode::RealTime,
    };
    let shape = Shape {
        accelerator: vm::accelerator(&lab, &image, mode),
        shell: true,
        forward: flags.forward,
        ..Shape::new(lab.settings.arch, mode, flags.radios, flags.clients)
    };
    let snapshot = snapshot::obtain(&lab, &image, &shape)?;
    let folder = tempfile::tempdir().map_err(|error| {
        Failure::Environment(format!("cannot make a temporary folder: {error}"))
    })?;
    let mut machine = snapshot.restore(&lab, &folder.path().join("console.log"), None)?;
    if let Some(Forward { host, guest }) = shape.forward.filter(|_| !options.quiet) {
        eprintln!("127.0.0.1:{host} here leads to port {guest} of the access point");
    }
    let lost =
        |error: io::Error| Failure::Environment(format!("the access point's console: {error}"));
    let console = machine.tap_console().map_err(lost)?;
    machine.go()?;
    for (name, content) in &programs {
        uploads::put(&mut machine, name, content)?;
    }
    let opening = shape.forward.map(|forward| forward.relay()).unwrap_or_default();
    let mut session = Session { lab: &lab, machine, console };
    if flags.command.is_empty() && io::stdin().is_terminal() {
        if !options.quiet {
            eprintln!(
                "the access point is up; clients are in the namespace `clients`; Ctrl-] leaves"
            );
        }
        return session.join_terminal(&opening).map_err(lost);
    }
    let script = match flags.command.is_empty() {
        true => io::read_to_string(io::stdin()).map_err(lost)?,
        false => quoted(&flags.command),
    };
    let verdict = session.run(&format!("{opening}\n{script}")).map_err(lost)?;
    if verdict == Verdict::Invalid {
        eprintln!("headroom: the access point ended before the command did");
    }
    Ok(verdict)
}

fn read(named: &(String, PathBuf)) -> Result<(RelativePath, Vec<u8>), Failure> {
    let (name, path) = named;
    let wrong = |_| {
        Failure::Usage(format!(
            "--with {name}: a program's name is a path below /run/headroom/put, without .."
        ))
    };
    Ok((name.parse().map_err(wrong)?, uploads::read(path)?))
}

/// Whether so many radios can have so many clients.
pub(super) fn check(clients: u32, radios: u32) -> Result<(), Failure> {
    if !(1..=MOST_RADIOS).contains(&radios) {
        return Err(Failure::Usage(format!("--radios {radios}: there are 1 to {MOST_RADIOS}")));
    }
    let most = radios * STATIONS_A_RADIO;
    if clients > most {
        let radios = count(radios, "radio");
        return Err(Failure::Usage(format!("--clients {clients}: {radios} can hold {most}")));
    }
    Ok(())
}

/// Reported before any long work: QEMU would say so only once the guest is there.
fn is_free(Forward { host, guest }: Forward) -> Result<(), Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, host)).map(drop).map_err(|error| {
        Failure::Environment(format!(
            "cannot listen on 127.0.0.1:{host}: {error}; choose another port, as in --forward PORT:{guest}"
        ))
    })
}

/// A command's words as a shell reads them back.
fn quoted(command: &[String]) -> String {
    // One word may be a whole script, as with ssh.
    if let [script] = command {
        return script.clone();
    }
    let quote = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    command.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// A running access point and its console.
struct Session<'a> {
    lab: &'a Lab,
    machine: Machine,
    console: UnixStream,
}

impl Session<'_> {
    /// Types a script and copies what it prints, until it ends.
    fn run(&mut self, script: &str) -> io::Result<Verdict> {
        self.console.set_read_timeout(Some(Duration::from_millis(100)))?;
        // The script goes through a file, so that its size and its quotes are its own affair.
        let typed = format!(
            "stty -echo\ncat > /tmp/script <<'headroom-script'\n{script}\nheadroom-script\n\
             printf '%s-%s\\n' headroom begin; sh /tmp/script </dev/null; printf '\\n%s-%s %s\\n' headroom end $?\n"
        );
        type_slowly(&mut self.console, typed.as_bytes())?;
        let mut between = Between::default();
        let mut buffer = [0; 4096];
        loop {
            if self.lab.cancel.is_stopped() {
                return Ok(Verdict::Command(crate::failure::INTERRUPTED));
            }
            match self.console.read(&mut buffer) {
                Ok(0) => return Ok(Verdict::Invalid),
                Ok(length) => {
                    let (text, end) = between.take(&buffer[..length]);
                    if !is_read(io::stdout().write_all(&text).and_then(|()| io::stdout().flush()))?
                    {
                        return Ok(Verdict::Pass);
                    }
                    if let Some(code) = end {
                        return Ok(Verdict::Command(code));
                    }
                }
                Err(error) if waits(&error) && self.machine.has_ended() => {
                    return Ok(Verdict::Invalid);
                }
                Err(error) if waits(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Joins a person's terminal to the console, whose shell runs the script first.
    fn join_terminal(&mut self, script: &str) -> io::Result<Verdict> {
        let _raw = Raw::enter()?;
        let size = termios::tcgetwinsize(io::stdout())?;
        let greeting = format!("stty rows {} cols {}\n{script}\n", size.ws_row, size.ws_col);
        type_slowly(&mut self.console, greeting.as_bytes())?;
        let left = AtomicBool::new(false);
        let mut keyboard = self.console.try_clone()?;
        self.console.set_read_timeout(Some(Duration::from_millis(100)))?;
        thread::scope(|scope| {
            scope.spawn(|| forward_keys(&mut keyboard, &left));
            let shown = self.show(&left);
            left.store(true, Ordering::SeqCst);
            shown
        })?;
        Ok(Verdict::Pass)
    }

    /// The console's bytes to the screen, until somebody leaves or the access point ends.
    fn show(&mut self, left: &AtomicBool) -> io::Result<()> {
        let mut buffer = [0; 4096];
        while !left.load(Ordering::SeqCst)
            && !self.lab.cancel.is_stopped()
            && !self.machine.has_ended()
        {
            match self.console.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => {
                    io::stdout().write_all(&buffer[..length])?;
                    io::stdout().flush()?;
                }
                Err(error) if waits(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether anybody still reads what was written. Anyone who left, as `head` does, has what it wanted.
fn is_read(written: io::Result<()>) -> io::Result<bool> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}

fn waits(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

/// A serial line has a small buffer, and a terminal's line no more than 4095 bytes.
fn type_slowly(console: &mut UnixStream, bytes: &[u8]) -> io::Result<()> {
    for piece in bytes.chunks(256) {
        console.write_all(piece)?;
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Finds what stands between the marks, in bytes that come in pieces.
#[derive(Debug, Default)]
struct Between {
    begun: bool,
    pending: Vec<u8>,
    /// An empty line is shown when another one follows: the last one belongs to the end mark.
    empty: bool,
}

impl Between {
    /// What can be shown now, and the script's exit code once it has ended.
    fn take(&mut self, bytes: &[u8]) -> (Vec<u8>, Option<u8>) {
        self.pending.extend(bytes.iter().filter(|byte| **byte != b'\r'));
        let mut shown = Vec::new();
        while let Some(at) = self.pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=at).collect();
            let text = String::from_utf8_lossy(&line);
            if let Some(code) = text.trim_end().strip_prefix(&format!("{END} ")) {
                return (shown, Some(code.parse().unwrap_or(1)));
            }
            if self.begun {
                if std::mem::replace(&mut self.empty, line == b"\n") {
                    shown.push(b'\n');
                }
                if !self.empty {
                    shown.extend(line);
                }
            } else {
                self.begun = text.trim_end().ends_with(BEGIN);
            }
        }
        (shown, None)
    }
}

/// The keyboard's bytes to the console, until the key that leaves.
fn forward_keys(console: &mut UnixStream, left: &AtomicBool) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = io::stdin();
    let mut buffer = [0; 256];
    let glance = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    while !left.load(Ordering::SeqCst) {
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        if !matches!(poll(&mut ready, Some(&glance)), Ok(1..)) {
            continue;
        }
        let Ok(length @ 1..) = rustix::io::read(&stdin, &mut buffer) else { break };
        if buffer[..length].contains(&LEAVE) || console.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    left.store(true, Ordering::SeqCst);
}

/// The terminal in raw mode as long as this lives.
struct Raw(Termios);

impl Raw {
    fn enter() -> io::Result<Self> {
        let before = termios::tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self(before))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        eprintln!("\r");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_is_shown() {
        let mut between = Between::default();
        let all =
            b"ap# stty -echo\r\nap# headroom-begin\r\nwlan0\r\n\r\nwlan1\r\n\r\nheadroom-end 3\r\nap# ";
        let (mut shown, mut code) = (Vec::new(), None);
        for byte in all {
            let (text, end) = between.take(&[*byte]);
            shown.extend(text);
            code = code.or(end);
        }
        assert_eq!(String::from_utf8(shown).unwrap(), "wlan0\n\nwlan1\n");
        assert_eq!(code, Some(3));
    }

    #[test]
    fn words_survive_the_shell() {
        let words = ["echo", "it's", "a b"].map(str::to_owned);
        assert_eq!(quoted(&words), r"'echo' 'it'\''s' 'a b'");
        assert_eq!(quoted(&["iw dev | wc".to_owned()]), "iw dev | wc");
    }
}
