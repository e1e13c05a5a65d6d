//! The control sockets of hostapd and wpa_supplicant: a datagram with a question, one with the answer.
//!
//! Talks to one of their sockets. It attaches to no events, so that every datagram is an answer; what
//! the words mean is for [`hostapd`] and [`supplicant`].
//!
//! [`hostapd`]: super::hostapd
//! [`supplicant`]: super::supplicant

use std::{
    fs, io,
    os::unix::net::UnixDatagram,
    path::{Path, PathBuf},
    time::Duration,
};

/// An answer waits until all that is before it in the daemon's loop is done: at its start that is
/// the making of all its interfaces.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest answer that either of them gives.
const LONGEST: usize = 8192;

/// A conversation with a control socket.
#[derive(Debug)]
pub(super) struct Control {
    socket: UnixDatagram,
    here: PathBuf,
}

impl Control {
    /// Connects to the socket at `there`; the answers come back to one at `here`, made for it.
    pub(super) fn connect(here: impl Into<PathBuf>, there: &Path) -> io::Result<Self> {
        let here = here.into();
        // What a conversation before us has left would be in the way.
        let _ = fs::remove_file(&here);
        let control = Self { socket: UnixDatagram::bind(&here)?, here };
        control.socket.set_read_timeout(Some(PATIENCE))?;
        control.socket.connect(there)?;
        Ok(control)
    }

    /// Asks a question and waits for the answer.
    pub(super) fn ask(&self, question: &str) -> io::Result<String> {
        self.socket.send(question.as_bytes())?;
        let mut answer = vec![0; LONGEST];
        let length = self.socket.recv(&mut answer)?;
        answer.truncate(length);
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Gives an order; any answer but `OK` is a refusal.
    pub(super) fn order(&self, order: &str) -> io::Result<()> {
        match self.ask(order)?.trim() {
            "OK" => Ok(()),
            answer => Err(io::Error::other(format!("{order} was answered with {answer}"))),
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // The folder is a tmpfs of ours; a name that stays behind harms nobody.
        let _ = fs::remove_file(&self.here);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn an_order_is_fine_only_when_it_is_answered_with_ok() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("daemon");
        let daemon = UnixDatagram::bind(&there).unwrap();
        let answering = thread::spawn(move || {
            let mut question = [0; 64];
            for answer in ["OK\n", "FAIL\n"] {
                let (_, asker) = daemon.recv_from(&mut question).unwrap();
                daemon.send_to(answer.as_bytes(), asker.as_pathname().unwrap()).unwrap();
            }
        });
        let control = Control::connect(folder.path().join("us"), &there).unwrap();
        control.order("SCAN").unwrap();
        let refusal = control.order("SCAN").unwrap_err();
        assert_eq!(refusal.to_string(), "SCAN was answered with FAIL");
        answering.join().unwrap();
        drop(control);
        assert!(!folder.path().join("us").exists(), "the socket's name is removed");
    }
}
