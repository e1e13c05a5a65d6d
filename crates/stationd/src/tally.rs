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

/// The word for each [`Reason`], in their order.
pub const REASONS: [&str; 5] = ["refused", "displaced", "stalled", "unfinished", "oversized"];

/// Counters since the start, and who is here now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Connections over which requests come now.
    pub consumers: usize,
    /// Connections over which the metrics are fetched now.
    pub scrapers: usize,
    /// Requests that were answered, faults included.
    pub requests: u64,
    pub dropped: [u64; REASONS.len()],
}

impl Tally {
    pub fn drop_for(&mut self, reason: Reason) {
        self.dropped[reason as usize] += 1;
    }
}
