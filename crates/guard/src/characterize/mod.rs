//! This device's curve: Wi-Fi kept against application work kept over the ladder of settings, and its knee.
//!
//! [`curve`] and [`blocks`] are pure: what to measure in which order, and what the figures mean. [`measure`]
//! drives the same senses and the same hand as the loop does, so that what is measured is what `run` will do.
//! It changes nothing that it does not put back.

pub mod blocks;
pub mod curve;
pub mod measure;
pub mod picture;
pub mod stand_in;
pub mod words;

use std::path::Path;

use linux::folder;

use self::{
    curve::Curve,
    measure::{Measure, Progress},
    stand_in::StandIn,
    words::Words,
};
use crate::{
    failure::{Failure, Output},
    flags,
    groups::Hierarchies,
    output::{json, print},
    run::signals::Signals,
    sources,
};

/// The longest that all of it may take, s.
const LONGEST_S: f64 = 86_400.0;

/// `guard characterize`: measures, draws, writes.
///
/// # Errors
///
/// Where it cannot begin, there is nothing to draw, a file cannot be written, or a signal came.
pub fn characterize(flags: &flags::Characterize, name: &str) -> Output {
    let policy = sources::policy(&flags.policy)?;
    let signals = Signals::listen().map_err(|error| Failure::environment(&error))?;
    let cpus = linux::system::cpus().len() as u32;
    let ladder = blocks::ladder(&policy.allow, cpus);
    let turns = f64::from(flags.blocks) * (ladder.len() + 2) as f64;
    let most_s = turns * (flags.span.as_secs_f64() + 1.0) + 60.0;
    if most_s > LONGEST_S {
        return Err(Failure::usage(
            "that would take more than a day: measure for a shorter --span, or fewer --blocks",
        ));
    }
    let stand_in = flags
        .stressor
        .as_ref()
        .map(|words| StandIn::start(words, most_s as u64, &Hierarchies::find()));
    let stand_in = stand_in.transpose()?;
    let measured = match &stand_in {
        Some(stand_in) => stand_in.in_place_of_applications(&policy),
        None => policy,
    };
    let measure = Measure::open(flags, &measured, &ladder, signals)?;
    let (samples, left_out) =
        measure.blocks(flags.blocks, flags.seed, &mut Progress::new(name, flags.blocks))?;
    drop(stand_in);
    let drawn =
        curve::draw(&ladder, &samples).map_err(|none| Failure::invalid(none.to_string()))?;
    let mut curve = Curve {
        policy: flags.policy.display().to_string(),
        stand_in: flags.stressor.clone(),
        span_s: flags.span.as_secs_f64(),
        ..drawn
    };
    curve.doubts.extend(left_out.iter().cloned());
    if let Some(path) = &flags.curve {
        write(path, &json(&curve))?;
    }
    if let Some(path) = &flags.svg {
        write(path, &picture::svg(&curve))?;
    }
    let text = if flags.json { json(&curve) } else { Words(&curve).to_string() };
    let Some(first) = left_out.first() else { return Ok(text) };
    // The curve of what was measured is of use, and not all that was asked for.
    print(name, &text);
    Err(Failure::invalid(format!("the curve is not complete: {first}")))
}

/// Whole or not at all: a guard may read it meanwhile.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    folder::write_out(path, text.as_bytes()).map_err(|error| Failure::unwritable(path, &error))
}
