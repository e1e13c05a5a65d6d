//! Where others reach the guard that runs: its control socket, and metrics over HTTP on loopback.
//!
//! One request and one answer a connection, nothing waits for anybody: what is not there yet is read when the
//! loop comes round again, who stalls is let go. What an answer says is the loop's.

use std::{
    fs, io,
    net::{SocketAddr, TcpListener},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{
            fs::{FileTypeExt, PermissionsExt},
            net::UnixListener,
        },
    },
    path::{Path, PathBuf},
};

use rustix::io::Errno;

use crate::status::openmetrics::Format;

/// Connections at a time.
const MOST_GUESTS: usize = 8;
/// A request is not longer.
const LONGEST_REQUEST: usize = 4096;
/// Who has not asked after so long is let go.
const PATIENCE_NS: u64 = 5_000_000_000;
/// A request's head has at most so many lines.
const HEADERS: usize = 32;

/// A door cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The control socket.
    #[error("cannot open the control socket {}: use another folder with --state", path.display())]
    Control {
        /// Its path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The metrics.
    #[error("cannot listen at {address}: is the port somebody else's?")]
    Metrics {
        /// Where.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// What somebody wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// The status as JSON.
    Status,
    /// Another aggressiveness.
    Set(u8),
    /// The policy file again.
    Reload,
    /// The metrics.
    Metrics(Format),
}

/// What is answered.
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

#[derive(Debug)]
struct Guest {
    kind: Kind,
    socket: OwnedFd,
    said: Vec<u8>,
    since_ns: u64,
}

/// The open doors and who stands in them.
#[derive(Debug)]
pub struct Doors {
    listeners: Vec<(Kind, OwnedFd)>,
    guests: Vec<Guest>,
    control: PathBuf,
}

impl Doors {
    /// Opens the control socket, and the metrics where they are wanted. The caller holds the folder's lock: a
    /// socket that is there already is a dead guard's, and is replaced.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub fn open(control: &Path, metrics: Option<SocketAddr>) -> Result<Self, Error> {
        let socket = open_control(control)
            .map_err(|source| Error::Control { path: control.to_owned(), source })?;
        let mut listeners = vec![(Kind::Control, socket)];
        if let Some(address) = metrics {
            let open = || -> io::Result<OwnedFd> {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                Ok(listener.into())
            };
            let socket = open().map_err(|source| Error::Metrics { address, source })?;
            listeners.push((Kind::Metrics, socket));
        }
        Ok(Self { listeners, guests: Vec::new(), control: control.to_owned() })
    }

    /// Everything that is worth waking up for.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let doors = self.listeners.iter().map(|(_, socket)| socket.as_fd());
        doors.chain(self.guests.iter().map(|guest| guest.socket.as_fd()))
    }

    /// Whether somebody is in: who stalls is let go in time.
    pub fn has_guests(&self) -> bool {
        !self.guests.is_empty()
    }

    /// Lets in who waits, reads what was said, answers who has asked, and lets go who stalls.
    pub fn serve(&mut self, now_ns: u64, answer: &mut dyn FnMut(Request) -> Answer) {
        for (kind, listener) in &self.listeners {
            while self.guests.len() < MOST_GUESTS {
                let flags = rustix::net::SocketFlags::CLOEXEC | rustix::net::SocketFlags::NONBLOCK;
                let Ok(socket) = rustix::net::accept_with(listener, flags) else { break };
                let said = Vec::new();
                self.guests.push(Guest { kind: *kind, socket, said, since_ns: now_ns });
            }
        }
        self.guests.retain_mut(|guest| guest.stays(now_ns, answer));
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        // A folder that is gone already has no socket either.
        let _ = fs::remove_file(&self.control);
    }
}

fn open_control(path: &Path) -> io::Result<OwnedFd> {
    if let Ok(there) = fs::symlink_metadata(path) {
        if !there.file_type().is_socket() {
            return Err(io::Error::other("something else has its name"));
        }
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener.into())
}

impl Guest {
    /// Whether there is something to wait for still.
    fn stays(&mut self, now_ns: u64, answer: &mut dyn FnMut(Request) -> Answer) -> bool {
        let mut buffer = [0; 1024];
        let mut ended = false;
        while self.said.len() < LONGEST_REQUEST {
            match rustix::io::read(&self.socket, &mut buffer) {
                Ok(0) => {
                    ended = true;
                    break;
                }
                Ok(count) => self.said.extend_from_slice(&buffer[..count]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return false,
            }
        }
        let asked = match self.kind {
            Kind::Control => control_request(&self.said),
            Kind::Metrics => metrics_request(&self.said),
        };
        let text = match asked {
            Asked::Partial if !ended && self.said.len() < LONGEST_REQUEST => {
                return now_ns.saturating_sub(self.since_ns) < PATIENCE_NS;
            }
            Asked::Partial => return false,
            Asked::Wrong(text) => text,
            Asked::Whole(request) => self.told(request, answer(request)),
        };
        self.send(text.as_bytes());
        false
    }

    fn told(&self, request: Request, answer: Answer) -> String {
        match (self.kind, answer) {
            (Kind::Control, Answer::Done(text)) => format!("done\n{text}"),
            (Kind::Control, Answer::Refused(text)) => format!("refused\n{text}"),
            (Kind::Metrics, Answer::Done(text) | Answer::Refused(text)) => {
                let format = match request {
                    Request::Metrics(format) => format.media_type(),
                    _ => "text/plain; charset=utf-8",
                };
                http("200 OK", format, &text)
            }
        }
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
    }
}

/// What was said so far.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Whole(Request),
    Partial,
    /// The answer to what nobody here understands.
    Wrong(String),
}

