//! A labgrid lab on the loopback: the real coordinator and the real exporter, one place with one device, and a power switch
//! that really turns it.
//!
//! labgrid is in a folder of its own below the target folder, where `scripts/setup test` puts it.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::process::Signal;

use super::{
    headroom::{python_programs, target},
    place::Place,
    processes::{eventually, free_port, send},
    ssh::{Client, Device},
};

/// A Python program of labgrid's may take so long to start on a busy machine.
const START: Duration = Duration::from_secs(60);

pub(crate) const PLACE: &str = "ap-1";

/// A lab whose place no one holds. It ends when the value is dropped.
#[derive(Debug)]
pub(crate) struct Labgrid {
    folder: PathBuf,
    coordinator: Child,
    exporter: Option<Child>,
    port: u16,
    pub(crate) switch: Switch,
}

impl Labgrid {
    /// A lab with this device, which is off, and a device file for it, `lab.toml`, in the test's place. `None`, with the
    /// reason, where there is no labgrid.
    pub(crate) fn start(place: &Place, client: &Client, device: &Device) -> Option<Self> {
        python_programs("labgrid", "test")?;
        let folder = place.folder("labgrid");
        let port = free_port();
        let address = format!("127.0.0.1:{port}");
        let switch = Switch::of(device);
        let power = format!(
            "  NetworkPowerPort:\n    model: rest\n    host: 'http://127.0.0.1:{}/{{index}}'\n    index: 1\n",
            switch.port
        );
        let coordinator = run(&folder, "labgrid-coordinator", &["--listen", &address]);
        let mut lab = Self { folder, coordinator, exporter: None, port, switch };
        // Each call of the client is a second of work, so none is made before there is somebody to answer.
        let listens = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok().map(drop);
        eventually(START, listens).unwrap_or_else(|| panic!("no coordinator: {}", lab.said()));
        let created = || lab.client("admin", &["create"]).status.success().then_some(());
        eventually(START, created).unwrap_or_else(|| panic!("no coordinator: {}", lab.said()));
        assert!(lab.client("admin", &["add-match", "lab1/ap-1/*"]).status.success());
        let resources = format!(
            "ap-1:\n  NetworkService:\n    address: 127.0.0.1\n    username: root\n    port: {}\n{power}",
            device.port
        );
        fs::write(lab.folder.join("exported.yaml"), resources).unwrap();
        let words = ["--coordinator", &address, "--name", "lab1", "exported.yaml"];
        lab.exporter = Some(run(&lab.folder, "labgrid-exporter", &words));
        let there = || {
            let shown = String::from_utf8(lab.client("admin", &["show"]).stdout).unwrap();
            (shown.matches("'avail': True").count() == 2).then_some(())
        };
        eventually(START, there).unwrap_or_else(|| panic!("no exporter: {}", lab.said()));
        let example = include_str!("../../examples/labgrid.toml");
        let (config, server) = (client.names().display().to_string(), device.port);
        let address = format!("ssh://root@127.0.0.1:{server}\"\nssh-config = \"{config}");
        let text = example.replace("ssh:root@192.168.1.1", &address);
        place.write("lab.toml", &text.replace("lab.example:20408", &format!("127.0.0.1:{port}")));
        client.name("127.0.0.1", server, "");
        Some(lab)
    }

    /// What labgrid-client does with the place for this user.
    pub(crate) fn client(&self, user: &str, words: &[&str]) -> Output {
        let coordinator = format!("127.0.0.1:{}", self.port);
        let mut command = Command::new(bin().join("labgrid-client"));
        command.args(["--coordinator", &coordinator, "--place", PLACE]).args(words);
        command.env("LG_USERNAME", user).env("LG_HOSTNAME", "lab").current_dir(&self.folder);
        command.output().unwrap()
    }

    /// `HOST/USER` who has acquired the place.
    pub(crate) fn holder(&self) -> Option<String> {
        let shown = String::from_utf8(self.client("admin", &["show"]).stdout).unwrap();
        let holder = shown.lines().find_map(|line| line.strip_prefix("  acquired: "));
        holder.filter(|holder| *holder != "None").map(str::to_owned)
    }

