//! Counts consumers, their requests, and who was dropped for what.

/// Why a consumer was dropped, or not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There were as many as may be.
    Refused,
    /// Another was let in, in its place.
    Displaced,
    /// It took no byte for too long.
    Stalled,
    /// It left a request unfinished for too long.
    Unfinished,
    /// Its request was longer than a request may be.
    Oversized,
}

impl Reason {
    /// All of them, in the order of [`Tally::dropped`].
    pub const ALL: [Self; 5] =
        [Self::Refused, Self::Displaced, Self::Stalled, Self::Unfinished, Self::Oversized];

    pub fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Displaced => "displaced",
            Self::Stalled => "stalled",
            Self::Unfinished => "unfinished",
            Self::Oversized => "oversized",
        }
    }
}

/// Counters since the start, and who is here now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Connections over which requests come now.
    pub consumers: usize,
    /// Connections over which the metrics are fetched now.
    pub scrapers: usize,
    /// Requests that were answered, faults included.
    pub requests: u64,
    /// In the order of [`Reason::ALL`].
    pub dropped: [u64; Reason::ALL.len()],
}

impl Tally {
    /// Counts a consumer that was dropped.
    pub fn drop_for(&mut self, reason: Reason) {
        self.dropped[reason as usize] += 1;
    }
}
