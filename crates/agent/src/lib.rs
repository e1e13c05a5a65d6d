//! The program on the access point: it takes one order, measures alone, and restores what it changed.
//!
//! ```text
//! dispatch ──Order──► trial ──┬─ counted    the processes in question: subject, started, groups, sampler
//!   │                         ├─ load       what makes the subject work: rounds, or programs that keep running
//!   │                         ├─ traffic    across a road, with an application, under a control or guard
//!   │                         ├─ card       txd
//!   │                         ├─ witness    what others say around the load's rounds, where that is ordered
//!   │                         └─ instrument
//!   │                              ├─ recorder   stacks: burner, records, mapped_files, kernel
//!   │                              └─ probes     calls: definitions, calibrate, bystanders, spans, reading
//!   ├─► locate, fetch, put, hold
//!   ▼
//! session   waits for frames, time, signals and children; below all of them, and knows none of them
//!   ├─ stream        stdin ──Order──►, ◄──Frame── stdout
//!   └─ facts, census   what is said before and after
//! ```
//!
//! # Design constraints
//!
//! - **One thread, one poll.** Everything that can happen (a sampling point, a round, an order, a
//!   command that ended, a signal, a subject that died) is waited for in one place, [`session`].
//! - **Raw counters leave, nothing else.** No rate, no symbol, no judgement is made here.
//! - **What is changed is restored by `Drop`**: at the end, on an error, on a signal that can be
//!   caught, on a panic, and when the stream breaks.
//! - **Times are absolute**, so that a late round or sample does not shift those after it.
//! - **The agent is small beside what it measures**: files stay open, nothing runs between two points.

pub mod burner;
mod bystanders;
pub mod calibrate;
mod census;
mod companions;
mod control;
mod definitions;
pub mod dispatch;
mod facts;
mod fetch;
mod groups;
mod hold;
mod hostapd;
mod identity;
pub mod init;
mod instrument;
mod kernel;
mod load;
mod locate;
mod long_running;
mod mapped_files;
mod parity;
pub mod pause;
mod peers;
mod probes;
mod process_set;
pub mod programs;
mod put;
mod reading;
mod recorder;
mod records;
mod resident;
mod returns;
mod rounds;
mod sampler;
mod scope;
pub mod session;
mod settings;
mod sources;
mod spans;
mod started;
mod state;
pub mod stream;
pub mod subject;
mod topology;
mod transcript;
mod trial;
mod twin;
pub mod undo;
mod witness;
mod words;
