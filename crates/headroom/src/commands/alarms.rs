//! How often this lab calls the same thing changed: kept from A/A runs, shown with every comparison.

use std::path::Path;

use analysis::false_alarms::{self, FalseAlarms};
use lab::run_folder::{self, Recorded};
use linux::file;
use model::plural::count;
use model::{
    run::Run,
    study::{Mode, Target},
    verdict::Difference,
};
use serde::{Deserialize, Serialize};

use crate::{failure::Failure, options::Options, output};

/// What an A/A run told of a lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Known {
    /// The image, or the device, that it was measured on.
    image: String,
    mode: Mode,
    /// The study and the variant.
    of: String,
    clients: u32,
    /// Seconds since 1970.
    measured_unix: u64,
    alarms: FalseAlarms,
}

/// Keeps what an A/A run says, and tells what is known of the lab of any other comparison.
pub(crate) fn print(options: &Options, recorded: &Recorded) -> Result<(), Failure> {
    let Some(versus) = &recorded.run.versus else { return Ok(()) };
    let file = options.cache.join("false-alarms.json");
    if versus.difference == Difference::Nothing {
        let Some(alarms) = false_alarms::of(&recorded.run, &recorded.trials) else {
            return Ok(());
        };
        let mut all = read(&file);
        let known = known(&recorded.run, alarms);
        all.retain(|one| {
            (&one.image, &one.of, one.clients) != (&known.image, &known.of, known.clients)
        });
        all.push(known.clone());
        run_folder::write_whole(&file, &serde_json::to_vec_pretty(&all).unwrap_or_default())?;
        say(options, &known);
        return Ok(());
    }
    let mode = mode_of(&recorded.run);
    let all = read(&file);
    let place = place_of(&recorded.run);
    let of_lab = |one: &&Known| one.image == place && one.mode == mode;
    match all.iter().filter(of_lab).max_by_key(|one| one.measured_unix) {
        Some(known) => say(options, known),
        None if !options.json => {
            output::line(
                "false alarms: not measured on this image; `headroom compare STUDY BASE --a-a` does",
            );
        }
        None => {}
    }
    Ok(())
}

/// Where a run was: the image's content, or what the command line called the device.
fn place_of(run: &Run) -> String {
    match &run.study.access_point.kind {
        Target::Device(address) => address.clone(),
        _ => run.lab.image.clone(),
    }
}

/// How time passed for both sides.
fn mode_of(run: &Run) -> Mode {
    let variant = run.study.variants.first();
    variant.map_or(run.study.access_point.mode, |variant| run.study.mode_of(variant))
}

fn known(run: &Run, alarms: FalseAlarms) -> Known {
    let versus = run.versus.as_ref();
    Known {
        image: place_of(run),
        mode: mode_of(run),
        of: format!("{} {}", run.study_name, versus.map_or("", |versus| &versus.base)),
        clients: versus.map_or(0, |versus| versus.clients),
        measured_unix: run.began_unix,
        alarms,
    }
}

fn say(options: &Options, known: &Known) {
    if options.json {
        output::json(known);
    } else {
        let Known { of, clients, alarms, .. } = known;
        output::line(format_args!(
            "false alarms ({of} at {clients}): {}",
            alarms.sentence(),
            clients = count(clients, "client")
        ));
    }
}

/// What was kept; a note that cannot be read says nothing.
fn read(place: &Path) -> Vec<Known> {
    let text = file::bytes(place, file::WRITTEN).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
