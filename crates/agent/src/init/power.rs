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

pub(super) fn signals() -> io::Result<Signals> {
    Signals::new([SIGCHLD, SIGTERM, SIGUSR1, SIGUSR2])
}

/// Ends the machine, if a signal asks for that.
pub(super) fn obey(signal: i32) {
    let Some(command) = command(signal) else { return };
    sync();
    if let Err(errno) = reboot(command) {
        say(format_args!("cannot end the machine: {errno}"));
    }
}

fn command(signal: i32) -> Option<RebootCommand> {
    match signal {
        SIGTERM => Some(RebootCommand::Restart),
        SIGUSR1 | SIGUSR2 => Some(RebootCommand::PowerOff),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busyboxes_signals_mean_what_busybox_means() {
        assert!(matches!(command(SIGTERM), Some(RebootCommand::Restart)));
        for signal in [SIGUSR1, SIGUSR2] {
            assert!(matches!(command(signal), Some(RebootCommand::PowerOff)));
        }
        assert!(command(SIGCHLD).is_none());
    }
}
