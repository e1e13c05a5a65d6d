//! A consumer's connection to stationd: sends questions in one write and takes their answers.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use super::reply;

/// stationd answers within this, or not at all.
const PATIENCE: Duration = Duration::from_secs(5);
/// A brief reply of some 100 stations fits.
const BUFFER: usize = 32 * 1024;

#[derive(Debug)]
pub(super) struct Socket {
    stream: Option<BufReader<UnixStream>>,
    /// What each interface's question begins with.
    interfaces: Vec<Vec<u8>>,
    last_id: u64,
    line: Vec<u8>,
}

pub(super) fn connect(socket: &Path) -> io::Result<BufReader<UnixStream>> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(BufReader::with_capacity(BUFFER, stream))
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
        let interfaces = interfaces.iter().map(question).collect();
        Self { stream: None, interfaces, last_id: 0, line: Vec::new() }
    }

    /// Asks about all interfaces, in one write. Connects first if it must.
    pub(super) fn ask(&mut self, socket: &Path) -> io::Result<()> {
        let mut questions = Vec::new();
        for (place, question) in (1..).zip(&self.interfaces) {
            questions.extend_from_slice(question);
            writeln!(questions, "{}}}", self.last_id + place)?;
        }
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => self.stream.insert(connect(socket)?),
        };
        stream.get_mut().write_all(&questions).inspect_err(|_| self.stream = None)
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
            match self.stream.as_mut().map(|stream| read_line(stream, &mut self.line)) {
                Some(Ok(())) => {
                    bytes += self.line.len() as u64;
                    each(place, Ok((&self.line, self.last_id)));
                }
                Some(Err(error)) => {
                    // What comes later would be taken for the answer to the next question.
                    self.stream = None;
                    self.last_id += (asked - place - 1) as u64;
                    each(place, Err(format!("no answer: {error}")));
                    break;
                }
                None => break,
            }
        }
        bytes
    }
}

/// Reads one line. A signal does not end it: the next round sees that one, and stopping and continuing this process
/// interrupts a read with a timeout, too.
fn read_line(stream: &mut BufReader<UnixStream>, line: &mut Vec<u8>) -> io::Result<()> {
    line.clear();
    stream.read_until(b'\n', line)?;
    if line.ends_with(b"\n") { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Asks stationd which interfaces there are.
pub(super) fn interfaces(stream: &mut BufReader<UnixStream>) -> io::Result<Vec<String>> {
    stream
        .get_mut()
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"getAccessPoints\"}\n")?;
    let mut line = Vec::new();
    read_line(stream, &mut line)?;
    reply::access_points(&line).map_err(io::Error::other)
}
