//! Waiting for the next tick: 200 ms while there is traffic, else up to 2 s, and woken when something begins.
//!
//! While nothing goes on, the packets are peeked at twice a second: one file. Pressure wakes too,
//! and is listened to less and less while it turns out to be applications among themselves.

use std::os::fd::BorrowedFd;

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    time::Timespec,
};

use super::{BUSY_PACKETS, Error, Senses};

/// A tick with traffic, ns.
const BUSY_NS: u64 = 200_000_000;
/// A tick without, ns.
const IDLE_NS: u64 = 2_000_000_000;
/// From one peek to the next, ns.
const PEEK_NS: u64 = 500_000_000;
/// Waits in which pressure is not listened to, at most: a quarter of a minute.
const MOST_DEAF: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The time was over.
    Time,
    Traffic,
    /// Somebody waits for a CPU (PSI).
    Pressure,
    /// This one of the given descriptors is ready.
    Descriptor(usize),
}

/// How willing we are to be woken by pressure.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    /// Waits that are still to be made without listening.
    deaf: u32,
    /// Waits without listening after the next call that was in vain.
    next: u32,
}

impl Patience {
    /// Whether to listen in this wait.
    fn listens(&mut self, busy: bool) -> bool {
        if busy {
            *self = Self::default();
            return false;
        }
        let listens = self.deaf == 0;
        self.deaf = self.deaf.saturating_sub(1);
        listens
    }

    /// Pressure woke us: if nothing is going on, the next waits are deaf.
    fn called(&mut self) {
        self.next = (self.next * 2).clamp(1, MOST_DEAF);
        self.deaf = self.next;
    }
}

impl Senses {
    /// Sleeps until the next tick: 200 ms after the last where `busy`, else up to 2 s; sooner where traffic
    /// begins, where somebody begins to wait for a CPU (with PSI), or where one of `descriptors` is ready to
    /// be read or hung up.
    pub fn wait(&mut self, busy: bool, descriptors: &[BorrowedFd<'_>]) -> Result<Woken, Error> {
        let span_ns = if busy { BUSY_NS } else { IDLE_NS };
        // The work of a tick is not added to its length.
        let until_ns = self.at_ns.max(1).saturating_add(span_ns);
        let listens = self.patience.listens(busy);
        self.interfaces.peek_anew();
        if !busy {
            self.interfaces.peek(&mut self.buffer);
        }
        loop {
            let now_ns = linux::system::boottime_ns();
            let left_ns = until_ns.saturating_sub(now_ns);
            let step_ns = if busy { left_ns } else { left_ns.min(PEEK_NS) };
            match self.sleep(step_ns, listens, descriptors)? {
                Some(Woken::Pressure) => {
                    self.patience.called();
                    return Ok(Woken::Pressure);
                }
                Some(woken) => return Ok(woken),
                None if linux::system::boottime_ns() >= until_ns => return Ok(Woken::Time),
                None => {}
            }
            let enough = BUSY_PACKETS * PEEK_NS as f64 / 1e9;
            let packets = self.interfaces.peek(&mut self.buffer);
            if !busy && packets.is_some_and(|packets| packets as f64 >= enough) {
                return Ok(Woken::Traffic);
            }
        }
    }

    /// Polls once; `None` where the time was over.
    fn sleep(
        &mut self,
        span_ns: u64,
        listens: bool,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<Option<Woken>, Error> {
        let mut fds: Vec<PollFd<'_>> =
            descriptors.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        let trigger = self.trigger.as_ref().filter(|_| listens);
        fds.extend(trigger.map(|trigger| PollFd::from_borrowed_fd(trigger.fd(), PollFlags::PRI)));
        let timeout = Timespec {
            tv_sec: (span_ns / 1_000_000_000) as i64,
            tv_nsec: (span_ns % 1_000_000_000) as i64,
        };
        match poll(&mut fds, Some(&timeout)) {
            // A signal: its handler writes to one of the descriptors, which the next poll sees.
            Ok(0) | Err(Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(errno) => return Err(Error::Wait(errno.into())),
        }
        let ready = fds.iter().position(|fd| !fd.revents().is_empty());
        let broken =
            fds.get(descriptors.len()).is_some_and(|fd| fd.revents().contains(PollFlags::ERR));
        drop(fds);
        match ready {
            Some(place) if place < descriptors.len() => Ok(Some(Woken::Descriptor(place))),
            // A trigger that the kernel took away is ready for ever.
            Some(_) if broken => {
                self.trigger = None;
                Ok(None)
            }
            Some(_) => Ok(Some(Woken::Pressure)),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_in_vain_is_listened_to_less_and_less_until_there_is_traffic() {
        let mut patience = Patience::default();
        let mut deaf = Vec::new();
        for _ in 0..6 {
            patience.called();
            deaf.push((0..100).take_while(|_| !patience.listens(false)).count());
        }
        assert_eq!(deaf, [1, 2, 4, 8, 8, 8]);
        assert!(!patience.listens(true), "ticks are close together anyway");
        assert!(patience.listens(false));
    }
}
