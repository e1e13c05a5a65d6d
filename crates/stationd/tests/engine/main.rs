//! The engine over a kernel and a hostapd that are played by tests, in good weather and bad.
//!
//! [`world`] holds what is true, [`kernel`] tells it as nl80211 does, [`control`] is hostapd, and
//! [`setup`] puts an engine before them.

#![expect(clippy::unwrap_used, reason = "a panic is the failure report of a test")]

mod comings;
mod control;
mod counters;
mod crowd;
mod identities;
mod interfaces;
mod kernel;
mod losses;
mod parts;
mod setup;
mod sharing;
mod world;
