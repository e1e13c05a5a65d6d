//! A consumer's connection to stationd: sends questions in one write and takes their answers.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use super::reply;

/// stationd answers within this, or not at all.
const PATIENCE: Duration = Duration::from_secs(5);
/// Room for a brief reply of some 100 stations; more is made where a reply is longer.
const ROOM: usize = 32 * 1024;

#[derive(Debug)]
pub(super) struct Socket {
    stream: Option<UnixStream>,
    /// What each interface's question begins with.
    interfaces: Vec<Vec<u8>>,
    last_id: u64,
    buffer: Vec<u8>,
    /// How much of the buffer has been filled, and how much of that is understood.
    filled: usize,
    read: usize,
}

pub(super) fn connect(socket: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

impl Socket {
    /// One that asks about these interfaces, and is not connected yet.
    pub(super) fn new(interfaces: &[String], method: &str) -> Self {
        let question = |name: &String| {
            // A name is a string, and strings are always JSON.
            let name = serde_json::Value::from(name.as_str());
            let text = format!(
                r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"interface":{name}}},"id":"#
            );
            text.into_bytes()
        };
        Self {
            stream: None,
            interfaces: interfaces.iter().map(question).collect(),
            last_id: 0,
            buffer: vec![0; ROOM],
            filled: 0,
            read: 0,
        }
    }

    /// Asks about all interfaces, in one write. Connects first where it must.
    pub(super) fn ask(&mut self, socket: &Path) -> io::Result<()> {
        let mut questions = Vec::new();
        for (place, question) in (1..).zip(&self.interfaces) {
            questions.extend_from_slice(question);
            writeln!(questions, "{}}}", self.last_id + place)?;
        }
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                (self.filled, self.read) = (0, 0);
                self.stream.insert(connect(socket)?)
            }
        };
        stream.write_all(&questions).inspect_err(|_| self.stream = None)
    }

    /// Takes the answers: each one's line with its id, or why there is none; behind that there are no more. How many
    /// bytes came.
    pub(super) fn take(
        &mut self,
        mut each: impl FnMut(usize, Result<(&[u8], u64), String>),
    ) -> u64 {
        let (mut bytes, asked) = (0, self.interfaces.len());
        for place in 0..asked {
            self.last_id += 1;
            match self.line(&mut bytes) {
                Ok((from, to)) => each(place, Ok((&self.buffer[from..to], self.last_id))),
                Err(error) => {
                    // What comes later would be taken for the answer to the next question.
                    self.stream = None;
                    self.last_id += (asked - place - 1) as u64;
                    each(place, Err(format!("no answer: {error}")));
                    break;
                }
            }
        }
        bytes
    }

    /// The next line, without its end: where it is in the buffer.
    fn line(&mut self, bytes: &mut u64) -> io::Result<(usize, usize)> {
        let mut searched = self.read;
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer[searched..self.filled]) {
                let line = (self.read, searched + end);
                self.read = line.1 + 1;
                return Ok(line);
            }
            self.buffer.copy_within(self.read..self.filled, 0);
            (self.filled, self.read) = (self.filled - self.read, 0);
            if self.filled == self.buffer.len() {
                self.buffer.resize(self.filled * 2, 0);
            }
            searched = self.filled;
            let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            let count = some(stream, &mut self.buffer[self.filled..])?;
            self.filled += count;
            *bytes += count as u64;
        }
    }
}

/// Reads some bytes, never none. A signal meanwhile is for the next round to see; and a reading with a time-out is
/// also interrupted where somebody stops us and continues us.
fn some(stream: &mut UnixStream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Asks stationd which interfaces there are.
pub(super) fn interfaces(stream: &mut UnixStream) -> io::Result<Vec<String>> {
    stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"getAccessPoints\"}\n")?;
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let mut bytes = [0; 4096];
        let count = some(stream, &mut bytes)?;
        line.extend_from_slice(&bytes[..count]);
    }
    reply::access_points(&line).map_err(io::Error::other)
}
