//! The most that a study may ask for: numbers, lists, and the plan that they make together.
//!
//! A plan is made whole before its first trial, so what would not fit into memory or into a month is refused where
//! the study is read. The limits are far above any study that ends, and `docs/design/study-files.md` has them all.
//! Pure.

use std::fmt;

use model::{
    plural::count,
    span::Span,
    study::{Study, Variant},
    traffic::Control,
};
use serde_json::Value;

use super::{Checked, lines::ensure};

const REPETITIONS: u32 = 1_000;

/// Entries of any list in a study: variants, client counts, cells, functions.
const ENTRIES: usize = 256;

const WINDOW: Span = Span::from_secs(24 * 3600);

/// Samples of one trial: a day of seconds, and some.
const SAMPLES: u64 = 100_000;

const TRIALS: u64 = 10_000;

/// Warm-ups and windows of a whole plan.
const PLANNED: Span = Span::from_secs(30 * 24 * 3600);

/// Bytes of the command lines of a whole plan: each trial keeps its own.
const COMMANDS: u64 = 2 << 20;

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

    fn check(self) -> Checked {
        let Self { trials, planned_ns, commands } = self;
        let at = "trial.repetitions";
        ensure!(
            trials <= TRIALS,
            at,
            "the plan has {}; a study has at most {TRIALS}: fewer repetitions, variants or counts",
            count(trials, "trial")
        );
        const HOUR: u64 = 3_600_000_000_000;
        ensure!(
            planned_ns <= PLANNED.as_nanos(),
            at,
            "the plan's windows and warm-ups take {} h; a study takes at most {} h",
            planned_ns / HOUR,
            PLANNED.as_nanos() / HOUR
        );
        ensure!(
            commands <= COMMANDS,
            at,
            "the command lines of all trials have {commands} bytes; a plan has at most {COMMANDS}: write a script, or fewer trials"
        );
        Ok(())
    }
}

/// Refuses the first number that is above the most that it may be; each comes with its path.
fn at_most<T: PartialOrd + fmt::Display>(most: T, unit: &str, all: &[(&str, T)]) -> Checked {
    for (path, value) in all {
        let key = path.rsplit('.').next().unwrap_or_default();
        ensure!(*value <= most, *path, "`{key}`: {value}{unit}; a study has at most {most}");
    }
    Ok(())
}

/// What a study may hold, before anything is made of it.
pub(super) fn numbers(study: &Study) -> Checked {
    lists(study)?;
    let place_counts = study.access_point.clients.len() as u64;
    // A product of lists is counted before it is made.
    let cells =
        study.entries.iter().map(|entry| entry.size(place_counts)).fold(0, u64::saturating_add);
    ensure!(
        cells <= ENTRIES as u64,
        "cell",
        "`cell`: {}; a study has at most {ENTRIES}",
        count(cells, "cell")
    );
    let (trial, compare) = (&study.trial, &study.compare);
    let (counted, paused) = (study.count.as_ref(), study.pause.as_ref());
    at_most(
        REPETITIONS,
        "",
        &[
            ("trial.repetitions", trial.repetitions),
            ("trial.sweep", trial.sweep.unwrap_or_default()),
            ("profile.repetitions", study.profile.repetitions),
            ("compare.pairs", compare.pairs.unwrap_or_default()),
            ("compare.up-to", compare.up_to),
            ("count.repetitions", counted.map_or(0, |count| count.repetitions)),
            ("pause.repetitions", paused.map_or(0, |pause| pause.repetitions)),
        ],
    )?;
    let loads = study.variants.iter().filter_map(|variant| study.load_of(variant));
    at_most(
        WINDOW,
        "",
        &[
            ("trial.window", trial.window),
            ("trial.warm-up", trial.warm_up),
            ("trial.sample-every", trial.sample_every),
            ("pause.span", paused.map_or_else(Span::default, |pause| pause.span)),
            ("pause.settle", paused.map_or_else(Span::default, |pause| pause.settle)),
            ("load.every", loads.map(|load| load.every).max().unwrap_or_default()),
        ],
    )
}

/// Refuses a list anywhere in a study that has more entries than any may have.
fn lists(study: &Study) -> Checked {
    longest(&serde_json::to_value(study).unwrap_or_default(), "")
}

fn longest(value: &Value, path: &str) -> Checked {
    let within =
        |step: &str| if path.is_empty() { step.to_owned() } else { format!("{path}.{step}") };
    match value {
        Value::Object(table) => {
            table.iter().try_for_each(|(key, value)| longest(value, &within(key)))
        }
        Value::Array(list) => {
            at_most(ENTRIES, " entries", &[(path, list.len())])?;
            let mut entries = list.iter().enumerate();
            entries.try_for_each(|(at, value)| longest(value, &within(&at.to_string())))
        }
        _ => Ok(()),
    }
}

/// What a study comes to: its samples, its trials, their time and their words. Its numbers are right
/// already.
pub(super) fn plan(study: &Study) -> Checked {
    let every = study.trial.sample_every;
    let pause_ns = study.pause.as_ref().map_or(0, |pause| pause.span.as_nanos().saturating_mul(5));
    for (path, window) in
        [("trial.window", study.trial.window.as_nanos()), ("pause.span", pause_ns)]
    {
        let samples = window / every.as_nanos().max(1);
        ensure!(
            samples <= SAMPLES,
            path,
            "`{}`: {} of {every} in a trial; a study has at most {SAMPLES}",
            path.rsplit('.').next().unwrap_or_default(),
            count(samples, "sample")
        );
    }
    total(study, pause_ns).check()
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
    let counted = study.count.as_ref().map_or(0, |count| count.repetitions);
    if study.is_of_clients() {
        add(profiled, some(&study.profile.clients), window);
        study.count.iter().for_each(|count| add(counted, some(&count.clients), window));
    }
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
        let made = [trial.repetitions, profiled, counted].map(u64::from).iter().sum::<u64>();
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
