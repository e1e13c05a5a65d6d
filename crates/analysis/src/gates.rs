//! Limits that a run must keep, each with the sentence that says why it did or did not.
//!
//! Comes last: it reads what the rest of the analysis found, profiles included. It decides by intervals, so
//! there are three ends: a limit is kept where the whole interval keeps it, broken where the whole interval
//! breaks it, and else it was not measured closely enough. A trial that a gate needs and that is missing, or
//! is not valid, makes the gate invalid: fewer trials are another experiment.

pub(crate) mod baseline;
mod census;
mod limits;
mod machine;
mod memory;
mod parity;
mod rising;
mod unknown;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use model::{
    baseline::Baseline,
    limit::Side,
    run::Run,
    study::Variant,
    trial::{Outcome, Purpose, Recording, Trial, TrialId},
    verdict::Verdict,
};

pub use self::baseline::of as baseline_of;
use crate::{
    Analysis,
    figures::TrialFigures,
    quantity::{self, count},
    stats::{Estimate, Interval},
    verdicts::Gate,
};

/// Baselines by their files' names as limits write them, or why one cannot be used.
pub type Baselines = BTreeMap<String, Result<Baseline, String>>;

/// Judges every gate of the run's study and puts them into the analysis, in place of those that are there.
///
/// To be called when the analysis holds everything else.
pub fn judge(analysis: &mut Analysis, run: &Run, trials: &[Trial], baselines: &Baselines) {
    let gates = all(&Evidence::of(analysis, run, trials), baselines);
    analysis.gates = gates;
}

fn all(evidence: &Evidence, baselines: &Baselines) -> Vec<Gate> {
    let Some(asked) = &evidence.run.study.gates else { return Vec::new() };
    let mut gates = Vec::new();
    if asked.monotonic {
        gates.push(rising::gate(evidence));
    }
    if let Some(budget) = asked.unknown_frames {
        gates.push(unknown::gate(evidence, budget));
    }
    if asked.clients_agree {
        gates.push(census::gate(evidence));
    }
    if asked.machine {
        gates.push(machine::gate(evidence));
    }
    if let Some(most) = asked.memory_per_client_kib {
        gates.push(memory::per_client(evidence, most));
    }
    if let Some(most) = asked.memory_growth_kib {
        gates.push(memory::growth(evidence, most));
    }
    if asked.parity {
        gates.push(parity::gate(evidence));
    }
    gates.extend(asked.limits.iter().map(|text| limits::gate(evidence, text, baselines)));
    gates
}

/// All that a gate may look at.
struct Evidence<'a> {
    run: &'a Run,
    analysis: &'a Analysis,
    trials: BTreeMap<&'a TrialId, &'a Trial>,
    invalid: BTreeMap<&'a TrialId, &'a str>,
}

impl<'a> Evidence<'a> {
    fn of(analysis: &'a Analysis, run: &'a Run, trials: &'a [Trial]) -> Self {
        Self {
            run,
            analysis,
            trials: trials.iter().map(|trial| (&trial.planned.id, trial)).collect(),
            invalid: analysis.invalid.iter().map(|one| (&one.id, one.why.as_str())).collect(),
        }
    }

    /// The variants that are judged.
    fn variants(&self) -> Vec<&'a Variant> {
        let named = self.run.study.gates.as_ref().map_or(&[][..], |gates| &gates.variants);
        let all = self.run.study.variants.iter();
        all.filter(|variant| variant.is_meant(named)).collect()
    }

    /// Variants in which something is made to work.
    fn working(&self) -> impl Iterator<Item = &'a Variant> {
        self.variants().into_iter().filter(|variant| self.works(variant))
    }

    fn works(&self, variant: &Variant) -> bool {
        let study = &self.run.study;
        study.load_of(variant).is_some() || study.subject_of(variant).start.is_some()
    }

    /// The planned trials of one purpose and variant.
    fn planned(&self, purpose: Purpose, variant: &str) -> Vec<&'a TrialId> {
        let ids = self.run.plan.iter().map(|planned| &planned.id);
        ids.filter(|id| id.purpose == purpose && id.variant == variant).collect()
    }

    /// The client counts of these trials, rising, each once.
    fn counts(ids: &[&TrialId]) -> BTreeSet<u32> {
        ids.iter().map(|id| id.clients).collect()
    }

    /// Why not all of these trials are valid, if that is so.
    fn fault(&self, ids: &[&TrialId]) -> Option<String> {
        ids.iter().find_map(|id| match (self.invalid.get(*id), self.trials.get(*id)) {
            (Some(why), _) => Some(format!("`{id}` is not valid: {why}")),
            (None, None) => Some(format!("`{id}` is missing")),
            (None, Some(_)) => None,
        })
    }

    /// What a trial recorded, valid or not; `None` where it is missing or could not measure.
    fn recording(&self, id: &TrialId) -> Option<&'a Recording> {
        match &self.trials.get(id)?.outcome {
            Outcome::Measured(recording) => Some(recording),
            Outcome::Invalid { .. } => None,
        }
    }

    /// A figure of every valid CPU trial of a cell.
    fn values<T>(&self, cell: CellId<'_>, of: impl Fn(&TrialFigures) -> Option<T>) -> Vec<T> {
        let trials = self.analysis.trials.iter();
        let here = trials.filter(|trial| cell.is(&trial.id.variant, trial.id.clients));
        here.filter_map(of).collect()
    }
}

