//! Pid 1 of the virtual access point: from an unpacked initramfs to associated clients.
//!
//! ```text
//! mounts ─► modules ─► airspace ─────────────► settled ─► services: the agent, a shell
//!                      radios, namespace,      all clients        │
//!                      hostapd, supplicants    authorised         ▼
//!                                                         reap, restart, power off
//! ```
//!
//! # What the host sees
//!
//! Lines on the console that begin with `headroom-init: ` ([`console`] lists them). When something
//! required fails the line says what and why, and pid 1 stays: it never exits, because the kernel
//! would panic and the reason would scroll away.
//!
//! # Design constraints
//!
//! - **No periodic wake-up once ready**: pid 1 sleeps in a read until a signal comes, so that it
//!   does not show in a measurement.
//! - **All of it is made here**: no shell script, no udev, no modprobe, no `iw`.
//! - Files on the way: `/etc/headroom/modules*` and `folders` (read), `/run/headroom` (configurations and logs of
//!   the services), `/run/hostapd` and `/run/wpa_supplicant` (their control sockets),
//!   `/run/netns/clients` (the clients' network namespace).

pub mod activity;
mod airspace;
mod associate;
mod bringup;
mod console;
mod error;
mod hostapd;
mod modules;
mod mounts;
mod namespace;
mod port;
mod power;
mod scrub;
mod services;
mod shell;
mod supplicant;
mod topology;

pub use bringup::run;
pub use error::Error;
pub(crate) use namespace::{CLIENTS, without_ipv6};
