//! Limits that a run must keep, each with the sentence that says why it did or did not.
//!
//! Comes last: it reads what the rest of the analysis found, profiles included. Limits on figures are decided by
//! [`crate::metrics`] on the run's [`table`], as those of every kind are. What is left here is no limit on one figure:
//! a trend over client counts, whether all count the same clients, whether the machine is fit to measure on, and whether
//! variants answer alike. A trial that a gate needs and that is missing, or is not valid, makes the gate invalid: fewer
//! trials are another experiment.

mod census;
mod machine;
mod memory;
mod parity;
mod rising;
mod table;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use model::{
    limit::{self, Asked, Limit},
    reading::Reading,
    run::Run,
    study::Variant,
    trial::{Purpose, Trial, TrialId},
    verdict::Verdict,
};

use crate::{
    Analysis,
    figures::TrialFigures,
    metrics::{
        self, Asks, Metric,
        baseline::{Baselines, Earlier},
    },
    quantity::count,
    verdicts::{Conclusion, Gate},
    witness,
};

/// The figures of a run, for limits.
pub(crate) fn table(analysis: &Analysis, run: &Run, trials: &[Trial]) -> Vec<Metric> {
    table::of(&Evidence::of(analysis, run, trials))
}

/// Judges every gate of the run's study and puts them into the analysis with the table that they read, in place of those
/// that are there.
///
/// To be called when the analysis holds everything else.
pub fn judge(analysis: &mut Analysis, run: &Run, trials: &[Trial], baselines: &Baselines) {
    let evidence = Evidence::of(analysis, run, trials);
    let table = table::of(&evidence);
    let gates = all(&evidence, &table, baselines);
    (analysis.table, analysis.gates) = (table, gates);
}

fn all(evidence: &Evidence, table: &[Metric], baselines: &Baselines) -> Vec<Gate> {
    let Some(asked) = &evidence.run.study.gates else { return Vec::new() };
    let limits = Limits {
        evidence,
        table,
        earlier: Earlier::of(&evidence.run.study, &evidence.run.lab, baselines),
    };
    let kib = |figure: &str, most: f64| limits.named(figure, &format!("{figure} <= {most}KiB"));
    let mut gates = Vec::new();
    if asked.monotonic {
        gates.push(rising::gate(evidence));
    }
    if let Some(budget) = asked.unknown_frames {
        gates.push(limits.named("unknown-frames", &format!("unknown-frames <= {budget}")));
    }
    if asked.clients_agree {
        gates.push(census::gate(evidence));
    }
    if asked.machine {
        gates.push(machine::gate(evidence));
    }
    gates.extend(asked.memory_per_client_kib.map(|most| kib("memory-per-client", most)));
    gates.extend(asked.memory_growth_kib.map(|most| kib("memory-growth", most)));
    if asked.parity {
        gates.push(parity::gate(evidence));
    }
    if asked.witness {
        gates.push(replies(evidence));
    }
    gates.extend(asked.limits.iter().map(|text| limits.gate(text)));
    gates
}

/// Whether the replies that the load is given inside the measured windows are what the kernel says, and none is too old.
fn replies(evidence: &Evidence) -> Gate {
    let name = "witness";
    let planned =
        evidence.working().flat_map(|variant| evidence.planned(Purpose::Cpu, &variant.name));
    let ids: Vec<_> = planned.filter(|id| id.clients > 0).collect();
    let trials: Vec<_> = ids.iter().filter_map(|id| evidence.trials.get(*id).copied()).collect();
    let Some(found) = witness::of_trials(&trials) else {
        return nothing(name, "no round of any trial was checked");
    };
    // A reply that is not true fails, whatever else is missing.
    let fault = evidence.fault(&ids).filter(|_| found.verdict != Verdict::Fail);
    let Conclusion { verdict, sentence } = fault.map_or(found, Conclusion::invalid);
    gate_of(name, verdict, format!("{}.", capitalised(&sentence)))
}

/// Limits on figures, decided on the table.
struct Limits<'a> {
    evidence: &'a Evidence<'a>,
    table: &'a [Metric],
    earlier: Earlier<'a>,
}

