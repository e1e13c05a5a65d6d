//! The most that a study may ask for: numbers, lists, and the plan that they make together.
//!
//! A plan is made whole before its first trial, so what would not fit into memory or into a month is refused where
//! the study is read. The limits are far above any study that ends, and `docs/design/study-files.md` has them all.
//! Pure; each kind of study says here what its plan comes to.

use model::plural::count;
use model::{completion, contention, span::Span, study::Study};

use super::{Fault, lines::Lines};

/// Repetitions, blocks and pairs.
pub const REPETITIONS: u32 = 1_000;

/// Entries of any list in a study: variants, client counts, places, loads, functions, cells.
pub const ENTRIES: usize = 256;

/// Windows, warm-ups and spans of a study of clients.
pub const WINDOW: Span = Span::from_secs(24 * 3600);

/// Samples of one trial: a day of seconds, and some.
pub const SAMPLES: u64 = 100_000;

pub const TRIALS: u64 = 10_000;

/// Warm-ups and windows of a whole plan.
pub const PLANNED: Span = Span::from_secs(30 * 24 * 3600);

/// Bytes of the command lines of a whole plan: each trial keeps its own.
pub const COMMANDS: u64 = 2 << 20;

/// A number and the most that it may be, with where it stands.
struct Most<'a> {
    path: &'a [&'a str],
    value: u64,
    most: u64,
}

/// What a plan comes to.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    trials: u64,
    planned_ns: u64,
    commands: u64,
}

impl Total {
    fn add(&mut self, trials: u64, each_ns: u64, commands: u64) {
        self.trials = self.trials.saturating_add(trials);
        self.planned_ns = self.planned_ns.saturating_add(trials.saturating_mul(each_ns));
        self.commands = self.commands.saturating_add(trials.saturating_mul(commands));
    }

    fn check(self, lines: Lines<'_>, path: &[&str]) -> Result<(), Fault> {
        if self.trials > TRIALS {
            let why = format!(
                "the plan has {}; a study has at most {TRIALS}: fewer repetitions, variants or counts",
                count(self.trials, "trial")
            );
            return lines.fault(path, why);
        }
        if self.planned_ns > PLANNED.as_nanos() {
            let why = format!(
                "the plan's windows and warm-ups take {} h; a study takes at most {} h",
                self.planned_ns / 3_600_000_000_000,
                PLANNED.as_nanos() / 3_600_000_000_000
            );
            return lines.fault(path, why);
        }
        if self.commands > COMMANDS {
            let why = format!(
                "the command lines of all trials have {} bytes; a plan has at most {COMMANDS}: write a script, or fewer trials",
                self.commands
            );
            return lines.fault(path, why);
        }
        Ok(())
    }
}

/// The first number that is too large.
fn first_above(lines: Lines<'_>, all: &[Most<'_>]) -> Result<(), Fault> {
    let Some(Most { path, value, most }) = all.iter().find(|one| one.value > one.most) else {
        return Ok(());
    };
    let key = path.last().copied().unwrap_or_default();
    lines.fault(path, format!("`{key}`: {value}; a study has at most {most}"))
}

/// The first list that is too long.
fn first_longer(lines: Lines<'_>, all: &[(&[&str], usize)]) -> Result<(), Fault> {
    let Some((path, length)) = all.iter().find(|(_, length)| *length > ENTRIES) else {
        return Ok(());
    };
    let key = path.last().copied().unwrap_or_default();
    lines.fault(path, format!("`{key}`: {length} entries; a study has at most {ENTRIES}"))
}

fn first_later(lines: Lines<'_>, all: &[(&[&str], Span)]) -> Result<(), Fault> {
    let Some((path, span)) = all.iter().find(|(_, span)| *span > WINDOW) else { return Ok(()) };
    let key = path.last().copied().unwrap_or_default();
    lines.fault(path, format!("`{key}`: {span}; a study has at most {WINDOW}"))
}

