//! Starts the engine, over this machine's kernel or over a recording, and the signals.

use std::{
    error::Error,
    fs, io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
};

use linux::{
    netlink::{self, Recording, Replay},
    nl80211::Nl80211,
};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    low_level::pipe,
};

use crate::{engine::Engine, options::Options};

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot ask nl80211 (is cfg80211 loaded?)")]
    Kernel(#[from] netlink::Error),
    #[error("cannot replay {}", path.display())]
    Replay { path: PathBuf, source: Box<dyn Error + Send + Sync> },
    #[error("cannot listen to signals")]
    Signals(#[source] io::Error),
}

/// The engine over this machine's kernel, or over a recording of another's.
pub fn engine(options: Options, replay: Option<&Path>) -> Result<Engine, StartError> {
    let Some(path) = replay else { return Ok(Engine::open(options)?) };
    let kernel =
        recorded(path).map_err(|source| StartError::Replay { path: path.to_owned(), source })?;
    Ok(Engine::over(options, kernel, None)?)
}

fn recorded(path: &Path) -> Result<Nl80211, Box<dyn Error + Send + Sync>> {
    let recording = Recording::read(&fs::read(path)?)?;
    Ok(Nl80211::over(Replay::new(recording)?)?)
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
