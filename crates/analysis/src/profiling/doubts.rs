//! What weakens a profile: what it does not know, what was lost, and what its proof did not prove.
//!
//! One variant at one client count at a time; the words are in [`crate::doubt`].

use std::collections::BTreeSet;

use model::{
    instrument::{MappedFile, Oddity},
    trial::TrialId,
};

use crate::{
    doubt::{Affected, Doubt},
    profiles::{Capture, ProfileFigures},
};

use super::SeenCapture;

/// Above this share of samples with an unknown frame a profile is not explained.
const UNKNOWN: f64 = 0.001;
/// So many samples a busy subject cannot miss by chance: e⁻⁵ is below 1 %.
const EXPECTED: f64 = 5.0;

/// Everything that weakens one profile.
pub(super) fn of(profile: &ProfileFigures, seen: &[SeenCapture]) -> Vec<Doubt> {
    let cell = match profile.clients {
        Some(clients) => format!("{}@{clients}", profile.variant),
        None => profile.variant.clone(),
    };
    let mut doubts: Vec<Doubt> = unknown(profile, &cell).into_iter().collect();
    doubts.extend(capture_doubts(profile, seen));
    doubts.extend(file_doubts(seen, &cell));
    doubts
}

fn unknown(profile: &ProfileFigures, cell: &str) -> Option<Doubt> {
    let found = &profile.unknown;
    let share = found.unknown as f64 / found.samples.max(1) as f64;
    let most = found.by_cause.first()?;
    (share > UNKNOWN).then(|| Doubt::UnknownFrames {
        cell: cell.to_owned(),
        share,
        cause: most.cause,
        module: most.module.clone(),
    })
}

fn capture_doubts(profile: &ProfileFigures, seen: &[SeenCapture]) -> Vec<Doubt> {
    let affected = |is: &dyn Fn(&Capture, &SeenCapture) -> bool| {
        let pairs = profile.captures.iter().zip(seen);
        let trials: Vec<TrialId> = pairs
            .filter(|(capture, seen)| is(capture, seen))
            .map(|(_, seen)| seen.id.clone())
            .collect();
        (!trials.is_empty()).then_some(Affected(trials))
    };
    let lost = profile.captures.iter().map(|capture| capture.lost).sum();
    let samples = profile.captures.iter().map(|capture| capture.samples).sum();
    let fails = |capture: &Capture, _: &SeenCapture| {
        capture.proof.as_ref().is_some_and(|proof| !proof.holds)
    };
    let none = |capture: &Capture| capture.samples == 0;
    let busy = |capture: &Capture, seen: &SeenCapture| expected(profile, capture, seen) >= EXPECTED;
    [
        affected(&|capture, seen| none(capture) && busy(capture, seen))
            .map(|trials| Doubt::NoSamples { trials }),
        affected(&|capture, seen| none(capture) && !busy(capture, seen))
            .map(|trials| Doubt::IdleSubject { trials }),
        affected(&fails).map(|trials| Doubt::ProofFails { trials }),
        affected(&|capture, _| capture.lost > 0).map(|trials| Doubt::LostSamples {
            lost,
            samples,
            trials,
        }),
        affected(&|capture, _| capture.throttled > 0).map(|trials| Doubt::Throttled { trials }),
        affected(&|_, seen| !seen.folded.faults.is_empty())
            .zip(seen.iter().find_map(|seen| seen.folded.faults.first()))
            .map(|(trials, first)| Doubt::FaultyStacks { first: first.clone(), trials }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Samples that the window's CPU should have given.
fn expected(profile: &ProfileFigures, capture: &Capture, seen: &SeenCapture) -> f64 {
    let cpu = capture.cpu_us_per_s.unwrap_or(0.0) / 1e6;
    cpu * seen.window_s * f64::from(profile.frequency.unwrap_or(0))
}

/// Files that were not what their path says by now.
fn file_doubts(seen: &[SeenCapture], cell: &str) -> Option<Doubt> {
    let files =
        seen.iter().filter_map(|seen| seen.stacks).flat_map(|stacks| &stacks.recorded.files);
    let odd = |file: &&MappedFile| {
        matches!(file.oddity, Some(Oddity::Replaced | Oddity::Deleted | Oddity::Unreadable(_)))
    };
    let paths: BTreeSet<_> = files.filter(odd).map(|file| file.path.clone()).collect();
    (!paths.is_empty())
        .then(|| Doubt::OddFiles { cell: cell.to_owned(), paths: paths.into_iter().collect() })
}
