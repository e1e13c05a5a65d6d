//! Completion studies: `txd measure`, trial by trial, with one way to wait for the card after the other.
//!
//! ```text
//! study file ──study──► Study ──plan──► trials ──runner──► trial ──► folder
//!                                ▲                   │
//!                 rounds ────────┘ work of tasks     └ virtual access points side by side, real time alone
//! ```
//!
//! A trial is one order to an agent, which runs `txd`, and one set of counters back; what they mean is
//! `analysis`' work. Counted trials do not feel the host and share its cores; one in real time has the host for
//! itself, after a gate.

pub mod folder;
pub mod plan;
pub mod rounds;
pub mod runner;
pub mod study;
mod trial;

pub use runner::{Task, resume, run};
