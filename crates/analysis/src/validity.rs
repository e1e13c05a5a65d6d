//! Finds what weakens a run's answer.
//!
//! Goes once over the trials and once over cells and curves; the words are in [`crate::doubt`]. The
//! limits are constants with their reason.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    facts::{Facts, Program},
    study::{Mode, Perturb, Target},
    trial::{Outcome, Recording, Trial, TrialId},
};

use crate::{
    calls,
    cells::Cell,
    census,
    counters::Source,
    curve::{Curve, Full},
    doubt::{Affected, Doubt},
    figures::{OtherFigures, Part, Ran, TrialFigures},
    measured::Measured,
    stats::Estimate,
};

/// With five pairs no two-sided sign test can reach 5 %; six can (p = 0.031).
const FEWEST_REPETITIONS: u32 = 6;
/// A segment a tenth steeper than another is worth a sentence.
const CURVATURE: f64 = 0.1;
/// The agent's budget, µs a second: 1 % of a core.
const AGENT_BUDGET: f64 = 10_000.0;
/// A fall of less than a hundred-thousandth of a core changes no one's mind, µs of CPU a second. In
/// counted mode even an interrupt more or less is beyond the noise.
const FALL_US: f64 = 10.0;
/// Growth of less than four pages a window is allocator noise, KiB.
const MEMORY_GROWTH_KIB: f64 = 16.0;
/// Departure of a sample from its planned place that is worth a sentence.
const UNEVEN: f64 = 0.05;
/// Relative difference of two counters of one thing that is worth a sentence; below it lies the time
/// between reading one and the other.
const COUNTERS_AGREE: f64 = 1e-3;
/// The control group is rounded to 1 µs at both ends of the window.
const GROUP_GRAIN_US: f64 = 2.0;
/// Clocks that kernels fall back to: coarse, or slow to read.
const POOR_CLOCKS: [&str; 6] = ["jiffies", "refined-jiffies", "pit", "hpet", "acpi_pm", "dummy"];
/// Beyond twice the largest measured count a line is an extrapolation worth a sentence.
const EXTRAPOLATION: f64 = 2.0;

/// Everything that weakens the run's answer: what happened first, what frames it after.
pub(crate) fn doubts(measured: &Measured, cells: &[Cell], curves: &[Curve]) -> Vec<Doubt> {
    let mut doubts = run_doubts(measured, cells);
    doubts.extend(trial_doubts(measured));
    // What is read around rounds that are checked is read in the agent's group, and the study asks for it.
    let reads = measured.run.study.witness.is_some();
    let is_expected = |doubt: &Doubt| reads && matches!(doubt, Doubt::CostlyAgent { .. });
    doubts.extend(cells.iter().flat_map(cell_doubts).filter(|doubt| !is_expected(doubt)));
    doubts.extend(measured.variants().iter().flat_map(|variant| falls(measured, &variant.name)));
    doubts.extend(curves.iter().filter_map(curved));
    doubts.extend(extrapolated(curves));
    doubts.extend(calls::doubts(measured));
    doubts.extend(frame(measured));
    doubts.sort_by_key(Doubt::level);
    doubts
}

fn run_doubts(measured: &Measured, cells: &[Cell]) -> Vec<Doubt> {
    let invalid = measured.invalid.len() as u32;
    let done = measured.valid() + invalid;
    let planned = measured.plan().count() as u32;
    let mut doubts = Vec::new();
    if invalid > 0 {
        let reasons: BTreeSet<_> = measured.invalid.iter().map(|trial| trial.why.clone()).collect();
        doubts.push(Doubt::InvalidTrials { invalid, done, reasons: reasons.into_iter().collect() });
    }
    if done < planned {
        doubts.push(Doubt::Unfinished { done, planned });
    }
    let thinnest = cells.iter().filter(|cell| cell.valid > 0).min_by_key(|cell| cell.valid);
    if let Some(cell) = thinnest.filter(|cell| cell.valid < FEWEST_REPETITIONS) {
        doubts.push(Doubt::FewRepetitions { fewest: cell.valid, cell: name(cell) });
    }
    doubts
}

fn name(cell: &Cell) -> String {
    format!("{}@{}", cell.variant, cell.clients)
}

/// A trial seen from both sides: what it recorded, and what became of it.
struct Seen<'a> {
    trial: &'a Trial,
    recording: &'a Recording,
    figures: &'a TrialFigures,
}

