//! Linux's interfaces, as values: what the kernel says, and nothing of what it means.
//!
//! All of headroom's `unsafe` is here, each block with the truth that makes it sound. This crate
//! holds no policy, no default and no nouns of headroom; it prints nothing and starts no thread.
//!
//! Each module's header names its interface, and the first kernel that has it where that is newer than 2.6.20.
//!
//! [`error`] puts an error and its causes into one line.

pub mod cgroup;
pub mod error;
pub mod file;
pub mod folder;
pub mod frequency;
pub mod heap;
pub mod interrupt;
pub mod kmod;
pub mod link;
pub mod load;
mod mapping;
pub mod maps;
pub mod mark;
pub mod masquerade;
pub mod mounts;
pub mod namespace;
pub mod netlink;
pub mod nl80211;
pub mod packet;
pub mod pause;
pub mod pci;
pub mod perf;
pub mod place;
pub mod proc;
pub mod process;
pub mod qdisc;
pub mod random;
pub mod sched;
pub mod seccomp;
pub mod sockets;
pub mod standby;
pub mod system;
pub mod tap;
pub mod veth;
