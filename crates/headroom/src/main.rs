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
mod interrupted;
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
        bisect, check, compare, count, doctor, export, flash, guard, image, improve, index, manual,
        mcp as served, merge, pause, profile, report, run, studies, submit, up,
    },
    failure::{Failure, Verdict},
    flags::{Flags, Verb},
    options::Options,
};

fn main() -> ExitCode {
    // `headroom guard run` starts this program once more, as its watchdog.
    if let Some(ended) = ::guard::watchdog::called() {
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

fn dispatch(flags: Flags) -> Result<Verdict, Failure> {
    // It runs on devices that have neither a home nor a lab.
    if let Verb::Guard(flags) = &flags.verb {
        return Ok(guard::carry_out(flags));
    }
    if let Verb::Mcp(words) = &flags.verb {
        return served::serve(&flags.common, words);
    }
    let options = Options::resolve(&flags.common)?;
    let ended = match &flags.verb {
        Verb::Submit(words) => submit::submit(&options, &flags.common, words),
        _ => carry_out(&options, flags.verb),
    };
    if let Err(failure) = options.release() {
        output::note(format_args!("headroom: {}", failure.sentence()));
    }
    ended
}

fn carry_out(options: &Options, verb: Verb) -> Result<Verdict, Failure> {
    match verb {
        Verb::Bisect(flags) => bisect::bisect(options, &flags),
        Verb::Blame(flags) => pause::blame(options, &flags),
        Verb::Check(flags) => check::check(options, &flags),
        Verb::Compare(flags) => compare::compare(options, &flags),
        Verb::Completions(flags) => manual::completions(&flags),
        Verb::Count(flags) => count::count(options, &flags),
        Verb::Doctor(flags) => doctor::examine(options, &flags),
        Verb::Export(flags) => export::write(options, &flags),
        Verb::Flash(flags) => flash::flash(options, &flags),
        Verb::Guard(flags) => Ok(guard::carry_out(&flags)),
        Verb::Image(flags) => image::make(options, &flags),
        Verb::Improve(flags) => improve::improve(options, &flags),
        Verb::Index(flags) => index::write(options, &flags),
        Verb::Manual(flags) => manual::write(&flags),
        // Begun before: they start other headrooms, and hold nothing of a lab themselves.
        Verb::Mcp(_) | Verb::Submit(_) => Ok(Verdict::Pass),
        Verb::Merge(flags) => merge::merge(options, &flags),
        Verb::Pause(flags) => pause::pause(options, &flags),
        Verb::Profile(flags) => profile::record(options, &flags),
        Verb::Report(flags) => report::write(options, &flags),
        Verb::Run(flags) => run::run(options, &flags),
        Verb::Studies(flags) => studies::print(options, &flags),
        Verb::Up(flags) => up::raise(options, &flags),
    }
}
