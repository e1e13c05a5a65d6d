//! Runs tasks that ask an agent to make a program cheaper: builds and judges its tries, and keeps the ledger.
//!
//! ```text
//! task ─► folder (begun: everything fixed by content) ─► build (diff → sandbox → program)
//!                     │                                        │ measured by the command line
//!                     └─► ledger ◄── judge (pure) ◄────────────┘
//!                            └─► standing (where it is, what is left)
//! ```
//!
//! It measures nothing: a comparison is the lab's, and the figures are analysis's. It says what a win is.

mod build;
mod cargo;
mod content;
pub mod folder;
pub mod judge;
pub mod ledger;
pub mod outcome;
pub mod sandbox;
pub mod standing;
pub mod task;

pub use self::{
    build::{Built, Candidate, Texts, begin},
    folder::TaskFolder,
    task::Task,
};