fn trial_doubts(measured: &Measured) -> Vec<Doubt> {
    let seen: Vec<_> = measured
        .records
        .iter()
        .zip(&measured.figures)
        .filter_map(|(trial, figures)| match &trial.outcome {
            Outcome::Measured(recording) => Some(Seen { trial, recording, figures }),
            Outcome::Invalid { .. } => None,
        })
        .collect();
    let images = measured.run.study.names_images();
    let known = first_hashes(&seen, images);
    let differ = affected(&seen, |seen| {
        let is_other = |one: &Program| *one.sha256 != *known[&(side(seen, images), &*one.path)];
        seen.recording.facts.programs.iter().any(is_other)
    })
    .map(|trials| Doubt::ProgramsDiffer { trials });
    let census = affected(&seen, |seen| census::one_sided(seen.recording))
        .map(|trials| Doubt::OneSidedCensus { trials });
    differ
        .into_iter()
        .chain(census)
        .chain(round_doubts(&seen))
        .chain(sample_doubts(&seen))
        .chain(counter_doubts(&seen))
        .chain(other_doubts(&seen))
        .chain(device_doubts(measured, &seen))
        .collect()
}

/// What a device was that figures in real time depend on.
fn device_doubts(measured: &Measured, seen: &[Seen]) -> Vec<Doubt> {
    if measured.run.study.access_point.kind == Target::Vm {
        return Vec::new();
    }
    let of = |facts: fn(&Facts) -> bool| affected(seen, |seen| facts(&seen.recording.facts));
    let first = |facts: fn(&Facts) -> Option<String>| {
        seen.iter().find_map(|seen| facts(&seen.recording.facts)).unwrap_or_default()
    };
    let governor = of(|facts| other_governor(facts).is_some())
        .map(|trials| Doubt::Governor { governor: first(other_governor), trials });
    let turbo = of(|facts| facts.turbo == Some(true)).map(|trials| Doubt::Turbo { trials });
    let clock = of(|facts| poor_clock(facts).is_some())
        .map(|trials| Doubt::PoorClock { clock: first(poor_clock), trials });
    let warm = of(|facts| facts.warmth.is_some_and(|warmth| warmth.is_held_back))
        .map(|trials| Doubt::HeldBack { trials });
    let booted = booted(measured, seen);
    let left = &measured.run.left;
    let left = (!left.is_empty()).then(|| Doubt::NotAsItWas { left: left.clone() });
    [governor, turbo, clock, warm, booted, left].into_iter().flatten().collect()
}

fn other_governor(facts: &Facts) -> Option<String> {
    facts.governor.clone().filter(|governor| governor != "performance")
}

fn poor_clock(facts: &Facts) -> Option<String> {
    facts.clock.clone().filter(|clock| POOR_CLOCKS.contains(&clock.as_str()))
}

/// Trials of another boot than the first. Where variants have images, a device is booted between them on purpose, and one
/// boot more cannot be told from those.
fn booted(measured: &Measured, seen: &[Seen]) -> Option<Doubt> {
    if measured.run.study.names_images() {
        return None;
    }
    let boot = seen.first().and_then(|seen| seen.recording.facts.boot.clone());
    affected(seen, |seen| seen.recording.facts.boot != boot).map(|trials| Doubt::Booted { trials })
}

/// What a trial's programs are compared within: the run, or its variant where each has an image of its own.
fn side<'a>(seen: &Seen<'a>, images: bool) -> &'a str {
    if images { &seen.figures.id.variant } else { "" }
}

/// Each program's hash in the first trial that ran it, by side and path; variants run different programs.
fn first_hashes<'a>(seen: &[Seen<'a>], images: bool) -> BTreeMap<(&'a str, &'a str), &'a str> {
    let mut known = BTreeMap::new();
    for seen in seen {
        for program in &seen.recording.facts.programs {
            known.entry((side(seen, images), &*program.path)).or_insert(&*program.sha256);
        }
    }
    known
}

fn affected(seen: &[Seen], of: impl Fn(&Seen) -> bool) -> Option<Affected> {
    let trials: Vec<TrialId> =
        seen.iter().filter(|seen| of(seen)).map(|seen| seen.figures.id.clone()).collect();
    (!trials.is_empty()).then_some(Affected(trials))
}

