//! Contention studies: Wi-Fi's traffic beside applications, bout by bout, under one control after the other.
//!
//! ```text
//! study file ──study──► Study ──plan──► bouts ──runner──► fight ──► folder
//!                                ▲                  │
//!                  pace ─────────┘ rates            └ virtual access points side by side, real time alone
//! ```
//!
//! A bout is one order to an agent and one record back; what the records mean is `analysis`' work. Counted bouts
//! do not feel the host and share its cores; a bout in real time has the host for itself, after a gate.

mod fight;
pub mod folder;
pub(crate) mod pace;
pub mod plan;
pub mod runner;
pub mod study;

pub use runner::{Task, resume, run};
