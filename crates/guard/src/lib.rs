//! guard: Wi-Fi keeps its throughput while other applications run.
//!
//! A policy says what is protected and what may be bounded; readings say how the access point is; a pure
//! function decides; one actuator applies, and a journal puts everything back. Nothing here kills a process,
//! makes one real-time, or moves an interrupt.
//!
//! ```text
//! Policy ─┐
//! Reading ┼─(decide: pure)──► Decision: wanted Bounds, in words why ──(act)──► kernel
//! State ──┘                                                             │ journal: old values first
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | [`policy`] | the file that a person writes |
//! | [`reading`] | what was seen in one tick |
//! | [`bounds`] | how an application is bounded, and Wi-Fi's own work placed |
//! | [`decide`] | the pure function |
//! | [`sense`] | readings from `/proc`, `/sys`, netlink, and the canary |
//! | [`groups`] | hierarchies, and which processes an application is |
//! | [`act`] | bounds to the kernel, verified, and back |
//! | [`journal`] | old values, written ahead; restoring them |
//! | [`watchdog`] | the process that restores when guard dies |
//! | [`run`] | the loop |
//! | [`status`] | who is bounded, why, what it costs: for people, JSON, OpenMetrics |
//! | [`flags`] | what was typed |
//! | [`failure`], `output` | how a verb ends, and what is printed |
//! | [`control`] | asking the guard that runs |
//! | [`command`] | the verbs, the same in `guard` and `headroom guard` |

pub mod act;
pub mod bounds;
pub mod command;
pub mod control;
pub mod decide;
pub mod failure;
pub mod flags;
pub mod groups;
pub mod journal;
mod output;
pub mod policy;
pub mod reading;
pub mod run;
pub mod sense;
pub mod status;
pub mod watchdog;
