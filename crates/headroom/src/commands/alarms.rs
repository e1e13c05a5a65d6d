//! How often this lab calls the same thing changed: kept from A/A runs, shown with every comparison.

use analysis::false_alarms::{self, FalseAlarms};
use lab::run_folder::{self, Recorded};
use linux::file;
use model::{
    plural::count,
    study::{Mode, Target},
    verdict::Difference,
};
use serde::{Deserialize, Serialize};

use crate::{failure::Failure, options::Options, output};

/// What an A/A run told of a lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Record {
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
pub(crate) fn print(
    options: &Options,
    Recorded { run, trials, .. }: &Recorded,
) -> Result<(), Failure> {
    let Some(versus) = &run.versus else { return Ok(()) };
    let place = options.cache.join("false-alarms.json");
    // A note that cannot be read says nothing.
    let text = file::bytes(&place, file::WRITTEN).unwrap_or_default();
    let mut all: Vec<Record> = serde_json::from_slice(&text).unwrap_or_default();
    let image = match &run.study.access_point.kind {
        Target::Device(address) => address.clone(),
        _ => run.lab.image.clone(),
    };
    let variant = run.study.variants.first();
    let mode = variant.map_or(run.study.access_point.mode, |variant| run.study.mode_of(variant));
    let known = if versus.difference == Difference::Nothing {
        let Some(alarms) = false_alarms::of(run, trials) else { return Ok(()) };
        let of = format!("{} {}", run.study_name, versus.base);
        let (clients, measured_unix) = (versus.clients, run.began_unix);
        all.retain(|one| (&one.image, &one.of, one.clients) != (&image, &of, clients));
        let known = Record { image, mode, of, clients, measured_unix, alarms };
        all.push(known.clone());
        run_folder::write_whole(&place, &serde_json::to_vec_pretty(&all).unwrap_or_default())?;
        Some(known)
    } else {
        let of_lab = all.into_iter().filter(|one| one.image == image && one.mode == mode);
        of_lab.max_by_key(|one| one.measured_unix)
    };
    match known {
        Some(known) if options.json => output::json(&known),
        Some(Record { of, clients, alarms, .. }) => {
            let clients = count(clients, "client");
            output::line(format_args!("false alarms ({of} at {clients}): {}", alarms.sentence()));
        }
        None if options.json => {}
        None => output::line(
            "false alarms: not measured on this image; `headroom compare STUDY BASE --a-a` does",
        ),
    }
    Ok(())
}
