//! How long the rest of a run's trials takes, by the time in which trials were under way. What is made between them, as
//! an access point, is in nobody's pace. Pure: whoever asks says what time it is.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use model::event::Event;

/// The trials of a run, as events tell of them.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Those that are under way, and since when there are some.
    under_way: BTreeSet<String>,
    since: Option<Instant>,
    /// Before that, in which some were under way.
    worked: Duration,
    /// Ended now, by an execution that is going on.
    ended: u32,
}

impl Pace {
    pub(crate) fn follow(&mut self, event: &Event, at: Instant) {
        match event {
            Event::TrialStarted { id } => {
                self.under_way.insert(id.clone());
                self.since.get_or_insert(at);
            }
            Event::TrialEnded { id, .. } => {
                self.ended += 1;
                self.under_way.remove(id);
                if self.under_way.is_empty() {
                    self.worked = self.worked(at);
                    self.since = None;
                }
            }
            _ => {}
        }
    }

    fn worked(&self, at: Instant) -> Duration {
        self.worked + self.since.map_or(Duration::ZERO, |since| at.saturating_duration_since(since))
    }

    /// How long so many more take; `None` while none has ended.
    pub(crate) fn left(&self, trials: u32, at: Instant) -> Option<Duration> {
        (self.worked(at) * trials).checked_div(self.ended)
    }
}
