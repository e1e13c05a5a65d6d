//! Where others reach the guard that runs: its control socket, and metrics over HTTP on loopback.
//!
//! One request and one answer a connection, nothing waits for anybody: what is not there yet is read when the
//! loop comes round again, who stalls is let go. Each socket has places of its own, and who was silent longest
//! leaves for a newcomer: anyone who fills the one neither reaches the other nor keeps anybody out of the same.
//! What an answer says is the loop's.

use std::{
    net::SocketAddr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use linux::sockets;
use listen::{Accepted, Format, Hosts, ListenError, Page, Parsed};
use rustix::{
    io::Errno,
    net::{Shutdown, shutdown},
    process::getuid,
};

/// Connections of a socket at a time.
const PLACES: usize = 8;
/// This many are let in before the loop goes on: who knocks without end delays no tick.
const AT_ONCE: usize = 32;
/// A request is not longer.
const LONGEST_REQUEST: usize = 4096;
/// Who has not asked after so long is let go.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Bytes behind a request that are taken and thrown away: TCP would take back an answer that is closed over them.
const THROWN_AWAY: usize = 64 * 1024;

/// A socket cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot open the control socket: use another folder with --state")]
    Control(#[source] ListenError),
    #[error("cannot serve metrics: is the port in use?")]
    Metrics(#[source] ListenError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    Status,
    /// Another aggressiveness.
    Set(u8),
    /// The policy file again.
    Reload,
    Metrics(Format),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done, or here it is.
    Done(String),
    /// It is not done, and why.
    Refused(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Control,
    Metrics,
}

/// A socket, and who is connected with it.
#[derive(Debug)]
struct Listener {
    kind: Kind,
    socket: listen::Listener,
    /// In the order in which they came.
    connections: Vec<Connection>,
}

#[derive(Debug)]
struct Connection {
    socket: OwnedFd,
    /// Whether what it asks for is done.
    is_allowed: bool,
    said: Vec<u8>,
    since_ns: u64,
}

/// The open sockets and who stands in them.
#[derive(Debug)]
pub struct Sockets {
    listeners: Vec<Listener>,
    hosts: Hosts,
}

impl Sockets {
    /// Opens the control socket, and the metrics where they are wanted, for these hosts. The caller holds the
    /// folder's lock: a socket that is there already is a dead guard's, and is replaced.
    pub fn open(control: &Path, metrics: Option<SocketAddr>, hosts: Hosts) -> Result<Self, Error> {
        let socket = listen::Listener::unix(control, 0o600).map_err(Error::Control)?;
        let mut listeners = vec![Listener::new(Kind::Control, socket)];
        if let Some(address) = metrics {
            let socket = listen::Listener::tcp(address).map_err(Error::Metrics)?;
            listeners.push(Listener::new(Kind::Metrics, socket));
        }
        Ok(Self { listeners, hosts })
    }

    /// Everything that is worth waking up for.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.listeners.iter().flat_map(|listener| {
            let connections = listener.connections.iter().map(|one| one.socket.as_fd());
            [listener.socket.as_fd()].into_iter().chain(connections)
        })
    }

    /// Whether somebody is in: who stalls is let go in time.
    pub fn has_connections(&self) -> bool {
        self.listeners.iter().any(|listener| !listener.connections.is_empty())
    }

    /// Lets in who waits, reads what was said, answers who has asked, and lets go who stalls.
    pub fn serve(&mut self, now_ns: u64, answer: &mut dyn FnMut(Request) -> Answer) {
        for listener in &mut self.listeners {
            listener
                .serve(now_ns, &mut Responder { kind: listener.kind, hosts: &self.hosts, answer });
        }
    }
}

/// Only root and guard's own user control it, also where somebody opened the socket's permissions to others.
fn is_ours(socket: &OwnedFd) -> bool {
    sockets::peer(socket).is_ok_and(|peer| peer.uid == 0 || peer.uid == getuid().as_raw())
}

impl Listener {
    fn new(kind: Kind, socket: listen::Listener) -> Self {
        Self { kind, socket, connections: Vec::new() }
    }

