//! headroom: finds, proves and gives back the CPU that Wi-Fi takes on an access point.
//!
//! This crate is the command line and nothing else: words in [`flags`], their meaning in [`options`],
//! one file for each verb in [`commands`], lines out in [`progress`], and one exit code for each kind
//! of end in [`failure`].

#[cfg(feature = "mcp")]
mod answer;
mod beneath;
mod browser;
mod code_files;
mod commands;
mod estimate;
mod explain;
mod failure;
mod flags;
mod live;
#[cfg(feature = "mcp")]
mod mcp;
mod options;
mod output;
mod progress;
mod run_path;
mod shipped;
mod this_program;

use std::{env, process::ExitCode};

use crate::{
    commands::{
        bisect, check, compare, doctor, export, flash, image, improve, index, manual, merge, pause,
        place, report, run, studies, submit, up,
    },
    failure::{Failure, Verdict},
    flags::{Common, Flags, Verb},
    options::Options,
};

fn main() -> ExitCode {
    // `headroom guard run` starts this program once more, as its watchdog.
    if let Some(ended) = guard::watchdog::called() {
        return ended;
    }
    let flags = match Flags::read(env::args_os()) {
        Ok(flags) => flags,
        Err(ended) => return ended,
    };
    match dispatch(flags) {
        Ok(verdict) => failure::unless_lost(verdict.exit_code()),
        Err(failure) => failure.print(),
    }
}

fn dispatch(Flags { common, verb }: Flags) -> Result<Verdict, Failure> {
    // It runs on devices that have neither a home nor a lab.
    if let Verb::Guard(flags) = &verb {
        return Ok(Verdict::Command(guard::command::carry_out(flags, "headroom guard")));
    }
    #[cfg(feature = "mcp")]
    if let Verb::Mcp(flags) = &verb {
        return mcp::serve(&common, flags);
    }
    let options = Options::resolve(&common)?;
    let ended = carry_out(&options, &common, verb);
    if let Err(failure) = options.release() {
        output::note(format_args!("headroom: {}", failure.sentence()));
    }
    ended
}

fn carry_out(options: &Options, common: &Common, verb: Verb) -> Result<Verdict, Failure> {
    match verb {
        Verb::Bisect(flags) => bisect::bisect(options, &flags),
        Verb::Blame(flags) => pause::blame(options, &flags),
        Verb::Check(flags) => check::check(options, &flags),
        Verb::Compare(flags) => compare::compare(options, &flags),
        Verb::Completions(flags) => manual::completions(&flags),
        Verb::Count(flags) => place::count(options, &flags),
        Verb::Doctor(flags) => doctor::examine(options, &flags),
        Verb::Export(flags) => export::write(options, &flags),
        Verb::Flash(flags) => flash::flash(options, &flags),
        Verb::Image(flags) => image::make(options, &flags),
        Verb::Improve(flags) => improve::improve(options, &flags),
        Verb::Index(flags) => index::write(options, &flags),
        Verb::Manual(flags) => manual::write(&flags),
        // These were begun before.
        Verb::Guard(_) | Verb::Mcp(_) => Err(Failure::Environment(
            "this headroom was built without `mcp`; build it with `make build`".to_owned(),
        )),
        Verb::Merge(flags) => merge::merge(options, &flags),
        Verb::Pause(flags) => pause::pause(options, &flags),
        Verb::Profile(flags) => place::profile(options, &flags),
        Verb::Report(flags) => report::write(options, &flags),
        Verb::Run(flags) => run::run(options, &flags),
        Verb::Studies(flags) => studies::print(options, &flags),
        Verb::Submit(flags) => submit::submit(options, common, &flags),
        Verb::Up(flags) => up::raise(options, &flags),
    }
}
