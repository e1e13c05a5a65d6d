//! The real program on the running kernel: version 1 groups of our own, a network namespace of our own, and
//! nothing else of the machine. Each test says why where it cannot run.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test says why it fails or is skipped"
)]

mod life;
mod scene;
mod weather;
mod words;
