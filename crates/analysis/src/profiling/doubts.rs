//! What weakens a profile: what it does not know, what was lost, and what its proof did not prove.
//!
//! One variant at one client count at a time.

use std::collections::BTreeSet;

use model::{
    instrument::{MappedFile, Oddity},
    trial::TrialId,
};

use crate::{
    doubt::{Doubt, named},
    profiles::{Capture, ProfileFigures},
    quantity::{count, percent},
    stacks::profile::Cause,
};

use super::CaptureTrial;

/// Above this share of samples with an unknown frame a profile is not explained.
const UNKNOWN: f64 = 0.001;
/// So many samples a busy subject cannot miss by chance: e⁻⁵ is below 1 %.
const EXPECTED: f64 = 5.0;

/// Above this share of samples with a made-up name it is not known what a profile's functions are.
const MOST_SYNTHESISED: f64 = 0.1;
/// With fewer samples a share of one half is not known to ± 14 points.
const FEW: u64 = 50;

/// Half the 95 % interval of a share of one half, times the root of the samples: 1.96 · √(½ · ½).
const WIDEST_HALF: f64 = 0.98;

/// Everything that weakens one profile.
pub(super) fn of(profile: &ProfileFigures, seen: &[CaptureTrial]) -> Vec<Doubt> {
    let cell = match profile.clients {
        Some(clients) => format!("{}@{clients}", profile.variant),
        None => profile.variant.clone(),
    };
    let of_cell = [
        unknown(profile, &cell),
        synthesised_share(profile, &cell),
        few(profile, &cell),
        odd_files(seen, &cell),
    ];
    let [unknown, synthesised, few, odd] =
        of_cell.map(|doubt| doubt.map(|doubt| doubt.of_variant(&profile.variant)));
    let mut doubts: Vec<Doubt> = [unknown, synthesised, few].into_iter().flatten().collect();
    doubts.extend(capture_doubts(profile, seen));
    doubts.extend(odd);
    doubts.into_iter().map(Doubt::of_instruments).collect()
}

fn unknown(profile: &ProfileFigures, cell: &str) -> Option<Doubt> {
    let found = &profile.unknown;
    let share = found.unknown as f64 / found.samples.max(1) as f64;
    let most = found.by_cause.first()?;
    let module = found.by_module.iter().find(|module| module.module == most.module);
    let (cause, place) = (most.cause.name(), &most.module);
    let sentence = format!(
        "{} of the samples in {cell} have a frame without a name, most of them for “{cause}” in {place}.",
        percent(share)
    );
    let advice = match most.cause {
        Cause::NoSymbol => where_symbols_are(module.and_then(|module| module.build_id.as_deref())),
        cause => as_sentence(cause.advice()),
    };
    (share > UNKNOWN).then(|| Doubt::new(sentence, advice))
}

fn synthesised_share(profile: &ProfileFigures, cell: &str) -> Option<Doubt> {
    let found = &profile.unknown;
    let share = found.synthesised as f64 / found.samples.max(1) as f64;
    let most = found.by_module.iter().max_by_key(|module| module.synthesised)?;
    let sentence = format!(
        "{} of the samples in {cell} have a name in them that was made from an address, as `fun_4bf70`, most of them \
         in {}: its symbols are stripped.",
        percent(share),
        most.module
    );
    let advice = where_symbols_are(most.build_id.as_deref());
    (share > MOST_SYNTHESISED).then(|| Doubt::new(sentence, advice))
}

/// Advice that stands in a table elsewhere, as a sentence.
fn as_sentence(advice: &str) -> String {
    let mut letters = advice.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    format!("{}{}.", first.map_or(String::new(), String::from), letters.as_str())
}

/// How names come to a module without them: by its build's id where it has one.
fn where_symbols_are(build_id: Option<&str>) -> String {
    const OWN: &str = "if it is yours, name the folder of the build before it was stripped: `headroom report RUN \
                       --symbols DIR`";
    match build_id {
        Some(id) => format!(
            "If it is Debian's, fetch its symbols with `DEBUGINFOD_URLS=https://debuginfod.debian.net debuginfod-find \
             debuginfo {id}` (package `debuginfod`), and make the report again: `headroom report RUN`; {OWN}."
        ),
        None => format!("It has no build id to fetch its symbols by; {OWN}."),
    }
}

