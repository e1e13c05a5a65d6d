//! The most that a study may ask for: numbers, lists, and the plan that they make together.
//!
//! A plan is made whole before its first trial, so what would not fit into memory or into a month is refused where
//! the study is read. The limits are far above any study that ends, and `docs/design/study-files.md` has them all.
//! Pure.

use std::fmt;

use model::{
    cell::CellEntry,
    plural::count,
    span::Span,
    study::{Study, Subject, Variant},
    traffic::Control,
};

use super::{Fault, lines::Lines};

pub const REPETITIONS: u32 = 1_000;

/// Entries of any list in a study: variants, client counts, cells, functions.
pub const ENTRIES: usize = 256;

pub const WINDOW: Span = Span::from_secs(24 * 3600);

/// Samples of one trial: a day of seconds, and some.
pub const SAMPLES: u64 = 100_000;

pub const TRIALS: u64 = 10_000;

/// Warm-ups and windows of a whole plan.
pub const PLANNED: Span = Span::from_secs(30 * 24 * 3600);

/// Bytes of the command lines of a whole plan: each trial keeps its own.
pub const COMMANDS: u64 = 2 << 20;

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

/// Where a number of a study stands, and the number.
type Placed<'a, T> = (&'a [&'a str], T);

/// Refuses the first number that is above the most that it may be.
fn at_most<T: PartialOrd + fmt::Display>(
    most: T,
    unit: &str,
    all: &[Placed<'_, T>],
    lines: Lines<'_>,
) -> Result<(), Fault> {
    let Some((path, value)) = all.iter().find(|(_, value)| *value > most) else { return Ok(()) };
    let key = path.last().copied().unwrap_or_default();
    lines.fault(path, format!("`{key}`: {value}{unit}; a study has at most {most}"))
}

/// What a study may hold, before anything is made of it.
pub(super) fn numbers(study: &Study, lines: Lines<'_>) -> Result<(), Fault> {
    lists(study, lines)?;
    let place_counts = study.access_point.clients.len() as u64;
    // A product of lists is counted before it is made.
    let cells =
        study.entries.iter().map(|entry| entry.size(place_counts)).fold(0, u64::saturating_add);
    if cells > ENTRIES as u64 {
        let why = format!("`cell`: {}; a study has at most {ENTRIES}", count(cells, "cell"));
        return lines.fault(&["cell"], why);
    }
    let (trial, compare) = (&study.trial, &study.compare);
    let mut repetitions: Vec<Placed<'_, u32>> = vec![
        (&["trial", "repetitions"], trial.repetitions),
        (&["trial", "sweep"], trial.sweep.unwrap_or_default()),
        (&["profile", "repetitions"], study.profile.repetitions),
        (&["compare", "pairs"], compare.pairs.unwrap_or_default()),
        (&["compare", "up-to"], compare.up_to),
    ];
    let mut spans: Vec<Placed<'_, Span>> = vec![
        (&["trial", "window"], trial.window),
        (&["trial", "warm-up"], trial.warm_up),
        (&["trial", "sample-every"], trial.sample_every),
    ];
    if let Some(count) = &study.count {
        repetitions.push((&["count", "repetitions"], count.repetitions));
    }
    if let Some(pause) = &study.pause {
        repetitions.push((&["pause", "repetitions"], pause.repetitions));
        spans.push((&["pause", "span"], pause.span));
        spans.push((&["pause", "settle"], pause.settle));
    }
    let loads = study.variants.iter().filter_map(|variant| study.load_of(variant));
    spans.extend(loads.map(|load| (&["load", "every"][..], load.every)));
    at_most(REPETITIONS, "", &repetitions, lines)?;
    at_most(WINDOW, "", &spans, lines)
}

