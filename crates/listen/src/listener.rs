//! Where clients connect: UNIX sockets that go away with the daemon, and TCP on this machine.
//!
//! A socket path that is there already is somebody's: it is taken over only where no one answers any
//! more. It accepts; what comes in over a connection is the daemons' to read.

use std::{
    fs, io,
    net::{SocketAddr, TcpListener},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{
            fs::{FileTypeExt, MetadataExt, PermissionsExt},
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
};

use rustix::{
    io::Errno,
    net::{SocketFlags, accept_with},
};

#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("{path} is in use by a daemon that runs: give another path")]
    Taken { path: String },
    #[error("{path} is there and is no socket: remove it, or give another path")]
    NoSocket { path: String },
    #[error("cannot listen on {place}")]
    Refused {
        /// The path or the address.
        place: String,
        #[source]
        source: io::Error,
    },
}

#[derive(Debug)]
pub enum Accepted {
    Connection(OwnedFd),
    /// Nobody waits for a connection.
    Nothing,
    /// This process has no descriptor for another connection until one is closed.
    NoRoom,
}

#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    /// The file that is removed with it, and its inode: it may be another's by then.
    file: Option<(PathBuf, u64)>,
}

impl Listener {
    /// Listens on a UNIX socket with these permissions.
    pub fn unix(path: &Path, mode: u32) -> Result<Self, ListenError> {
        clear_the_way(path)?;
        let refused = |source| ListenError::Refused { place: path.display().to_string(), source };
        let listener = UnixListener::bind(path).map_err(refused)?;
        let inode = fs::metadata(path).map_err(refused)?.ino();
        listener.set_nonblocking(true).map_err(refused)?;
        let listener = Self { socket: listener.into(), file: Some((path.to_owned(), inode)) };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(refused)?;
        Ok(listener)
    }

    pub fn tcp(address: SocketAddr) -> Result<Self, ListenError> {
        let refused = |source| ListenError::Refused { place: address.to_string(), source };
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        Ok(Self { socket: listener.into(), file: None })
    }

    pub fn accept(&self) -> Accepted {
        match accept_with(&self.socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok(socket) => Accepted::Connection(socket),
            Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Accepted::NoRoom,
            // Whoever waited has left.
            Err(_) => Accepted::Nothing,
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some((path, inode)) = &self.file
            && fs::metadata(path).is_ok_and(|now| now.ino() == *inode)
        {
            // There is no one to tell at the end, and a dead socket is taken over at the next start.
            let _ = fs::remove_file(path);
        }
    }
}

fn clear_the_way(path: &Path) -> Result<(), ListenError> {
    let place = path.display().to_string();
    let Ok(there) = fs::symlink_metadata(path) else { return Ok(()) };
    if !there.file_type().is_socket() {
        return Err(ListenError::NoSocket { path: place });
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|source| ListenError::Refused { place, source })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => Err(ListenError::Taken { path: place }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_answers_is_left_to_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let first = Listener::unix(&path, 0o600).unwrap();
        assert!(matches!(Listener::unix(&path, 0o600), Err(ListenError::Taken { .. })));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        drop(first);
        assert!(!path.exists());
    }

    #[test]
    fn a_dead_socket_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let listener = Listener::unix(&path, 0o660).unwrap();
        let _consumer = UnixStream::connect(&path).unwrap();
        assert!(matches!(listener.accept(), Accepted::Connection(_)));
        assert!(matches!(listener.accept(), Accepted::Nothing));
    }

    #[test]
    fn a_file_is_not_taken_for_a_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        fs::write(&path, "mine").unwrap();
        assert!(matches!(Listener::unix(&path, 0o660), Err(ListenError::NoSocket { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }

    #[test]
    fn another_s_socket_under_our_name_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let ours = Listener::unix(&path, 0o660).unwrap();
        // Both are there at once, so that the second cannot get the first one's inode.
        let _theirs = UnixListener::bind(folder.path().join("t")).unwrap();
        fs::rename(folder.path().join("t"), &path).unwrap();
        drop(ours);
        assert!(path.exists());
    }
}
