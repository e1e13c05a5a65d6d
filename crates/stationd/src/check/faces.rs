//! Checks the socket, the metrics' address and the broker of ubus; asks the program that has taken one.

use std::{
    fs,
    io::{ErrorKind, Read, Write},
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

const METRICS: &str = "metrics";
/// A stationd that runs answers at once.
const PATIENCE: Duration = Duration::from_secs(2);
/// What a stationd is asked, and what only a stationd answers.
type Question = [&'static [u8]; 2];
const REQUEST: Question = [
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getAccessPoints\",\"params\":{}}\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[",
];
/// The front page, for which nothing is read.
const PAGE: Question = [b"GET / HTTP/1.0\r\n\r\n", b"\r\n\r\nstationd: "];
/// The front page has no more than this.
const LONGEST: usize = 4096;

pub(super) fn look(options: &Options) -> [Finding; 2] {
    let metrics = match &options.metrics {
        Metrics::Off => Finding::new(State::Off, METRICS, "metrics=off"),
        Metrics::Tcp(address) => tcp(*address),
        Metrics::Unix(path) => unix(METRICS, path, PAGE),
    };
    [unix("socket", &options.socket, REQUEST), metrics]
}

/// Whether a broker is there and may be spoken to; whether it takes our objects shows when stationd begins.
pub(super) fn broker(path: Option<&Path>) -> Finding {
    let finding = |state, what| Finding::new(state, "ubus", what);
    let Some(path) = path else { return finding(State::Off, "ubus=off".to_owned()) };
    let shown = path.display();
    match connected(path) {
        Ok(_) => finding(State::Works, format!("a broker is at {shown}")),
        Err(Errno::NOENT | Errno::CONNREFUSED) => {
            let what = format!("no broker is at {shown}; stationd looks for it every 5 s");
            finding(State::Absent, what).remedy("start ubusd, or set ubus to its socket or off")
        }
        Err(error) => {
            let what = format!("the broker at {shown} cannot be asked by this user: {error}");
            finding(State::Missing, what)
                .remedy("let the user write to the socket, or set ubus=off")
        }
    }
}

fn unix(about: &'static str, path: &Path, question: Question) -> Finding {
    let shown = path.display();
    let works = |what: String| Finding::new(State::Works, about, what);
    let missing = |what: String| Finding::new(State::Missing, about, what);
    let other = "give another path";
    match fs::symlink_metadata(path) {
        Ok(there) if !there.file_type().is_socket() => {
            return missing(format!("{shown} is there and is no socket"))
                .remedy(format!("remove it, or {other}"));
        }
        _ => {}
    }
    let free = match connected(path) {
        Ok(socket) => {
            let process = sockets::peer(&socket).ok().and_then(|peer| peer.pid);
            let process = process.map(|pid| format!(" (process {pid})")).unwrap_or_default();
            let stream = UnixStream::from(socket);
            let is_ready = stream.set_nonblocking(false).is_ok()
                && stream.set_read_timeout(Some(PATIENCE)).is_ok()
                && stream.set_write_timeout(Some(PATIENCE)).is_ok();
            return match is_ready && is_stationd(stream, question) {
                true => works(format!("{shown} is in use by a running stationd{process}")),
                false => missing(format!("{shown} is in use by another program{process}"))
                    .remedy(format!("end it, or {other}")),
            };
        }
        Err(Errno::NOENT) => "is free",
        Err(Errno::CONNREFUSED) => "is left from one that has ended, and is made anew",
        Err(error) => {
            return missing(format!("nobody can say who has {shown}: {error}"))
                .remedy(format!("check as root, or {other}"));
        }
    };
    match unwritable(path) {
        Some((what, how)) => missing(what).remedy(how),
        None => works(format!("{shown} {free}")),
    }
}

/// An address of this machine. It is bound and never listened on, so that nobody can come by mistake.
fn tcp(address: SocketAddr) -> Finding {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let bound = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).and_then(|s| {
        // As the daemon does: connections that end do not keep it from beginning.
        sockopt::set_socket_reuseaddr(&s, true)?;
        bind(&s, &address)
    });
    let works = |what: String| Finding::new(State::Works, METRICS, what);
    let missing = |what: String| Finding::new(State::Missing, METRICS, what);
    match bound {
        Ok(()) => works(format!("{address} is free")),
        Err(Errno::ADDRINUSE) => {
            let stream = TcpStream::connect_timeout(&address, PATIENCE).and_then(|stream| {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(stream)
            });
            match stream.is_ok_and(|stream| is_stationd(stream, PAGE)) {
                true => works(format!("{address} is in use by a running stationd")),
                false => missing(format!("{address} is in use by another program"))
                    .remedy("end it, or give another address"),
            }
        }
        Err(Errno::ACCESS) => missing(format!("{address} may not be taken by this user"))
            .remedy("give a port from 1024 on"),
        Err(error) => missing(format!("{address} cannot be taken: {error}"))
            .remedy("give another address, or metrics=off"),
    }
}

/// Whether a stationd is at the other end. Somebody who drips is not heard out.
fn is_stationd(mut stream: impl Read + Write, [question, answer]: Question) -> bool {
    let begin = Instant::now();
    if stream.write_all(question).is_err() {
        return false;
    }
    let (mut heard, mut some) = (Vec::new(), [0; 512]);
    while heard.len() < LONGEST && begin.elapsed() < PATIENCE {
        match stream.read(&mut some) {
            Ok(length @ 1..) => heard.extend_from_slice(&some[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return false,
        }
        if heard.windows(answer.len()).any(|part| part == answer) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::{
        net::TcpListener,
        os::unix::net::UnixListener,
        thread::{scope, spawn},
    };

    use super::*;

    #[test]
    fn a_free_path_and_a_dead_socket_are_fine_and_stay_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        assert!(unix("socket", &path, REQUEST).what.ends_with("/s is free"));
        assert!(!path.exists());
        drop(UnixListener::bind(&path).unwrap());
        let finding = unix("socket", &path, REQUEST);
        assert_eq!(finding.state, State::Works);
        assert!(finding.what.ends_with("is left from one that has ended, and is made anew"));
        assert!(path.exists());
        assert_eq!(broker(Some(&path)).state, State::Absent);
    }

    #[test]
    fn what_is_no_socket_or_another_programs_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let (file, path) = (folder.path().join("f"), folder.path().join("s"));
        fs::write(&file, "").unwrap();
        assert!(unix("socket", &file, REQUEST).what.ends_with("/f is there and is no socket"));
        let listener = UnixListener::bind(&path).unwrap();
        let begin = Instant::now();
        scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                while stream.write_all(b"{").is_ok() {
                    std::thread::sleep(Duration::from_millis(300));
                }
            });
            let finding = unix("socket", &path, REQUEST);
            let process = format!("in use by another program (process {})", std::process::id());
            assert!(finding.what.ends_with(&process), "{finding:?}");
            assert_eq!(finding.state, State::Missing);
        });
        assert!(begin.elapsed() < 10 * PATIENCE, "it drips");
        assert_eq!(broker(Some(&path)).state, State::Works);
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
