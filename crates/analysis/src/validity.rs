//! Finds what weakens a run's answer.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    facts::{Facts, Program},
    inert,
    reading::Reading,
    sample::LoadFailure,
    study::{Mode, Perturb, Target},
    trial::{Trial, TrialId},
};

use crate::{
    calls,
    cells::Cell,
    census,
    counters::Source,
    curve::{Curve, Full, Segment},
    doubt::{Doubt, named},
    figures::{OtherFigures, Part, Ran, RoundFigures, TrialFigures},
    measured::Measured,
    quantity::{Unit, count, percent},
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

/// The advice on a series with gaps.
const GAPS: &str = "Rates use the samples' own clock and stay right; the series has gaps. The host may be overloaded \
                    in real-time mode.";
/// Letters that are shown of a command of the load, and of how it ended.
const SHOWN: usize = 200;

/// Everything that weakens the run's answer: what happened first, what frames it after.
pub(crate) fn doubts(measured: &Measured, cells: &[Cell], curves: &[Curve]) -> Vec<Doubt> {
    let mut doubts = run_doubts(measured, cells);
    doubts.extend(trial_doubts(measured));
    doubts.extend(cells.iter().filter_map(|cell| costly_agent(measured, cell)));
    doubts.extend(cells.iter().filter_map(growing_memory));
    doubts.extend(curves.iter().flat_map(falls));
    doubts.extend(curves.iter().filter_map(curved));
    doubts.extend(extrapolated(curves));
    doubts.extend(calls::doubts(measured));
    doubts.extend(frame(measured));
    doubts.sort_by_key(|doubt| doubt.level);
    doubts
}

fn run_doubts(measured: &Measured, cells: &[Cell]) -> Vec<Doubt> {
    let invalid = measured.invalid.len() as u32;
    let done = measured.valid() + invalid;
    let planned = measured.plan().count() as u32;
    let reasons: BTreeSet<&str> = measured.invalid.iter().map(|trial| &*trial.why).collect();
    let reasons = reasons.into_iter().collect::<Vec<_>>().join("; ");
    let (trials, were) = (count(done, "trial"), if invalid == 1 { "was" } else { "were" });
    let faulty = Doubt::new(
        format!("{invalid} of {trials} {were} invalid: {reasons}."),
        "Excluded from results. Fix the cause and re-run.",
    );
    let of_plan = count(planned, "planned trial");
    let incomplete = Doubt::new(
        format!("The run is not complete: {done} of {of_plan} are done."),
        "`headroom run --resume` does the rest; where the study or a program is at fault, start a new run.",
    );
    let few = |cell: &Cell| {
        let valid = count(cell.valid, "valid repetition");
        let few = Doubt::new(
            format!("{} rests on {valid}.", name(cell)),
            "Set `repetitions` to 6 or more: with fewer, intervals are wide and no sign test can reach 5 %.",
        );
        few.of_variant(&cell.variant)
    };
    let thinnest = cells.iter().filter(|cell| cell.valid > 0).min_by_key(|cell| cell.valid);
    let thinnest = thinnest.filter(|cell| cell.valid < FEWEST_REPETITIONS);
    let all = [(invalid > 0).then_some(faulty), (done < planned).then_some(incomplete)];
    all.into_iter().chain([thinnest.map(few)]).flatten().collect()
}

fn name(cell: &Cell) -> String {
    format!("{}@{}", cell.variant, cell.clients)
}

/// A trial seen from both sides: what it recorded, and what became of it.
struct Seen<'a> {
    trial: &'a Trial,
    recording: &'a Reading,
    figures: &'a TrialFigures,
}

