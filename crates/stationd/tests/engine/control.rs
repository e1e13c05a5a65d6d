//! hostapd's part: control sockets in a folder of its own, and answers as a test wants them.

use std::{
    os::unix::net::{SocketAddr, UnixDatagram},
    path::Path,
};

use tempfile::TempDir;

pub(crate) struct Asked {
    /// The address that it is about, as hostapd writes it.
    pub(crate) station: String,
    from: SocketAddr,
}

pub(crate) struct Control {
    folder: TempDir,
    socket: Option<UnixDatagram>,
}

impl Control {
    /// A folder without a socket: hostapd is absent.
    pub(crate) fn absent() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), socket: None }
    }

    pub(crate) fn of(interface: &str) -> Self {
        let mut control = Self::absent();
        control.begin(interface);
        control
    }

    pub(crate) fn begin(&mut self, interface: &str) {
        let path = self.folder.path().join(interface);
        let _ = std::fs::remove_file(&path);
        let socket = UnixDatagram::bind(path).unwrap();
        socket.set_nonblocking(true).unwrap();
        self.socket = Some(socket);
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn questions(&self) -> Vec<Asked> {
        let Some(socket) = &self.socket else { return Vec::new() };
        let mut bytes = [0; 64];
        let mut asked = Vec::new();
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            let text = std::str::from_utf8(&bytes[..length]).unwrap();
            asked.push(Asked { station: text.strip_prefix("STA ").unwrap().into(), from });
        }
        asked
    }

    pub(crate) fn answer(&self, asked: &Asked, text: &str) {
        // Who has gone away meanwhile hears nothing.
        let _ = self.socket.as_ref().unwrap().send_to_addr(text.as_bytes(), &asked.from);
    }
}

/// What hostapd says of a station that may send data.
pub(crate) fn known(station: &str, aid: u16) -> String {
    format!(
        "{station}\nflags=[AUTH][ASSOC][AUTHORIZED][WMM][HT]\naid={aid}\ncapability=0x11\n\
         listen_interval=5\nsupported_rates=8c 12 98\nwpa=2\nht_caps_info=0x107e\n\
         ht_mcs_bitmask=ffff0000000000000000\n"
    )
}