/// One variant at one client count; written as ``\`name\` at 5 clients``.
#[derive(Clone, Copy)]
struct CellId<'a> {
    variant: &'a str,
    clients: u32,
}

impl CellId<'_> {
    fn is(&self, variant: &str, clients: u32) -> bool {
        self.variant == variant && self.clients == clients
    }
}

impl fmt::Display for CellId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` at {}", self.variant, count(self.clients, "client"))
    }
}

/// One thing that a gate looked at.
#[derive(Clone, Debug)]
struct Part {
    verdict: Verdict,
    /// A sentence without its point.
    sentence: String,
    /// The figure over its limit: where several pass, the one that is nearest is reported.
    used: f64,
}

impl Part {
    fn pass(sentence: String) -> Self {
        Self { verdict: Verdict::Pass, sentence, used: 0.0 }
    }

    fn fail(sentence: String) -> Self {
        Self { verdict: Verdict::Fail, sentence, used: 0.0 }
    }

    fn invalid(sentence: String) -> Self {
        Self { verdict: Verdict::Invalid, sentence, used: 0.0 }
    }

    /// There was nothing that could have kept or broken the limit.
    fn measured(sentence: String) -> Self {
        Self { verdict: Verdict::Measured, sentence, used: 0.0 }
    }
}

/// A gate out of all that it looked at. `what` names the parts, as `variant`.
fn together(name: &str, what: &str, parts: Vec<Part>) -> Gate {
    let verdict = Verdict::of_all(parts.iter().map(|part| part.verdict));
    let like: Vec<&Part> = parts.iter().filter(|part| part.verdict == verdict).collect();
    let named = match verdict {
        Verdict::Pass => like.iter().max_by(|a, b| a.used.total_cmp(&b.used)),
        Verdict::Measured | Verdict::Fail | Verdict::Invalid => like.first(),
    };
    let Some(named) = named else {
        return nothing(name, "there is nothing that it could be asked of");
    };
    let more = like.len().saturating_sub(1) as u32;
    let rest = match verdict {
        _ if more == 0 => String::new(),
        Verdict::Pass => format!("; the nearest to it of {}", count(more + 1, what)),
        Verdict::Fail => format!("; and {} more like this", count(more, what)),
        Verdict::Invalid => format!("; and {} more cannot be judged", count(more, what)),
        Verdict::Measured => format!("; and {} more like this", count(more, what)),
    };
    let sentence = format!("{}{rest}.", capitalised(&named.sentence));
    Gate { name: name.to_owned(), verdict, sentence }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A gate that cannot be judged.
fn nothing(name: &str, why: &str) -> Gate {
    Gate {
        name: name.to_owned(),
        verdict: Verdict::Invalid,
        sentence: format!("Not judged: {why}."),
    }
}

/// On which side of a value a figure has to be.
#[derive(Clone, Copy)]
struct Bound {
    side: Side,
    value: f64,
}

impl Bound {
    fn at_most(value: f64) -> Self {
        Self { side: Side::AtMost, value }
    }

    /// Judges an estimate by its interval. `words` says what it is and how large; `limit` is the value in words.
    fn decide(&self, estimate: &Estimate, words: &str, limit: &str) -> Part {
        let Some(Interval { low, high }) = estimate.interval else {
            return Part::invalid(format!("{words}, but one repetition has no interval"));
        };
        let (is_kept, is_broken, used, side) = match self.side {
            Side::AtMost => (high <= self.value, low > self.value, high / self.value, "at most"),
            Side::AtLeast => (low >= self.value, high < self.value, self.value / low, "at least"),
        };
        let judged = format!("{words}; {side} {limit} is allowed");
        let part = match (is_kept, is_broken) {
            (true, _) => Part::pass(judged),
            (_, true) => Part::fail(judged),
            _ => Part::invalid(format!(
                "{judged}, and that lies within the interval: more repetitions would tell"
            )),
        };
        Part { used: if used.is_finite() { used } else { 0.0 }, ..part }
    }
}

/// CPU in the unit that fits, with its interval, and as a share of a core.
fn cpu_words(estimate: &Estimate) -> String {
    let unit = quantity::cpu_unit(estimate.mean);
    format!(
        "{} of CPU a second, {} % of a core",
        unit.with_interval(estimate),
        quantity::percent_of_core(estimate)
    )
}

#[cfg(test)]
mod tests;