fn lists(study: &Study, lines: Lines<'_>) -> Result<(), Fault> {
    let (place, profile, entries) = (&study.access_point, &study.profile, &study.entries);
    let others = |subject: &Subject| subject.others.len();
    let (count, pause, gates) = (study.count.as_ref(), study.pause.as_ref(), study.gates.as_ref());
    let variants = || study.variants.iter();
    let all: [Placed<'_, Option<usize>>; 24] = [
        (&["variant"], Some(study.variants.len())),
        (&["access-point", "clients"], Some(place.clients.len())),
        (&["access-point", "interface"], Some(place.interfaces.len())),
        (&["access-point", "process"], Some(place.processes.len())),
        (&["cell"], Some(entries.len())),
        (&["traffic"], Some(study.traffics.len())),
        (&["application"], Some(study.applications.len())),
        (&["published"], Some(study.published.len())),
        (&["application", "words"], study.applications.iter().map(|one| one.words.len()).max()),
        (&["cell", "variants"], entries.iter().map(|entry| entry.variants.len()).max()),
        (&["cell"], entries.iter().map(CellEntry::longest).max()),
        (&["subject", "others"], study.subject.as_ref().map(others)),
        (
            &["variant", "others"],
            variants().filter_map(|one| one.subject.as_ref()).map(others).max(),
        ),
        (&["variant", "against"], variants().map(|one| one.against.len()).max()),
        (&["variant", "changes"], variants().map(|one| one.changes.len()).max()),
        (&["profile", "clients"], Some(profile.clients.len())),
        (&["count", "function"], count.map(|count| count.functions.len())),
        (&["count", "clients"], count.map(|count| count.clients.len())),
        (&["count", "variants"], count.map(|count| count.variants.len())),
        (&["pause", "clients"], pause.map(|pause| pause.clients.len())),
        (&["pause", "variants"], pause.map(|pause| pause.variants.len())),
        (&["parity", "variants"], study.parity.as_ref().map(|parity| parity.variants.len())),
        (&["gates", "variants"], gates.map(|gates| gates.variants.len())),
        (&["gates", "limits"], gates.map(|gates| gates.limits.len())),
    ];
    at_most(ENTRIES, " entries", &all.map(|(path, length)| (path, length.unwrap_or(0))), lines)
}

/// What a study comes to: its samples, its trials, their time and their words. Its numbers are right
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
    let all = if study.entries.is_empty() { place.clients.len() as u64 } else { 0 };
    let some = |clients: &[u32]| (clients.len() as u64).max(1);
    let [warm_up, window] = [trial.warm_up, trial.window].map(Span::as_nanos);
    let mut total = Total::default();
    let mut add = |repetitions: u32, clients: u64, window: u64| {
        let trials = variants.saturating_mul(clients).saturating_mul(repetitions.into());
        total.add(trials, warm_up.saturating_add(window), each);
    };
    add(trial.repetitions, all, window);
    let profiled = if study.has_subject() { study.profile.repetitions } else { 0 };
    let outside_of_cells = if study.is_of_clients() { profiled } else { 0 };
    add(outside_of_cells, some(&study.profile.clients), window);
    study.count.iter().for_each(|count| add(count.repetitions, some(&count.clients), window));
    study.pause.iter().for_each(|pause| add(pause.repetitions, some(&pause.clients), pause_ns));
    let policy =
        |control: &Control| if let Control::Guard(policy) = control { policy.len() } else { 0 };
    let policies = study.variants.iter().map(|variant| policy(&variant.control)).max().unwrap_or(0);
    let words = study
        .applications
        .iter()
        .map(|one| one.words.iter().map(String::len).sum::<usize>() + one.stressor.len());
    let words = (policies + words.max().unwrap_or(0)) as u64;
    for cell in study.cells().iter().filter(|_| !study.entries.is_empty()) {
        let task = cell.card.and_then(|card| card.task).map_or(0, Span::as_nanos);
        // The baseline at both ends, the application alone and no control, or a trial that is made again.
        let each = study.variants_of(cell).count() as u64 + 4;
        let modelled = if cell.cases { each } else { 0 };
        let made = u64::from(trial.repetitions) + u64::from(profiled);
        let trials = each.saturating_mul(made).saturating_add(modelled);
        total.add(trials, warm_up.saturating_add(window.max(task)), words);
    }
    total
}

/// Bytes of the command lines that a trial of a variant keeps: a load's once for each interface.
fn commands(study: &Study, variant: &Variant) -> u64 {
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

#[cfg(test)]
mod tests;
