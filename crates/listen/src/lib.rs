//! What a daemon needs to serve strangers, once for guard and for stationd.
//!
//! Sockets that go away with the daemon, which `Host` is served, what the head of an HTTP request asks for, short
//! answers, and the text of metrics. Connections and clocks are the daemons', and so is what they serve.

mod answer;
mod host;
mod listener;
pub mod openmetrics;
#[cfg(feature = "readers")]
pub mod readers;
mod request;

pub use self::{
    answer::Answer,
    host::{BadHost, Hosts},
    listener::{Accepted, ListenError, Listener},
    request::{Format, Page, Parsed, Request, parse},
};
