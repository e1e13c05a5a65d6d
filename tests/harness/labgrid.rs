//! A labgrid lab on the loopback: the real coordinator and the real exporter, one place with one device, and a power switch
//! that really turns it.
//!
//! labgrid is in a folder of its own below the target folder, where `scripts/setup test` puts it.

use std::{
    env,
    ffi::OsString,
    fs,
    net::{Ipv4Addr, TcpStream},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use rustix::process::Signal;

use super::{
    headroom::{python_programs, target},
    place::Place,
    processes::{eventually, free_port, send},
    ssh::{Client, Device},
};

/// Timeout of the start of labgrid's Python programs on a busy machine.
const START: Duration = Duration::from_secs(60);

const PLACE: &str = "ap-1";

/// A lab whose place no one holds. It ends when the value is dropped.
#[derive(Debug)]
pub(crate) struct Labgrid {
    folder: PathBuf,
    servers: Vec<Child>,
    port: u16,
    device: i32,
}

impl Labgrid {
    /// A lab with this device, which is off, and a device file for it, `lab.toml`, in the test's place. `None`, with the
    /// reason, where there is no labgrid.
    pub(crate) fn start(place: &Place, client: &Client, device: &Device) -> Option<Self> {
        python_programs("labgrid", "test")?;
        let folder = place.folder("labgrid");
        let port = free_port();
        let address = format!("127.0.0.1:{port}");
        // Its power is a CGI script: a device that is off does nothing.
        let (power, pid, turned) = (free_port(), device.server_pid(), place.path("labgrid/turned"));
        for (name, signal) in [("0", "STOP"), ("1", "CONT")] {
            let turn = format!("kill -{signal} {pid}; echo {name} >>{}", turned.display());
            let head = "printf 'Content-Type: text/plain\\r\\n\\r\\n'";
            let cgi = format!("labgrid/www/cgi-bin/{name}");
            place.script(&cgi, &format!("#!/bin/sh\n{turn}; {head}\n"));
        }
        device.turn(false);
        let mut httpd = Command::new("busybox");
        httpd.args(["httpd", "-f", "-p", &format!("127.0.0.1:{power}"), "-h", "www"]);
        let servers = vec![httpd.current_dir(&folder).spawn().unwrap()];
        let power = format!(
            "  NetworkPowerPort:\n    model: simplerest\n    host: 'http://127.0.0.1:{power}/cgi-bin/{{value}}'\n    index: 1\n"
        );
        let mut lab = Self { folder, servers, port, device: pid };
        lab.run("labgrid-coordinator", &["--listen", &address]);
        // Each call of the client is a second of work, so none is made before there is somebody to answer.
        let listens = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok().map(drop);
        lab.until("coordinator", listens);
        lab.until("place", || lab.client("admin", &["create"]).status.success().then_some(()));
        assert!(lab.client("admin", &["add-match", "lab1/ap-1/*"]).status.success());
        let resources = format!(
            "ap-1:\n  NetworkService:\n    address: 127.0.0.1\n    username: root\n    port: {}\n{power}",
            device.port
        );
        fs::write(lab.folder.join("exported.yaml"), resources).unwrap();
        let words = ["--coordinator", &address, "--name", "lab1", "exported.yaml"];
        lab.run("labgrid-exporter", &words);
        let there = || (lab.shown().matches("'avail': True").count() == 2).then_some(());
        lab.until("exporter", there);
        let example = include_str!("../../examples/labgrid.toml");
        let (config, server) = (client.names().display().to_string(), device.port);
        let address = format!("ssh://root@127.0.0.1:{server}\"\nssh-config = \"{config}");
        let text = example.replace("ssh:root@192.168.1.1", &address);
        place.write("lab.toml", text.replace("lab.example:20408", &format!("127.0.0.1:{port}")));
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

    fn shown(&self) -> String {
        String::from_utf8(self.client("admin", &["show"]).stdout).unwrap()
    }

    /// `HOST/USER` that has acquired the place.
    pub(crate) fn holder(&self) -> Option<String> {
        let shown = self.shown();
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

    /// How the lab has turned the power: a line with 1 or 0 each time.
    pub(crate) fn turned(&self) -> String {
        fs::read_to_string(self.folder.join("turned")).unwrap_or_default()
    }

    /// A server of labgrid's, which keeps its files where it runs.
    fn run(&mut self, program: &str, words: &[&str]) {
        let said = fs::File::create(self.folder.join(format!("{program}.said"))).unwrap();
        let mut command = Command::new(bin().join(program));
        command.args(words).current_dir(&self.folder).stdin(Stdio::null());
        let server = command.stdout(said.try_clone().unwrap()).stderr(said).spawn().unwrap();
        self.servers.push(server);
    }

    /// Waits for what the servers bring about.
    fn until(&self, what: &str, look: impl FnMut() -> Option<()>) {
        if eventually(START, look).is_none() {
            let names = ["labgrid-coordinator.said", "labgrid-exporter.said"];
            let texts = names.map(|name| fs::read_to_string(self.folder.join(name)));
            panic!("no {what}: {}", texts.into_iter().flatten().collect::<String>());
        }
    }
}

impl Drop for Labgrid {
    fn drop(&mut self) {
        // A device that stands still could not be ended in good order.
        send(self.device, Signal::CONT);
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn bin() -> PathBuf {
    target().join("labgrid/bin")
}
