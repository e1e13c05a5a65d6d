//! Where stationd would be reached: its socket and its metrics. A place that is taken is asked by whom.

use std::{
    fs,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::{fs::FileTypeExt, net::UnixStream},
    path::Path,
    time::{Duration, Instant},
};

use linux::sockets;
use rustix::{
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt},
};

use super::{Finding, State, unwritable};
use crate::{
    net::connected,
    options::{Metrics, Options},
};

const SOCKET: &str = "socket";
const METRICS: &str = "metrics";
/// A stationd that runs answers at once.
const PATIENCE: Duration = Duration::from_secs(2);
const QUESTION: &[u8] =
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getAccessPoints\",\"params\":{}}\n";
/// How its answer begins, and nobody else's.
const ANSWER: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[";
/// The front page, for which nothing is read.
const PAGE: &[u8] = b"GET / HTTP/1.0\r\n\r\n";
const FRONT: &[u8] = b"stationd: ";
/// The front page has no more than this.
const LONGEST: usize = 4096;

/// Whether a stationd has the socket that is set, and what was found.
pub(super) fn look(options: &Options) -> (bool, Vec<Finding>) {
    let (is_running, socket) = unix(SOCKET, &options.socket, |stream| {
        let answer = exchange(stream, QUESTION, ANSWER.len())?;
        Ok(answer.starts_with(ANSWER))
    });
    let metrics = match &options.metrics {
        Metrics::Off => Finding::new(State::Off, METRICS, "metrics=off"),
        Metrics::Tcp(address) => tcp(*address),
        Metrics::Unix(path) => unix(METRICS, path, is_front).1,
    };
    (is_running, vec![socket, metrics])
}

/// A path for a socket, and whether a stationd has it, which is asked so.
fn unix(
    about: &'static str,
    path: &Path,
    is_stationd: impl Fn(UnixStream) -> io::Result<bool>,
) -> (bool, Finding) {
    let shown = path.display();
    let missing = |what: String| Finding::new(State::Missing, about, what);
    let there = fs::symlink_metadata(path).map(|there| there.file_type());
    if there.as_ref().is_ok_and(|kind| !kind.is_socket()) {
        let finding = missing(format!("{shown} is there and is no socket"));
        return (false, finding.remedy("remove it, or give another path"));
    }
    let socket = there.and_then(|_| Ok(connected(path)?));
    let free = match socket {
        Ok(socket) => {
            let process = sockets::peer(&socket).ok().and_then(|peer| peer.pid);
            let process = process.map(|pid| format!(" (process {pid})")).unwrap_or_default();
            let stream = UnixStream::from(socket);
            let waits = stream
                .set_nonblocking(false)
                .and_then(|()| stream.set_read_timeout(Some(PATIENCE)))
                .and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
            return match waits.and_then(|()| is_stationd(stream)) {
                Ok(true) => {
                    let what = format!("{shown} is in use by a running stationd{process}");
                    (true, Finding::new(State::Works, about, what))
                }
                Ok(false) | Err(_) => {
                    let what = format!("{shown} is in use by another program{process}");
                    (false, missing(what).remedy("end it, or give another path"))
                }
            };
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => "is free",
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            "is left from one that has ended, and is made anew"
        }
        Err(error) => {
            let finding = missing(format!("nobody can say who has {shown}: {error}"));
            return (false, finding.remedy("check as root, or give another path"));
        }
    };
    let finding = match unwritable(path) {
        Some((what, how)) => missing(what).remedy(how),
        None => Finding::new(State::Works, about, format!("{shown} {free}")),
    };
    (false, finding)
}

/// An address of this machine. It is bound and never listened on, so that nobody can come by mistake.
fn tcp(address: SocketAddr) -> Finding {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let bound = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).and_then(|s| {
        // As the daemon does: connections that end do not keep it from beginning.
        sockopt::set_socket_reuseaddr(&s, true)?;
        bind(&s, &address)
    });
    let missing = |what: String| Finding::new(State::Missing, METRICS, what);
    let other = "end it, or give another address";
    match bound {
        Ok(()) => Finding::new(State::Works, METRICS, format!("{address} is free")),
        Err(Errno::ADDRINUSE) => {
            let stream = TcpStream::connect_timeout(&address, PATIENCE).and_then(|stream| {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(stream)
            });
            match stream.and_then(is_front) {
                Ok(true) => {
                    let what = format!("{address} is in use by a running stationd");
                    Finding::new(State::Works, METRICS, what)
                }
                Ok(false) | Err(_) => {
                    missing(format!("{address} is in use by another program")).remedy(other)
                }
            }
        }
        Err(Errno::ACCESS) => missing(format!("{address} may not be taken by this user"))
            .remedy("give a port from 1024 on"),
        Err(error) => missing(format!("{address} cannot be taken: {error}"))
            .remedy("give another address, or metrics=off"),
    }
}

