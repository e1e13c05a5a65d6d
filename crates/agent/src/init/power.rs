//! Signals to pid 1, and the end of the machine.
//!
//! busybox's `reboot`, `halt` and `poweroff` send SIGTERM, SIGUSR1 and SIGUSR2 to pid 1, which
//! ignores every signal that it does not ask for.

use std::io;

use rustix::{
    fs::sync,
    system::{RebootCommand, reboot},
};
use signal_hook::{
    consts::{SIGCHLD, SIGTERM, SIGUSR1, SIGUSR2},
    iterator::Signals,
};

use super::console::say;

/// What a signal asks of pid 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// A child ended.
    Reap,
    /// Start the machine again.
    Restart,
    PowerOff,
}

impl Request {
    fn from_signal(signal: i32) -> Self {
        match signal {
            SIGTERM => Self::Restart,
            SIGUSR1 | SIGUSR2 => Self::PowerOff,
            _ => Self::Reap,
        }
    }

    /// Ends the machine, if that is asked for.
    pub(super) fn carry_out(self) {
        let command = match self {
            Self::Reap => return,
            Self::Restart => RebootCommand::Restart,
            Self::PowerOff => RebootCommand::PowerOff,
        };
        sync();
        if let Err(errno) = reboot(command) {
            say(format_args!("cannot end the machine: {errno}"));
        }
    }
}

/// Asks for the signals of pid 1's life.
pub(super) fn signals() -> io::Result<Signals> {
    Signals::new([SIGCHLD, SIGTERM, SIGUSR1, SIGUSR2])
}

/// The requests as they come; the iterator sleeps between them and never ends.
pub(super) fn requests(signals: &mut Signals) -> impl Iterator<Item = Request> {
    signals.forever().map(Request::from_signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busyboxes_signals_mean_what_busybox_means() {
        assert_eq!(Request::from_signal(SIGTERM), Request::Restart);
        assert_eq!(Request::from_signal(SIGUSR1), Request::PowerOff);
        assert_eq!(Request::from_signal(SIGUSR2), Request::PowerOff);
        assert_eq!(Request::from_signal(SIGCHLD), Request::Reap);
    }
}
