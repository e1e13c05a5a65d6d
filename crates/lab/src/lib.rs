//! An access point to measure, virtual or real, and one trial on it.
//!
//! ```text
//! study file ──study_file──► Study ──plan──► trials ──runner──► session ──► run folder
//!                                                                 │
//!             image ──► vm::snapshot ──► vm::Machine (QEMU) ◄─────┘ one for each trial
//! ```
//!
//! # The life of a run
//!
//! The image is found or made, then one snapshot for every client count and mode; then each trial
//! restores its snapshot into a QEMU of its own, gives the agent one order, and is written to the
//! folder before the next one starts on that core. Nothing is left behind when headroom ends, however
//! it ends: a QEMU is bound to its parent's life, sockets have no names, files are written whole.
//!
//! # Design constraints
//!
//! - Emits [`model::event::Event`]s, prints nothing, judges nothing.
//! - Links neither `linux` nor `analysis`: the agent measures, `analysis` concludes.

pub mod cache;
pub mod cache_model;
mod channel;
pub mod comparison;
pub mod device;
pub mod device_file;
pub mod error;
mod exchange;
mod failures;
mod fetch;
pub mod flash;
pub mod functions;
pub mod host;
pub mod host_command;
mod idle;
pub mod image;
pub mod lab;
mod last_words;
pub mod merge;
pub mod missing;
pub mod objects;
pub mod on_device;
pub mod plan;
pub mod power;
mod program;
pub mod remote;
pub mod reservation;
pub mod run_folder;
pub mod runner;
pub mod session;
pub mod setup;
pub mod shard;
pub mod slurm;
mod stack_file;
pub mod study_file;
mod transcript;
pub mod uploads;
pub mod vm;

pub use error::Error;
pub use lab::{Cancel, Events, FirmwareSource, Lab, Onlooker, Replaced, Settings};
