//! Linux's interfaces, as values: what the kernel says, and nothing of what it means.
//!
//! All of headroom's `unsafe` is here, each block with the truth that makes it sound. This crate
//! holds no policy, no default and no nouns of headroom; it prints nothing and starts no thread.
//!
//! | module | interface | minimum kernel |
//! | --- | --- | --- |
//! | [`cgroup`] | control groups, both versions | 2.6.24 |
//! | [`file`] | regular files, up to a size | 2.6 |
//! | [`folder`] | folders as capabilities, files with limits | 2.6.39, 5.6 (`openat2`) |
//! | [`heap`] | an allocator that counts, for tests and benchmarks | none |
//! | [`interrupt`] | ending another thread's blocking call | 2.6 |
//! | [`link`] | addresses and state of network links (rtnetlink) | 2.2 |
//! | [`kmod`] | loading modules | 3.8 (`finit_module`) |
//! | [`masquerade`] | translated source addresses (nf_tables) | 3.18 |
//! | [`mounts`] | file systems that are mounted | 2.6.26 (`mountinfo`) |
//! | [`namespace`] | network namespaces, and a `/sys` that fits | 3.0, 5.2 |
//! | [`netlink`] | sockets, messages, attributes, generic families | 2.6.15 |
//! | [`nl80211`] | wireless interfaces, their stations, and who comes and goes | 3.0 |
//! | [`load`] | where the time and the packets of each CPU go | 2.6 |
//! | [`maps`] | what a process has mapped | 2.6 |
//! | [`mark`] | marks for a model below the kernel | none |
//! | [`packet`] | whole frames to and from an interface | 2.2 |
//! | [`pause`] | stopping processes and control groups | 2.6.24, 5.3 (descriptors) |
//! | [`pci`] | registers of PCI devices without a driver | 2.6.18 |
//! | [`perf`] | performance events: which exist, samples of stacks, probes | 2.6.31, 3.14 (probes), 5.2 (without tracefs mounted) |
//! | [`place`] | starting a program in groups, a namespace and a class | 3.0 |
//! | [`process`] | starting a program in a control group, waiting for it | 2.6.24 |
//! | [`proc`] | `/proc`: tasks, CPU time, IO, memory | 2.6.20 (`io`), 4.14 (`smaps_rollup`) |
//! | [`qdisc`] | queues in front of interfaces | 2.6.10 |
//! | [`random`] | mixing into the kernel's random numbers | 2.6, 4.14 (beginning anew) |
//! | [`sched`] | the real-time class, and CPUs | 2.6.32 |
//! | [`seccomp`] | refusing system calls that a program has no use for | 3.5 |
//! | [`sockets`] | who is connected with whom (sock_diag, `/proc/net/tcp`) | 3.3 |
//! | [`standby`] | a second process of the same program, which stands by | 3.17 (`memfd_create`) |
//! | [`system`] | names, clocks, ticks, the governor | 2.6 |
//! | [`tap`] | links whose other end is a descriptor | 2.6.27 |
//! | [`veth`] | pairs of virtual links | 2.6.24 |
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