fn few(profile: &ProfileFigures, cell: &str) -> Option<Doubt> {
    let samples = profile.unknown.samples;
    let points = WIDEST_HALF * 100.0 / (samples as f64).sqrt();
    (1..FEW).contains(&samples).then(|| {
        Doubt::new(
            format!(
                "The profile of {cell} has {}: every percentage in it is uncertain by {points:.0} points or more.",
                count(samples, "sample")
            ),
            "Record more of them: lengthen `window`, raise `frequency` or `repetitions`, or give the subject more to do \
             (`--window 60s`, `--load COMMAND`).",
        )
    })
}

/// Whether something is so of a capture.
type IsSo<'a> = &'a dyn Fn(&Capture, &CaptureTrial) -> bool;

fn capture_doubts(profile: &ProfileFigures, seen: &[CaptureTrial]) -> Vec<Doubt> {
    const ELSEWHERE: &str = "Its CPU went where the recorder did not look: see `scope`, and whether the subject is \
                             started before the window.";
    let doubt = |is_so: IsSo, sentence: &str, advice: &str| {
        let pairs = profile.captures.iter().zip(seen);
        let pairs = pairs.filter(|(capture, seen)| is_so(capture, seen));
        let trials: Vec<TrialId> = pairs.map(|(_, seen)| seen.id.clone()).collect();
        let sentence = format!("{sentence} in {}.", named(&trials));
        (!trials.is_empty()).then(|| Doubt::new(sentence, advice).of_trials(&trials))
    };
    let sum = |of: fn(&Capture) -> u64| profile.captures.iter().map(of).sum::<u64>();
    let fails = |capture: &Capture, _: &CaptureTrial| {
        capture.proof.as_ref().is_some_and(|proof| !proof.holds)
    };
    let is_empty = |capture: &Capture, seen: &CaptureTrial, is_busy: Option<bool>| {
        let busy = expected(profile, capture, seen).map(|samples| samples >= EXPECTED);
        capture.samples == 0 && busy == is_busy
    };
    let faults = || seen.iter().find_map(|seen| seen.folded.faults.first());
    let faulty = doubt(
        &|_, seen| !seen.folded.faults.is_empty(),
        "Stacks are not whole",
        "What was read before it is in the figures.",
    );
    let faulty = faulty.zip(faults()).map(|(doubt, first)| {
        let sentence = format!("{}: {first}.", doubt.sentence.trim_end_matches('.'));
        Doubt { sentence, ..doubt }
    });
    let lost = format!(
        "The kernel lost {} and kept {},",
        count(sum(|capture| capture.lost), "record"),
        count(sum(|capture| capture.samples), "sample")
    );
    let all = [
        doubt(
            &|capture, seen| is_empty(capture, seen, Some(true)),
            "The subject worked, and no sample of it was taken,",
            ELSEWHERE,
        ),
        doubt(
            &|capture, seen| is_empty(capture, seen, None),
            "No sample was taken, and the CPU of what should be sampled was not measured,",
            ELSEWHERE,
        ),
        doubt(
            &|capture, seen| is_empty(capture, seen, Some(false)),
            "The subject took too little CPU for a single sample",
            "There is nothing to see there; raise `frequency` or lengthen `window` to see more.",
        )
        .map(Doubt::caveat),
        doubt(
            &fails,
            "The profiler failed its self-test",
            "Do not trust these stacks: it did not see a program that does nothing but use CPU.",
        ),
        doubt(
            &|capture, _| capture.lost > 0,
            &lost,
            "What was lost is not lost evenly: lower `frequency` or `stack-bytes`.",
        ),
        doubt(
            &|capture, _| capture.throttled > 0,
            "The kernel throttled the sampling",
            "The busiest moments are thinned out: lower `frequency`, or raise kernel.perf_event_max_sample_rate.",
        ),
        faulty,
    ];
    all.into_iter().flatten().collect()
}

