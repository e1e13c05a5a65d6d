//! What a daemon needs to serve strangers, once for guard and for stationd.
//!
//! Who may stay when places run out, which `Host` is served, what the head of an HTTP request asks for,
//! short answers, and metrics as text. All of it is pure: sockets and clocks are the daemons', and so is what they serve.

mod answer;
mod host;
pub mod metrics;
mod places;
mod request;

pub use self::{
    answer::Answer,
    host::{BadHost, Hosts},
    places::{Activity, Occupant, Places, Standing},
    request::{Format, Page, Parsed, Request, parse},
};
