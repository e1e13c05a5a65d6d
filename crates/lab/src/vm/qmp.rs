//! QEMU's control channel: one command, one answer, in JSON lines; events in between are kept by name.

use std::{
    io::{BufRead, BufReader, ErrorKind, Write},
    os::unix::net::UnixStream,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::Failure;

/// QEMU answers at once or not at all; only a dead or overloaded host takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The control channel of a running QEMU.
#[derive(Debug)]
pub(super) struct Qmp {
    socket: UnixStream,
    answers: BufReader<UnixStream>,
    /// Names of the events that came while an answer was awaited.
    events: Vec<String>,
}

impl Qmp {
    /// Greets QEMU.
    ///
    /// # Errors
    ///
    /// [`Failure::Control`] if it does not answer; it may have ended.
    pub(super) fn open(socket: UnixStream) -> Result<Self, Failure> {
        let refused = |why: std::io::Error| refusal("qmp_capabilities", &why.to_string());
        socket.set_read_timeout(Some(PATIENCE)).map_err(refused)?;
        let answers = BufReader::new(socket.try_clone().map_err(refused)?);
        let mut qmp = Self { socket, answers, events: Vec::new() };
        qmp.command("qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// One command.
    ///
    /// # Errors
    ///
    /// [`Failure::Control`].
    pub(super) fn command(&mut self, name: &str, arguments: Value) -> Result<Value, Failure> {
        let line = format!("{}\n", json!({ "execute": name, "arguments": arguments }));
        self.socket
            .write_all(line.as_bytes())
            .map_err(|error| refusal(name, &error.to_string()))?;
        loop {
            let answer = self.line(name)?;
            if let Some(value) = answer.get("return") {
                return Ok(value.clone());
            }
            if let Some(error) = answer.get("error") {
                return Err(refusal(name, error["desc"].as_str().unwrap_or("no reason")));
            }
            self.events.extend(event(&answer));
        }
    }

    /// Waits for an event, which may have come already.
    ///
    /// # Errors
    ///
    /// [`Failure::Control`] when it does not come.
    pub(super) fn wait_for(&mut self, name: &str) -> Result<(), Failure> {
        while !self.events.iter().any(|event| event == name) {
            let line = self.line(name)?;
            self.events.extend(event(&line));
        }
        Ok(())
    }

    fn line(&mut self, command: &str) -> Result<Value, Failure> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(0) => Err(refusal(command, "QEMU closed its control channel")),
            Ok(_) => {
                serde_json::from_str(&line).map_err(|error| refusal(command, &error.to_string()))
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(refusal(command, "no answer for 60 s"))
            }
            Err(error) => Err(refusal(command, &error.to_string())),
        }
    }

    /// Waits until a query's field has left the given values; returns the one that it has then.
    ///
    /// # Errors
    ///
    /// [`Failure::Control`] of the query, or when it takes too long.
    pub(super) fn wait_while(&mut self, query: &str, passing: &[&str]) -> Result<Value, Failure> {
        let began = Instant::now();
        loop {
            let answer = self.command(query, json!({}))?;
            let status = answer["status"].as_str().unwrap_or("none");
            if !passing.contains(&status) {
                return Ok(answer);
            }
            if began.elapsed() > PATIENCE {
                return Err(refusal(query, &format!("still `{status}` after 60 s")));
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The name of the event that a line tells, if it tells one.
fn event(line: &Value) -> Option<String> {
    line.get("event")?.as_str().map(str::to_owned)
}

fn refusal(command: &str, why: &str) -> Failure {
    Failure::Control { command: command.to_owned(), why: why.to_owned() }
}
