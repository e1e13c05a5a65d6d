//! The words that tests are written in: a place, a study, headroom at work there, and how it ended.
//!
//! ```text
//! Place (a fresh folder, a turn for guests, a mark) ── headroom(words) ──► Headroom
//!     run() ──► Ended: code, prints, says           start() ──► Running: event, signal, end
//! Study ── written into the place                   RunFolder ── read out of it
//! ```
//!
//! Every process that headroom starts inherits the place's mark in its environment. So what is left
//! running is found whatever its parent is, and nothing of anybody else is ever touched.

mod ended;
pub(crate) mod guest;
mod headroom;
mod labgrid;
mod link;
mod mcp;
mod place;
mod private_cache;
mod processes;
mod run_folder;
mod script;
mod slurm;
mod ssh;
mod study;

pub(crate) use ended::Ended;
pub(crate) use headroom::{
    Headroom, Running, binary, device_program, has_arm64, programs_of, python_programs, stationd,
};
pub(crate) use labgrid::Labgrid;
pub(crate) use link::Link;
pub(crate) use mcp::Mcp;
pub(crate) use place::{Place, cache};
pub(crate) use private_cache::PrivateCache;
pub(crate) use processes::{Busy, Process, eventually, free_port};
pub(crate) use run_folder::{RunFolder, cpu, has, made_up, number, sha256sum};
pub(crate) use script::{Page, Parts, in_guest, with_broker, with_radios};
pub(crate) use slurm::Slurm;
pub(crate) use ssh::{Client, Device, Server};
pub(crate) use study::{PACKAGES, Study};

/// The rows of a table, a line each, with ` | ` between their cells.
pub(crate) fn rows<const CELLS: usize>(table: &str) -> impl Iterator<Item = [&str; CELLS]> {
    table.lines().filter(|row| !row.is_empty()).map(|row| {
        let cells: Vec<_> = row.splitn(CELLS, " | ").map(str::trim).collect();
        cells.try_into().unwrap_or_else(|_| panic!("{row}"))
    })
}

/// Whether tests run at their whole length (`HEADROOM_LONG=1`, `make long-proofs`): `make test` has what shows each claim, and
/// that what repeats it or makes it large.
pub(crate) fn is_long() -> bool {
    std::env::var_os("HEADROOM_LONG").is_some_and(|set| set == "1")
}
