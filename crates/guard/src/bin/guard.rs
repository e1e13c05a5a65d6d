//! `guard`: the resource manager for the device, without a lab inside.

use std::process::ExitCode;

use clap::Parser;
use guard::{
    command::{Program, carry_out},
    watchdog,
};

fn main() -> ExitCode {
    if let Some(ended) = watchdog::called() {
        return ended;
    }
    ExitCode::from(carry_out(&Program::parse().guard, "guard"))
}
