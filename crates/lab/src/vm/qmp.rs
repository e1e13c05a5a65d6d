//! QEMU's control channel: one command, one answer, in JSON lines; events in between are kept by name.

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    os::unix::net::UnixStream,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::Failure;
use crate::{Cancel, Error};

/// QEMU answers at once, and reads or writes a snapshot within seconds; on a host that also compiles it takes longer.
const PATIENCE: Duration = Duration::from_secs(180);

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// QEMU's longest answer to what we ask has some hundred bytes.
const LONGEST_LINE: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Qmp {
    socket: UnixStream,
    answers: BufReader<UnixStream>,
    partial: Vec<u8>,
    /// Names of the events that came while an answer was awaited, each once.
    events: Vec<String>,
    cancel: Cancel,
}

/// One query, and until when its answer is waited for, whatever else comes.
#[derive(Clone, Copy)]
struct Query<'a> {
    what: &'a str,
    until: Instant,
}

impl<'a> Query<'a> {
    fn now(what: &'a str) -> Self {
        Self { what, until: Instant::now() + PATIENCE }
    }

    fn refused(self, why: &str) -> Error {
        Failure::Control { command: self.what.to_owned(), why: why.to_owned() }.into()
    }
}

impl Qmp {
    /// Greets QEMU.
    pub(super) fn open(socket: UnixStream, cancel: Cancel) -> Result<Self, Error> {
        const HELLO: &str = "qmp_capabilities";
        let refused = |why: std::io::Error| Query::now(HELLO).refused(&why.to_string());
        socket.set_read_timeout(Some(POLL_INTERVAL)).map_err(refused)?;
        // A command is a line; a socket that has no room for it belongs to a QEMU that hangs.
        socket.set_write_timeout(Some(PATIENCE)).map_err(refused)?;
        let answers = BufReader::new(socket.try_clone().map_err(refused)?);
        let mut qmp = Self { socket, answers, partial: Vec::new(), events: Vec::new(), cancel };
        qmp.command(HELLO, json!({}))?;
        Ok(qmp)
    }

    pub(super) fn command(&mut self, name: &str, arguments: Value) -> Result<Value, Error> {
        let asked = Query::now(name);
        let line = format!("{}\n", json!({ "execute": name, "arguments": arguments }));
        self.socket
            .write_all(line.as_bytes())
            .map_err(|error| asked.refused(&error.to_string()))?;
        loop {
            let answer = self.line(asked)?;
            if let Some(value) = answer.get("return") {
                return Ok(value.clone());
            }
            if let Some(error) = answer.get("error") {
                return Err(asked.refused(error["desc"].as_str().unwrap_or("no reason")));
            }
            self.keep(&answer);
        }
    }

    /// Waits for an event, which may have come already.
    pub(super) fn wait_for(&mut self, name: &str) -> Result<(), Error> {
        let asked = Query::now(name);
        while !self.events.iter().any(|event| event == name) {
            let line = self.line(asked)?;
            self.keep(&line);
        }
        Ok(())
    }

    fn keep(&mut self, line: &Value) {
        let event = event(line).filter(|event| !self.events.contains(event));
        self.events.extend(event);
    }

    fn line(&mut self, asked: Query<'_>) -> Result<Value, Error> {
        loop {
            self.cancel.check()?;
            let room = (LONGEST_LINE - self.partial.len()) as u64;
            match self.answers.by_ref().take(room).read_until(b'\n', &mut self.partial) {
                Ok(_) if self.partial.ends_with(b"\n") => {
                    let line = std::mem::take(&mut self.partial);
                    return serde_json::from_slice(&line)
                        .map_err(|error| asked.refused(&error.to_string()));
                }
                Ok(_) if self.partial.len() == LONGEST_LINE => {
                    return Err(asked.refused("an answer without end"));
                }
                Ok(_) => return Err(asked.refused("QEMU closed its control channel")),
                Err(error) if is_a_glance(error.kind()) => {}
                Err(error) => return Err(asked.refused(&error.to_string())),
            }
            if Instant::now() > asked.until {
                return Err(asked.refused(&format!("no answer for {} s", PATIENCE.as_secs())));
            }
        }
    }

    /// Waits until a query's field has left the given values; returns the one that it has then.
    pub(super) fn wait_while(&mut self, query: &str, passing: &[&str]) -> Result<Value, Error> {
        let asked = Query::now(query);
        loop {
            let answer = self.command(query, json!({}))?;
            let status = answer["status"].as_str().unwrap_or("none");
            if !passing.contains(&status) {
                return Ok(answer);
            }
            if Instant::now() > asked.until {
                let waited = PATIENCE.as_secs();
                return Err(asked.refused(&format!("still `{status}` after {waited} s")));
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Whether a read ended only because nothing came.
fn is_a_glance(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn event(line: &Value) -> Option<String> {
    line.get("event")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A QEMU that greets, answers the greeting, and then says this.
    fn saying(bytes: &'static [u8], cancel: &Cancel) -> (Qmp, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"{\"QMP\":{}}\n{\"return\":{}}\n").unwrap();
        theirs.write_all(bytes).unwrap();
        (Qmp::open(ours, cancel.clone()).unwrap(), theirs)
    }

    #[test]
    fn a_wish_to_stop_ends_a_wait_for_qemu() {
        let cancel = Cancel::default();
        let (mut qmp, _theirs) = saying(b"{\"half\":", &cancel);
        cancel.stop();
        assert!(matches!(qmp.wait_for("STOP"), Err(Error::Interrupted)));
    }

    #[test]
    fn events_are_kept_once_and_a_line_may_come_in_pieces() {
        let events = b"{\"event\":\"STOP\"}\n{\"event\":\"STOP\"}\n{\"ret";
        let (mut qmp, mut theirs) = saying(events, &Cancel::default());
        let late = thread::spawn(move || {
            thread::sleep(POLL_INTERVAL * 3);
            theirs.write_all(b"urn\":7}\n").unwrap();
            theirs
        });
        assert_eq!(qmp.command("query", json!({})).unwrap(), json!(7));
        assert_eq!(qmp.events, ["STOP"]);
        qmp.wait_for("STOP").unwrap();
        drop(late.join().unwrap());
        qmp.wait_for("RESUME").unwrap_err();
    }
}