fn control_request(said: &[u8]) -> Asked {
    let Some(end) = said.iter().position(|byte| *byte == b'\n') else { return Asked::Partial };
    let line = String::from_utf8_lossy(&said[..end]);
    let number = |text: &str| text.trim().parse().ok().filter(|number| *number <= 100);
    match line.trim().split_once(' ').unwrap_or((line.trim(), "")) {
        ("status", "") => Asked::Whole(Request::Status),
        ("reload", "") => Asked::Whole(Request::Reload),
        ("set", text) if number(text).is_some() => {
            Asked::Whole(Request::Set(number(text).unwrap_or_default()))
        }
        _ => Asked::Wrong(format!(
            "refused\n`{}` is no request; there are status, set 0…100 and reload\n",
            line.trim()
        )),
    }
}

fn metrics_request(said: &[u8]) -> Asked {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let plain = "text/plain; charset=utf-8";
    match head.parse(said) {
        Ok(httparse::Status::Partial) => return Asked::Partial,
        Err(_) => {
            return Asked::Wrong(http("400 Bad Request", plain, "this is no HTTP request\n"));
        }
        Ok(httparse::Status::Complete(_)) => {}
    }
    if head.method != Some("GET") {
        return Asked::Wrong(http("405 Method Not Allowed", plain, "only GET is served\n"));
    }
    if head.path.and_then(|path| path.split('?').next()) != Some("/metrics") {
        return Asked::Wrong(http("404 Not Found", plain, "the metrics are at /metrics\n"));
    }
    let accept = head.headers.iter().find(|one| one.name.eq_ignore_ascii_case("accept"));
    let open = accept.is_some_and(|one| {
        String::from_utf8_lossy(one.value).contains("application/openmetrics-text")
    });
    Asked::Whole(Request::Metrics(if open { Format::OpenMetrics } else { Format::Prometheus }))
}

fn http(status: &str, media_type: &str, text: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n\
         {text}",
        text.len()
    )
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{Shutdown, TcpStream},
        os::unix::net::UnixStream,
    };

    use super::*;

    fn served(doors: &mut Doors, now_ns: u64) -> Vec<Request> {
        let mut asked = Vec::new();
        doors.serve(now_ns, &mut |request| {
            asked.push(request);
            Answer::Done("here\n".to_owned())
        });
        asked
    }

    #[test]
    fn a_request_that_comes_in_pieces_is_answered_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let mut doors = Doors::open(&path, None).unwrap();
        let mut guest = UnixStream::connect(&path).unwrap();
        guest.write_all(b"set ").unwrap();
        assert_eq!(served(&mut doors, 0), []);
        assert_eq!(doors.descriptors().count(), 2);
        guest.write_all(b"60\n").unwrap();
        assert_eq!(served(&mut doors, 0), [Request::Set(60)]);
        let mut answer = String::new();
        guest.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "done\nhere\n");
        assert_eq!(doors.descriptors().count(), 1);
    }

    #[test]
    fn only_its_owner_reaches_the_socket_and_it_goes_with_the_guard() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let doors = Doors::open(&path, None).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(doors);
        assert!(!path.exists());
    }

    #[test]
    fn a_dead_guards_socket_is_replaced_and_a_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        drop(Doors::open(&path, None).unwrap());
        fs::write(&path, "mine").unwrap();
        assert!(Doors::open(&path, None).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn who_stalls_or_goes_is_let_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let mut doors = Doors::open(&path, None).unwrap();
        let stalls = UnixStream::connect(&path).unwrap();
        let goes = UnixStream::connect(&path).unwrap();
        goes.shutdown(Shutdown::Both).unwrap();
        assert_eq!(served(&mut doors, 0), []);
        assert_eq!(doors.descriptors().count(), 2);
        served(&mut doors, PATIENCE_NS);
        assert_eq!(doors.descriptors().count(), 1);
        drop(stalls);
    }

    #[test]
    fn what_nobody_understands_is_refused_with_what_there_is() {
        for line in ["", "set", "set 101", "set -1", "stop", "status now"] {
            let Asked::Wrong(text) = control_request(format!("{line}\n").as_bytes()) else {
                panic!("{line}");
            };
            assert!(text.starts_with("refused\n") && text.contains("status, set"), "{text}");
        }
    }

    #[test]
    fn metrics_are_served_over_http_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut doors = Doors::open(&folder.path().join("control"), Some(address)).unwrap();
        let (_, listener) = &doors.listeners[1];
        let address: SocketAddr = rustix::net::getsockname(listener).unwrap().try_into().unwrap();
        let mut get = |request: &str| {
            let mut guest = TcpStream::connect(address).unwrap();
            guest.write_all(request.as_bytes()).unwrap();
            let asked = served(&mut doors, 0);
            let mut answer = String::new();
            guest.read_to_string(&mut answer).unwrap();
            (asked, answer)
        };
        let (asked, answer) = get(
            "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;version=1.0.0\r\n\r\n",
        );
        assert_eq!(asked, [Request::Metrics(Format::OpenMetrics)]);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhere\n"));
        let (asked, _) = get("GET /metrics HTTP/1.0\r\n\r\n");
        assert_eq!(asked, [Request::Metrics(Format::Prometheus)]);
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", 404),
            ("POST /metrics HTTP/1.1\r\n\r\n", 405),
            ("\0\r\n", 400),
        ] {
            let (asked, answer) = get(request);
            assert!(asked.is_empty() && answer.contains(&status.to_string()), "{answer}");
        }
    }
}