/// What a study of clients may hold, before anything is made of it.
pub(super) fn numbers(study: &Study, lines: Lines<'_>) -> Result<(), Fault> {
    lists(study, lines)?;
    let (trial, profile) = (&study.trial, &study.profile);
    let repetitions =
        |path, value: u32| Most { path, value: value.into(), most: REPETITIONS.into() };
    let compare = &study.compare;
    let mut numbers = vec![
        repetitions(&["trial", "repetitions"], trial.repetitions),
        repetitions(&["profile", "repetitions"], profile.repetitions),
        repetitions(&["compare", "pairs"], compare.pairs.unwrap_or_default()),
        repetitions(&["compare", "up-to"], compare.up_to),
    ];
    let mut spans: Vec<(&[&str], Span)> = vec![
        (&["trial", "window"], trial.window),
        (&["trial", "warm-up"], trial.warm_up),
        (&["trial", "sample-every"], trial.sample_every),
    ];
    if let Some(count) = &study.count {
        numbers.push(repetitions(&["count", "repetitions"], count.repetitions));
    }
    if let Some(pause) = &study.pause {
        numbers.push(repetitions(&["pause", "repetitions"], pause.repetitions));
        spans.push((&["pause", "span"], pause.span));
        spans.push((&["pause", "settle"], pause.settle));
    }
    let loads = study.variants.iter().filter_map(|variant| study.load_of(variant));
    spans.extend(loads.map(|load| (&["load", "every"][..], load.every)));
    first_above(lines, &numbers)?;
    first_later(lines, &spans)
}

fn lists(study: &Study, lines: Lines<'_>) -> Result<(), Fault> {
    let place = &study.access_point;
    let variants = study.variants.iter();
    let most =
        |of: fn(&model::study::Variant) -> usize| variants.clone().map(of).max().unwrap_or(0);
    let others = |variant: &model::study::Variant| {
        variant.subject.as_ref().map_or(0, |subject| subject.others.len())
    };
    first_longer(
        lines,
        &[
            (&["variant"], study.variants.len()),
            (&["access-point", "clients"], place.clients.len()),
            (&["access-point", "interface"], place.interfaces.len()),
            (&["access-point", "process"], place.processes.len()),
            (&["subject", "others"], study.subject.others.len()),
            (&["variant", "others"], most(others)),
            (&["variant", "against"], most(|variant| variant.against.len())),
            (&["variant", "changes"], most(|variant| variant.changes.len())),
            (&["profile", "clients"], study.profile.clients.len()),
            (&["count", "function"], study.count.as_ref().map_or(0, |count| count.functions.len())),
            (&["count", "clients"], study.count.as_ref().map_or(0, |count| count.clients.len())),
            (&["count", "variants"], study.count.as_ref().map_or(0, |count| count.variants.len())),
            (&["pause", "clients"], study.pause.as_ref().map_or(0, |pause| pause.clients.len())),
            (&["pause", "variants"], study.pause.as_ref().map_or(0, |pause| pause.variants.len())),
            (&["parity", "variants"], study.parity.as_ref().map_or(0, |one| one.variants.len())),
            (&["gates", "variants"], study.gates.as_ref().map_or(0, |gates| gates.variants.len())),
            (&["gates", "limits"], study.gates.as_ref().map_or(0, |gates| gates.limits.len())),
        ],
    )
}

/// What a study of clients comes to: its samples, its trials, their time and their words. Its numbers are right
/// already.
pub(super) fn plan(study: &Study, lines: Lines<'_>) -> Result<(), Fault> {
    let trial = &study.trial;
    let every = trial.sample_every.as_nanos().max(1);
    let pause_ns = study.pause.as_ref().map_or(0, |pause| pause.span.as_nanos().saturating_mul(5));
    for (path, window) in
        [(["trial", "window"], trial.window.as_nanos()), (["pause", "span"], pause_ns)]
    {
        if window / every > SAMPLES {
            let why = format!(
                "`{}`: {} of {} in a trial; a study has at most {SAMPLES}",
                path[1],
                count(window / every, "sample"),
                trial.sample_every
            );
            return lines.fault(&path, why);
        }
    }
    total(study, pause_ns).check(lines, &["trial", "repetitions"])
}

fn total(study: &Study, pause_ns: u64) -> Total {
    let (trial, place) = (&study.trial, &study.access_point);
    let commands: u64 = study.variants.iter().map(|variant| commands(study, variant)).sum();
    let variants = study.variants.len() as u64;
    let each = commands / variants.max(1) + u64::from(commands > 0);
    let all = place.clients.len() as u64;
    let some = |clients: &[u32]| (clients.len() as u64).max(1);
    let [warm_up, window] = [trial.warm_up, trial.window].map(Span::as_nanos);
    let mut total = Total::default();
    let mut add = |repetitions: u32, clients: u64, window: u64| {
        let trials = variants.saturating_mul(clients).saturating_mul(repetitions.into());
        total.add(trials, warm_up.saturating_add(window), each);
    };
    add(trial.repetitions, all, window);
    add(study.profile.repetitions, some(&study.profile.clients), window);
    study.count.iter().for_each(|count| add(count.repetitions, some(&count.clients), window));
    study.pause.iter().for_each(|pause| add(pause.repetitions, some(&pause.clients), pause_ns));
    total
}

