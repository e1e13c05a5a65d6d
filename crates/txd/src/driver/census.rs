//! What the driver counts: commands and how long each took, frames and what became of them.
//!
//! Plain numbers that only grow; a difference of two of them is a window.

use model::card::Command;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Initialise,
    Allocate,
    Enable,
    Transmit,
}

impl Kind {
    pub const ALL: [(Self, &str); 4] = [
        (Self::Initialise, "initialise"),
        (Self::Allocate, "allocate"),
        (Self::Enable, "enable"),
        (Self::Transmit, "transmit"),
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    QueueFull,
    TooLong,
    TooShort,
    /// The card refused its transmit command.
    CommandError,
    /// Its transmit command did not complete in time.
    TimedOut,
    /// The path into the card's buffers failed.
    AccessPath,
    /// The card does not answer any more.
    NoCard,
}

impl Reason {
    pub const ALL: [(Self, &str); 7] = [
        (Self::QueueFull, "queue-full"),
        (Self::TooLong, "too-long"),
        (Self::TooShort, "too-short"),
        (Self::CommandError, "command-error"),
        (Self::TimedOut, "timed-out"),
        (Self::AccessPath, "access-path"),
        (Self::NoCard, "no-card"),
    ];
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tally {
    /// Completed, well or with an error.
    pub count: u64,
    /// Of them, put off: no one looked when they completed, and how long they took is not known.
    pub deferred: u64,
    /// From issue until the end was seen, all others together, ns.
    pub total_ns: u64,
    /// The shortest, ns; `None` before the first.
    pub least_ns: Option<u64>,
    pub most_ns: u64,
    /// Failed: by an error of the card, or not completed in time.
    pub failed: u64,
}

impl Tally {
    pub(super) fn deferred(&mut self) {
        self.count += 1;
        self.deferred += 1;
    }

    pub(super) fn completed(&mut self, took_ns: u64) {
        self.count += 1;
        self.total_ns += took_ns;
        self.least_ns = Some(self.least_ns.map_or(took_ns, |least| least.min(took_ns)));
        self.most_ns = self.most_ns.max(took_ns);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Frames that were offered and taken, dropped ones too.
    pub accepted: u64,
    pub confirmed: u64,
    /// Frames that were dropped, by [`Reason::ALL`].
    pub dropped: [u64; Reason::ALL.len()],
    /// Commands, by [`Kind::ALL`].
    pub commands: [Tally; Kind::ALL.len()],
    pub interrupts: u64,
    /// Commands whose event never came, and that were found done.
    pub lost_events: u64,
    pub timeouts: u64,
    pub resets: u64,
    pub masked_ns: u64,
}

impl Counters {
    pub fn all_dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }

    pub fn of(&self, kind: Kind) -> Tally {
        self.commands[kind as usize]
    }

    pub(super) fn tally(&mut self, kind: Kind) -> &mut Tally {
        &mut self.commands[kind as usize]
    }

    pub(super) fn drop(&mut self, reason: Reason, frames: u64) {
        self.dropped[reason as usize] += frames;
    }

    /// Dropped frames by the names of their reasons, those that there are, since an earlier count.
    pub fn dropped_since(&self, earlier: &Self) -> Vec<(String, u64)> {
        let counts = Reason::ALL.iter().zip(self.dropped.iter().zip(&earlier.dropped));
        counts
            .map(|((_, name), (now, before))| ((*name).to_owned(), now - before))
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// Commands by name, those that there are, since an earlier count; the shortest and the longest are those of
    /// all time.
    pub fn commands_since(&self, earlier: &Self) -> Vec<Command> {
        let tallies = Kind::ALL.iter().zip(self.commands.iter().zip(&earlier.commands));
        tallies
            .map(|((_, name), (now, before))| Command {
                name: (*name).to_owned(),
                count: now.count - before.count,
                deferred: now.deferred - before.deferred,
                total_ns: now.total_ns - before.total_ns,
                least_ns: now.least_ns.unwrap_or(0),
                most_ns: now.most_ns,
                failed: now.failed - before.failed,
            })
            .filter(|command| command.count + command.failed > 0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_reasons_are_counted_at_their_own_place() {
        for (place, (kind, _)) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
        }
        for (place, (reason, _)) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, place);
        }
    }

    #[test]
    fn a_window_is_a_difference_and_names_only_what_happened() {
        let mut counters = Counters::default();
        counters.tally(Kind::Transmit).completed(150);
        let before = counters.clone();
        counters.tally(Kind::Transmit).completed(170);
        counters.drop(Reason::TooLong, 2);
        let commands = counters.commands_since(&before);
        assert_eq!(commands.len(), 1);
        assert_eq!((commands[0].count, commands[0].total_ns, commands[0].least_ns), (1, 170, 150));
        assert_eq!(counters.dropped_since(&before), [("too-long".to_owned(), 2)]);
    }
}