    /// Asserts that soon no one holds the place.
    pub(crate) fn is_released(&self) {
        let is_free = || {
            // A call is half a second of work.
            thread::sleep(Duration::from_millis(200));
            self.holder().is_none().then_some(())
        };
        let holder = || format!("{:?} holds the place", self.holder());
        eventually(Duration::from_secs(10), is_free).unwrap_or_else(|| panic!("{}", holder()));
    }

    /// A `PATH` that finds labgrid-client first.
    pub(crate) fn path() -> OsString {
        let path = env::var_os("PATH").unwrap();
        env::join_paths([bin()].into_iter().chain(env::split_paths(&path))).unwrap()
    }

    fn said(&self) -> String {
        let names = ["labgrid-coordinator.said", "labgrid-exporter.said"];
        let texts = names.map(|name| fs::read_to_string(self.folder.join(name)));
        texts.into_iter().flatten().collect()
    }
}

impl Drop for Labgrid {
    fn drop(&mut self) {
        for child in self.exporter.iter_mut().chain([&mut self.coordinator]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn bin() -> PathBuf {
    target().join("labgrid/bin")
}

/// A server of labgrid's, which keeps its files where it runs.
fn run(folder: &Path, program: &str, words: &[&str]) -> Child {
    let said = fs::File::create(folder.join(format!("{program}.said"))).unwrap();
    let mut command = Command::new(bin().join(program));
    command.args(words).current_dir(folder).stdin(Stdio::null());
    command.stdout(said.try_clone().unwrap()).stderr(said).spawn().unwrap()
}

/// A power switch that speaks HTTP. A device that is off does nothing.
#[derive(Debug)]
pub(crate) struct Switch {
    port: u16,
    shared: Arc<Shared>,
    server: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    device: i32,
    is_on: AtomicBool,
    turns: AtomicU32,
    is_over: AtomicBool,
}

impl Switch {
    /// Turns this device off, and is the switch that turns it on.
    fn of(device: &Device) -> Self {
        let port = free_port();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let shared = Shared {
            device: device.server_pid(),
            is_on: AtomicBool::new(false),
            turns: AtomicU32::new(0),
            is_over: AtomicBool::new(false),
        };
        let shared = Arc::new(shared);
        let own = Arc::clone(&shared);
        own.turn(false);
        let server = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if own.is_over.load(Ordering::Relaxed) {
                    return;
                }
                own.answer(stream);
            }
        });
        Self { port, shared, server: Some(server) }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.shared.is_on.load(Ordering::Relaxed)
    }

    /// How often it was turned by the lab.
    pub(crate) fn turns(&self) -> u32 {
        self.shared.turns.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn turn(&self, on: bool) {
        self.is_on.store(on, Ordering::Relaxed);
        send(self.device, if on { Signal::CONT } else { Signal::STOP });
    }

    /// PUT turns it, GET asks; the body is one byte.
    fn answer(&self, mut stream: TcpStream) {
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        let is_whole = |request: &[u8]| {
            let text = String::from_utf8_lossy(request);
            let has_body = !text.starts_with("PUT");
            text.split_once("\r\n\r\n").is_some_and(|(_, body)| has_body || !body.is_empty())
        };
        while !is_whole(&request) {
            let Ok(length @ 1..) = stream.read(&mut buffer) else { return };
            request.extend(&buffer[..length]);
        }
        if request.starts_with(b"PUT") {
            self.turn(request.ends_with(b"1"));
            self.turns.fetch_add(1, Ordering::Relaxed);
        }
        let state = u8::from(self.is_on.load(Ordering::Relaxed));
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n";
        let _ = write!(stream, "{head}{state}");
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        // A device that stands still could not be ended in good order.
        self.shared.turn(true);
        self.shared.is_over.store(true, Ordering::Relaxed);
        // It waits for one more.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
        let _ = self.server.take().map(JoinHandle::join);
    }
}