fn round_doubts(seen: &[Seen]) -> Vec<Doubt> {
    let total = |of: fn(&TrialFigures) -> u64| {
        seen.iter().fold(0u64, |sum, seen| sum.saturating_add(of(seen.figures)))
    };
    let failed =
        affected(seen, |seen| seen.figures.rounds.failed > 0).map(|trials| Doubt::FailedRounds {
            failed: total(|trial| trial.rounds.failed),
            trials,
            first: seen.iter().find_map(|seen| seen.recording.load_failure.clone()),
        });
    let skipped = affected(seen, |seen| seen.figures.rounds.skipped > 0).map(|trials| {
        Doubt::SkippedRounds { skipped: total(|trial| trial.rounds.skipped), trials }
    });
    failed.into_iter().chain(skipped).collect()
}

fn sample_doubts(seen: &[Seen]) -> Vec<Doubt> {
    let missing = affected(seen, samples_missing).map(|trials| Doubt::MissingSamples { trials });
    let worst = seen.iter().filter_map(unevenness).fold(0.0, f64::max);
    let uneven = affected(seen, |seen| unevenness(seen).is_some_and(|off| off > UNEVEN))
        .map(|trials| Doubt::UnevenSamples { worst, trials });
    missing.into_iter().chain(uneven).collect()
}

fn samples_missing(seen: &Seen) -> bool {
    let order = &seen.trial.planned.measure;
    let steps = order.window.as_nanos().checked_div(order.sample_every.as_nanos()).unwrap_or(0);
    (seen.recording.samples.len() as u64) < steps.saturating_add(1)
}

/// The largest departure of a step from the planned one, relative to it.
fn unevenness(seen: &Seen) -> Option<f64> {
    let planned = seen.trial.planned.measure.sample_every.as_secs_f64();
    let off = |length: f64| (length / planned - 1.0).abs();
    let worst = seen.figures.series.iter().map(|step| off(step.length_s)).fold(0.0, f64::max);
    (planned > 0.0).then_some(worst)
}

fn counter_doubts(seen: &[Seen]) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if let Some((by, trials)) = disagreement(seen, group_against_threads) {
        doubts.push(Doubt::CountersDisagree { by, trials });
    }
    if let Some((by, trials)) = disagreement(seen, ticks_against_time) {
        doubts.push(Doubt::TicksDisagree { by, trials });
    }
    let ticks_only = affected(seen, |seen| seen.figures.subject.source == Source::Ticks);
    doubts.extend(ticks_only.map(|trials| Doubt::TicksOnly { trials }));
    let uncounted = affected(seen, |seen| {
        seen.trial.planned.measure.load.is_some() && seen.figures.load.is_none()
    });
    doubts.extend(uncounted.map(|trials| Doubt::LoadNotCounted { trials }));
    doubts
}

/// What is amiss with processes alongside subject and load, name by name.
fn other_doubts(seen: &[Seen]) -> Vec<Doubt> {
    let others = seen.iter().flat_map(|seen| &seen.figures.others);
    let names: BTreeSet<_> = others.map(|other| other.name.clone()).collect();
    names.into_iter().flat_map(|name| doubts_of_other(seen, &name)).collect()
}

