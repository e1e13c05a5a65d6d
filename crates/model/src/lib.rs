//! headroom's nouns: what is asked, sent, recorded and compared, and their versioned format.
//!
//! Pure data. Every other crate speaks in these words; this one opens no file, reads no clock and
//! knows neither the kernel nor the terminal.
//!
//! # The life of a figure
//!
//! ```text
//! Study ──(lab::plan)──► Plan ──► Order ──wire──► agent
//!                                                   │ Frame: Hello, Census, Sample…, Done
//!                                                   ▼
//!                        Run ◄── Trial (raw counters, never rates) ──(analysis)──► figures
//! ```
//!
//! # Design constraints
//!
//! - **Raw counters are recorded, rates are derived** (the crate `analysis` does that), so that a better
//!   derivation can be applied to an old run.
//! - **Absent is `None`, never 0.** A machine that cannot measure something says so.
//! - **Units stand in the name**: `_ns`, `_us`, `_kib`.
//! - Formats carry a version: [`wire::PROTOCOL`] for the stream, [`run::FORMAT`] for the folder.

pub mod architecture;
pub mod baseline;
pub mod cache;
pub mod calibration;
pub mod card;
pub mod cell;
pub mod census;
pub mod event;
pub mod facts;
pub mod figure;
pub mod firmware;
pub mod identity;
pub mod inert;
pub mod instrument;
pub mod limit;
pub mod name;
pub mod nearest;
pub mod order;
pub mod parity;
pub mod pause;
pub mod perf_data;
pub mod perturbation;
pub mod plural;
pub mod purpose;
pub mod random;
pub mod reading;
pub mod run;
pub mod sample;
pub mod settings;
pub mod shard;
pub mod share;
pub mod span;
pub mod study;
pub mod target;
pub mod topology;
pub mod traffic;
pub mod trial;
pub mod verdict;
pub mod wire;
pub mod witness;
