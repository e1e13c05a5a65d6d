//! The simulated plant: a machine in virtual time that guard's judgement is let loose on.
//!
//! CPUs shared by weight, Wi-Fi's work with a demand, applications, endpoints of higher rank. Nothing here
//! touches a kernel or a clock; every run with one seed is the same. What it cannot show is what a real scheduler
//! does within a few milliseconds.

mod conditions;
mod disturbances;
mod ladder;
mod machine;
mod steering;
mod story;
mod sweeps;