fn doubts_of_other(seen: &[Seen], name: &str) -> Vec<Doubt> {
    let trials = |is: fn(&OtherFigures) -> bool| {
        let trials = affected(seen, |seen| seen.figures.other(name).is_some_and(is))?;
        Some((name.to_owned(), trials))
    };
    let absent = trials(|other| other.ran == Ran::Never);
    let partly = trials(|other| other.ran == Ran::Partly);
    let uncounted = trials(|other| other.ran != Ran::Never && other.cpu.is_none());
    [
        absent.map(|(name, trials)| Doubt::OtherAbsent { name, trials }),
        partly.map(|(name, trials)| Doubt::OtherPartly { name, trials }),
        uncounted.map(|(name, trials)| Doubt::OtherNotCounted { name, trials }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The worst disagreement and where there is one.
fn disagreement(seen: &[Seen], of: fn(&Seen) -> Option<f64>) -> Option<(f64, Affected)> {
    let trials = affected(seen, |seen| of(seen).is_some())?;
    let worst = seen.iter().filter_map(of).max_by(|a, b| a.abs().total_cmp(&b.abs()))?;
    Some((worst, trials))
}

/// Group minus threads, µs/s, where that is more than grain and reading order explain.
fn group_against_threads(seen: &Seen) -> Option<f64> {
    let readings = &seen.figures.readings;
    let (group, threads) = (readings.group?, readings.schedstat?);
    let grain = GROUP_GRAIN_US / seen.figures.window_s;
    beyond(group - threads, grain + COUNTERS_AGREE * group)
}

/// Ticks minus nanoseconds, µs/s, where that is more than the ticks' grain.
fn ticks_against_time(seen: &Seen) -> Option<f64> {
    let readings = &seen.figures.readings;
    // Ticks belong to threads, so they are held against the threads' own nanoseconds.
    let (ticks, threads) = (readings.ticks?, readings.schedstat?);
    beyond(ticks - threads, readings.ticks_grain? + COUNTERS_AGREE * threads)
}

fn beyond(difference: f64, tolerance: f64) -> Option<f64> {
    (difference.abs() > tolerance).then_some(difference)
}

fn cell_doubts(cell: &Cell) -> Vec<Doubt> {
    let agent = cell
        .cpu
        .agent
        .filter(|agent| agent.mean > AGENT_BUDGET)
        .map(|agent| Doubt::CostlyAgent { cell: name(cell), us_per_second: agent.mean });
    let growth = cell
        .beyond
        .rss_growth_kib
        .filter(|growth| *growth >= MEMORY_GROWTH_KIB)
        .map(|kib| Doubt::GrowingMemory { cell: name(cell), kib });
    agent.into_iter().chain(growth).collect()
}

/// Neighbouring counts between which a variant's cost falls by more than its noise.
fn falls(measured: &Measured, variant: &str) -> Vec<Doubt> {
    let counts = measured.counts();
    counts.windows(2).filter_map(|pair| fall(measured, variant, [pair[0], pair[1]])).collect()
}

fn fall(measured: &Measured, variant: &str, counts: [u32; 2]) -> Option<Doubt> {
    let [from, to] = counts;
    let higher = measured.cell(variant, to);
    let differences: Vec<_> = measured
        .cell(variant, from)
        .into_iter()
        .filter_map(|low| {
            let high = higher.iter().find(|high| high.id.repetition == low.id.repetition)?;
            Some(high.part(Part::Sum)? - low.part(Part::Sum)?)
        })
        .collect();
    let rise = Estimate::of(&differences)?;
    (rise.mean < -FALL_US && rise.differs_from_zero()).then(|| Doubt::NotMonotonic {
        variant: variant.to_owned(),
        from,
        to,
        fall: -rise.mean,
    })
}

fn curved(curve: &Curve) -> Option<Doubt> {
    let curvature = curve.slope(Part::Sum)?.curvature?;
    (curvature.abs() > CURVATURE)
        .then(|| Doubt::Curved { variant: curve.variant.clone(), curvature })
}

fn extrapolated(curves: &[Curve]) -> Option<Doubt> {
    let beyond = |curve: &Curve| match curve.slope(Part::Sum)?.full {
        Full::At { beyond, .. } => Some(beyond),
        Full::NotRising => None,
    };
    let farthest = curves.iter().filter_map(beyond).fold(0.0, f64::max);
    let largest = curves.iter().flat_map(|curve| &curve.counts).copied().max()?;
    (farthest > EXTRAPOLATION).then_some(Doubt::Extrapolated { largest, beyond: farthest })
}

/// What holds of every run made this way.
fn frame(measured: &Measured) -> Vec<Doubt> {
    let uses = |mode| measured.variants().iter().any(|variant| measured.mode(variant) == mode);
    let mut doubts = Vec::new();
    if measured.run.study.trial.perturb == Perturb::Nothing {
        doubts.push(Doubt::OneState {});
    }
    if uses(Mode::Counted) {
        doubts.push(Doubt::Counted {});
    }
    // A device has its own time and its own radios; both of these frame the virtual one.
    if measured.run.study.access_point.kind == Target::Vm {
        if uses(Mode::RealTime) {
            doubts.push(Doubt::RealTime {});
        }
        doubts.push(Doubt::Simulated {});
    }
    doubts
}

#[cfg(test)]
mod tests {
    use model::{facts::Warmth, name::Sha256Hex, sample::LoadFailure};

    use super::*;
    use crate::{analyse, fixture};

    /// The doubts of the fixture after one change to every trial's record.
    fn doubts_after(change: impl Fn(&mut Recording)) -> Vec<Doubt> {
        let run = fixture::run();
        let mut trials = fixture::trials(&run);
        for trial in &mut trials {
            if let Outcome::Measured(recording) = &mut trial.outcome {
                change(recording);
            }
        }
        analyse(&run, &trials).doubts
    }

    #[test]
    fn the_fixture_bends_and_has_no_other_doubt() {
        let found = doubts_after(|_| ());
        let [
            Doubt::Curved { variant, curvature },
            Doubt::Extrapolated { largest: 114, .. },
            rest @ ..,
        ] = found.as_slice()
        else {
            panic!("{found:#?}")
        };
        assert_eq!(variant, "hostapd-cli");
        assert!((0.15..0.25).contains(curvature), "{curvature}");
        assert_eq!(rest, [Doubt::Counted {}, Doubt::Simulated {}]);
    }

    #[test]
    fn each_thing_that_goes_wrong_is_said() {
        type Change = fn(&mut Recording);
        let cases: [(&str, Change); 7] = [
            ("rounds of the load were left out", |recording| last(recording).rounds.skipped += 2),
            ("and 51 more); the first was `sh -c x`, exit status: 7: no route.", |recording| {
                last(recording).rounds.failed += 1;
                let (command, why) = ("sh -c x".to_owned(), "exit status: 7: no route".to_owned());
                recording.load_failure = Some(LoadFailure { command, why });
            }),
            ("Samples are missing", |recording| drop(recording.samples.remove(4))),
            ("planned spacing", |recording| recording.samples[3].at_ns += 100_000_000),
            ("memory grew by 64", |recording| {
                last(recording).subject.memory.as_mut().unwrap().rss_kib += 64;
            }),
            ("control group and the sum", |recording| {
                last(recording).subject.tasks[0].run_ns = Some(1_000_000_000_000);
            }),
            ("did not count the clients", |recording| {
                recording.before.interfaces[0].hostapd = None;
            }),
        ];
        for (expected, change) in cases {
            let said: Vec<_> = doubts_after(change).iter().map(Doubt::to_string).collect();
            assert!(said.iter().any(|said| said.contains(expected)), "{expected}: {said:#?}");
        }
    }

    #[test]
    fn what_is_amiss_with_another_process_is_said() {
        type Change = fn(&mut Recording);
        let cases: [(&str, Change); 3] = [
            ("did not run in", |recording| {
                recording.samples.iter_mut().for_each(|sample| sample.others.clear());
            }),
            ("a part of the window only", |recording| recording.samples[0].others.clear()),
            ("Nothing counted the CPU time of `hostapd`", |recording| {
                let others = recording.samples.iter_mut().flat_map(|sample| &mut sample.others);
                others.for_each(|other| other.account = model::sample::Account::default());
            }),
        ];
        let run = fixture::stations();
        for (expected, change) in cases {
            let mut trials = fixture::trials(&run);
            if let Outcome::Measured(recording) = &mut trials[0].outcome {
                change(recording);
            }
            let said: Vec<_> = analyse(&run, &trials).doubts.iter().map(Doubt::to_string).collect();
            let found = said.iter().find(|said| said.contains(expected));
            let found = found.unwrap_or_else(|| panic!("{expected}: {said:#?}"));
            assert!(found.contains("1 trial (found@18#1)"), "{found}");
        }
    }

    #[test]
    fn what_a_device_is_weakens_its_figures_and_nobody_elses() {
        let mut run = fixture::run();
        let mut trials = fixture::trials(&run);
        for (trial, place) in trials.iter_mut().zip(0..) {
            let Outcome::Measured(recording) = &mut trial.outcome else { continue };
            let facts = &mut recording.facts;
            (facts.governor, facts.turbo) = (Some("ondemand".to_owned()), Some(true));
            facts.clock = Some("jiffies".to_owned());
            facts.warmth = Some(Warmth { warmest_mc: Some(90_000), is_held_back: place == 3 });
            facts.boot = Some(if place < 5 { "a" } else { "b" }.to_owned());
        }
        run.left = vec!["turbo stays on: no".to_owned()];
        let said = |run: &model::run::Run| -> Vec<String> {
            analyse(run, &trials).doubts.iter().map(Doubt::to_string).collect()
        };
        let words = [
            "governor was `ondemand`",
            "above their base",
            "clock was `jiffies`",
            "1 trial (",
            "another boot",
            "turbo stays on",
        ];
        let counts = |said: &[String]| {
            words.map(|word| said.iter().filter(|one| one.contains(word)).count())
        };
        assert_eq!(counts(&said(&run)), [0; 6]);
        run.study.access_point.kind = Target::Device("ap".to_owned());
        assert_eq!(counts(&said(&run)), [1; 6], "{:#?}", said(&run));
    }

    #[test]
    fn a_boot_into_another_variants_image_is_meant_and_its_programs_may_be_others() {
        let mut run = fixture::run();
        run.study.access_point.kind = Target::Device("ap".to_owned());
        for variant in &mut run.study.variants {
            let file = format!("{}.image", variant.name);
            variant.image = Some(model::study::ImageFile { file, build: None });
        }
        let mut trials = fixture::trials(&run);
        for trial in &mut trials {
            let id = &trial.planned.id;
            let of = format!("{}{}", id.variant, id.repetition % 2);
            let sum = u8::try_from(id.variant.as_str().len()).unwrap();
            let Outcome::Measured(recording) = &mut trial.outcome else { continue };
            recording.facts.programs[0].sha256 = Sha256Hex::of(&[sum; 32]);
            recording.facts.boot = Some(of);
        }
        let doubts = |run: &model::run::Run, trials: &[Trial]| -> usize {
            let of = |doubt: &&Doubt| {
                matches!(doubt, Doubt::Booted { .. } | Doubt::ProgramsDiffer { .. })
            };
            analyse(run, trials).doubts.iter().filter(of).count()
        };
        assert_eq!(doubts(&run, &trials), 0);
        let last = trials.last_mut().unwrap();
        if let Outcome::Measured(recording) = &mut last.outcome {
            recording.facts.programs[0].sha256 = Sha256Hex::of(&[0xee; 32]);
        }
        assert_eq!(doubts(&run, &trials), 1);
    }

    fn last(recording: &mut Recording) -> &mut model::sample::Sample {
        recording.samples.last_mut().unwrap()
    }

    #[test]
    fn a_wrong_census_makes_the_trial_invalid() {
        let run = fixture::run();
        let mut trials = fixture::trials(&run);
        if let Outcome::Measured(recording) = &mut trials[0].outcome {
            recording.after.interfaces[1].hostapd = Some(0);
        }
        let analysis = analyse(&run, &trials);
        assert_eq!(analysis.invalid.len(), 1);
        assert!(analysis.invalid[0].why.contains("hostapd 0"), "{:?}", analysis.invalid);
        assert!(matches!(analysis.doubts[0], Doubt::InvalidTrials { invalid: 1, .. }));
    }

    #[test]
    fn another_binary_under_the_same_name_is_seen() {
        let run = fixture::run();
        let mut trials = fixture::trials(&run);
        if let Outcome::Measured(recording) = &mut trials[9].outcome {
            recording.facts.programs[0].sha256 = Sha256Hex::of(&[0; 32]);
        }
        let expected = Affected(vec![trials[9].planned.id.clone()]);
        let found = analyse(&run, &trials).doubts;
        assert!(found.contains(&Doubt::ProgramsDiffer { trials: expected }), "{found:#?}");
    }

    #[test]
    fn variants_may_run_different_programs() {
        let run = fixture::run();
        let mut trials = fixture::trials(&run);
        for trial in trials.iter_mut().filter(|trial| trial.planned.id.variant == "iw-dump") {
            if let Outcome::Measured(recording) = &mut trial.outcome {
                let (name, path) = ("iw".to_owned(), "/sbin/iw".to_owned());
                let sha256 = Sha256Hex::of(&[0x11; 32]);
                recording.facts.programs.push(model::facts::Program { name, path, sha256 });
            }
        }
        let found = analyse(&run, &trials).doubts;
        let differ = |doubt: &Doubt| matches!(doubt, Doubt::ProgramsDiffer { .. });
        assert!(!found.iter().any(differ), "{found:#?}");
    }

    #[test]
    fn a_partial_run_says_so() {
        let run = fixture::run();
        let trials = fixture::trials(&run);
        let found = analyse(&run, &trials[..20]).doubts;
        assert_eq!(found[0], Doubt::Unfinished { done: 20, planned: 54 });
        assert!(matches!(found[1], Doubt::FewRepetitions { fewest: 2, .. }), "{:?}", found[1]);
    }
}
