//! A broker that is asked, before anybody is served, what it would let stationd do.
//!
//! A connection of its own, which waits for each answer. It asks which of our names are there, and, where our names
//! begin with a prefix of ours, adds an object below it and takes it back at once: only the broker knows its rules.
//! Names of the field's it never takes, not for a moment: their readers would take it for the field's daemon.

use std::{
    io::{self, ErrorKind, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::{Duration, Instant},
};

use super::{
    frame::{self, Said, Status},
    objects,
};
use crate::{net::connected, points::Points};

/// All that is asked is answered within so long, or not.
const PATIENCE: Duration = Duration::from_secs(5);
const RECEIVE: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The names of ours that somebody has.
    pub taken: Vec<String>,
    /// Whether it takes objects from this user; `None` where that was not tried.
    pub takes_objects: Option<bool>,
}

/// Asks the broker of this socket.
///
/// # Errors
///
/// No one is there, or no broker; [`ErrorKind::TimedOut`] where one does not answer.
pub fn ask(path: &Path, prefix: &str, points: &Points) -> io::Result<Answer> {
    let stream = UnixStream::from(connected(path)?);
    stream.set_nonblocking(false)?;
    let mut talk = Talk { stream, end: Instant::now() + PATIENCE, input: Vec::new(), seq: 0 };
    talk.until(|said| matches!(said, Said::Hello).then_some(()))?;
    let mut answer = Answer::default();
    for path in objects::all(points).filter_map(|subject| subject.path(prefix, points)) {
        let (status, _) = talk.request(|seq, out| frame::lookup(seq, &path, out))?;
        if status == Status::Ok as u32 {
            answer.taken.push(path);
        }
    }
    if !prefix.is_empty() {
        let path = format!("{prefix}check.{}", std::process::id());
        let (_, object) = talk.request(|seq, out| frame::add_object(seq, &path, &[], out))?;
        answer.takes_objects = Some(object.is_some());
        if let Some(id) = object {
            talk.request(|seq, out| frame::remove_object(seq, id, out))?;
        }
    }
    Ok(answer)
}

/// A conversation, a question at a time.
struct Talk {
    stream: UnixStream,
    end: Instant,
    input: Vec<u8>,
    seq: u16,
}

impl Talk {
    /// How a request ended, and the object that the answer names.
    fn request(&mut self, write: impl FnOnce(u16, &mut Vec<u8>)) -> io::Result<(u32, Option<u32>)> {
        self.seq += 1;
        let (mut out, own, mut named) = (Vec::new(), self.seq, None);
        write(own, &mut out);
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write_all(&out)?;
        let status = self.until(|said| match said {
            Said::Object { seq, object } if seq == own => {
                named = object;
                None
            }
            Said::Status { seq, status } if seq == own => Some(status),
            _ => None,
        })?;
        Ok((status, named))
    }

    /// Reads frames until one is what is waited for.
    fn until<T>(&mut self, mut is: impl FnMut(Said<'_>) -> Option<T>) -> io::Result<T> {
        loop {
            let read = frame::read(&self.input)
                .map_err(|error| io::Error::new(ErrorKind::InvalidData, error.to_string()))?;
            if let Some((said, length)) = read {
                let found = is(said);
                self.input.drain(..length);
                match found {
                    Some(found) => return Ok(found),
                    None => continue,
                }
            }
            self.stream.set_read_timeout(Some(self.left()?))?;
            let mut bytes = [0; RECEIVE];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.input.extend_from_slice(&bytes[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(ErrorKind::TimedOut.into());
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::net::UnixListener, thread};

    use super::*;

    /// A socket where this is said to whoever comes.
    fn from_one_who_says(says: &'static [u8]) -> io::Result<Answer> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || listener.accept().unwrap().0.write_all(says).unwrap());
            ask(&path, "stationd.", &Points::default())
        })
    }

    #[test]
    fn what_is_no_broker_is_an_error() {
        assert_eq!(from_one_who_says(b"").unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(from_one_who_says(&[0xff; 64]).unwrap_err().kind(), ErrorKind::InvalidData);
        let absent = ask(Path::new("/none"), "stationd.", &Points::default());
        assert_eq!(absent.unwrap_err().kind(), ErrorKind::NotFound);
    }
}
