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

/// Above this share of samples with a made-up name it is not known what a profile's functions are.
const MOST_SYNTHESISED: f64 = 0.1;
/// With fewer samples a share of one half is not known to ± 14 points.
const FEW: u64 = 50;

/// Everything that weakens one profile.
pub(super) fn of(profile: &ProfileFigures, seen: &[SeenCapture]) -> Vec<Doubt> {
    let cell = match profile.clients {
        Some(clients) => format!("{}@{clients}", profile.variant),
        None => profile.variant.clone(),
    };
    let mut doubts: Vec<Doubt> = unknown(profile, &cell).into_iter().collect();
    doubts.extend(synthesised_share(profile, &cell));
    doubts.extend(few(profile, &cell));
    doubts.extend(capture_doubts(profile, seen));
    doubts.extend(file_doubts(seen, &cell));
    doubts
}

fn unknown(profile: &ProfileFigures, cell: &str) -> Option<Doubt> {
    let found = &profile.unknown;
    let share = found.unknown as f64 / found.samples.max(1) as f64;
    let most = found.by_cause.first()?;
    let module = found.by_module.iter().find(|module| module.module == most.module);
    (share > UNKNOWN).then(|| Doubt::UnknownFrames {
        cell: cell.to_owned(),
        share,
        cause: most.cause,
        module: most.module.clone(),
        build_id: module.and_then(|module| module.build_id.clone()),
    })
}

fn synthesised_share(profile: &ProfileFigures, cell: &str) -> Option<Doubt> {
    let found = &profile.unknown;
    let share = found.synthesised as f64 / found.samples.max(1) as f64;
    let most = found.by_module.iter().max_by_key(|module| module.synthesised)?;
    (share > MOST_SYNTHESISED).then(|| Doubt::SynthesisedNames {
        cell: cell.to_owned(),
        share,
        module: most.module.clone(),
        build_id: most.build_id.clone(),
    })
}

fn few(profile: &ProfileFigures, cell: &str) -> Option<Doubt> {
    let samples = profile.unknown.samples;
    (1..FEW).contains(&samples).then(|| Doubt::FewSamples { cell: cell.to_owned(), samples })
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
    let busy = |capture: &Capture, seen: &SeenCapture| {
        expected(profile, capture, seen).map(|samples| samples >= EXPECTED)
    };
    let without = |is_busy: Option<bool>| {
        affected(&|capture, seen| none(capture) && busy(capture, seen) == is_busy)
    };
    [
        without(Some(true)).map(|trials| Doubt::NoSamples { measured: true, trials }),
        without(None).map(|trials| Doubt::NoSamples { measured: false, trials }),
        without(Some(false)).map(|trials| Doubt::IdleSubject { trials }),
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

/// Samples that the window's CPU should have given, where that CPU was measured.
fn expected(profile: &ProfileFigures, capture: &Capture, seen: &SeenCapture) -> Option<f64> {
    let cpu = capture.cpu_us_per_s? / 1e6;
    Some(cpu * seen.window_s * f64::from(profile.frequency?))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixture,
        profiles::{ModuleNames, Unknown},
        stacks::profile::Cause,
    };

    /// What is doubted of a profile of `hostapd` with so many samples, these of them with a made-up name.
    fn reported(samples: u64, synthesised: u64, build_id: Option<&str>) -> Vec<String> {
        let mut profile = fixture::profiled().1.profiles.remove(0);
        (profile.variant, profile.clients) = ("as-it-runs".to_owned(), Some(18));
        let module = "/usr/sbin/hostapd".to_owned();
        let build_id = build_id.map(str::to_owned);
        let by_module = vec![ModuleNames { module, build_id, named: 0, synthesised, unknown: 0 }];
        profile.unknown = Unknown { samples, synthesised, by_module, ..Unknown::default() };
        of(&profile, &[]).iter().map(|doubt| format!("{doubt} {}", doubt.advice())).collect()
    }

    #[test]
    fn twelve_samples_with_made_up_names_are_doubted_with_what_to_do() {
        let [names, few] = reported(12, 12, Some("4f3ac0")).try_into().unwrap();
        assert!(names.starts_with(
            "100 % of the samples in as-it-runs@18 have a name in them that was made"
        ));
        assert!(names.contains("in /usr/sbin/hostapd"), "{names}");
        // To be copied as it stands.
        let command =
            "`DEBUGINFOD_URLS=https://debuginfod.debian.net debuginfod-find debuginfo 4f3ac0`";
        assert!(names.contains(command), "{names}");
        assert!(few.starts_with(
            "The profile of as-it-runs@18 has 12 samples: a share in it is known to ± 28 points"
        ));
        assert!(few.contains("--window 60s"), "{few}");
    }

    #[test]
    fn who_has_no_build_id_can_be_found_by_its_file_only() {
        let [names] = reported(5000, 5000, None).try_into().unwrap();
        assert!(names.contains("--symbols DIR") && !names.contains("debuginfod"), "{names}");
    }

    #[test]
    fn frames_without_a_symbol_are_doubted_with_the_command_that_fetches_it() {
        let doubt = |cause| Doubt::UnknownFrames {
            cell: "watchdog@18".to_owned(),
            share: 0.68,
            cause,
            module: "/bin/busybox".to_owned(),
            build_id: Some("0daa1a".to_owned()),
        };
        let symbol = doubt(Cause::NoSymbol);
        assert!(symbol.advice().contains("debuginfod-find debuginfo 0daa1a"), "{symbol:?}");
        let copy = doubt(Cause::ShortCopy);
        assert_eq!(copy.advice(), "Copy more of the stack: `stack-bytes` up to 65528.");
    }

    #[test]
    fn many_samples_with_symbols_are_not_doubted() {
        assert_eq!(reported(5000, 12, None), [""; 0]);
    }
}
