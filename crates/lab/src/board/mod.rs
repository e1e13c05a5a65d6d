//! A board: an arm64 machine that is a device and nothing else to the rest of headroom.
//!
//! ```text
//! U-Boot ──boot.scr──► slot a or b: kernel and ramdisk ──► squashfs below an overlay ──► pid 1: ssh, hostapd, clients
//!            ▲                                                                                  │
//!            └────────────── state: which slot, and whether it is on trial ◄──── confirmed ─────┘
//! ```
//!
//! It is reached by ssh and by its serial console alone, runs in real time, and keeps its disk. All that is its own is in
//! its folder: `disk.img`, `board.toml` (the device file), `ssh_config` and the keys, `console.log`, `console.sock` and
//! `power.sock`. [`crate::flash`] gives it another image. `docs/design/board.md` has the reasons.

mod disk;
pub mod image_file;
mod keys;
mod machine;
mod power;

use std::{
    env, fs,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    net::{Ipv4Addr, TcpListener},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use linux::folder::Folder;
use rustix::fs::{FlockOperation, flock};

pub use self::image_file::BoardImage;
use self::{
    disk::Disk,
    machine::{CONSOLE, CONSOLE_LOG, DISK, Machine},
    power::{Switch, short_path},
};
use crate::{Cancel, Error, Lab, image, power::Turn};

/// The device file in a board's folder.
pub const DEVICE_FILE: &str = "board.toml";

/// What goes onto the board's own partition.
const BOOT: &str = "boot";
const LOCK: &str = "lock";

const PACE: Duration = Duration::from_millis(50);

/// What pid 1's lines begin with, and what U-Boot's script says.
const MARKS: [&str; 2] = ["headroom-init: ", "headroom: "];

/// What the access point of a board is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub clients: u32,
    /// Access-point radios.
    pub radios: u32,
}

/// How a board is raised.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What its access point is.
    pub shape: Shape,
    /// What is in the first slot of a new board; one with our own programs where it is not said.
    pub image: Option<PathBuf>,
    /// The port of 127.0.0.1 that leads to its ssh; a free one where it is not said.
    pub port: Option<u16>,
}

/// A board that can be turned on.
#[derive(Debug)]
pub struct Board {
    folder: Folder,
    shape: Shape,
    /// The port of 127.0.0.1 that leads to its ssh.
    pub port: u16,
    /// Nobody else runs a board in the folder as long as it is open.
    _lock: File,
}

/// What happens to a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// What U-Boot's script or pid 1 says on the console.
    Says(String),
    /// It is off, and why.
    Off(String),
    On,
}

impl Board {
    /// Makes the board in a folder where there is none yet, or finds it there.
    ///
    /// # Errors
    ///
    /// [`Error::Board`] where another headroom runs it, or what is asked for cannot be; and those of the image, of tools that
    /// are missing and of the disk.
    pub fn prepare(lab: &Lab, folder: &Path, settings: &Settings) -> Result<Self, Error> {
        machine::require_tools()?;
        disk::require_tools()?;
        let refused = |why: String| Error::Board { path: folder.to_owned(), why };
        let folder = Folder::create(folder).map_err(Error::file("make", folder))?.private();
        let lock = folder.lock_file(LOCK).map_err(Error::file("write", folder.path_of(LOCK)))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| refused("another headroom runs it".to_owned()))?;
        let is_new = !folder.has_file(DISK);
        if !is_new && settings.image.is_some() {
            let why = "there is one with its images already; `headroom flash` gives it another";
            return Err(refused(why.to_owned()));
        }
        let port = port(&folder, settings.port).map_err(refused)?;
        let board = Self { folder, shape: settings.shape, port, _lock: lock };
        if is_new {
            board.make(lab, settings.image.as_deref())?;
        }
        board.write_boot()?;
        board.write_words()?;
        Ok(board)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn make(&self, lab: &Lab, image: Option<&Path>) -> Result<(), Error> {
        keys::require_tools()?;
        let image = match image {
            Some(path) => BoardImage::read(path)?,
            None => BoardImage::read(&image::board::obtain(lab, &[])?)?,
        };
        let partial = self.folder.path_of("disk.partial");
        // What a headroom left that was killed over it.
        let _ = self.folder.remove_tree(BOOT);
        for left in ["disk.partial", "key", "key.pub"] {
            let _ = self.folder.remove_file(left);
        }
        let boot = self.folder.make_folder(BOOT);
        let boot = boot.map_err(Error::file("make", self.folder.path_of(BOOT)))?;
        keys::make(&self.folder, &boot)?;
        Disk { path: &partial }.make(&image)?;
        let renamed = self.folder.rename("disk.partial", DISK);
        renamed.map_err(Error::file("write", self.folder.path_of(DISK)))
    }

