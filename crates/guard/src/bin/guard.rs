//! `guard`: the resource manager for the device, without a lab inside.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::SUCCESS
}
