//! How stationd begins: the engine over this machine's kernel or over a recording, and the signals.

use std::{
    fs, io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
};

use linux::{
    netlink::{self, Recording, RecordingError, Replay},
    nl80211::Nl80211,
};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    low_level::pipe,
};

use crate::engine::{Engine, Settings};

/// It cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The kernel has no nl80211, or does not let us ask it.
    #[error("cannot ask nl80211 (is cfg80211 loaded?)")]
    Kernel(#[from] netlink::Error),
    /// The recording cannot be read.
    #[error("cannot read the recording {path}")]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// It is no recording.
    #[error("cannot replay {path}")]
    Recording {
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: RecordingError,
    },
    /// The recording does not even say what nl80211 is called.
    #[error("the recording does not hold the conversation that stationd has with the kernel")]
    Conversation(#[source] netlink::Error),
    /// Signals cannot be heard.
    #[error("cannot listen to signals")]
    Signals(#[source] io::Error),
}

/// The engine over this machine's kernel, or over a recording of another's.
pub fn engine(settings: Settings, replay: Option<&Path>) -> Result<Engine, StartError> {
    let Some(path) = replay else { return Ok(Engine::open(settings)?) };
    let unreadable = |source| StartError::File { path: path.to_owned(), source };
    let bytes = fs::read(path).map_err(unreadable)?;
    let wrong = |source| StartError::Recording { path: path.to_owned(), source };
    let recording = Recording::read(&bytes).map_err(wrong)?;
    let kernel = Replay::new(recording).map_err(unreadable)?;
    let kernel = Nl80211::over(kernel).map_err(StartError::Conversation)?;
    Ok(Engine::over(settings, kernel, None)?)
}

/// A descriptor that becomes readable when somebody asks this process to end.
pub fn signals() -> Result<OwnedFd, StartError> {
    let (receiver, sender) = UnixStream::pair().map_err(StartError::Signals)?;
    for signal in [SIGTERM, SIGINT] {
        let sender = sender.try_clone().map_err(StartError::Signals)?;
        pipe::register(signal, sender).map_err(StartError::Signals)?;
    }
    Ok(receiver.into())
}