    /// Those who are in come first: what they have asked is answered before anybody wants their place.
    fn serve(&mut self, now_ns: u64, responder: &mut Responder<'_>) {
        self.connections.retain_mut(|one| one.stays(now_ns, responder));
        for _ in 0..AT_ONCE {
            let Accepted::Connection(socket) = self.socket.accept() else { return };
            let is_allowed = self.kind == Kind::Metrics || is_ours(&socket);
            let mut newcomer = Connection::new(socket, is_allowed, now_ns);
            if newcomer.stays(now_ns, responder) {
                self.admit(newcomer);
            }
        }
    }

    /// Keeps a connection whose request has not come yet. If all places are taken, the oldest idle one leaves.
    fn admit(&mut self, newcomer: Connection) {
        if self.connections.len() == PLACES {
            let idle = self.connections.iter().position(|one| one.said.is_empty());
            self.connections.remove(idle.unwrap_or(0));
        }
        self.connections.push(newcomer);
    }
}

/// Where requests of one socket are answered.
struct Responder<'a> {
    kind: Kind,
    hosts: &'a Hosts,
    answer: &'a mut dyn FnMut(Request) -> Answer,
}

impl Responder<'_> {
    fn asked(&self, said: &[u8]) -> Asked {
        match self.kind {
            Kind::Control => control_request(said),
            Kind::Metrics => metrics_request(said, self.hosts),
        }
    }

    /// The answer; `None` while a request is not whole, and more of it is read.
    fn reply(&mut self, asked: Asked, is_all: bool) -> Option<Vec<u8>> {
        match asked {
            Asked::Partial => is_all.then(|| self.refusal_of_length()),
            Asked::Wrong(text) => Some(text),
            Asked::Whole { request, head_only } => Some(self.answered(request, head_only)),
        }
    }

    fn answered(&mut self, request: Request, head_only: bool) -> Vec<u8> {
        let answer = (self.answer)(request);
        match (request, answer) {
            (Request::Metrics(format), Answer::Done(text) | Answer::Refused(text)) => {
                let page = listen::Answer::line(200, &text);
                http(listen::Answer { media_type: format.media_type(), head_only, ..page })
            }
            (_, Answer::Done(text)) => format!("done\n{text}").into_bytes(),
            (_, Answer::Refused(text)) => format!("refused\n{text}").into_bytes(),
        }
    }

    fn refusal_of_length(&self) -> Vec<u8> {
        let text = format!("a request has an end, and at most {LONGEST_REQUEST} bytes\n");
        match self.kind {
            Kind::Control => format!("refused\n{text}").into_bytes(),
            Kind::Metrics => http(listen::Answer::line(431, &text)),
        }
    }
}

impl Connection {
    fn new(socket: OwnedFd, is_allowed: bool, now_ns: u64) -> Self {
        Self { socket, is_allowed, said: Vec::new(), since_ns: now_ns }
    }

    /// Whether there is something to wait for still.
    fn stays(&mut self, now_ns: u64, responder: &mut Responder<'_>) -> bool {
        let Some(complete) = self.read() else { return false };
        let asked = match responder.asked(&self.said) {
            Asked::Whole { .. } if !self.is_allowed => {
                Asked::Wrong(b"refused\nonly root controls this guard\n".to_vec())
            }
            asked => asked,
        };
        if let Some(reply) = responder.reply(asked, complete || self.said.len() >= LONGEST_REQUEST)
        {
            self.send(&reply);
            return false;
        }
        now_ns.saturating_sub(self.since_ns) < PATIENCE_NS
    }

