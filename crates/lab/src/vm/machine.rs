//! One running QEMU, and what can be asked of it.
//!
//! It lives as long as this process and no longer: [`host::bound`] has the kernel end it even after a
//! `kill -9` of headroom, and [`Drop`] ends it in every other case. The death signal belongs to the
//! thread that started QEMU, so a [`Machine`] stays on the thread that made it.

use std::{
    fs::File,
    io,
    os::{
        fd::OwnedFd,
        unix::{fs::FileExt, net::UnixStream, process::CommandExt},
    },
    path::Path,
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use command_fds::{CommandFdExt, FdMapping};
use linux::proc;
use model::wire::{self, Frame, Order};
use rustix::fs::{MemfdFlags, memfd_create};
use serde_json::json;

use super::{Failure, Platform, Shape, arguments, console::Console, failure::said_by, qmp::Qmp};
use crate::{
    Error, Lab,
    cache_model::Attached,
    channel::{Channel, Ends, Peer, bytes_of},
    device::Device,
    exchange::{Allowance, Patience, SLOWEST},
    host,
    image::Image,
    last_words::LastWords,
};

/// So long QEMU may take to end over what it was asked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug)]
pub(super) enum Start<'a> {
    Boot(&'a Image),
    /// From a snapshot's file, perhaps with a model of caches that watches it; the machine then waits for [`Machine::go`].
    Restore(&'a Path, Option<&'a Attached>),
}

#[derive(Debug)]
pub struct Machine {
    qmp: Qmp,
    channel: Channel<Guest>,
    /// In counted mode.
    mailbox: Option<Mailbox>,
    /// Whether it runs; one that was restored stands still at first, and looks into its mailbox as it goes.
    goes: bool,
    clients: u32,
}

/// The QEMU at the other end of the agent's stream.
#[derive(Debug)]
struct Guest {
    qemu: Child,
    console: Console,
    said: Option<LastWords>,
}

impl Machine {
    /// Starts QEMU, with its console kept in a file in whose folder it works.
    pub(super) fn start(
        lab: &Lab,
        shape: &Shape,
        start: Start<'_>,
        console_log: &Path,
    ) -> Result<Self, Error> {
        let pair = || UnixStream::pair().map_err(Failure::Start);
        let [(agent, agents), (console, consoles), (qmp, qmps)] = [pair()?, pair()?, pair()?];
        let mut descriptors: Vec<(OwnedFd, i32)> = vec![
            (agents.into(), arguments::AGENT_FD),
            (consoles.into(), arguments::CONSOLE_FD),
            (qmps.into(), arguments::QMP_FD),
        ];
        let mailbox =
            shape.holds_itself().then(Mailbox::new).transpose().map_err(Failure::Start)?;
        if let (Start::Boot(_), Some(mailbox)) = (start, &mailbox) {
            // The agent finds it when it begins, so nothing of the host's time is in the moment of the snapshot.
            mailbox.put(&bytes_of(&Order::Hold)?).map_err(Failure::Start)?;
        }
        let shared = mailbox.as_ref().map(Mailbox::share).transpose().map_err(Failure::Start)?;
        descriptors.extend(shared.map(|memory| (memory.into(), arguments::MAILBOX_FD)));
        let mut qemu =
            spawn(shape, start, descriptors, console_log.parent().unwrap_or(Path::new(".")))?;
        let console = Console::watch(console, console_log)?;
        let said = qemu.stderr.take().map(LastWords::of);
        let guest = Guest { qemu, console, said };
        let qmp = match Qmp::open(qmp, lab.cancel.clone()) {
            Ok(qmp) => qmp,
            Err(error) => return Err(guest.early_death(error)),
        };
        let patience = Patience { silence: lab.settings.patience, pace: SLOWEST };
        let input = agent.try_clone().map_err(Failure::Start)?.into();
        let ends = Ends { input, output: agent.into() };
        let channel = Channel::new(guest, ends, patience, lab.cancel.clone());
        let channel = channel.map_err(Failure::Start)?;
        let goes = matches!(start, Start::Boot(_));
        let mut machine = Self { qmp, channel, mailbox, goes, clients: shape.clients };
        if !goes {
            machine.control(|qmp| qmp.wait_while("query-status", &["inmigrate", "postmigrate"]))?;
        }
        Ok(machine)
    }

    /// Lets a restored machine carry an order out, and sends the order to one that runs.
    ///
    /// In counted mode the order lies in the mailbox before the machine goes, so its arrival is a part of the machine's
    /// state and not a moment of the host's. In real time it is sent once the agent's port is open: QEMU opens a restored
    /// port by a timer of the running machine, and with several virtual CPUs bytes that were sent before were lost in one
    /// restore of five.
    pub fn begin(&mut self, order: &Order) -> Result<(), Error> {
        if self.goes {
            return self.channel.order(order);
        }
        let Some(mailbox) = &self.mailbox else {
            self.go()?;
            self.control(|qmp| qmp.wait_for("VSERPORT_CHANGE"))?;
            return self.channel.order(order);
        };
        mailbox.put(&bytes_of(order)?).map_err(Failure::Start)?;
        self.channel.expect(Allowance::of(order));
        self.go()
    }

    pub fn go(&mut self) -> Result<(), Error> {
        self.goes = true;
        self.control(|qmp| qmp.command("cont", json!({}))).map(drop)
    }

    /// Waits for the agent's hello after a boot, and tells how many clients have joined meanwhile.
    pub fn wait_until_up(&mut self, mut joined: impl FnMut(u32, u32)) -> Result<Frame, Error> {
        let mut shown = None;
        self.channel.expect(Allowance::boot(self.clients));
        self.channel.next("the clients to join", &mut |guest| {
            let associated = guest.console.shown().associated;
            if associated != shown {
                shown = associated;
                shown.into_iter().for_each(|(now, of)| joined(now, of));
            }
        })
    }

    /// Waits until the agent has stopped a booted machine where its snapshot is taken; if it cannot, its reason is the
    /// error. One without a mailbox is stopped from here.
    pub(super) fn hold(&mut self) -> Result<(), Error> {
        if self.mailbox.is_none() {
            return self.control(|qmp| qmp.command("stop", json!({}))).map(drop);
        }
        self.channel.expect(Allowance::of(&Order::Hold));
        while self.control(|qmp| qmp.command("query-status", json!({})))?["status"] == "running" {
            self.channel.expect_nothing("the machine to stop for its snapshot")?;
        }
        Ok(())
    }

    /// The same for one that is served already.
    pub(super) fn hold_again(&mut self) -> Result<(), Error> {
        if self.mailbox.is_some() {
            self.channel.order(&Order::Hold)?;
        }
        self.hold()
    }

    /// Writes the whole machine into `name` in its folder. The machine must stand still.
    pub(super) fn write_snapshot(&mut self, name: &str) -> Result<(), Error> {
        let bandwidth = json!({ "max-bandwidth": 1_u64 << 40 });
        self.control(|qmp| qmp.command("migrate-set-parameters", bandwidth))?;
        self.control(|qmp| qmp.command("migrate", json!({ "uri": format!("exec:cat > {name}") })))?;
        let passing = ["none", "setup", "active", "device", "wait-unplug"];
        let end = self.control(|qmp| qmp.wait_while("query-migrate", &passing))?;
        match end["status"].as_str() {
            Some("completed") => Ok(()),
            _ => {
                Err(Failure::Control { command: "migrate".to_owned(), why: end.to_string() }.into())
            }
        }
    }

    /// A second reader of the console, and its keyboard: bytes from now on come out of it as well.
    pub fn tap_console(&self) -> std::io::Result<UnixStream> {
        self.channel.peer.console.tap()
    }

    /// Ends the agent's stream for good, as if headroom were gone, while the machine goes on. Nothing can
    /// be ordered afterwards; [`Device::frame`] tells of a machine that died.
    pub fn hang_up(&mut self) {
        self.channel.hang_up();
    }

    /// CPU time of QEMU so far, ms; `None` where it is gone.
    pub fn cpu_ms(&self) -> Option<u64> {
        let text = proc::read(format!("/proc/{}/stat", self.channel.peer.qemu.id())).ok()?;
        let stat = proc::stat(&text)?;
        Some((stat.utime + stat.stime) * 1000 / rustix::param::clock_ticks_per_second().max(1))
    }

    /// Whether QEMU has ended by itself, as after `poweroff` in the guest.
    pub fn has_ended(&mut self) -> bool {
        self.channel.peer.has_ended()
    }

    /// A control command; if QEMU has died over it, that is the story to tell.
    fn control<T>(
        &mut self,
        command: impl FnOnce(&mut Qmp) -> Result<T, Error>,
    ) -> Result<T, Error> {
        command(&mut self.qmp).map_err(|refusal| {
            thread::sleep(POLL_INTERVAL);
            let guest = &mut self.channel.peer;
            if guest.has_ended() { guest.death().into() } else { refusal }
        })
    }
}

impl Guest {
    fn failure(&self, what: String) -> Failure {
        Failure::Guest { what, console: self.console.tail() }
    }

    fn panic(&self) -> Option<Failure> {
        let what = self.console.shown().panic.clone()?;
        Some(self.failure(format!("the access point's kernel panicked: {what}")))
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.qemu.try_wait(), Ok(Some(_)))
    }

    fn early_death(mut self, error: Error) -> Error {
        thread::sleep(POLL_INTERVAL);
        if self.has_ended() { self.death().into() } else { error }
    }
}

