//! Limits that a run must keep, each with the sentence that says why it did or did not.
//!
//! Comes last: it reads what the rest of the analysis found, profiles included. It decides by intervals, so
//! there are three ends: a limit is kept where the whole interval keeps it, broken where the whole interval
//! breaks it, and else it was not measured closely enough. A trial that a gate needs and that is missing, or
//! is not valid, makes the gate invalid: fewer trials are another experiment.

mod baseline;
mod census;
mod limits;
mod machine;
mod memory;
mod parity;
mod rising;
mod unknown;

use std::collections::{BTreeMap, BTreeSet};

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
    fn values<T>(&self, cell: (&str, u32), of: impl Fn(&TrialFigures) -> Option<T>) -> Vec<T> {
        let (variant, clients) = cell;
        let trials = self.analysis.trials.iter();
        let here =
            trials.filter(|trial| trial.id.variant == variant && trial.id.clients == clients);
        here.filter_map(of).collect()
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
    let told = match verdict {
        Verdict::Pass => like.iter().max_by(|a, b| a.used.total_cmp(&b.used)),
        Verdict::Measured | Verdict::Fail | Verdict::Invalid => like.first(),
    };
    let Some(told) = told else {
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
    let sentence = format!("{}{rest}.", capitalised(&told.sentence));
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

/// Judges an estimate by its interval. `words` says what it is and how large; `limit` is the limit's words.
fn decide(estimate: &Estimate, (side, limit): (Side, f64), words: &str, limit_words: &str) -> Part {
    let Some(Interval { low, high }) = estimate.interval else {
        return Part::invalid(format!("{words}, but one repetition has no interval"));
    };
    let (kept, broken, used) = match side {
        Side::AtMost => (high <= limit, low > limit, high / limit),
        Side::AtLeast => (low >= limit, high < limit, limit / low),
    };
    let bound = match side {
        Side::AtMost => "at most",
        Side::AtLeast => "at least",
    };
    let allowed = format!("{bound} {limit_words} is allowed");
    let part = match (kept, broken) {
        (true, _) => Part::pass(format!("{words}; {allowed}")),
        (_, true) => Part::fail(format!("{words}; {allowed}")),
        _ => Part::invalid(format!(
            "{words}; {allowed}, and that lies within the interval: more repetitions would tell"
        )),
    };
    Part { used: if used.is_finite() { used } else { 0.0 }, ..part }
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
