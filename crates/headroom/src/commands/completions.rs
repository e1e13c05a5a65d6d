//! `headroom completions`: what a shell needs to complete headroom's words.

use crate::{
    failure::{Failure, Verdict},
    flags, output,
};

pub(crate) fn print(flags: &flags::Completions) -> Result<Verdict, Failure> {
    let mut script = Vec::new();
    // Into memory first: clap_complete panics where its reader has left.
    clap_complete::generate(flags.shell, &mut flags::command(), "headroom", &mut script);
    output::line(String::from_utf8_lossy(&script).trim_end());
    Ok(Verdict::Pass)
}