    /// Reads what is there: whether that is all that will ever be; `None` where the other end is gone.
    fn read(&mut self) -> Option<bool> {
        let mut buffer = [0; 1024];
        while self.said.len() < LONGEST_REQUEST {
            match rustix::io::read(&self.socket, &mut buffer) {
                Ok(0) => return Some(true),
                Ok(count) => self.said.extend_from_slice(&buffer[..count]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return None,
            }
        }
        Some(false)
    }

    /// An answer is smaller than a socket's buffer; who does not take it does not get it.
    fn send(&self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match rustix::io::write(&self.socket, bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
        self.finish();
    }

    /// Says that this was all, and takes what was said behind the request.
    fn finish(&self) {
        let mut left = THROWN_AWAY;
        let mut buffer = [0; 1024];
        // Who is gone already needs no end.
        let _ = shutdown(&self.socket, Shutdown::Write);
        while left > 0 {
            match rustix::io::read(&self.socket, &mut buffer) {
                Ok(count) if count > 0 => left = left.saturating_sub(count),
                _ => return,
            }
        }
    }
}

/// What was said so far.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Whole {
        request: Request,
        head_only: bool,
    },
    Partial,
    /// The answer to what no one here understands, or serves.
    Wrong(Vec<u8>),
}

fn control_request(said: &[u8]) -> Asked {
    let Some(end) = said.iter().position(|byte| *byte == b'\n') else { return Asked::Partial };
    let line = String::from_utf8_lossy(&said[..end]);
    let number = |text: &str| text.trim().parse().ok().filter(|number| *number <= 100);
    let request = match line.trim().split_once(' ').unwrap_or((line.trim(), "")) {
        ("status", "") => Some(Request::Status),
        ("reload", "") => Some(Request::Reload),
        ("set", text) => number(text).map(Request::Set),
        _ => None,
    };
    match request {
        Some(request) => Asked::Whole { request, head_only: false },
        None => Asked::Wrong(
            format!(
                "refused\n`{}` is not a request; there are status, set 0…100 and reload\n",
                line.trim()
            )
            .into_bytes(),
        ),
    }
}

fn metrics_request(said: &[u8], hosts: &Hosts) -> Asked {
    let wrong = |code, text| Asked::Wrong(http(listen::Answer::line(code, text)));
    let request = match listen::parse(said, hosts) {
        Parsed::Whole(request, _) => request,
        Parsed::Partial => return Asked::Partial,
        Parsed::Rubbish => return wrong(400, "this is not an HTTP request for here\n"),
    };
    match request.page {
        Page::Metrics(format) => {
            Asked::Whole { request: Request::Metrics(format), head_only: request.head_only }
        }
        Page::Misdirected => wrong(
            421,
            "this Host is not served: ask for localhost or an address, or allow a name with --host NAME\n",
        ),
        Page::NotAllowed => wrong(405, "only GET and HEAD are served\n"),
        Page::Front | Page::Missing => wrong(404, "the metrics are at /metrics\n"),
    }
}

