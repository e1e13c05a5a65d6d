//! One running QEMU, and what can be asked of it.
//!
//! It lives as long as this process and no longer: [`host::bound`] has the kernel end it even after a
//! `kill -9` of headroom, and [`Drop`] ends it in every other case. The death signal belongs to the
//! thread that started QEMU, so a [`Machine`] stays on the thread that made it.

use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    path::Path,
    process::{Child, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use command_fds::{CommandFdExt, FdMapping};
use model::{
    study::Mode,
    wire::{Decoder, Frame, Order, PROTOCOL, encode},
};
use serde_json::json;

use super::{Failure, QEMU, Shape, arguments, console::Console, qmp::Qmp};
use crate::{Cancel, Error, cache_model::Attached, device::Device, host, image::Image};

/// How often a wait looks for bad news.
const GLANCE: Duration = Duration::from_millis(50);

/// Answers on the control channel after which QEMU has read what was sent on another one. Two were
/// not always enough: one trial in eight was an instruction off.
const ROUNDS: usize = 10;

/// What a machine starts from.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a> {
    /// The kernel.
    Boot(&'a Image),
    /// A snapshot's file; the machine then waits for [`Machine::go`].
    Restore(&'a Path),
    /// The same with a model of caches that watches the machine.
    Modelled(&'a Path, &'a Attached),
}

/// A running virtual access point.
#[derive(Debug)]
pub struct Machine {
    qemu: Child,
    qmp: Qmp,
    agent: UnixStream,
    decoder: Decoder,
    console: Console,
    stderr: Option<JoinHandle<String>>,
    patience: Duration,
    cancel: Cancel,
}

/// What a machine needs of its surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Where its console is kept.
    pub console_log: &'a Path,
    /// The folder that it works in.
    pub folder: &'a Path,
    /// How long it may be silent.
    pub patience: Duration,
    /// The wish to stop.
    pub cancel: &'a Cancel,
}

impl Machine {
    /// Starts QEMU.
    ///
    /// # Errors
    ///
    /// [`Failure`] in [`Error::Machine`], with what QEMU said.
    pub fn start(shape: &Shape, start: Start<'_>, around: Surroundings<'_>) -> Result<Self, Error> {
        let Channels { ours, theirs } = Channels::open().map_err(Failure::Start)?;
        let [agent, console, qmp] = ours;
        let mut qemu = spawn(shape, start, theirs, around.folder)?;
        let console = Console::watch(console, around.console_log)?;
        let stderr =
            qemu.stderr.take().map(|mut said| thread::spawn(move || last_words(&mut said)));
        let opened = Qmp::open(qmp);
        let qmp = match opened {
            Ok(qmp) => qmp,
            Err(failure) => return Err(early_death(qemu, stderr, failure).into()),
        };
        agent.set_read_timeout(Some(GLANCE)).map_err(Failure::Start)?;
        let decoder = Decoder::default();
        let (patience, cancel) = (around.patience, around.cancel.clone());
        let mut machine = Self { qemu, qmp, agent, decoder, console, stderr, patience, cancel };
        if let Start::Restore(_) | Start::Modelled(..) = start {
            machine.control(|qmp| qmp.wait_while("query-status", &["inmigrate", "postmigrate"]))?;
        }
        Ok(machine)
    }

    /// Gives the agent an order. A machine that stands still takes it in before it goes on, so the
    /// order's arrival is a part of the machine's state and not a moment of the host's.
    ///
    /// # Errors
    ///
    /// [`Failure::Start`] where the socket is gone.
    fn take_in(&mut self, order: &Order) -> Result<(), Failure> {
        let bytes = encode(order).map_err(Failure::Stream)?;
        self.agent.write_all(&bytes).map_err(Failure::Start)?;
        // QEMU's main loop serves all of its channels in turn: after some answers on this one it has
        // surely been round the other.
        for _ in 0..ROUNDS {
            self.control(|qmp| qmp.command("query-status", json!({})))?;
        }
        Ok(())
    }

    /// Lets a restored machine carry an order out.
    ///
    /// In counted mode the order is sent while the machine stands still. In real time it is sent once
    /// the agent's port is open: QEMU opens a restored port by a timer of the running machine, and with
    /// several virtual CPUs bytes that were sent before were lost in one restore of five.
    ///
    /// # Errors
    ///
    /// [`Failure`].
    pub fn begin(&mut self, order: &Order, mode: Mode) -> Result<(), Failure> {
        match mode {
            Mode::Counted => {
                self.take_in(order)?;
                self.go()
            }
            Mode::RealTime => {
                self.go()?;
                self.control(|qmp| qmp.wait_for("VSERPORT_CHANGE"))?;
                self.take_in(order)
            }
        }
    }

    /// Lets a restored machine run.
    ///
    /// # Errors
    ///
    /// [`Failure`].
    pub fn go(&mut self) -> Result<(), Failure> {
        self.control(|qmp| qmp.command("cont", json!({}))).map(drop)
    }

    /// Takes what has come from the agent; false if nothing came within a glance.
    fn receive(&mut self) -> Result<bool, Failure> {
        let mut buffer = [0; 16 * 1024];
        match self.agent.read(&mut buffer) {
            Ok(0) => Err(self.death()),
            Ok(length) => {
                self.decoder.push(&buffer[..length]);
                Ok(true)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Ok(false)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(false),
            Err(_) => Err(self.death()),
        }
    }

    /// Waits for the agent's hello after a boot, and tells how many clients have joined meanwhile.
    ///
    /// # Errors
    ///
    /// As [`Device::frame`].
    pub fn wait_until_up(&mut self, mut joined: impl FnMut(u32, u32)) -> Result<Frame, Error> {
        let (mut told, mut life, mut since) = (None, 0, Instant::now());
        loop {
            if let Some(frame) = self.decoder.take().map_err(Failure::Stream)? {
                return checked(frame).map_err(Error::Machine);
            }
            self.cancel.check()?;
            self.receive()?;
            self.bad_news()?;
            if self.console.associated() != told {
                told = self.console.associated();
                told.into_iter().for_each(|(now, of)| joined(now, of));
            }
            if self.console.bytes() != life {
                (life, since) = (self.console.bytes(), Instant::now());
            }
            if since.elapsed() > self.patience {
                let (waited, console) = (self.patience, self.console.tail());
                return Err(
                    Failure::Hang { awaited: "the clients to join", waited, console }.into()
                );
            }
        }
    }

    /// Waits until pid 1 has stopped the machine at the instruction where its snapshot is taken; a
    /// machine in real time is stopped from here.
    pub(super) fn hold(&mut self, by_itself: bool) -> Result<(), Failure> {
        if by_itself {
            self.control(|qmp| qmp.wait_while("query-status", &["running"])).map(drop)
        } else {
            self.control(|qmp| qmp.command("stop", json!({}))).map(drop)
        }
    }

    /// Writes the whole machine into `name` in its folder. The machine must stand still.
    pub(super) fn write_snapshot(&mut self, name: &str) -> Result<(), Failure> {
        let bandwidth = json!({ "max-bandwidth": 1_u64 << 40 });
        self.control(|qmp| qmp.command("migrate-set-parameters", bandwidth))?;
        self.control(|qmp| qmp.command("migrate", json!({ "uri": format!("exec:cat > {name}") })))?;
        let passing = ["none", "setup", "active", "device", "wait-unplug"];
        let end = self.control(|qmp| qmp.wait_while("query-migrate", &passing))?;
        match end["status"].as_str() {
            Some("completed") => Ok(()),
            _ => Err(Failure::Control { command: "migrate".to_owned(), why: end.to_string() }),
        }
    }

    /// A second reader of the console, and its keyboard: bytes from now on come out of it as well.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn tap_console(&self) -> std::io::Result<UnixStream> {
        self.console.tap()
    }

    /// Ends the agent's stream for good, as if headroom were gone, while the machine goes on. Nothing can
    /// be ordered afterwards; [`Device::frame`] tells of a machine that died.
    pub fn hang_up(&mut self) {
        // What has ended already has hung up by itself.
        let _ = self.agent.shutdown(std::net::Shutdown::Both);
    }

    /// CPU time of QEMU so far, ms; `None` where it is gone.
    pub fn cpu_ms(&self) -> Option<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.qemu.id())).ok()?;
        // The program's name may hold spaces and brackets; utime and stime are the 14th and 15th fields.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace().skip(11);
        let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
        Some(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1))
    }

    /// Whether QEMU has ended by itself, as after `poweroff` in the guest.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.qemu.try_wait(), Ok(Some(_)))
    }

    /// A control command; if QEMU has died over it, that is the story to tell.
    fn control<T>(
        &mut self,
        command: impl FnOnce(&mut Qmp) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        command(&mut self.qmp).map_err(|refusal| {
            thread::sleep(GLANCE);
            if self.has_ended() { self.death() } else { refusal }
        })
    }

    fn bad_news(&mut self) -> Result<(), Failure> {
        if self.has_ended() {
            return Err(self.death());
        }
        let console = || self.console.tail();
        if let Some(what) = self.console.panic() {
            return Err(Failure::Panic { what, console: console() });
        }
        if let Some(why) = self.console.failed() {
            return Err(Failure::BringUp { why, console: console() });
        }
        Ok(())
    }

    /// Why QEMU is no more: a panic, or its own last words.
    fn death(&mut self) -> Failure {
        let status = end(&mut self.qemu);
        self.console.drain();
        let console = self.console.tail();
        if let Some(what) = self.console.panic() {
            return Failure::Panic { what, console };
        }
        let stderr = self.stderr.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        Failure::Died { status, stderr, console }
    }
}