impl Limits<'_> {
    fn gate(&self, text: &str) -> Gate {
        let rows: Vec<Metric> = match limit::parse(text) {
            Ok(limit) => self.table.iter().filter(|row| self.means(&limit, row)).cloned().collect(),
            Err(_) => Vec::new(),
        };
        let known = self.evidence.run.study.known();
        let is_asked = |limit: &Limit| !self.evidence.run.is_part() || self.is_of(limit);
        let asks = Asks { known: &known, is_asked: &is_asked };
        let target = metrics::target(text, asks, &rows, &self.earlier);
        gate_of(&target.name, target.verdict, capitalised(&target.sentence()))
    }

    /// Whether a limit is on something that is left of a study, of which the command line chose a part.
    fn is_of(&self, limit: &Limit) -> bool {
        let run = self.evidence.run;
        let gives_it = |id: &TrialId| {
            id.purpose == limit.asked.purpose()
                && limit.at.variant.as_ref().is_none_or(|variant| id.variant == **variant)
                && limit.at.clients.is_none_or(|clients| id.clients == clients)
        };
        let is_there = run.plan.iter().any(|planned| gives_it(&planned.id));
        is_there
            && !matches!(run.study.access_point.clients[..], [one] if !limit.is_answered_at(one))
    }

    /// The limit of a key of `[gates]`, by the key's name.
    fn named(&self, name: &str, text: &str) -> Gate {
        Gate { name: name.to_owned(), ..self.gate(text) }
    }

    /// A limit that names a variant means it, whichever others are judged. Of an idle variant's CPU no one asks for a
    /// share of a hundredth, unless they name it.
    fn means(&self, limit: &Limit, row: &Metric) -> bool {
        let is = |variant: &&Variant| variant.name == row.variant;
        let Some(variant) = self.evidence.variants().into_iter().find(is) else {
            return limit.at.variant.is_some();
        };
        let only_working =
            limit.at.variant.is_none() && matches!(limit.asked, Asked::NoSlower { .. });
        !only_working || self.evidence.works(variant)
    }
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

    /// The planned trials of one purpose and variant, in the state as the study has it.
    fn planned(&self, purpose: Purpose, variant: &str) -> Vec<&'a TrialId> {
        let ids = self.run.plan.iter().map(|planned| &planned.id);
        ids.filter(|id| id.perturbed.is_none())
            .filter(|id| id.purpose == purpose && id.variant == variant)
            .collect()
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

    /// What a trial recorded, valid or not, or why it recorded nothing.
    fn recording(&self, id: &TrialId) -> Result<&'a Reading, Conclusion> {
        let reading = self.trials.get(id).and_then(|trial| trial.reading());
        let why = || self.fault(&[id]).unwrap_or_else(|| format!("`{id}` recorded nothing"));
        reading.ok_or_else(|| Conclusion::invalid(why()))
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

/// A gate out of all that it looked at: what passes as a sentence without its point, and what does not. `what` names the
/// parts, as `variant`.
fn together(name: &str, what: &str, parts: Vec<Result<String, Conclusion>>) -> Gate {
    let parts = parts.into_iter().map(|part| match part {
        Ok(sentence) => Conclusion { verdict: Verdict::Pass, sentence },
        Err(part) => part,
    });
    let parts: Vec<Conclusion> = parts.collect();
    let verdict = Verdict::of_all(parts.iter().map(|part| part.verdict));
    let mut like = parts.iter().filter(|part| part.verdict == verdict);
    let all = like.clone().count();
    let named = if verdict == Verdict::Pass { like.next_back() } else { like.next() };
    let Some(named) = named else {
        return nothing(name, "the run has no trial for it");
    };
    let more = count(all - 1, what);
    let rest = match verdict {
        _ if all == 1 => String::new(),
        Verdict::Pass => format!("; the nearest to it of {}", count(all, what)),
        Verdict::Invalid => format!("; and {more} more cannot be judged"),
        Verdict::Fail | Verdict::Measured => format!("; and {more} more like this"),
    };
    gate_of(name, verdict, format!("{}{rest}.", capitalised(&named.sentence)))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn gate_of(name: &str, verdict: Verdict, sentence: String) -> Gate {
    Gate { name: name.to_owned(), verdict, sentence }
}

fn nothing(name: &str, why: &str) -> Gate {
    gate_of(name, Verdict::Invalid, format!("Not judged: {why}."))
}

#[cfg(test)]
mod tests;
