//! The faces of the real program, over real sockets, in good weather and bad.
//!
//! stationd runs on a recording of a virtual access point with 38 stations; nothing here needs Wi-Fi.

#![expect(clippy::unwrap_used, reason = "a panic is the failure report of a test")]

mod lifecycle;
mod limits;
mod metrics;
mod monitor;
mod packaging;
mod program;
mod rpc;
