//! `headroom-init`: pid 1 of the virtual access point, which brings it up and then reaps, restarts and powers off.

use std::process::ExitCode;

fn main() -> ExitCode {
    agent::init::run()
}