impl Peer for Guest {
    /// A panic, or QEMU's own last words.
    fn death(&mut self) -> Failure {
        let status = host::end_of(&mut self.qemu);
        // One that still runs would keep its console open, and is of no use any more.
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
        self.console.drain();
        self.panic().unwrap_or_else(|| {
            let said = self.said.as_ref().map(LastWords::message).unwrap_or_default();
            self.failure(format!("QEMU ended unasked ({status}){}", said_by(&said)))
        })
    }

    fn bad_news(&mut self) -> Result<(), Failure> {
        if self.has_ended() {
            return Err(self.death());
        }
        let not_raised = || {
            let why = self.console.shown().failed.clone()?;
            Some(self.failure(format!("the access point did not come up: {why}")))
        };
        self.panic().or_else(not_raised).map_or(Ok(()), Err)
    }

    fn life(&self) -> u64 {
        self.console.shown().bytes
    }

    fn console(&self) -> Vec<String> {
        self.console.tail()
    }
}

impl Device for Machine {
    fn order(&mut self, order: &Order) -> Result<(), Error> {
        self.channel.order(order)
    }

    fn frame(&mut self, awaited: &'static str) -> Result<Frame, Error> {
        self.channel.frame(awaited)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
        self.console.drain();
    }
}

fn spawn(
    shape: &Shape,
    start: Start<'_>,
    mut descriptors: Vec<(OwnedFd, i32)>,
    folder: &Path,
) -> Result<Child, Error> {
    let words = match start {
        Start::Boot(image) => shape.boot(&image.kernel, &image.root),
        Start::Restore(memory, model) => {
            descriptors.push(incoming(memory)?);
            let plugin = model.map(|model| arguments::plugin(model.library(), &model.words()));
            [shape.restore(), plugin.unwrap_or_default()].concat()
        }
    };
    let mappings =
        descriptors.into_iter().map(|(parent_fd, child_fd)| FdMapping { parent_fd, child_fd });
    let mut command = host::bound("KILL");
    command
        .arg(Platform::of(shape.arch).qemu)
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

fn incoming(memory: &Path) -> Result<(OwnedFd, i32), Error> {
    let file = File::open(memory).map_err(Error::file("read", memory))?;
    Ok((file.into(), arguments::INCOMING_FD))
}

/// The mailbox of a machine in counted mode, as headroom has it: memory without a name that QEMU maps too. It is a part of
/// the guest's memory, so a snapshot has it, and a restore puts back what was in it.
#[derive(Debug)]
struct Mailbox(File);

impl Mailbox {
    fn new() -> io::Result<Self> {
        let file = File::from(memfd_create("mailbox", MemfdFlags::CLOEXEC)?);
        file.set_len(wire::Mailbox::LENGTH as u64)?;
        file.write_all_at(&wire::Mailbox::MARK, 0)?;
        Ok(Self(file))
    }

    /// Leaves an order there, as the stream has it. The machine must stand still, or not have been started.
    fn put(&self, order: &[u8]) -> io::Result<()> {
        self.0.write_all_at(order, wire::Mailbox::ORDER as u64)
    }

    fn share(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}
