//! Talks to hostapd over an interface's control socket: reads its status and its stations, and sends it commands.
//!
//! Format: hostapd's `STATUS`, lines of `key=value`; `bss[i]` and `num_sta[i]` belong together.

use std::{
    io,
    os::unix::net::UnixDatagram,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::net::{SocketAddrUnix, bind};

use crate::control;

/// A question is answered at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// An order is answered when the driver has carried it out.
const ORDER_PATIENCE: Duration = Duration::from_secs(5);

/// Stations of an access point, at most (IEEE 802.11 numbers them so).
const MOST_STATIONS: usize = 2007;

/// Letters of an address, as `02:00:00:00:01:0a`.
const ADDRESS: usize = 17;

/// Where hostapd keeps its sockets, by default and on older systems.
const FOLDERS: [&str; 2] = ["/run/hostapd", "/var/run/hostapd"];

/// hostapd's own count of an interface's stations; `None` where it does not answer.
pub(crate) fn stations(interface: &str) -> Option<u32> {
    status(interface).ok()?.stations(interface)
}

pub(crate) fn status(interface: &str) -> io::Result<Status> {
    ask(&Control::of(interface)?.socket, "STATUS", PATIENCE).map(Status)
}

/// The place where hostapd takes orders for an interface.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    socket: PathBuf,
}

impl Control {
    pub(crate) fn of(interface: &str) -> io::Result<Self> {
        // An interface may have a folder of its own, and its socket in there.
        let places = FOLDERS.iter().map(|folder| Path::new(folder).join(interface));
        let mut paths = places.flat_map(|place| [place.join(interface), place]);
        paths.find(|path| path.exists() && !path.is_dir()).map(Self::at).ok_or_else(|| {
            let why = format!("hostapd has no control socket {}/{interface}", FOLDERS[0]);
            io::Error::new(io::ErrorKind::NotFound, why)
        })
    }

    pub(crate) fn at(socket: PathBuf) -> Self {
        Self { socket }
    }

    /// Fails where it does not answer, or not with `OK`.
    pub(crate) fn order(&self, words: &str) -> io::Result<()> {
        match ask(&self.socket, words, ORDER_PATIENCE)?.trim() {
            "OK" => Ok(()),
            answer => Err(io::Error::other(format!("hostapd answers `{words}` with {answer}"))),
        }
    }

    /// The status of the interface (`STATUS`), then that of each of its stations, as `hostapd_cli all_sta` prints it.
    pub(crate) fn all_stations(&self) -> io::Result<String> {
        let mut all = ask(&self.socket, "STATUS", PATIENCE)?;
        let mut words = "STA-FIRST".to_owned();
        for _ in 0..MOST_STATIONS {
            let station = ask(&self.socket, &words, PATIENCE)?;
            // A station's words begin with its address; behind the last one comes nothing or `FAIL`.
            let address = station.lines().next().filter(|line| line.len() == ADDRESS);
            let Some(address) = address else { break };
            words = format!("STA-NEXT {address}");
            all += &station;
        }
        Ok(all)
    }
}

fn ask(socket: &Path, words: &str, patience: Duration) -> io::Result<String> {
    let own = socket_to(socket)?;
    own.set_read_timeout(Some(patience))?;
    own.set_write_timeout(Some(PATIENCE))?;
    own.send(words.as_bytes())?;
    control::answer(&own)
}

/// Our end. It must have a name to be answered, which the kernel chooses: an abstract one, so that there is no
/// file that another user could have put there first, and none that hostapd's user cannot reach. hostapd answers
/// to whatever address a request came from (`hostapd_ctrl_iface_receive`). Only hostapd can send to a socket
/// that is connected to it, so it is connected first.
fn socket_to(hostapd: &Path) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(hostapd)?;
    bind(&socket, &SocketAddrUnix::new_unnamed())?;
    Ok(socket)
}

#[derive(Clone, Debug)]
pub(crate) struct Status(String);