/// What is so of some trials, each with its sentence, in which `TRIALS` are their names, and the advice.
fn trial_doubts(measured: &Measured) -> Vec<Doubt> {
    let seen: Vec<_> = measured
        .records
        .iter()
        .zip(&measured.figures)
        .filter_map(|(trial, figures)| Some(Seen { trial, recording: trial.reading()?, figures }))
        .collect();
    let of = |is_so: &dyn Fn(&Seen) -> bool, sentence: &str, advice: &str| {
        doubt(&seen, is_so, sentence, advice)
    };
    let total = |of: fn(&RoundFigures) -> u64| {
        seen.iter().fold(0u64, |sum, seen| sum.saturating_add(of(&seen.figures.rounds)))
    };
    let images = measured.run.study.names_images();
    let known = first_hashes(&seen, images);
    let is_other =
        |seen: &Seen, one: &Program| *one.sha256 != *known[&(side(seen, images), &*one.path)];
    let failed = of(
        &|seen| seen.figures.rounds.failed > 0,
        &format!("{} of the load failed, in TRIALS", count(total(|it| it.failed), "command")),
        "A failed command may cost more or less than a good one: run it by hand with `headroom up`.",
    );
    let unevenness_of = seen.iter().filter_map(unevenness).fold(0.0, f64::max);
    let mut doubts = vec![
        of(
            &|seen| seen.recording.facts.programs.iter().any(|one| is_other(seen, one)),
            "A program's file changed during the run (different SHA-256) in TRIALS.",
            "These figures are not of one thing: measure again with one image.",
        ),
        of(
            &|seen| census::one_sided(seen.recording),
            "Either the kernel or hostapd did not count the clients in TRIALS.",
            "Let hostapd answer on its control socket, so that both sides count.",
        ),
        failed.map(|doubt| with_first_failure(doubt, &seen)),
        of(
            &|seen| seen.figures.rounds.skipped > 0,
            &format!(
                "{} of the load were left out because the one before had not ended, in TRIALS.",
                count(total(|it| it.skipped), "round")
            ),
            "The load ran less often than asked, so its cost is understated: lengthen `every`.",
        ),
        of(&samples_missing, "Samples are missing in TRIALS.", GAPS),
        of(
            &|seen| unevenness(seen).is_some_and(|off| off > UNEVEN),
            &format!(
                "Samples are up to {} off their planned spacing in TRIALS.",
                percent(unevenness_of)
            ),
            GAPS,
        ),
        of(
            &|seen| group_against_threads(seen).is_some(),
            &format!(
                "The subject's control group and the sum over its threads differ by up to {} µs a second in TRIALS.",
                worst(&seen, group_against_threads)
            ),
            "The control group is shown, because it holds short-lived children; look at the thread table for what is missing.",
        ),
        of(
            &|seen| ticks_against_time(seen).is_some(),
            &format!(
                "utime + stime differ from the nanosecond counters by up to {} µs a second, more than their grain, in TRIALS.",
                worst(&seen, ticks_against_time)
            ),
            "Compare with published tick figures with care: ticks miss what runs between them.",
        ),
        of(
            &|seen| seen.figures.subject.source == Source::Ticks,
            "CPU time is known only in clock ticks in TRIALS.",
            "Use a kernel with CONFIG_SCHED_INFO or a cgroup v2, or lengthen `window`.",
        ),
        of(
            &|seen| seen.trial.planned.order.load.is_some() && seen.figures.load.is_none(),
            "Nothing counted the CPU time of the load in TRIALS.",
            "The sum is the subject alone there; enable control groups on the access point.",
        ),
    ];
    let others = seen.iter().flat_map(|seen| &seen.figures.others);
    let names: BTreeSet<_> = others.map(|other| other.name.as_str()).collect();
    doubts.extend(names.into_iter().flat_map(|name| doubts_of_other(&seen, name)));
    if measured.run.study.access_point.kind != Target::Vm {
        doubts.extend(device_doubts(measured, &seen));
    }
    doubts.into_iter().flatten().collect()
}

/// The doubt about those trials of which something is so; `TRIALS` in its sentence are their names.
fn doubt(
    seen: &[Seen],
    is_so: impl Fn(&Seen) -> bool,
    sentence: &str,
    advice: &str,
) -> Option<Doubt> {
    let trials: Vec<TrialId> =
        seen.iter().filter(|seen| is_so(seen)).map(|seen| seen.figures.id.clone()).collect();
    let sentence = sentence.replace("TRIALS", &named(&trials));
    (!trials.is_empty()).then(|| Doubt::new(sentence, advice).of_trials(&trials))
}

/// What the load said of its first failure comes in behind the names, which it cannot contain then.
fn with_first_failure(doubt: Doubt, seen: &[Seen]) -> Doubt {
    let first = seen.iter().find_map(|seen| seen.recording.load_failure.as_ref());
    let first = first.map(|LoadFailure { command, why }| {
        let short = |text: &str| inert::line(text).chars().take(SHOWN).collect::<String>();
        format!("; the first was `{}`, {}", short(command), short(why))
    });
    Doubt { sentence: format!("{}{}.", doubt.sentence, first.unwrap_or_default()), ..doubt }
}

