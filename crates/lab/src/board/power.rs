//! The power switch of a board: a socket in its folder, by which another headroom turns it off and on.
//!
//! One word a connection, one line back. Off is off: nothing is asked of what runs there.

use std::{
    fs,
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    os::{
        fd::{AsFd, AsRawFd},
        unix::net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    time::Duration,
};

use linux::folder::Folder;

use crate::{Error, power::Turn};

const SOCKET: &str = "power.sock";
const DONE: &str = "done";
const LONGEST: u64 = 64;
/// A machine is started and ended in moments.
const PATIENCE: Duration = Duration::from_secs(10);

/// A path to a socket of a folder's that is short, however long the folder's is.
pub(super) fn short_path(folder: &Folder, name: &'static str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_fd().as_raw_fd()))
}

/// Asks the headroom that runs a board.
///
/// # Errors
///
/// [`Error::Board`] where none runs it, or it cannot.
pub(super) fn ask(folder: &Folder, turn: Turn) -> Result<(), Error> {
    let refused = |why: String| Error::Board { path: folder.path().to_owned(), why };
    let answer = || -> io::Result<String> {
        let mut stream = UnixStream::connect(short_path(folder, SOCKET))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        writeln!(stream, "{}", turn.name())?;
        let mut answer = String::new();
        stream.take(4096).read_to_string(&mut answer)?;
        Ok(answer)
    };
    match answer() {
        Ok(answer) if answer.trim() == DONE => Ok(()),
        Ok(answer) => Err(refused(answer.trim().to_owned())),
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
        {
            Err(refused("no `headroom board` runs it; start one".to_owned()))
        }
        Err(error) => Err(refused(format!("its power switch does not answer: {error}"))),
    }
}

/// The switch's own side.
#[derive(Debug)]
pub(super) struct Switch {
    listener: UnixListener,
    folder: Folder,
}

impl Switch {
    /// Opens it; whoever has the folder's lock may.
    pub(super) fn open(folder: Folder) -> io::Result<Self> {
        let _ = folder.remove_file(SOCKET);
        let listener = UnixListener::bind(short_path(&folder, SOCKET))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, folder })
    }

    /// Who asks now, if anybody does, and for what.
    pub(super) fn asked(&self) -> Option<(Turn, UnixStream)> {
        let (stream, _) = self.listener.accept().ok()?;
        stream.set_nonblocking(false).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
        let mut line = String::new();
        BufReader::new((&stream).take(LONGEST)).read_line(&mut line).ok()?;
        Some((line.trim().parse().ok()?, stream))
    }
}

/// Answers who asked; one who has left wants no answer.
pub(super) fn answer(mut stream: UnixStream, result: &Result<(), Error>) {
    let _ = match result {
        Ok(()) => writeln!(stream, "{DONE}"),
        Err(error) => writeln!(stream, "{error}"),
    };
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.folder.path_of(SOCKET));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_asked_and_answers_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        // Longer than a socket's path can be.
        let deep = folder.path().join("long".repeat(30));
        let open = || Folder::create(&deep).unwrap();
        let nobody = ask(&open(), Turn::On).unwrap_err().to_string();
        assert!(nobody.ends_with("no `headroom board` runs it; start one"), "{nobody}");
        let switch = Switch::open(open()).unwrap();
        let asking = std::thread::spawn({
            let folder = open();
            move || ask(&folder, Turn::Cycle)
        });
        let (turn, stream) = loop {
            if let Some(asked) = switch.asked() {
                break asked;
            }
        };
        assert_eq!(turn, Turn::Cycle);
        answer(stream, &Ok(()));
        asking.join().unwrap().unwrap();
        drop(switch);
        assert!(!deep.join("power.sock").exists());
    }
}
