//! Checks what stationd reads: the kernel's nl80211, the access points, and hostapd's control sockets.

use std::{
    io::{self, ErrorKind},
    path::Path,
    time::Duration,
};

use linux::{error::chain, system::boottime_ns};

use super::{Finding, State};
use crate::{address, daemon::start, engine::Engine, hostapd, options::Options, points::Point};

const POINT: &str = "access point";
const HOSTAPD: &str = "hostapd";
/// hostapd answers within its event loop.
const PATIENCE: Duration = Duration::from_secs(1);
/// A reading that was made for the check itself is not made again.
const MAX_AGE_NS: u64 = 10_000_000_000;

pub(super) fn look(options: &Options, replay: Option<&Path>) -> Vec<Finding> {
    // Nothing is asked of hostapd that the check does not ask itself.
    let own = Options { hostapd: None, ..options.clone() };
    let mut engine = match start::engine(own, replay) {
        Ok(engine) => engine,
        Err(error) => {
            let finding = Finding::new(State::Missing, "kernel", chain(&error));
            return vec![match replay {
                None => finding.remedy("load the driver of the radio, which brings cfg80211"),
                Some(_) => finding,
            }];
        }
    };
    let source = replay.map(|path| format!("{} is replayed", path.display()));
    let answers = source.unwrap_or_else(|| "nl80211 answers".to_owned());
    let mut findings = vec![Finding::new(State::Works, "kernel", answers)];
    let points: Vec<Point> = engine.points.present().cloned().collect();
    findings.extend(points.iter().map(|point| station_finding(point, &mut engine)));
    let absent = |what: String, how| Finding::new(State::Absent, POINT, what).remedy(how);
    for name in options.interfaces.iter().filter(|name| points.iter().all(|one| one.name != **name))
    {
        let what = format!("{name} is no interface in AP mode at present");
        findings.push(absent(what, "start it, or name another"));
    }
    if points.is_empty() && options.interfaces.is_empty() {
        findings.push(absent("no interface is in AP mode at present".to_owned(), "start hostapd"));
    }
    match &options.hostapd {
        None => findings.push(Finding::new(State::Off, HOSTAPD, "hostapd=off")),
        Some(folder) => findings.extend(ask(folder, &points)),
    }
    findings
}

fn station_finding(point: &Point, engine: &mut Engine) -> Finding {
    let name = &point.name;
    if let Err(error) = engine.refresh(point.id, MAX_AGE_NS, boottime_ns()) {
        return Finding::new(State::Missing, POINT, format!("{name}: {}", chain(&error)));
    }
    let bssid = address::lower(point.address);
    let bssid = String::from_utf8_lossy(&bssid);
    let channel = point.frequency.map(|mhz| format!(", {mhz} MHz")).unwrap_or_default();
    let stations = match engine.table.count(point.id) {
        1 => "1 station".to_owned(),
        many => format!("{many} stations"),
    };
    let what = format!("{name}: number {}, {bssid}{channel}, {stations}", point.number());
    Finding::new(State::Works, POINT, what)
}

fn ask(folder: &Path, points: &[Point]) -> Vec<Finding> {
    let shown = folder.display();
    if matches!(folder.metadata(), Err(error) if error.kind() == ErrorKind::NotFound) {
        let what =
            format!("{shown} is not there, and without it nobody knows who the stations are");
        let how =
            format!("start hostapd with ctrl_interface={shown}, or set hostapd to its folder");
        return vec![Finding::new(State::Absent, HOSTAPD, what).remedy(how)];
    }
    if points.is_empty() {
        return vec![Finding::new(State::Works, HOSTAPD, format!("{shown} is there"))];
    }
    points.iter().map(|point| answer(&folder.join(&point.name))).collect()
}

fn answer(path: &Path) -> Finding {
    let shown = path.display();
    let Err(error) = ping(path) else {
        return Finding::new(State::Works, HOSTAPD, format!("{shown} answers"));
    };
    let finding = |state, what: &str| Finding::new(state, HOSTAPD, format!("{shown} {what}"));
    match error.kind() {
        ErrorKind::NotFound => finding(State::Absent, "is not there")
            .remedy("set ctrl_interface in hostapd's configuration, or hostapd=off here"),
        ErrorKind::PermissionDenied => finding(State::Missing, "may not be asked by this user")
            .remedy("let the user be of hostapd's ctrl_interface_group, or set hostapd=off"),
        ErrorKind::ConnectionRefused => {
            finding(State::Absent, "is a socket that nobody has any more").remedy("start hostapd")
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            finding(State::Absent, "does not answer within 1 s").remedy("see what hostapd does")
        }
        _ => finding(State::Missing, &format!("cannot be asked: {error}")),
    }
}

/// hostapd's own question whether it is alive.
fn ping(path: &Path) -> io::Result<()> {
    let socket = hostapd::connect(path)?;
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    socket.send(b"PING")?;
    let mut answer = [0; 64];
    let length = socket.recv(&mut answer)?;
    match answer[..length].starts_with(b"PONG") {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::InvalidData, "what answers is not hostapd")),
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::net::UnixDatagram, thread};

    use super::*;

    #[test]
    fn a_control_socket_is_asked_whether_it_is_alive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wlan0");
        assert_eq!(answer(&path).state, State::Absent);
        let socket = UnixDatagram::bind(&path).unwrap();
        for (says, state) in [("PONG\n", State::Works), ("FAIL\n", State::Missing)] {
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut question = [0; 16];
                    let (length, from) = socket.recv_from(&mut question).unwrap();
                    assert_eq!(&question[..length], b"PING");
                    socket.send_to_addr(says.as_bytes(), &from).unwrap();
                });
                assert_eq!(answer(&path).state, state, "{says}");
            });
        }
        assert!(answer(&path).what.ends_with("does not answer within 1 s"));
        drop(socket);
        let finding = answer(&path);
        assert!(finding.what.ends_with("is a socket that nobody has any more"), "{finding:?}");
    }
}