    fn write_boot(&self) -> Result<(), Error> {
        let disk = self.folder.path_of(DISK);
        Disk { path: &disk }.write_boot(&self.folder.path_of(BOOT), self.shape)
    }

    /// What others read to get there.
    fn write_words(&self) -> Result<(), Error> {
        let config = keys::ssh_config(self.folder(), self.port);
        for (name, text) in [(keys::SSH_CONFIG, config), (DEVICE_FILE, self.device_file())] {
            let written = self.folder.replace(name, text.as_bytes());
            written.map_err(Error::file("write", self.folder.path_of(name)))?;
        }
        Ok(())
    }

    fn device_file(&self) -> String {
        let program = env::current_exe().unwrap_or_else(|_| "headroom".into());
        let program = program.to_string_lossy();
        let program = shlex::try_quote(&program).unwrap_or("headroom".into());
        let command = |words: &str| toml::Value::from(format!("{program} board --dir . {words}"));
        let address = format!("ssh://root@127.0.0.1:{}", self.port);
        format!(
            "# Written by `headroom board` each time that it raises this board.\naddress = {}\nssh-config = {}\n\n\
             [power]\non = {}\noff = {}\ncycle = {}\n\n[console]\ncommand = {}\n\n[flash]\nslots = true\n",
            toml::Value::from(address),
            toml::Value::from(keys::SSH_CONFIG),
            command("--power on"),
            command("--power off"),
            command("--power cycle"),
            command("--console"),
        )
    }

    /// Turns it on, and does what its power switch says until somebody wants it to end.
    pub fn run(&self, cancel: &Cancel, mut news: impl FnMut(News)) -> Result<(), Error> {
        let failed = |name: &'static str| Error::file("open", self.folder.path_of(name));
        let log = self.folder.path_of(CONSOLE_LOG);
        File::create(&log).map_err(failed(CONSOLE_LOG))?;
        let mut console = Reader::of(&log).map_err(failed(CONSOLE_LOG))?;
        let switch = Folder::open(self.folder()).and_then(Switch::open);
        let switch = switch.map_err(failed("power.sock"))?;
        let mut machine = Some(self.start(&mut news)?);
        while !cancel.is_stopped() {
            if let Some((turn, stream)) = switch.asked() {
                let done = self.turn(turn, &mut machine, &mut news);
                power::answer(stream, &done);
            }
            if let Some(why) = machine.as_mut().and_then(Machine::ended) {
                machine = None;
                news(News::Off(why));
            }
            console.lines().for_each(|line| news(News::Says(line)));
            thread::sleep(PACE);
        }
        drop(machine);
        let _ = fs::remove_file(self.folder.path_of(CONSOLE));
        Ok(())
    }

    fn start(&self, news: &mut impl FnMut(News)) -> Result<Machine, Error> {
        let machine = Machine::start(self.folder(), self.shape, self.port)?;
        news(News::On);
        Ok(machine)
    }

    fn turn(
        &self,
        turn: Turn,
        machine: &mut Option<Machine>,
        news: &mut impl FnMut(News),
    ) -> Result<(), Error> {
        if turn != Turn::On && machine.take().is_some() {
            news(News::Off("its power was turned off".to_owned()));
        }
        if turn != Turn::Off && machine.is_none() {
            *machine = Some(self.start(news)?);
        }
        Ok(())
    }
}