/// What a device was that figures in real time depend on.
fn device_doubts(measured: &Measured, seen: &[Seen]) -> [Option<Doubt>; 6] {
    let of = |is_so: fn(&Facts) -> bool, sentence: &str, advice: &str| {
        doubt(seen, |seen| is_so(&seen.recording.facts), sentence, advice)
    };
    let first = |facts: fn(&Facts) -> Option<&str>| {
        inert::line(seen.iter().find_map(|seen| facts(&seen.recording.facts)).unwrap_or_default())
    };
    let left = measured.run.left.join("; ");
    let left = (!left.is_empty()).then(|| {
        let left = inert::line(&left);
        Doubt::new(
            format!(
                "headroom could not confirm that everything on the device was restored: {left}."
            ),
            "Check it, restore it by hand, or reboot the device.",
        )
    });
    // Where variants have images, a device is booted between them on purpose, and one boot more cannot be told from
    // those.
    let boot = seen.first().and_then(|seen| seen.recording.facts.boot.clone());
    let is_other_boot =
        |seen: &Seen| !measured.run.study.names_images() && seen.recording.facts.boot != boot;
    [
        of(
            |facts| other_governor(facts).is_some(),
            &format!(
                "The governor was `{}`, and not `performance`, in TRIALS.",
                first(other_governor)
            ),
            "CPU time depends on the frequency that it chose: `[settings]` with `governor = \"performance\"` in a device file.",
        ),
        of(
            |facts| facts.turbo == Some(true),
            "CPUs might clock above their base in TRIALS.",
            "CPU time depends on heat and neighbours then: `[settings]` with `turbo = false` in a device file.",
        ),
        of(
            |facts| poor_clock(facts).is_some(),
            &format!(
                "The clock was `{}`, which is coarse or slow to read, in TRIALS.",
                first(poor_clock)
            ),
            "Lengthen `window`, and see in the device's kernel log why it takes no better clock.",
        ),
        of(
            |facts| facts.warmth.is_some_and(|warmth| warmth.is_held_back),
            "The device was warm, and its CPUs were held back to cool it, in TRIALS.",
            "The same work took longer there: let it cool, give it air, and measure again.",
        ),
        doubt(
            seen,
            is_other_boot,
            "The device rebooted during the run: TRIALS ran after the reboot.",
            "Addresses, caches and clients change with a reboot: if the figures differ, measure again.",
        ),
        left,
    ]
}

fn other_governor(facts: &Facts) -> Option<&str> {
    facts.governor.as_deref().filter(|governor| *governor != "performance")
}