impl Device for Machine {
    fn order(&mut self, order: &Order) -> Result<(), Failure> {
        self.take_in(order)
    }

    fn frame(&mut self, awaited: &'static str) -> Result<Frame, Error> {
        let mut heard = (Instant::now(), self.console.bytes());
        loop {
            if let Some(frame) = self.decoder.take().map_err(Failure::Stream)? {
                return checked(frame).map_err(Error::Machine);
            }
            self.cancel.check()?;
            if !self.receive()? {
                self.bad_news()?;
                if self.console.bytes() != heard.1 {
                    heard = (Instant::now(), self.console.bytes());
                }
                if heard.0.elapsed() > self.patience {
                    let (waited, console) = (self.patience, self.console.tail());
                    return Err(Failure::Hang { awaited, waited, console }.into());
                }
            }
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
        self.console.drain();
    }
}

/// A first look at what the agent says.
pub(crate) fn checked(frame: Frame) -> Result<Frame, Failure> {
    match frame {
        Frame::Hello { protocol, .. } if protocol != PROTOCOL => Err(Failure::Protocol(protocol)),
        Frame::Refused(refusal) => Err(Failure::Refused(refusal)),
        frame => Ok(frame),
    }
}

/// The socket pairs between headroom and QEMU.
struct Channels {
    ours: [UnixStream; 3],
    theirs: [(OwnedFd, i32); 3],
}

impl Channels {
    fn open() -> std::io::Result<Self> {
        let (agent, agent_qemu) = UnixStream::pair()?;
        let (console, console_qemu) = UnixStream::pair()?;
        let (qmp, qmp_qemu) = UnixStream::pair()?;
        Ok(Self {
            ours: [agent, console, qmp],
            theirs: [
                (agent_qemu.into(), arguments::AGENT_FD),
                (console_qemu.into(), arguments::CONSOLE_FD),
                (qmp_qemu.into(), arguments::QMP_FD),
            ],
        })
    }
}

fn spawn(
    shape: &Shape,
    start: Start<'_>,
    channels: [(OwnedFd, i32); 3],
    folder: &Path,
) -> Result<Child, Error> {
    let mut descriptors: Vec<(OwnedFd, i32)> = channels.into();
    let words = match start {
        Start::Boot(image) => shape.boot(&image.kernel, &image.root),
        Start::Restore(memory) => {
            descriptors.push(incoming(memory)?);
            shape.restore()
        }
        Start::Modelled(memory, model) => {
            descriptors.push(incoming(memory)?);
            [shape.restore(), arguments::plugin(model.library(), &model.words())].concat()
        }
    };
    let mappings =
        descriptors.into_iter().map(|(parent_fd, child_fd)| FdMapping { parent_fd, child_fd });
    let mut command = host::bound("KILL");
    command
        .arg(QEMU)
        .args(words)
        .current_dir(folder)
        // Ctrl-C on the terminal is for headroom alone, which then ends its machines in good order.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .fd_mappings(mappings.collect())
        .map_err(|error| Failure::Start(std::io::Error::other(error)))?;
    Ok(command.spawn().map_err(Failure::Start)?)
}

/// The snapshot, as QEMU finds it.
fn incoming(memory: &Path) -> Result<(OwnedFd, i32), Error> {
    let file = File::open(memory).map_err(Error::file("read", memory))?;
    Ok((file.into(), arguments::INCOMING_FD))
}

/// QEMU ended before it could be greeted.
fn early_death(mut qemu: Child, stderr: Option<JoinHandle<String>>, failure: Failure) -> Failure {
    thread::sleep(GLANCE);
    if matches!(qemu.try_wait(), Ok(None)) {
        let _ = qemu.kill();
        let _ = qemu.wait();
        return failure;
    }
    let status = end(&mut qemu);
    let stderr = stderr.and_then(|reader| reader.join().ok()).unwrap_or_default();
    Failure::Died { status, stderr, console: Vec::new() }
}

/// How QEMU ended; it is given a moment to do so, because its sockets close before it is gone.
fn end(qemu: &mut Child) -> String {
    for _ in 0..40 {
        if let Ok(Some(status)) = qemu.try_wait() {
            return status.to_string();
        }
        thread::sleep(GLANCE);
    }
    "it closed its channels but still runs".to_owned()
}

/// The end of what QEMU says on its error output, in one line.
fn last_words(said: &mut impl Read) -> String {
    let mut text = String::new();
    let _ = said.read_to_string(&mut text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}