/// Samples that the window's CPU should have given, where that CPU was measured.
fn expected(profile: &ProfileFigures, capture: &Capture, seen: &CaptureTrial) -> Option<f64> {
    let cpu = capture.cpu_us_per_s? / 1e6;
    let window_s = seen.trial.map_or(0.0, |trial| trial.planned.order.window.as_secs_f64());
    Some(cpu * window_s * f64::from(profile.frequency?))
}

/// Files that were not what their path says by now.
fn odd_files(seen: &[CaptureTrial], cell: &str) -> Option<Doubt> {
    let files =
        seen.iter().filter_map(|seen| seen.stacks()).flat_map(|stacks| &stacks.recorded.files);
    let odd = |file: &&MappedFile| {
        matches!(file.oddity, Some(Oddity::Replaced | Oddity::Deleted | Oddity::Unreadable(_)))
    };
    let paths: BTreeSet<_> = files.filter(odd).map(|file| file.path.clone()).collect();
    let listed = paths.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    (!paths.is_empty()).then(|| {
        Doubt::new(
            format!("Code in {cell} is from files that were replaced, deleted or cannot be read: {listed}."),
            "Their names come from what the processes had mapped, where that could be read; record again after a restart.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixture,
        profiles::{ModuleNames, Unknown, UnknownPart},
    };

    /// What is doubted of a profile that is known this far.
    fn doubted(unknown: Unknown) -> Vec<Doubt> {
        let mut profile = fixture::profiled().1.profiles.remove(0);
        (profile.variant, profile.clients) = ("as-it-runs".to_owned(), Some(18));
        of(&ProfileFigures { unknown, ..profile }, &[])
    }

    /// A module whose samples have these kinds of names: made up, and none.
    fn module(build_id: Option<&str>, synthesised: u64, unknown: u64) -> Vec<ModuleNames> {
        let (module, build_id) = ("/usr/sbin/hostapd".to_owned(), build_id.map(str::to_owned));
        vec![ModuleNames { module, build_id, named: 0, synthesised, unknown }]
    }

    /// The doubts about a profile of this many samples, some of which have a made-up name.
    fn reported(samples: u64, synthesised: u64, build_id: Option<&str>) -> Vec<String> {
        let by_module = module(build_id, synthesised, 0);
        let doubts = doubted(Unknown { samples, synthesised, by_module, ..Unknown::default() });
        doubts.iter().map(|doubt| format!("{doubt} {}", doubt.advice)).collect()
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
            "The profile of as-it-runs@18 has 12 samples: every percentage in it is uncertain by 28"
        ));
        assert!(few.contains("--window 60s"), "{few}");
    }

    #[test]
    fn what_has_no_build_id_can_be_found_by_its_file_only() {
        let [names] = reported(5000, 5000, None).try_into().unwrap();
        assert!(names.contains("--symbols DIR") && !names.contains("debuginfod"), "{names}");
    }

    #[test]
    fn frames_without_a_name_are_doubted_with_what_their_cause_asks_for() {
        let advice = |cause| {
            let (by_module, module) =
                (module(Some("0daa1a"), 0, 68), "/usr/sbin/hostapd".to_owned());
            let by_cause = vec![UnknownPart { cause, module, samples: 68 }];
            let unknown =
                Unknown { samples: 100, unknown: 68, synthesised: 0, by_cause, by_module };
            doubted(unknown).remove(0).advice
        };
        let symbol = advice(Cause::NoSymbol);
        assert!(symbol.contains("debuginfod-find debuginfo 0daa1a"), "{symbol}");
        assert_eq!(advice(Cause::ShortCopy), "Copy more of the stack: `stack-bytes` up to 65528.");
    }

    #[test]
    fn many_samples_with_symbols_are_not_doubted() {
        assert_eq!(reported(5000, 12, None), [""; 0]);
    }
}