/// Asks the headroom that runs the board in a folder to turn it on or off.
///
/// # Errors
///
/// [`Error::Board`] where none runs it, or it cannot.
pub fn turn(folder: &Path, turn: Turn) -> Result<(), Error> {
    power::ask(&existing(folder)?, turn)
}

/// The serial console of the board in a folder: what it shows from now on can be read, and what is written is typed.
///
/// # Errors
///
/// [`Error::Board`] where it is off.
pub fn console(folder: &Path) -> Result<UnixStream, Error> {
    let folder = existing(folder)?;
    UnixStream::connect(short_path(&folder, CONSOLE)).map_err(|_| Error::Board {
        path: folder.path().to_owned(),
        why: "it is off, or no `headroom board` runs it".to_owned(),
    })
}

fn existing(folder: &Path) -> Result<Folder, Error> {
    Folder::open(folder).map_err(Error::file("open", folder))
}

/// The port that is asked for, or the one that the board had, or a free one.
fn port(folder: &Folder, asked: Option<u16>) -> Result<u16, String> {
    let free =
        |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|one| one.local_addr());
    if let Some(port) = asked {
        let taken = |error: io::Error| format!("cannot listen on 127.0.0.1:{port}: {error}");
        return free(port).map(|address| address.port()).map_err(taken);
    }
    let before = port_before(folder).and_then(|port| free(port).ok());
    let address = before.map_or_else(|| free(0), Ok);
    address.map(|address| address.port()).map_err(|error| format!("there is no free port: {error}"))
}

fn port_before(folder: &Folder) -> Option<u16> {
    let text = folder.read_text(DEVICE_FILE, linux::file::WRITTEN).ok()?;
    let table: toml::Table = text.parse().ok()?;
    table.get("address")?.as_str()?.rsplit(':').next()?.parse().ok()
}

/// Reads what comes behind in a file that QEMU writes.
struct Reader {
    file: File,
    partial: Vec<u8>,
}

impl Reader {
    fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { file, partial: Vec::new() })
    }

    /// The lines of ours that have come.
    fn lines(&mut self) -> impl Iterator<Item = String> {
        let _ = (&mut self.file).take(1 << 20).read_to_end(&mut self.partial);
        let end = self.partial.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let whole: Vec<u8> = self.partial.drain(..end).collect();
        let lines: Vec<String> = String::from_utf8_lossy(&whole).lines().filter_map(said).collect();
        lines.into_iter()
    }
}

/// What a line of the console means to who looks on.
fn said(line: &str) -> Option<String> {
    let mark = MARKS.iter().find_map(|mark| Some(line.find(mark)? + mark.len()));
    let panic = line.find("Kernel panic - not syncing");
    let text = &line[mark.or(panic)?..];
    Some(text.chars().filter(|letter| !letter.is_control()).collect())
}

/// Writes what a board's console shows to `out`, and types what comes from `keys`, until the board is off. Who types nothing
/// more goes on reading.
pub fn join_console(
    console: UnixStream,
    mut keys: impl Read + Send + 'static,
    mut out: impl Write,
) -> io::Result<()> {
    let (mut shown, mut typed) = (console.try_clone()?, console);
    thread::spawn(move || {
        let _ = io::copy(&mut keys, &mut typed);
    });
    let mut buffer = [0; 4096];
    loop {
        match shown.read(&mut buffer)? {
            0 => return Ok(()),
            length => out.write_all(&buffer[..length])?,
        }
        out.flush()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pid_1_and_u_boot_say_is_news_and_the_rest_is_not() {
        assert_eq!(
            said("[  2.1] headroom-init: slot b is confirmed\r").unwrap(),
            "slot b is confirmed"
        );
        assert_eq!(said("headroom: slot b did not come up\r").unwrap(), "slot b did not come up");
        assert_eq!(
            said("[1] Kernel panic - not syncing: x").unwrap(),
            "Kernel panic - not syncing: x"
        );
        assert_eq!(said("## Executing script at 40200000"), None);
    }
}
