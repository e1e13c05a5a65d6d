//! Connections, whatever they speak: listeners, bytes in and out, what is waited for and until when, what consumers cost.
//!
//! What the bytes mean is [`crate::rpc`]'s and [`crate::http`]'s, which the daemon's loop calls.

pub mod connection;
pub mod listener;
pub mod outbox;
pub mod poller;
pub mod tally;
pub mod timeouts;
pub mod token;

use self::{poller::Poller, tally::Tally, timeouts::Timeouts};
use crate::{engine::Engine, metrics::own::Own};

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
