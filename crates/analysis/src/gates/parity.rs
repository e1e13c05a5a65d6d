//! Does every variant still do its job: hold its clients, give values that others confirm, forget who left?

use std::collections::BTreeSet;

use model::{
    parity::{Count, Left, Parity},
    plural,
    study::{ParityShape, Variant},
    trial::{Purpose, TrialId},
    verdict::Verdict,
};

use super::{Evidence, Part, census, nothing, together};
use crate::{
    agreement::{self, Agreement, Fault},
    quantity,
    verdicts::Gate,
};

const NAME: &str = "parity";

pub(super) fn gate(evidence: &Evidence) -> Gate {
    let Some(shape) = &evidence.run.study.parity else {
        return nothing(NAME, "the study has no [parity]");
    };
    let is_asked = |variant: &&Variant| variant.is_meant(&shape.variants);
    let variants: Vec<&Variant> = evidence.run.study.variants.iter().filter(is_asked).collect();
    let mut parts = Vec::new();
    let mut agreements = Vec::new();
    for variant in &variants {
        let ids = evidence.planned(Purpose::Parity, &variant.name);
        if ids.is_empty() {
            parts.push(Part::invalid(format!("`{}` has no parity trial", variant.name)));
        }
        for id in ids {
            parts.push(trial(evidence, id, &shape.of(variant), &mut agreements));
        }
    }
    let mut gate = together(NAME, "trial", parts);
    if gate.verdict == Verdict::Pass {
        gate.sentence = sentence(variants.len() as u32, shape, &agreements);
    }
    gate
}

fn sentence(variants: u32, shape: &ParityShape, agreements: &[Agreement]) -> String {
    let leave = if shape.leave { ", and counts one less after one has left" } else { "" };
    let each = quantity::count(variants, "variant");
    format!("Each of {each} holds its clients{leave}.{}", confirmed(agreements))
}

/// How many values of how many clients are confirmed in each trial, and which keys nobody confirms.
fn confirmed(agreements: &[Agreement]) -> String {
    let Some(least) = agreements.iter().min_by_key(|one| one.values) else { return String::new() };
    let all = |keys: fn(&Agreement) -> &BTreeSet<String>| {
        agreements.iter().flat_map(keys).cloned().collect::<BTreeSet<String>>()
    };
    let (reported, alone) = (all(|one| &one.confirmed), all(|one| &one.alone));
    let is_alone = |key: &&String| !reported.contains(*key);
    let alone: Vec<&str> = alone.iter().filter(is_alone).map(String::as_str).collect();
    let unreported = all(|one| &one.unreported);
    let unreported =
        unreported.iter().filter(|key| !reported.contains(*key) && !alone.contains(&key.as_str()));
    let keys = |number: usize| quantity::count(number as u32, "key");
    let second = match alone.as_slice() {
        [] => String::new(),
        [one] => format!("; 1 key has no second source: {one}"),
        some => format!("; {} have no second source: {}", keys(some.len()), some.join(", ")),
    };
    let unreported = match unreported.count() {
        0 => String::new(),
        1 => "; 1 key is not reported here".to_owned(),
        number => format!("; {} are not reported here", keys(number)),
    };
    format!(
        " {}{} of {} in {} agree with nl80211 and hostapd{second}{unreported}.",
        if agreements.iter().any(|one| one.values != least.values) { "At least " } else { "" },
        quantity::count(least.values as u32, "value"),
        quantity::count(least.clients.len() as u32, "client"),
        keys(reported.len()),
    )
}

fn trial(
    evidence: &Evidence,
    id: &TrialId,
    shape: &ParityShape,
    agreements: &mut Vec<Agreement>,
) -> Part {
    if let Some(fault) = evidence.fault(&[id]) {
        return Part::invalid(fault);
    }
    let Some(parity) = evidence.recording(id).and_then(|recording| recording.parity.as_deref())
    else {
        return Part::invalid(format!("`{id}` asked nothing"));
    };
    let held = counts(&parity.before, id.clients, shape);
    held.and_then(|()| values(parity, id.clients, shape, agreements))
        .and_then(|()| left(parity.left.as_ref(), id.clients, shape))
        .map_or_else(|part| part.after(&format!("`{id}`: ")), |()| Part::pass(String::new()))
}

fn counts(count: &Count, clients: u32, shape: &ParityShape) -> Result<(), Part> {
    census::agrees(&count.census, clients)?;
    if shape.clients.is_none() {
        return Ok(());
    }
    census::counts(count.subject.as_ref(), clients)
}

/// Whether nl80211 and hostapd confirm the values of all clients.
fn values(
    parity: &Parity,
    clients: u32,
    shape: &ParityShape,
    agreements: &mut Vec<Agreement>,
) -> Result<(), Part> {
    if shape.values.is_empty() {
        return Ok(());
    }
    if shape.traffic && parity.frames.is_none_or(|frames| frames < u64::from(clients)) {
        let why = "no frames came from and to every client before the values were read";
        return Err(Part::invalid(why.to_owned()));
    }
    let agreement = agreement::of(&parity.readings)
        .map_err(|Fault { verdict, why }| Part { verdict, ..Part::invalid(why) })?;
    let reported = agreement.clients.len() as u32;
    if reported != clients {
        let reported = plural::count(reported, "client");
        return Err(Part::fail(format!(
            "values of {reported} were reported, {clients} were expected"
        )));
    }
    agreements.push(agreement);
    Ok(())
}

/// Whether everybody counts one less once one has left.
fn left(left: Option<&Left>, clients: u32, shape: &ParityShape) -> Result<(), Part> {
    if !shape.leave {
        return Ok(());
    }
    let Some(left) = left else {
        return Err(Part::invalid("no client was sent away".to_owned()));
    };
    let after = format!("after {} had left {}, ", left.address, left.interface);
    counts(&left.after, clients.saturating_sub(1), shape).map_err(|part| part.after(&after))
}
