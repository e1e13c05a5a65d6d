//! A client of `headroom mcp`, scripted from here a request at a time: the protocol's own Python SDK, which `scripts/setup
//! test` puts below the target folder.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use serde_json::{Value, json};

use super::{
    headroom::{binary, python_programs},
    place::Place,
};

/// A client and its server. Dropping it ends both.
#[derive(Debug)]
pub(crate) struct Mcp {
    client: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    /// The revision that they agreed on, and what the server is.
    pub(crate) greeting: Value,
}

#[derive(Debug)]
pub(crate) struct Answer(Value);

impl Mcp {
    /// A client of this mode (`auto`, `legacy`) that starts `headroom mcp` with these words. `None`, with the
    /// reason, where there is no such client.
    pub(crate) fn start(place: &Place, mode: &str, words: &[&str]) -> Option<Self> {
        let programs = python_programs("mcp", "test")?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/mcp_client.py");
        let mut command = place.command(&programs.join("python3"));
        command.arg(script).arg(mode).arg(binary()).arg("mcp").args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = command.spawn().unwrap();
        let stdin = client.stdin.take();
        let stdout = BufReader::new(client.stdout.take().unwrap());
        let mut mcp = Self { client, stdin, stdout, greeting: Value::Null };
        mcp.greeting = mcp.line();
        Some(mcp)
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: `{line}`"))
    }

    /// Sends a request and reads what came of it: `result`, or `error` where the SDK raised one.
    pub(crate) fn request(&mut self, request: &Value) -> Value {
        writeln!(self.stdin.as_ref().unwrap(), "{request}").unwrap();
        self.line()
    }

    pub(crate) fn call(&mut self, tool: &str, words: &Value) -> Answer {
        let said = self.request(&json!({"method": "call", "tool": tool, "words": words}));
        assert!(said["error"].is_null(), "{tool} {words}: {said}");
        Answer(said["result"].clone())
    }

    pub(crate) fn of(&mut self, tool: &str, handle: &str) -> Answer {
        self.call(tool, &json!({"handle": handle}))
    }

    pub(crate) fn wait(&mut self, handle: &str) -> Value {
        loop {
            let status = self.call("wait", &json!({"handle": handle, "seconds": 20})).value();
            if !["running", "stopping"].contains(&status["state"].as_str().unwrap()) {
                return status;
            }
        }
    }

    pub(crate) fn server(&self, place: &Place) -> i32 {
        let is_server = |pid: i32| {
            let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split('\0').nth(1) == Some("mcp")
        };
        place.processes().iter().map(|one| one.pid).find(|pid| is_server(*pid)).unwrap()
    }

    pub(crate) fn leave(mut self) {
        self.stdin = None;
        self.client.wait().unwrap();
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

impl Answer {
    /// What the tool answered, which was no error.
    pub(crate) fn value(self) -> Value {
        assert!(self.0["is_error"] == false, "{}", self.0);
        self.0["structured_content"].clone()
    }

    pub(crate) fn text(&self) -> &str {
        self.0["content"][0]["text"].as_str().unwrap()
    }

    pub(crate) fn fails(&self, words: &str) {
        assert!(self.0["is_error"] == true && self.text().contains(words), "{words}: {}", self.0);
    }

    /// The addresses that it links to.
    pub(crate) fn links(&self) -> Vec<String> {
        let content = self.0["content"].as_array().unwrap();
        let links = content.iter().filter_map(|one| one["uri"].as_str());
        links.map(str::to_owned).collect()
    }
}
