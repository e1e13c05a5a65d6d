//! `guard`: the resource manager for the device, without a lab inside.

use std::process::ExitCode;

use clap::Parser;
use guard::{
    command::{Program, answer, carry_out},
    watchdog,
};

fn main() -> ExitCode {
    if let Some(ended) = watchdog::called() {
        return ended;
    }
    ExitCode::from(match Program::try_parse() {
        Ok(program) => carry_out(&program.guard, "guard"),
        Err(words) => answer(&words, "guard"),
    })
}
