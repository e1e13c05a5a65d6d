//! What the faces and the loop share: sockets, what waits to be sent, moments, and one turn's means.
//!
//! Knows bytes, places and moments; what they say is the faces' to know.

pub mod connection;
pub mod outbox;
pub mod poller;
pub mod timeouts;
pub mod token;

use self::{poller::Poller, timeouts::Timeouts};
use crate::{engine::Engine, metrics::own::Own, tally::Tally};

/// What one turn works with.
pub struct Turn<'a> {
    /// What is known of all stations.
    pub engine: &'a mut Engine,
    /// Which descriptors are waited for.
    pub poller: &'a Poller,
    /// What is to happen later.
    pub timeouts: &'a mut Timeouts,
    /// What consumers cost.
    pub tally: &'a mut Tally,
    /// The daemon itself.
    pub own: &'a mut Own,
    /// Now, ns since boot.
    pub now_ns: u64,
}
