//! The control sockets of hostapd and wpa_supplicant: a datagram with a question, one with the answer.
//!
//! No events are attached to, so that every datagram is an answer.

use std::{
    fs, io,
    os::unix::net::UnixDatagram,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// An answer waits until all that is before it in the daemon's loop is done: at its start that is
/// the making of all its interfaces.
const PATIENCE: Duration = Duration::from_secs(60);
const LONGEST: usize = 16_384;

#[derive(Debug)]
pub(crate) struct Control {
    socket: UnixDatagram,
    here: PathBuf,
}

impl Control {
    /// Connects to the socket at `there`; the answers come back to one at `here`, made for it.
    pub(crate) fn connect(here: impl Into<PathBuf>, there: &Path) -> io::Result<Self> {
        let here = here.into();
        // What a conversation before us has left would be in the way.
        let _ = fs::remove_file(&here);
        let control = Self { socket: UnixDatagram::bind(&here)?, here };
        control.socket.set_read_timeout(Some(PATIENCE))?;
        control.socket.connect(there)?;
        Ok(control)
    }

    pub(crate) fn ask(&self, question: &str) -> io::Result<String> {
        self.socket.send(question.as_bytes())?;
        answer(&self.socket)
    }

    /// Gives an order; any answer but `OK` is a refusal.
    pub(crate) fn order(&self, order: &str) -> io::Result<()> {
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

/// The next answer. A child's end is a signal, after which no system waits on by itself where a socket has a time-out; here
/// the wait goes on until that has passed, and for as long again at most.
pub(crate) fn answer(socket: &UnixDatagram) -> io::Result<String> {
    let until = socket.read_timeout()?.map(|patience| Instant::now() + patience);
    let goes_on = |error: &io::Error| {
        error.kind() == io::ErrorKind::Interrupted
            && until.is_none_or(|until| Instant::now() < until)
    };
    let mut answer = vec![0; LONGEST];
    loop {
        match socket.recv(&mut answer) {
            Err(error) if goes_on(&error) => {}
            received => return Ok(String::from_utf8_lossy(&answer[..received?]).into_owned()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{
        sync::mpsc,
        thread::{self, JoinHandle},
    };

    use super::*;

    /// A daemon that gives these answers, one to a question, and reports the questions.
    pub(crate) fn daemon(at: &Path, answers: &'static [&str]) -> JoinHandle<Vec<String>> {
        let socket = UnixDatagram::bind(at).unwrap();
        let answer = move |answer: &&str| {
            let mut asked = [0; 128];
            let (length, from) = socket.recv_from(&mut asked).unwrap();
            socket.send_to_addr(answer.as_bytes(), &from).unwrap();
            String::from_utf8_lossy(&asked[..length]).into_owned()
        };
        thread::spawn(move || answers.iter().map(answer).collect())
    }

    #[test]
    fn an_order_is_fine_only_when_it_is_answered_with_ok() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("daemon");
        let daemon = daemon(&there, &["OK\n", "FAIL\n"]);
        let control = Control::connect(folder.path().join("us"), &there).unwrap();
        control.order("SCAN").unwrap();
        let refusal = control.order("SCAN").unwrap_err();
        assert_eq!(refusal.to_string(), "SCAN was answered with FAIL");
        assert_eq!(daemon.join().unwrap(), ["SCAN"; 2]);
        drop(control);
        assert!(!folder.path().join("us").exists(), "the socket's name is removed");
    }

    #[test]
    fn an_answer_is_waited_for_through_signals() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("daemon");
        let daemon = UnixDatagram::bind(&there).unwrap();
        let control = Control::connect(folder.path().join("us"), &there).unwrap();
        let (sender, receiver) = mpsc::channel();
        let asking = thread::spawn(move || {
            sender.send(linux::interrupt::this_thread().unwrap()).unwrap();
            control.ask("STATUS")
        });
        let asker = receiver.recv().unwrap();
        let (_, address) = daemon.recv_from(&mut [0; 64]).unwrap();
        for _ in 0..5 {
            thread::sleep(Duration::from_millis(20));
            // Fails where the thread has ended, and with it the wait.
            asker.interrupt().unwrap();
        }
        daemon.send_to(b"OK", address.as_pathname().unwrap()).unwrap();
        assert_eq!(asking.join().unwrap().unwrap(), "OK");
    }
}
