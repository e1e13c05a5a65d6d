//! stationd: the statistics of associated stations, read once and given to everybody who asks.
//!
//! One thread, one poll loop, no allocation in a poll.
//!
//! ```text
//! nl80211 ─► pull ─► table ─► brief, full, metrics, events
//! hostapd ─► identity ─┘
//! rpc, ubus, http: the faces      net: their sockets      daemon: the loop
//! ```
//!
//! It steers no station, writes no configuration, and speaks to no one outside of the machine.

pub mod address;
pub mod brief;
pub mod check;
pub mod counter;
pub mod daemon;
pub mod engine;
pub mod events;
pub mod full;
pub mod hostapd;
mod http;
pub mod identity;
pub mod metrics;
pub mod monitor;
pub mod net;
pub mod options;
#[cfg(feature = "planted")]
mod plant;
pub mod points;
pub mod pull;
pub mod replies;
pub mod rpc;
pub mod table;
pub mod tally;
pub mod trace;
#[cfg(feature = "ubus")]
pub mod ubus;
