//! A stage for `txd run`: two namespaces, an address at each end, and the program between them.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::Ipv4Addr,
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use linux::{
    link::{self, Links},
    namespace::Network,
};
use rustix::process::{Pid, Signal, kill_process};

/// Nothing takes longer; a busy host is no reason to fail.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) fn txd() -> Command {
    Command::new(env!("CARGO_BIN_EXE_txd"))
}

/// Runs the program to its end.
pub(crate) fn output(words: &[&str]) -> Output {
    txd().args(words).output().expect("the program is there")
}

/// What stands on standard error, which is one line.
pub(crate) fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.lines().count(), 1, "one line: {text:?}");
    text.trim_end().to_owned()
}

/// Says why something was passed over, or what was seen.
pub(crate) fn say(text: &str) {
    // No one is left to be told where even this fails.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Whether TAPs can be made here; says so where they cannot.
pub(crate) fn has_taps() -> bool {
    let made = thread::spawn(|| {
        link::enter_new_network_namespace()?;
        linux::tap::Tap::open("txd-test").map(drop)
    });
    let made = made.join().expect("it does not panic");
    if let Err(why) = &made {
        skip::skip!("no TAP can be made here: {why}");
    }
    made.is_ok()
}

/// Whether a program is on the path; says so where it is not.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    if !found {
        skip::skip!("{program} is not installed");
    }
    found
}

/// The program at work between two namespaces.
pub(crate) struct Stage {
    pub(crate) child: Child,
    lines: mpsc::Receiver<String>,
    near: Network,
    far: Network,
}

pub(crate) const NEAR: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
pub(crate) const FAR: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

impl Stage {
    /// `txd run` with these words, its second interface moved to the far namespace; `None` where that cannot be.
    pub(crate) fn set(words: &[&str]) -> Option<Self> {
        if !has_taps() {
            return None;
        }
        let near = new_namespace();
        let far = new_namespace();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut child = within(&near, move || {
            let mut command = txd();
            command.arg("run").args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("the program is there")
        });
        let stdout = child.stdout.take().expect("it is piped");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let stage = Self { child, lines, near, far };
        assert_eq!(stage.line(), "txd0 and txd1 are up");
        stage.connect();
        Some(stage)
    }

    /// Moves the second interface and gives both an address.
    fn connect(&self) {
        let far = self.far.again().expect("a descriptor is free");
        within(&self.near, move || {
            move_link("txd1", &far);
            address("txd0", NEAR);
        });
        within(&self.far, || address("txd1", FAR));
    }

    /// The next line that the program prints.
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(LONG).expect("it prints a line in time")
    }

    /// Runs a program in the near namespace.
    pub(crate) fn near(&self, words: &[&str]) -> Output {
        let mut command = command(words);
        within(&self.near, move || command.output().expect("it is there"))
    }

    /// Starts a program in the far namespace.
    pub(crate) fn far(&self, words: &[&str]) -> Child {
        let mut command = command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        within(&self.far, move || command.spawn().expect("it is there"))
    }

    /// Does something in the near (true) or far namespace.
    pub(crate) fn inside<T: Send + 'static>(
        &self,
        near: bool,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        within(if near { &self.near } else { &self.far }, body)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).expect("a number");
        kill_process(pid, signal).expect("it runs");
    }

    /// Whether there is an interface of this name in the near (true) or far namespace.
    pub(crate) fn has_link(&self, near: bool, name: &'static str) -> bool {
        self.inside(near, move || {
            Links::open()
                .and_then(|mut links| links.index(name))
                .expect("netlink answers")
                .is_some()
        })
    }

    /// Ends the program by a signal; its status and what it still printed.
    pub(crate) fn end(mut self, signal: Signal) -> (ExitStatus, String, String) {
        self.signal(signal);
        self.ended()
    }

    /// Waits for the program's own end.
    pub(crate) fn ended(&mut self) -> (ExitStatus, String, String) {
        let deadline = Instant::now() + LONG;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                break status;
            }
            assert!(Instant::now() < deadline, "it does not end");
            thread::sleep(Duration::from_millis(10));
        };
        let mut errors = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut errors);
        }
        let lines: Vec<String> = self.lines.iter().collect();
        (status, lines.join("\n"), errors)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // One that has ended takes neither.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

fn new_namespace() -> Network {
    let handle = thread::spawn(|| {
        link::enter_new_network_namespace().expect("TAPs can be made, and so can this");
        let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        let mut links = Links::open().expect("netlink answers");
        links.set_up(1).expect("loopback is there");
        Network::of_this_thread().expect("/proc is mounted")
    });
    handle.join().expect("it does not panic")
}

/// Does something in a namespace; what it starts is there too.
fn within<T: Send + 'static>(network: &Network, body: impl FnOnce() -> T + Send + 'static) -> T {
    let network = network.again().expect("a descriptor is free");
    let done = thread::spawn(move || {
        network.enter().expect("it is ours");
        body()
    });
    done.join().expect("it does not panic")
}

fn move_link(name: &str, to: &Network) {
    use std::os::fd::AsFd;
    let mut links = Links::open().expect("netlink answers");
    let index = links.index(name).expect("netlink answers").expect("txd made it");
    links.move_to(index, to.as_fd()).expect("it may be moved");
}

fn address(name: &str, address: Ipv4Addr) {
    let mut links = Links::open().expect("netlink answers");
    let index = links.index(name).expect("netlink answers").expect("it was moved");
    links.add_ipv4(index, address, 24).expect("it is free");
    links.set_up(index).expect("it is ours");
}