/// Whether a stationd's metrics are at the other end.
fn is_front(stream: impl Read + Write) -> io::Result<bool> {
    let answer = exchange(stream, PAGE, LONGEST)?;
    Ok(answer.windows(FRONT.len()).any(|part| part == FRONT))
}

/// Asks, and reads so many bytes of the answer, or all of it, or what has come by the end of patience.
fn exchange(mut stream: impl Read + Write, question: &[u8], most: usize) -> io::Result<Vec<u8>> {
    let begin = Instant::now();
    stream.write_all(question)?;
    let mut answer = vec![0; most];
    let mut length = 0;
    while length < most && begin.elapsed() < PATIENCE {
        match stream.read(&mut answer[length..])? {
            0 => break,
            more => length += more,
        }
    }
    answer.truncate(length);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::{
        net::TcpListener,
        os::unix::net::UnixListener,
        thread::{scope, spawn},
    };

    use super::*;

    fn socket(path: &Path) -> (bool, Finding) {
        let (is_running, findings) =
            look(&Options { socket: path.to_owned(), metrics: Metrics::Off, ..Options::default() });
        (is_running, findings.into_iter().next().unwrap())
    }

    #[test]
    fn a_free_path_and_a_dead_socket_are_fine_and_stay_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        assert!(socket(&path).1.what.ends_with("/s is free"));
        assert!(!path.exists());
        drop(UnixListener::bind(&path).unwrap());
        let (is_running, finding) = socket(&path);
        assert!(!is_running && finding.state == State::Works);
        assert!(finding.what.ends_with("is left from one that has ended, and is made anew"));
        assert!(path.exists());
    }

    #[test]
    fn what_is_no_socket_or_another_programs_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let (file, path) = (folder.path().join("f"), folder.path().join("s"));
        fs::write(&file, "").unwrap();
        assert!(socket(&file).1.what.ends_with("/f is there and is no socket"));
        let listener = UnixListener::bind(&path).unwrap();
        scope(|scope| {
            scope.spawn(|| listener.accept().unwrap().0.write_all(b"{\"hello\":1}").unwrap());
            let (is_running, finding) = socket(&path);
            assert!(!is_running && finding.state == State::Missing);
            let process = format!("in use by another program (process {})", std::process::id());
            assert!(finding.what.ends_with(&process), "{finding:?}");
        });
    }

    #[test]
    fn somebody_who_drips_is_not_heard_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let begin = Instant::now();
        scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                while stream.write_all(b"{").is_ok() {
                    std::thread::sleep(Duration::from_millis(300));
                }
            });
            assert_eq!(socket(&path).1.state, State::Missing);
        });
        assert!(begin.elapsed() < 3 * PATIENCE);
    }

    #[test]
    fn an_address_is_free_afterwards_as_before() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let taken = spawn(move || tcp(address));
        listener.accept().unwrap().0.write_all(b"HTTP/1.0 200 OK\r\n\r\nnginx\n").unwrap();
        let taken = taken.join().unwrap();
        assert_eq!(taken.what, format!("{address} is in use by another program"));
        assert_eq!(taken.state, State::Missing);
        drop(listener);
        assert_eq!(tcp(address).state, State::Works);
        TcpListener::bind(address).unwrap();
    }
}
