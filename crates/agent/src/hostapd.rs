//! How many stations hostapd counts.
//!
//! Talks to hostapd's control socket, one datagram each way, and waits a second at most. It starts
//! nothing and forks nothing.
//!
//! Format: hostapd's `STATUS`, lines of `key=value`; `bss[i]` and `num_sta[i]` belong together.

use std::{
    io,
    os::unix::net::UnixDatagram,
    path::{Path, PathBuf},
    time::Duration,
};

const PATIENCE: Duration = Duration::from_secs(1);

/// Where hostapd keeps its sockets, by default and on older systems.
const FOLDERS: [&str; 2] = ["/run/hostapd", "/var/run/hostapd"];

/// hostapd's own count of an interface's stations; `None` where it does not answer.
pub fn stations(interface: &str) -> Option<u32> {
    let socket =
        FOLDERS.iter().map(|folder| Path::new(folder).join(interface)).find(|p| p.exists())?;
    ask(&socket).ok().and_then(|status| count(&status, interface))
}

fn ask(socket: &Path) -> io::Result<String> {
    let own = Own::bind()?;
    own.socket.connect(socket)?;
    own.socket.set_read_timeout(Some(PATIENCE))?;
    own.socket.set_write_timeout(Some(PATIENCE))?;
    own.socket.send(b"STATUS")?;
    let mut reply = vec![0; 16384];
    let length = own.socket.recv(&mut reply)?;
    Ok(String::from_utf8_lossy(&reply[..length]).into_owned())
}

/// Our end, which must have a name to be answered; the name goes when the value does.
struct Own {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Own {
    fn bind() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("headroom-agent-{}", std::process::id()));
        // What an agent of the same number left behind when it was killed.
        let _ = std::fs::remove_file(&path);
        Ok(Self { socket: UnixDatagram::bind(&path)?, path })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The count of the interface in a `STATUS`, whose first interface is meant where it names none.
fn count(status: &str, interface: &str) -> Option<u32> {
    let value =
        |key: &str| status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let named = (0..64).find(|place| value(&format!("bss[{place}]")) == Some(interface));
    value(&format!("num_sta[{}]", named.unwrap_or(0)))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STATUS: &str = "state=ENABLED\nbss[0]=wlan0\nssid[0]=a\nnum_sta[0]=38\n\
                          bss[1]=wlan0-1\nnum_sta[1]=4\n";

    #[test]
    fn each_interface_of_a_radio_has_its_own_count() {
        assert_eq!(count(STATUS, "wlan0"), Some(38));
        assert_eq!(count(STATUS, "wlan0-1"), Some(4));
        assert_eq!(count("num_sta[0]=2\n", "wlan0"), Some(2));
    }

    #[test]
    fn a_reply_without_a_count_is_none() {
        assert_eq!(count("FAIL\n", "wlan0"), None);
        assert_eq!(count("num_sta[0]=many\n", "wlan0"), None);
        assert_eq!(count("", "wlan0"), None);
    }

    #[test]
    fn a_hostapd_is_asked_and_our_socket_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wlan0");
        let hostapd = UnixDatagram::bind(&path).unwrap();
        let answering = std::thread::spawn(move || {
            let mut order = [0; 16];
            let (length, from) = hostapd.recv_from(&mut order).unwrap();
            let from = from.as_pathname().unwrap().to_owned();
            hostapd.send_to(STATUS.as_bytes(), &from).unwrap();
            (order[..length].to_vec(), from)
        });
        assert_eq!(ask(&path).unwrap(), STATUS);
        let (order, from) = answering.join().unwrap();
        assert_eq!(order, b"STATUS");
        assert!(!from.exists());
    }

    #[test]
    fn nobody_at_home_is_an_error_and_not_a_wait() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ask(&folder.path().join("wlan0")).is_err());
    }

    proptest! {
        #[test]
        fn no_reply_makes_us_panic(status: String) {
            let _ = count(&status, "wlan0");
        }
    }
}
