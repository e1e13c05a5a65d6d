//! The access point's console: kept in a file, and watched for what it means.
//!
//! A thread reads it as long as QEMU lives. Pid 1 writes marks there; the kernel writes its panic.

use std::{
    collections::VecDeque,
    fs::File,
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use crate::{Error, run_folder};

/// How much of the end is kept for error messages, lines; of a panic, so much before it and so much from it on.
const TAIL: usize = 30;

/// A line is no longer than this, bytes; what is longer is cut into several.
const LONGEST_LINE: usize = 4096;

/// So much of a console is kept in its file, bytes: a hundred times what a guest with 500 clients says.
const LONGEST_LOG: u64 = 64 << 20;

/// How many clients have joined, of how many, where pid 1 says so.
fn associated(said: &str) -> Option<(u32, u32)> {
    let (now, of) = said.strip_prefix("associated ")?.split_once('/')?;
    Some((now.parse().ok()?, of.parse().ok()?))
}

#[derive(Debug, Default)]
pub(super) struct Shown {
    /// The end, or the first panic and what is around it.
    tail: VecDeque<String>,
    partial: Vec<u8>,
    pub(super) panic: Option<String>,
    pub(super) failed: Option<String>,
    pub(super) associated: Option<(u32, u32)>,
    /// Bytes so far: growth is a sign of life.
    pub(super) bytes: u64,
    /// A second reader.
    tap: Option<UnixStream>,
}

impl Shown {
    fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if self.tap.as_mut().is_some_and(|tap| tap.write_all(bytes).is_err()) {
            self.tap = None;
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.partial.len() >= LONGEST_LINE {
                let mut line = std::mem::take(&mut self.partial);
                line.truncate(LONGEST_LINE);
                self.line(String::from_utf8_lossy(&line).trim_end());
            }
        }
    }

    fn line(&mut self, line: &str) {
        self.keep(line);
        if let Some(at) = line.find("Kernel panic - not syncing") {
            self.panic = Some(line[at..].trim().to_owned());
        } else if let Some((_, said)) = line.split_once("headroom-init: ") {
            self.associated = associated(said.trim()).or(self.associated);
            let failed = said.trim().strip_prefix("failed: ").map(str::to_owned);
            self.failed = failed.or(self.failed.take());
        }
    }

    /// A panic is followed by stacks of any length; its first lines say more than its last.
    fn keep(&mut self, line: &str) {
        match self.panic {
            None if self.tail.len() == TAIL => drop(self.tail.pop_front()),
            Some(_) if self.tail.len() >= 2 * TAIL => return,
            _ => {}
        }
        self.tail.push_back(line.to_owned());
    }
}

#[derive(Debug)]
pub(super) struct Console {
    shown: Arc<Mutex<Shown>>,
    reader: Option<JoinHandle<()>>,
    socket: UnixStream,
}

impl Console {
    /// Watches the console; all of it goes into the file as well.
    pub(super) fn watch(socket: UnixStream, log: &Path) -> Result<Self, Error> {
        let log = run_folder::new_file(log)?;
        let shown = Arc::new(Mutex::new(Shown::default()));
        let input = socket.try_clone().map_err(Error::file("open", "the console's socket"))?;
        let watched = Arc::clone(&shown);
        let reader = thread::spawn(move || read(input, log, &watched));
        Ok(Self { shown, reader: Some(reader), socket })
    }

    pub(super) fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tail(&self) -> Vec<String> {
        self.shown().tail.iter().cloned().collect()
    }

    /// The other end of a new socket: what the console shows comes out of it, what is written into
    /// it is typed.
    pub(super) fn tap(&self) -> std::io::Result<UnixStream> {
        let (theirs, ours) = UnixStream::pair()?;
        let (mut keys, mut keyboard) = (ours.try_clone()?, self.socket.try_clone()?);
        thread::spawn(move || std::io::copy(&mut keys, &mut keyboard));
        self.shown().tap = Some(ours);
        Ok(theirs)
    }

    /// Waits until all that was written has been read; QEMU must have ended.
    pub(super) fn drain(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

fn read(mut input: UnixStream, mut log: File, shown: &Mutex<Shown>) {
    let (mut buffer, mut kept) = ([0; 4096], 0);
    while let Ok(length @ 1..) = input.read(&mut buffer) {
        let bytes = &buffer[..length];
        shown.lock().unwrap_or_else(PoisonError::into_inner).take(bytes);
        // A console that cannot be kept does not end a trial; the trial's own file will say so.
        let length = bytes.len().min((LONGEST_LOG - kept) as usize);
        kept += log.write_all(&bytes[..length]).map_or(0, |()| length as u64);
    }
    // Anyone who reads along learns that there is nothing more to come.
    shown.lock().unwrap_or_else(PoisonError::into_inner).tap = None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pid_1_and_the_kernel_say_is_read_and_other_lines_are_not() {
        let read = |line: &str| {
            let mut shown = Shown::default();
            shown.line(line);
            (shown.associated, shown.failed, shown.panic)
        };
        let nothing = (None, None, None);
        for line in ["headroom-init: booted\r", "hostapd: ready", "headroom-init: associated 5"] {
            assert_eq!(read(line), nothing, "{line}");
        }
        assert_eq!(read("[ 3.1] headroom-init: associated 57/114").0, Some((57, 114)));
        assert_eq!(read("headroom-init: failed: no radio").1.unwrap(), "no radio");
        let panic = "Kernel panic - not syncing: sysrq triggered crash";
        assert_eq!(read(&format!("[    4.2] {panic}")).2.unwrap(), panic);
    }

    /// What a console has shown that said this, and a hundred lines of a kind behind it.
    fn shown(mut shown: Shown, said: &[u8], line: &str) -> Shown {
        shown.take(said);
        (0..100).for_each(|n| shown.take(format!("{line} {n}\n").as_bytes()));
        shown
    }

    #[test]
    fn lines_may_come_in_pieces_and_the_end_is_kept_or_a_panic_with_what_led_to_it() {
        let mut first = Shown::default();
        first.take(b"headroom-init: assoc");
        assert_eq!(first.associated, None);
        let mut lines = shown(first, b"iated 3/9\nnext", "line");
        assert_eq!(lines.associated, Some((3, 9)));
        assert_eq!((lines.tail.len(), lines.tail.back().unwrap().as_str()), (TAIL, "line 99"));
        lines.take(b"sysrq: Trigger a crash\n");
        let panic = shown(lines, b"Kernel panic - not syncing: crash\n", " frame");
        let at = |word: &str| panic.tail.iter().position(|line| line.contains(word)).unwrap();
        assert_eq!([at("sysrq"), at("Kernel panic"), at("frame 0")], [28, 29, 30]);
        assert_eq!((panic.tail.len(), panic.tail[59].as_str()), (60, " frame 29"));
    }

    #[test]
    fn a_line_without_end_is_cut_and_not_kept_whole() {
        let mut shown = Shown::default();
        (0..1000).for_each(|_| shown.take(&[b'x'; 4096]));
        assert!(shown.partial.len() < LONGEST_LINE && shown.tail.len() == TAIL);
        assert!(shown.tail.iter().all(|line| line.len() <= LONGEST_LINE));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_may_stand_on_a_console(bytes: Vec<u8>) {
            Shown::default().take(&bytes);
        }
    }
}
