//! The real programs, and consumers that talk to them.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// 13 + 13 + 12 stations.
pub(crate) const STATIONS: usize = 38;

pub(crate) fn recording() -> String {
    format!("{}/../linux/tests/recordings/dump-38.netlink", env!("CARGO_MANIFEST_DIR"))
}

/// `stationd` with these words; it ends by itself.
pub(crate) fn stationd(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stationd")).args(words).output().unwrap()
}

pub(crate) struct Daemon {
    child: Child,
    /// Of its sockets.
    folder: TempDir,
}

impl Daemon {
    /// Starts it with these settings, and its metrics on a UNIX socket.
    pub(crate) fn start(settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name).display().to_string();
        let sockets = [format!("socket={}", path("rpc")), format!("metrics=unix:{}", path("http"))];
        let mut command = Command::new(env!("CARGO_BIN_EXE_stationd"));
        command.args(["--replay", &recording(), "--set", "hostapd=off"]);
        for setting in sockets.iter().map(String::as_str).chain(settings.iter().copied()) {
            command.args(["--set", setting]);
        }
        let child = command.stderr(Stdio::inherit()).spawn().unwrap();
        let daemon = Self { child, folder };
        daemon.until("it listens", || UnixStream::connect(daemon.rpc_path()).ok());
        daemon
    }

    pub(crate) fn rpc_path(&self) -> PathBuf {
        self.folder.path().join("rpc")
    }

    pub(crate) fn http_path(&self) -> PathBuf {
        self.folder.path().join("http")
    }

    pub(crate) fn client(&self) -> Client {
        Client::of(UnixStream::connect(self.rpc_path()).unwrap())
    }

    /// What `/metrics` says of one sample, labels and all.
    pub(crate) fn sample(&self, name: &str) -> f64 {
        let page = self.get("GET /metrics HTTP/1.0\r\n\r\n");
        let mut lines = page.lines();
        let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
    }

    /// Sends one HTTP request, and reads until the end.
    pub(crate) fn get(&self, request: &str) -> String {
        let mut stream = UnixStream::connect(self.http_path()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// What the kernel says of its process under this name.
    pub(crate) fn status(&self, name: &str) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let mut lines = status.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap().trim().to_owned()
    }

    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    pub(crate) fn resident_kib(&self) -> u64 {
        self.status("VmRSS").trim_end_matches(" kB").parse().unwrap()
    }

    /// Waits for something that comes soon.
    pub(crate) fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "waited in vain until {what}");
            sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn end(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.child.wait().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct Client {
    pub(crate) stream: UnixStream,
    lines: BufReader<UnixStream>,
}

impl Client {
    pub(crate) fn of(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap());
        Self { stream, lines }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn reply(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(request(7, method, params).as_bytes());
        let reply = self.reply();
        assert_eq!((&reply["jsonrpc"], &reply["id"]), (&json!("2.0"), &json!(7)), "{reply}");
        reply
    }

    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let mut reply = self.ask(method, params);
        assert!(reply.get("error").is_none(), "{reply}");
        reply["result"].take()
    }

    /// The number and the words of a refusal.
    pub(crate) fn refusal(&mut self, method: &str, params: Value) -> (i64, String) {
        refusal(&self.ask(method, params))
    }
}

pub(crate) fn refusal(reply: &Value) -> (i64, String) {
    let error = &reply["error"];
    (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
}

pub(crate) fn request(id: u64, method: &str, params: Value) -> String {
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

pub(crate) fn brief(id: u64) -> String {
    request(id, "getStationStatsBrief", json!({"interface": "wlan0"}))
}

/// So many requests for the full reply.
pub(crate) fn full(count: u64) -> String {
    let one = |id| request(id, "getStationStats", json!({"interface": "wlan0"}));
    (0..count).map(one).collect()
}
