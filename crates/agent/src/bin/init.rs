//! `headroom-init`: pid 1 of the virtual access point.
//!
//! As pid 1 it brings the access point up and then only reaps, restarts and powers off. Called by
//! itself with the word `launch` it is the short moment between fork and exec of a service. What
//! happens in both lives is in [`agent::init`].

use std::{env, process::ExitCode};

use agent::init::{Launch, run};

fn main() -> ExitCode {
    match Launch::from_arguments(env::args_os().skip(1)) {
        Some(launch) => launch.become_program(),
        None => run(),
    }
}