impl Status {
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    }

    /// How the radio is: `ENABLED`, `DISABLED`, `COUNTRY_UPDATE` …
    pub(crate) fn state(&self) -> Option<&str> {
        self.value("state")
    }

    /// The count of an interface, whose first interface is meant where it names none.
    fn stations(&self, interface: &str) -> Option<u32> {
        let named = (0..64).find(|place| self.value(&format!("bss[{place}]")) == Some(interface));
        self.value(&format!("num_sta[{}]", named.unwrap_or(0)))?.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use std::os::linux::net::SocketAddrExt;

    use proptest::prelude::*;

    use super::*;
    use crate::control::tests::daemon;

    const STATUS: &str = "state=ENABLED\nbss[0]=wlan0\nssid[0]=a\nnum_sta[0]=38\n\
                          bss[1]=wlan0-1\nnum_sta[1]=4\n";

    fn count(status: &str, interface: &str) -> Option<u32> {
        Status(status.to_owned()).stations(interface)
    }

    #[test]
    fn a_status_has_a_state_and_values() {
        let status = Status(STATUS.to_owned());
        assert_eq!((status.state(), status.value("ssid[0]")), (Some("ENABLED"), Some("a")));
        assert_eq!(Status("FAIL\n".to_owned()).state(), None);
    }

    #[test]
    fn an_interface_without_hostapd_is_reported_with_the_place_that_was_looked_at() {
        let reported = Control::of("headroom-none").unwrap_err().to_string();
        assert_eq!(reported, "hostapd has no control socket /run/hostapd/headroom-none");
    }

    #[test]
    fn each_interface_of_a_radio_has_its_own_count() {
        let cases = [
            (STATUS, "wlan0", Some(38)),
            (STATUS, "wlan0-1", Some(4)),
            ("num_sta[0]=2\n", "wlan0", Some(2)),
            ("FAIL\n", "wlan0", None),
            ("num_sta[0]=many\n", "wlan0", None),
            ("", "wlan0", None),
        ];
        for (status, interface, stations) in cases {
            assert_eq!(count(status, interface), stations, "{status} {interface}");
        }
    }

    #[test]
    fn a_hostapd_is_asked_through_a_socket_without_a_file_that_no_other_user_reaches() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wlan0");
        let hostapd = UnixDatagram::bind(&path).unwrap();
        let answering = std::thread::spawn(move || {
            let mut order = [0; 16];
            let (length, from) = hostapd.recv_from(&mut order).unwrap();
            let stranger = UnixDatagram::unbound().unwrap();
            let refused = stranger.send_to_addr(b"FAIL\n", &from).unwrap_err();
            hostapd.send_to_addr(STATUS.as_bytes(), &from).unwrap();
            (order[..length].to_vec(), from.as_abstract_name().is_some(), refused.kind())
        });
        assert_eq!(ask(&path, "STATUS", PATIENCE).unwrap(), STATUS);
        let (order, is_abstract, refused) = answering.join().unwrap();
        assert_eq!((order.as_slice(), is_abstract), (&b"STATUS"[..], true));
        assert_eq!(refused, io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn every_station_is_asked_for_by_the_one_before() {
        const FIRST: &str = "02:00:00:00:01:0a\nsignal=-30\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wlan0");
        let hostapd = daemon(&path, &["freq=5180\n", FIRST, "02:00:00:00:01:0b\n", "FAIL\n"]);
        let all = Control::at(path).all_stations().unwrap();
        assert_eq!(all, format!("freq=5180\n{FIRST}02:00:00:00:01:0b\n"));
        let asked =
            ["STATUS", "STA-FIRST", "STA-NEXT 02:00:00:00:01:0a", "STA-NEXT 02:00:00:00:01:0b"];
        assert_eq!(hostapd.join().unwrap(), asked);
    }

    #[test]
    fn no_hostapd_at_home_is_an_error_and_not_a_wait() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ask(&folder.path().join("wlan0"), "STATUS", PATIENCE).is_err());
    }

    proptest! {
        #[test]
        fn no_reply_makes_us_panic(status: String) {
            let _ = count(&status, "wlan0");
        }
    }
}