fn http(answer: listen::Answer<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    answer.write(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::{Read, Write},
        net::{Shutdown, TcpStream},
        os::unix::{
            fs::PermissionsExt,
            net::{UnixListener, UnixStream},
        },
        path::PathBuf,
    };

    use super::*;

    fn opened() -> (tempfile::TempDir, PathBuf, Sockets) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let sockets = Sockets::open(&path, None, Hosts::default()).unwrap();
        (folder, path, sockets)
    }

    fn open_with_metrics(folder: &tempfile::TempDir) -> Sockets {
        let address = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
        let hosts = Hosts::named(["ap.lan".to_owned()]);
        Sockets::open(&folder.path().join("control"), address, hosts).unwrap()
    }

    fn address(sockets: &Sockets) -> SocketAddr {
        rustix::net::getsockname(&sockets.listeners[1].socket).unwrap().try_into().unwrap()
    }

    fn served(sockets: &mut Sockets, now_ns: u64) -> Vec<Request> {
        let mut asked = Vec::new();
        sockets.serve(now_ns, &mut |request| {
            asked.push(request);
            Answer::Done("here\n".to_owned())
        });
        asked
    }

    #[test]
    fn a_request_that_comes_in_pieces_is_answered_once() {
        let (_folder, path, mut sockets) = opened();
        let mut client = UnixStream::connect(&path).unwrap();
        client.write_all(b"set ").unwrap();
        assert_eq!(served(&mut sockets, 0), []);
        assert_eq!(sockets.descriptors().count(), 2);
        client.write_all(b"60\n").unwrap();
        assert_eq!(served(&mut sockets, 0), [Request::Set(60)]);
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "done\nhere\n");
        assert_eq!(sockets.descriptors().count(), 1);
    }

    #[test]
    fn only_its_owner_reaches_the_socket_and_it_goes_with_the_guard() {
        let (_folder, path, sockets) = opened();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(sockets);
        assert!(!path.exists());
    }

    #[test]
    fn a_dead_guards_socket_is_replaced_and_a_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        drop(Sockets::open(&path, None, Hosts::default()).unwrap());
        fs::write(&path, "mine").unwrap();
        assert!(Sockets::open(&path, None, Hosts::default()).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn who_stalls_or_goes_is_let_go() {
        let (_folder, path, mut sockets) = opened();
        let stalls = UnixStream::connect(&path).unwrap();
        let goes = UnixStream::connect(&path).unwrap();
        goes.shutdown(Shutdown::Both).unwrap();
        assert_eq!(served(&mut sockets, 0), []);
        assert_eq!(sockets.descriptors().count(), 2);
        served(&mut sockets, PATIENCE_NS);
        assert_eq!(sockets.descriptors().count(), 1);
        drop(stalls);
    }

    #[test]
    fn what_no_one_understands_is_refused_with_what_there_is() {
        for line in ["", "set", "set 101", "set -1", "stop", "status now"] {
            let Asked::Wrong(text) = control_request(format!("{line}\n").as_bytes()) else {
                panic!("{line}");
            };
            let text = String::from_utf8(text).unwrap();
            assert!(text.starts_with("refused\n") && text.contains("status, set"), "{text}");
        }
    }

    #[test]
    fn metrics_are_served_over_http_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut sockets = open_with_metrics(&folder);
        let address = address(&sockets);
        let mut get = |request: &str| {
            let mut client = TcpStream::connect(address).unwrap();
            client.write_all(request.as_bytes()).unwrap();
            let asked = served(&mut sockets, 0);
            let mut answer = String::new();
            client.read_to_string(&mut answer).unwrap();
            (asked, answer)
        };
        let (asked, answer) = get("GET /metrics HTTP/1.1\r\nHost: ap.lan:9811\r\n\
             Accept: application/openmetrics-text;version=1.0.0\r\n\r\n");
        assert_eq!(asked, [Request::Metrics(Format::OpenMetrics)]);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhere\n"));
        let (asked, _) = get("GET /metrics HTTP/1.0\r\n\r\n");
        assert_eq!(asked, [Request::Metrics(Format::Prometheus)]);
        let (asked, answer) = get("HEAD /metrics HTTP/1.0\r\n\r\n");
        assert_eq!(asked.len(), 1);
        assert!(answer.contains("Content-Length: 5") && answer.ends_with("\r\n\r\n"), "{answer}");
        for (request, status) in [
            ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
            ("POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
            ("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
            ("GET /metrics HTTP/1.1\r\n\r\n", 400),
            ("\0\r\n", 400),
            (&format!("GET /{} HTTP/1.1\r\n", "x".repeat(9000)), 431),
        ] {
            let (asked, answer) = get(request);
            assert!(asked.is_empty() && answer.contains(&status.to_string()), "{answer}");
        }
    }

    #[test]
    fn who_fills_a_socket_keeps_no_one_out_and_the_longest_silent_leave() {
        let folder = tempfile::tempdir().unwrap();
        let mut sockets = open_with_metrics(&folder);
        let address = address(&sockets);
        let silent: Vec<TcpStream> =
            (0..20).map(|_| TcpStream::connect(address).unwrap()).collect();
        let mut control = UnixStream::connect(folder.path().join("control")).unwrap();
        control.write_all(b"status\n").unwrap();
        assert_eq!(served(&mut sockets, 0), [Request::Status]);
        assert_eq!(sockets.descriptors().count(), 2 + PLACES);
        let mut one = TcpStream::connect(address).unwrap();
        one.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        assert_eq!(served(&mut sockets, 1).len(), 1);
        silent[0].set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        assert_eq!((&silent[0]).read(&mut [0]).unwrap(), 0, "the first is let go");
        silent[19].set_nonblocking(true).unwrap();
        assert!((&silent[19]).read(&mut [0]).is_err(), "the last may still ask");
    }
}