/// Bytes of the command lines that a trial of a variant keeps: a load's once for each interface.
fn commands(study: &Study, variant: &model::study::Variant) -> u64 {
    let load = study.load_of(variant).map_or(0, |load| load.run.len());
    let subject = study.subject_of(variant);
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let others: usize = subject.others.iter().map(String::len).sum();
    let place = &study.access_point;
    let processes = place.processes.iter().map(|one| one.name.len() + length(&one.command));
    let own = length(&subject.start) + length(&subject.ready) + subject.process.len() + others;
    let whole = own + processes.sum::<usize>() + variant.name.len();
    (load as u64).saturating_mul(place.radios.into()).saturating_add(whole as u64)
}

/// What a contention study may hold, and what it comes to.
pub(crate) fn contention(study: &contention::Study, lines: Lines<'_>) -> Result<(), Fault> {
    let shape = &study.contention;
    let words = study.applications.iter().map(|one| one.application.words.len()).max().unwrap_or(0);
    let controls = study.cells.iter().map(|cell| cell.controls.len()).max().unwrap_or(0);
    first_longer(
        lines,
        &[
            (&["place"], study.places.len()),
            (&["traffic"], study.traffics.len()),
            (&["application"], study.applications.len()),
            (&["control"], study.controls.len()),
            (&["cell"], study.cells.len()),
            (&["cell", "controls"], controls),
            (&["application", "words"], words),
        ],
    )?;
    let blocks = |path, value: u32| Most { path, value: value.into(), most: REPETITIONS.into() };
    let sweeps = shape.sweep_blocks.unwrap_or(0);
    first_above(
        lines,
        &[
            blocks(&["contention", "blocks"], shape.blocks),
            blocks(&["contention", "sweep-blocks"], sweeps),
        ],
    )?;
    let mut total = Total::default();
    let each_ns = shape.warm_up.as_nanos().saturating_add(shape.window.as_nanos());
    let policy = |control: &contention::NamedControl| match &control.control {
        contention::Control::Guard(policy) => policy.len(),
        _ => 0,
    };
    let policies = study.controls.iter().map(policy).max().unwrap_or(0);
    let words = |one: &contention::NamedApplication| {
        one.application.words.iter().map(String::len).sum::<usize>()
            + one.application.stressor.len()
    };
    let words = policies + study.applications.iter().map(words).max().unwrap_or(0);
    for cell in &study.cells {
        let named =
            if cell.controls.is_empty() { study.controls.len() } else { cell.controls.len() };
        // The baseline at both ends, the application alone, and no control.
        let arms = named as u64 + 4;
        let modelled = if cell.four_cases { arms } else { 0 };
        total.add(arms * u64::from(shape.blocks) + modelled, each_ns, words as u64);
    }
    total.check(lines, &["contention", "blocks"])
}

/// What a completion study may hold, and what it comes to.
pub(crate) fn completion(study: &completion::Study, lines: Lines<'_>) -> Result<(), Fault> {
    let shape = &study.completion;
    let rates = study.loads.iter().map(|load| load.rates.len()).max().unwrap_or(0);
    first_longer(
        lines,
        &[
            (&["place"], study.places.len()),
            (&["load"], study.loads.len()),
            (&["load", "rates"], rates),
            (&["completion", "strategies"], shape.strategies.len()),
        ],
    )?;
    let blocks = Most {
        path: &["completion", "blocks"],
        value: shape.blocks.into(),
        most: REPETITIONS.into(),
    };
    first_above(lines, &[blocks])?;
    let mut total = Total::default();
    for load in &study.loads {
        // Every strategy at every rate, the task alone, and one trial that repeats another.
        let each = (load.rates.len() * shape.strategies.len()) as u64 + 2;
        let trials = each.saturating_mul(shape.blocks.into());
        let task_ns = u64::from(load.task_ms.unwrap_or(0)) * 1_000_000;
        let each_ns = shape.warm_up.as_nanos().saturating_add(shape.window.as_nanos().max(task_ns));
        total.add(trials.saturating_mul(study.places.len() as u64), each_ns, 0);
    }
    total.check(lines, &["completion", "blocks"])
}

#[cfg(test)]
mod tests;
