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

mod bounded;
mod bus;
mod ended;
pub(crate) mod guest;
mod headroom;
mod labgrid;
mod length;
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
mod symbols;
mod turns;

pub(crate) use bus::with_broker;
pub(crate) use ended::Ended;
pub(crate) use headroom::{
    Headroom, Running, binary, device_program, has_arm64, programs_of, python_programs,
};
pub(crate) use labgrid::Labgrid;
pub(crate) use length::is_long;
pub(crate) use link::Link;
pub(crate) use mcp::{FASTMCP, Mcp};
pub(crate) use place::{Place, cache};
pub(crate) use private_cache::PrivateCache;
pub(crate) use processes::{Busy, Process, eventually, free_port};
pub(crate) use run_folder::{RunFolder, number};
pub(crate) use script::{Page, Parts, in_guest, on_one_radio};
pub(crate) use slurm::Slurm;
pub(crate) use ssh::{Client, Device, Server};
pub(crate) use study::{PACKAGES, Study};
pub(crate) use symbols::{offset_in, stationd};
