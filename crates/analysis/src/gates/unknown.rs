//! Are the stacks of every profile explained, within the budget?

use model::plural::count;
use model::{share::Share, trial::Purpose, verdict::Verdict};

use super::{Evidence, Part, nothing, together};
use crate::{profiles::ProfileFigures, quantity, verdicts::Gate};

const NAME: &str = "unknown-frames";

pub(super) fn gate(evidence: &Evidence, budget: Share) -> Gate {
    let parts = parts(evidence, None, budget);
    if parts.is_empty() {
        return nothing(NAME, "the run has no trials for stacks");
    }
    let idle: Vec<String> = parts
        .iter()
        .filter(|part| part.verdict == Verdict::Measured)
        .map(|part| part.sentence.clone())
        .collect();
    let mut gate = together(NAME, "profile", parts);
    if gate.verdict != Verdict::Measured {
        idle.iter().for_each(|idle| gate.sentence.push_str(&format!(" Not judged: {idle}.")));
    }
    gate
}

/// Every profile that was planned, of one variant or of all.
pub(super) fn parts(evidence: &Evidence, only: Option<&str>, budget: Share) -> Vec<Part> {
    let mut parts = Vec::new();
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    // A limit that names a variant means it, whichever others are judged.
    let variants = match only {
        Some(_) => evidence.run.study.variants.iter().collect(),
        None => evidence.variants(),
    };
    for variant in variants.into_iter().filter(|variant| wanted(&variant.name)) {
        let ids = evidence.planned(Purpose::Stacks, &variant.name);
        for clients in Evidence::counts(&ids) {
            let cell: Vec<_> = ids.iter().copied().filter(|id| id.clients == clients).collect();
            let is_here =
                |one: &&ProfileFigures| one.variant == variant.name && one.clients == Some(clients);
            let profile = evidence.analysis.profiles.iter().find(is_here);
            parts.push(match (evidence.fault(&cell), profile) {
                (Some(fault), _) => Part::invalid(fault),
                (None, None) => Part::invalid(format!(
                    "there is no profile of `{}` at {clients}",
                    variant.name,
                    clients = count(clients, "client")
                )),
                (None, Some(profile)) => judged(profile, clients, budget),
            });
        }
    }
    parts
}

fn judged(profile: &ProfileFigures, clients: u32, budget: Share) -> Part {
    let (all, unknown) = (profile.unknown.samples, profile.unknown.unknown);
    let place = format!("`{}` at {clients}", profile.variant, clients = count(clients, "client"));
    if all == 0 {
        let why = format!("{place} used no CPU that a sample met, so there is nothing to explain");
        return Part::measured(why);
    }
    let share = unknown as f64 / all as f64;
    let words = format!(
        "{unknown} of {all} of {place} are not explained to their root, {}; at most {budget} is allowed",
        quantity::percent(share),
        all = count(all, "sample")
    );
    let part = if share <= budget.get() { Part::pass(words) } else { Part::fail(words) };
    Part { used: share, ..part }
}
