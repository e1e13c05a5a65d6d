//! Signals as descriptors: asked to stop, and asked to read the policy again.

use std::{
    io::{self, Read},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1},
    low_level::pipe,
};

#[derive(Debug)]
pub struct Signals {
    stop: UnixStream,
    reload: UnixStream,
}

impl Signals {
    /// Hears signals from now on, instead of dying of them.
    pub fn listen() -> io::Result<Self> {
        Ok(Self { stop: hears(&[SIGTERM, SIGINT, SIGHUP])?, reload: hears(&[SIGUSR1])? })
    }

    /// Descriptors that become readable: stop, reload.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.stop.as_fd(), self.reload.as_fd()]
    }

    /// Whether somebody asked to stop, ever.
    pub fn stops(&self) -> bool {
        // What was said stays said: it is looked at, and left there.
        let mut byte = [0];
        rustix::net::recv(&self.stop, &mut byte, rustix::net::RecvFlags::PEEK)
            .is_ok_and(|(_, count)| count > 0)
    }

    /// Whether somebody asked to read the policy again since the last call.
    pub fn reloads(&mut self) -> bool {
        let mut bytes = [0; 64];
        self.reload.read(&mut bytes).is_ok_and(|count| count > 0)
    }
}

fn hears(signals: &[i32]) -> io::Result<UnixStream> {
    let (receiver, sender) = UnixStream::pair()?;
    receiver.set_nonblocking(true)?;
    for signal in signals {
        pipe::register(*signal, sender.try_clone()?)?;
    }
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use signal_hook::low_level::raise;

    use super::*;

    #[test]
    fn a_wish_to_stop_stays_and_one_to_reload_is_heard_once() {
        let mut signals = Signals::listen().unwrap();
        assert!(!signals.stops() && !signals.reloads());
        // To this thread: it is heard before the call returns.
        raise(SIGUSR1).unwrap();
        assert!(signals.reloads() && !signals.reloads());
        raise(SIGHUP).unwrap();
        assert!(signals.stops() && signals.stops());
    }
}
