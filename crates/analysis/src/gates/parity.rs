//! Does every variant still do its job: hold its clients, give values that others confirm, forget who left?

use std::collections::BTreeSet;

use model::{
    parity::{Count, Left, Parity},
    plural::count,
    study::{ParityShape, Variant},
    trial::{Purpose, TrialId},
    verdict::Verdict,
};

use super::{Evidence, census, nothing, together};
use crate::{
    agreement::{self, Agreement},
    census as clients,
    verdicts::{Conclusion, Gate},
};

const NAME: &str = "parity";

pub(super) fn gate(evidence: &Evidence) -> Gate {
    let Some(shape) = &evidence.run.study.parity else {
        return nothing(NAME, "the study has no [parity]");
    };
    let is_asked = |variant: &&Variant| variant.is_meant(&shape.variants);
    let variants: Vec<&Variant> = evidence.run.study.variants.iter().filter(is_asked).collect();
    let (mut parts, mut agreements) = (Vec::new(), Vec::new());
    for variant in &variants {
        let ids = evidence.planned(Purpose::Parity, &variant.name);
        if ids.is_empty() {
            let why = format!("`{}` has no parity trial", variant.name);
            parts.push(Err(Conclusion::invalid(why)));
        }
        let trial = |id| trial(evidence, id, &shape.of(variant), &mut agreements);
        parts.extend(ids.into_iter().map(trial));
    }
    let mut gate = together(NAME, "trial", parts);
    if gate.verdict == Verdict::Pass {
        let leave = if shape.leave { ", and counts one less after one has left" } else { "" };
        let each = count(variants.len(), "variant");
        let confirmed = confirmed(&agreements);
        gate.sentence = format!("Each of {each} holds its clients{leave}.{confirmed}");
    }
    gate
}

/// How many values of how many clients are confirmed in each trial, and which keys nobody confirms.
fn confirmed(agreements: &[Agreement]) -> String {
    let Some(least) = agreements.iter().min_by_key(|one| one.values) else { return String::new() };
    let all = |keys: fn(&Agreement) -> &BTreeSet<String>| {
        agreements.iter().flat_map(keys).cloned().collect::<BTreeSet<String>>()
    };
    let keys = |keys: &BTreeSet<String>, verbs: [&str; 2]| match keys.len() {
        1 => format!("1 key {}", verbs[0]),
        number => format!("{number} keys {}", verbs[1]),
    };
    let reported = all(|one| &one.confirmed);
    let alone = &all(|one| &one.alone) - &reported;
    let unreported = &(&all(|one| &one.unreported) - &reported) - &alone;
    let mut sentence = format!(
        " {}{} of {} in {} agree with nl80211 and hostapd",
        if agreements.iter().any(|one| one.values != least.values) { "At least " } else { "" },
        count(least.values, "value"),
        count(least.clients.len(), "client"),
        count(reported.len(), "key"),
    );
    if !alone.is_empty() {
        let names: Vec<&str> = alone.iter().map(String::as_str).collect();
        let have = keys(&alone, ["has", "have"]);
        sentence += &format!("; {have} no second source: {}", names.join(", "));
    }
    if !unreported.is_empty() {
        sentence += &format!("; {} not reported here", keys(&unreported, ["is", "are"]));
    }
    sentence + "."
}

fn trial(
    evidence: &Evidence,
    id: &TrialId,
    shape: &ParityShape,
    agreements: &mut Vec<Agreement>,
) -> Result<String, Conclusion> {
    evidence.fault(&[id]).map_or(Ok(()), |why| Err(Conclusion::invalid(why)))?;
    let parity = evidence.recording(id)?.parity.as_deref();
    let parity = parity.ok_or_else(|| Conclusion::invalid(format!("`{id}` asked nothing")))?;
    let held = counts(&parity.before, id.clients, shape);
    held.and_then(|()| values(parity, id.clients, shape, agreements))
        .and_then(|()| left(parity.left.as_ref(), id.clients, shape))
        .map_err(|part| part.after(&format!("`{id}`: ")))?;
    Ok(String::new())
}

fn counts(count: &Count, clients: u32, shape: &ParityShape) -> Result<(), Conclusion> {
    clients::agrees(&count.census, clients, true)?;
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
) -> Result<(), Conclusion> {
    if shape.values.is_empty() {
        return Ok(());
    }
    if shape.traffic && parity.frames.is_none_or(|frames| frames < u64::from(clients)) {
        let why = "no frames came from and to every client before the values were read";
        return Err(Conclusion::invalid(why));
    }
    let agreement = agreement::of(&parity.readings)?;
    let reported = agreement.clients.len() as u32;
    if reported != clients {
        let reported = count(reported, "client");
        let why = format!("values of {reported} were reported, {clients} were expected");
        return Err(Conclusion::fail(why));
    }
    agreements.push(agreement);
    Ok(())
}

/// Whether everybody counts one less once one has left.
fn left(left: Option<&Left>, clients: u32, shape: &ParityShape) -> Result<(), Conclusion> {
    if !shape.leave {
        return Ok(());
    }
    let left = left.ok_or_else(|| Conclusion::invalid("no client was sent away"))?;
    let after = format!("after {} had left {}, ", left.address, left.interface);
    counts(&left.after, clients.saturating_sub(1), shape).map_err(|part| part.after(&after))
}