fn poor_clock(facts: &Facts) -> Option<&str> {
    facts.clock.as_deref().filter(|clock| POOR_CLOCKS.contains(clock))
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

fn samples_missing(seen: &Seen) -> bool {
    let order = &seen.trial.planned.order;
    let steps = order.window.as_nanos().checked_div(order.sample_every.as_nanos()).unwrap_or(0);
    (seen.recording.samples.len() as u64) < steps.saturating_add(1)
}

/// The largest departure of a step from the planned one, relative to it.
fn unevenness(seen: &Seen) -> Option<f64> {
    let planned = seen.trial.planned.order.sample_every.as_secs_f64();
    let off = |length: f64| (length / planned - 1.0).abs();
    let worst = seen.figures.series.iter().map(|step| off(step.length_s)).fold(0.0, f64::max);
    (planned > 0.0).then_some(worst)
}

/// The farthest of what two counters differ by, µs.
fn worst(seen: &[Seen], of: fn(&Seen) -> Option<f64>) -> String {
    let farthest = seen.iter().filter_map(of).max_by(|a, b| a.abs().total_cmp(&b.abs()));
    Unit::MICROS.plain(farthest.unwrap_or_default())
}

/// What is amiss with a process besides subject and load.
fn doubts_of_other(seen: &[Seen], name: &str) -> [Option<Doubt>; 3] {
    let of = |is_so: fn(&OtherFigures) -> bool, sentence: &str, advice: &str| {
        let is_so = |seen: &Seen| seen.figures.other(name).is_some_and(is_so);
        doubt(seen, is_so, &sentence.replace("NAME", name), advice)
    };
    [
        of(
            |other| other.ran == Ran::Never,
            "`NAME`, whose work was to be counted, did not run in TRIALS.",
            "It adds nothing to the sum there. See whether its name is right, and whether it should have run.",
        ),
        of(
            |other| other.ran == Ran::Partly,
            "`NAME`, whose work was to be counted, ran for a part of the window only in TRIALS.",
            "Its figure is a lower bound; see on the access point's console why it came or went.",
        ),
        of(
            |other| other.ran != Ran::Never && other.cpu.is_none(),
            "Nothing counted the CPU time of `NAME` in TRIALS.",
            "There is no sum there: part of the work would be missing from it.",
        ),
    ]
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

/// The agent takes more than it may. What is read around rounds that are checked is read in its group, and the study asks
/// for it.
fn costly_agent(measured: &Measured, cell: &Cell) -> Option<Doubt> {
    let agent = cell.cpu.agent.filter(|agent| agent.mean > AGENT_BUDGET)?.mean;
    let (share, name) = (Unit::CORE.plain(agent), name(cell));
    measured.run.study.witness.is_none().then(|| {
        Doubt::new(
            format!("The agent itself took {share} % of a core in {name}."),
            "Lengthen `sample-every`: the agent may disturb what it measures.",
        )
        .of_variant(&cell.variant)
    })
}

fn growing_memory(cell: &Cell) -> Option<Doubt> {
    let growth = cell.beyond("rss_growth_kib");
    let kib = growth.filter(|growth| *growth >= MEMORY_GROWTH_KIB)?;
    let (kib, name) = (Unit::ONE.plain(kib), name(cell));
    let doubt = Doubt::new(
        format!("The subject's memory grew by {kib} KiB a window in {name}."),
        "Lengthen `window` to see whether it goes on; if it does, it is a leak.",
    );
    Some(doubt.of_variant(&cell.variant))
}

/// Neighbouring counts between which a variant's cost falls by more than its noise.
fn falls(curve: &Curve) -> impl Iterator<Item = Doubt> {
    let steps = curve.slope(Part::Sum).into_iter().flat_map(|line| &line.segments);
    steps.filter_map(|Segment { from, to, per_client }| {
        let rise = per_client.mean * f64::from(to - from);
        let (fall, to, variant) = (Unit::MICROS.plain(-rise), count(*to, "client"), &curve.variant);
        (rise < -FALL_US && per_client.differs_from_zero()).then(|| {
            Doubt::new(
                format!("`{variant}` costs {fall} µs a second less at {to} than at {from}, beyond its noise."),
                "Look at the per-second series of both counts; something other than clients differs.",
            )
            .of_variant(variant)
        })
    })
}

fn curved(curve: &Curve) -> Option<Doubt> {
    let curvature = curve.slope(Part::Sum)?.curvature.filter(|bend| bend.abs() > CURVATURE)?;
    let (variant, steeper) = (&curve.variant, 1.0 + curvature);
    let doubt = Doubt::new(
        format!(
            "The curve of `{variant}` is not straight: its last segment is {steeper:.2} × as steep as its first."
        ),
        "Use the slope of the segment that you ask about, and add client counts between.",
    );
    Some(doubt.of_variant(variant))
}

fn extrapolated(curves: &[Curve]) -> Option<Doubt> {
    let beyond = |curve: &Curve| match curve.slope(Part::Sum)?.full {
        Full::At { beyond, .. } => Some(beyond),
        Full::NotRising => None,
    };
    let farthest = curves.iter().filter_map(beyond).fold(0.0, f64::max);
    let largest = count(curves.iter().flat_map(|curve| &curve.counts).copied().max()?, "client");
    (farthest > EXTRAPOLATION).then(|| {
        let sentence = format!(
            "“Clients until one core is full” extends a straight line up to {} times beyond the {largest} that were measured.",
            farthest.round()
        );
        let advice = "Use it to compare variants, not to size a product; measure nearer to it if it matters.";
        Doubt::new(sentence, advice).caveat()
    })
}

/// What holds of every run made this way.
fn frame(measured: &Measured) -> Vec<Doubt> {
    let uses = |mode| measured.variants().iter().any(|variant| measured.mode(variant) == mode);
    // A device has its own time and its own radios; the last two frame the virtual one.
    let is_virtual = measured.run.study.access_point.kind == Target::Vm;
    let all = [
        (
            measured.run.study.trial.perturb == Perturb::Nothing,
            "Every repetition was the same machine state (`perturb = \"nothing\"`): one memory layout, one hash seed, one \
             phase of the timers.",
            "Their spread measures the lab. Use `perturb = \"start\"` to claim something about the subject.",
        ),
        (
            uses(Mode::Counted),
            "Counted mode: CPU time is executed instructions at 2 ns each, a 500-MIPS core. Caches, memory latency and \
             branches cost nothing in it.",
            "Compare variants with it; take absolute figures for a product from the product's own core.",
        ),
        (
            is_virtual && uses(Mode::RealTime),
            "Real-time mode: CPU time is the host's, so its load, clock frequency and caches are in the figures.",
            "Keep the host idle and prefer counted mode for claims about CPU cost.",
        ),
        (
            is_virtual,
            "The radios are mac80211_hwsim: every frame is copied to every radio of its channel, and the clients share the \
             guest's CPU.",
            "Judge the subject's and the load's own CPU, never the guest's total.",
        ),
    ];
    let holds = all.into_iter().filter(|(holds, ..)| *holds);
    holds.map(|(_, sentence, advice)| Doubt::new(sentence, advice).caveat()).collect()
}

#[cfg(test)]
mod tests;
