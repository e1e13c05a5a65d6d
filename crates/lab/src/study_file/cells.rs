//! The rules of a study's cells, and of variants that are made for them.

use std::{collections::BTreeSet, ops::RangeInclusive};

use model::{
    cell::{CardEntry, Cell, CellEntry, Role},
    nearest,
    span::Span,
    study::{Study, Target},
    trial::{BASELINES, NONE},
};

use super::{
    Fault,
    lines::{Checked, Lines},
    traffic,
};

/// An agent is silent from its order to its figures, and one that is silent for long counts as hung.
const LONGEST: Span = Span::from_secs(60);

/// Completion times that a trial of seconds can show.
const COMPLETES: RangeInclusive<u64> = 1_000..=100_000_000;

/// An Ethernet frame without its check sum: what `txd`'s frames need to prove themselves, and `ETH_FRAME_LEN` of the
/// kernel.
const BYTES: RangeInclusive<u32> = 66..=1514;

/// A word of 16 bits over the slowest bus that a card of this kind had: ISA with wait states, twice over.
const LONGEST_WORD: Span = Span::from_nanos(10_000);

/// No one offers more frames a second to a card of 11 Mb/s.
const MOST_RATE: u32 = 100_000;

/// A shorter task is all noise, a longer one is silence.
const TASK: RangeInclusive<u64> = 100_000_000..=60_000_000_000;

pub(super) fn check(study: &Study, lines: Lines<'_>) -> Result<(), Fault> {
    let traffics = study.traffics.iter().map(|one| (&*one.name, one));
    let window = study.trial.window;
    lines.each("traffic", traffics, |_, one| traffic::traffic(one, window))?;
    let applications = study.applications.iter().map(|one| (&*one.name, one));
    lines.each("application", applications, |_, one| traffic::application(one))?;
    for (at, variant) in study.variants.iter().enumerate() {
        let named = |(key, why)| (key, format!("variant `{}`: {why}", variant.name));
        let own =
            || ("name", format!("`{}` needs no entry: every cell has it already", variant.name));
        let checked = match BASELINES.contains(&variant.name.as_str()) && study.has_traffic() {
            true => Err(own()),
            false => traffic::control(&variant.control).map_err(named),
        };
        checked.or_else(|fault| lines.entry_fault("variant", at, fault))?;
    }
    for (at, entry) in study.entries.iter().enumerate() {
        cell(study, lines, at, entry).or_else(|fault| lines.entry_fault("cell", at, fault))?;
    }
    if let Some(name) = study.cells_of_one_name().first() {
        let why = format!("two cells are called `{name}`; give one of them a `name`");
        return lines.fault(&["cell"], why);
    }
    match study.is_of_clients() {
        true => Ok(()),
        false => {
            mixed(study).and_then(|()| shape(study)).or_else(|(path, why)| lines.fault(&path, why))
        }
    }
}

/// What is measured together must be shown together, and no page shows a card with traffic or a subject.
fn mixed(study: &Study) -> Result<(), (Vec<&'static str>, String)> {
    if study.has_cards() && study.has_subject() {
        let why = "a study whose cells have a card has no subject; leave one of them out";
        return Err((vec!["subject"], why.to_owned()));
    }
    let on_host = |cell: &Cell| cell.target == Target::Host;
    if let Some(cell) = study.cells().into_iter().find(on_host).filter(|_| study.has_subject()) {
        let why = format!(
            "cell `{}` is on this machine, and a subject is on an access point; leave one of them out",
            cell.name
        );
        return Err((vec!["subject"], why));
    }
    if study.has_traffic() && study.has_cards() {
        let why = "cells with traffic and cells with a card in one study; write two studies";
        return Err((vec!["cell"], why.to_owned()));
    }
    if let Some(plain) = study.cells().iter().find(|cell| !cell.has_parts()) {
        let why = format!(
            "cell `{}` without traffic, an application or a card; name at least one",
            plain.name
        );
        return Err((vec!["cell"], why));
    }
    if study.has_cards()
        && let Some(variant) = study.variants.iter().find(|variant| variant.strategy.is_none())
    {
        let why = format!(
            "variant `{}` has no strategy, and its cells have a card; write strategy = \"busy\"",
            variant.name
        );
        return Err((vec!["variant"], why));
    }
    Ok(())
}

fn shape(study: &Study) -> Result<(), (Vec<&'static str>, String)> {
    let shape = &study.trial;
    let whole = |span: Span| span.as_nanos().is_multiple_of(1_000_000_000);
    let wrong = |key, why| Err((vec!["trial", key], why));
    if study.has_traffic() && !whole(shape.window) {
        let why = format!("a window of {} is not a whole number of seconds", shape.window);
        return wrong("window", why);
    }
    for (key, span) in [("window", shape.window), ("warm-up", shape.warm_up)] {
        if span > LONGEST {
            return wrong(key, format!("{span} of one trial; write at most {LONGEST}"));
        }
    }
    if shape.sweep == Some(0) {
        let why = "the candidates of the best fixed control would never be tried; at least 1";
        return wrong("sweep", why.to_owned());
    }
    match shape.idle_gate.filter(|gate| gate.get() >= 1.0) {
        Some(gate) => wrong(
            "idle-gate",
            format!("no machine is ever idle for {gate}; write for instance 94%"),
        ),
        None => Ok(()),
    }
}

fn cell(study: &Study, lines: Lines<'_>, at: usize, entry: &CellEntry) -> Checked {
    if entry.on.iter().any(|target| matches!(target, Target::Device(_))) {
        return Err((
            "on",
            "a study file names no device; point `headroom run` at one with --on".to_owned(),
        ));
    }
    let is_host = |target: &Target| *target == Target::Host;
    let is_counted = entry.mode == Some(model::study::Mode::Counted);
    if entry.on.iter().any(is_host) && is_counted && lines.says("cell", at, "mode") {
        let why = "time on this machine is always real; leave `mode` out, or write on = \"vm\"";
        return Err(("mode", why.to_owned()));
    }
    let own = &study.access_point.clients;
    if let Some(clients) =
        entry.clients.iter().find(|clients| !lines.is_empty() && !own.contains(clients))
    {
        let why = format!("{clients} clients are not among the access point's, which are {own:?}");
        return Err(("clients", why));
    }
    let traffics: Vec<&str> = study.traffics.iter().map(|one| one.name.as_str()).collect();
    let applications: Vec<&str> = study.applications.iter().map(|one| one.name.as_str()).collect();
    entry.traffic.iter().try_for_each(|name| known("traffic", name, &traffics))?;
    entry.application.iter().try_for_each(|name| known("application", name, &applications))?;
    let variants: Vec<&str> = study.variants.iter().map(|one| one.name.as_str()).collect();
    let mut seen = BTreeSet::new();
    for name in &entry.variants {
        if *name != NONE {
            known("variant", name, &variants).map_err(|(_, why)| ("variants", why))?;
        }
        if !seen.insert(name) {
            return Err(("variants", format!("variant `{name}` stands there twice")));
        }
    }
    let is_both = !entry.traffic.is_empty() && !entry.application.is_empty();
    let is_one = entry.traffic.is_empty() != entry.application.is_empty();
    if entry.cases && !is_both {
        return Err(("cases", "the four cases need both, traffic and an application".to_owned()));
    }
    if is_one && entry.role != Role::NoHarm {
        let why =
            "only a negative control has traffic or an application alone; write role = \"no-harm\"";
        return Err(("role", why.to_owned()));
    }
    entry.card.as_ref().map_or(Ok(()), |one| card(&one.over(study.card.as_ref())))
}

fn known(what: &'static str, name: &str, all: &[&str]) -> Checked {
    if all.contains(&name) {
        return Ok(());
    }
    let meant = nearest::or_all(name, all, "there are:");
    Err((what, format!("no [[{what}]] is named `{name}`; {meant}")))
}

fn card(card: &CardEntry) -> Checked {
    let wrong = |why: String| Err(("card", why));
    if card.rate.is_empty() {
        return wrong("a card without a rate; write for instance rate = [440, 1000]".to_owned());
    }
    let mut seen = BTreeSet::new();
    for rate in card.rate.iter() {
        if *rate > MOST_RATE {
            return wrong(format!(
                "{rate} frames a second; write at most {MOST_RATE}, or 0 for as fast as the card takes them"
            ));
        }
        if !seen.insert(rate) {
            return wrong(format!("the rate {rate} stands there twice"));
        }
    }
    match card.bytes {
        None => {
            return wrong(
                "a card without `bytes` of a frame; write for instance bytes = 1500".to_owned(),
            );
        }
        Some(bytes) if !BYTES.contains(&bytes) => {
            let (least, most) = (BYTES.start(), BYTES.end());
            return wrong(format!("{bytes} bytes; an Ethernet frame has {least} to {most}"));
        }
        Some(_) => {}
    }
    if let Some(span) = card.completes_in.filter(|span| !COMPLETES.contains(&span.as_nanos())) {
        let [least, most] = [COMPLETES.start(), COMPLETES.end()].map(|at| Span::from_nanos(*at));
        return wrong(format!("a command that completes in {span}; write {least} to {most}"));
    }
    if let Some(word) = card.bus_word.filter(|word| *word > LONGEST_WORD) {
        return wrong(format!("a bus word of {word} for 16 bits; write at most {LONGEST_WORD}"));
    }
    if let Some(task) = card.task.filter(|task| !TASK.contains(&task.as_nanos())) {
        let [least, most] = [TASK.start(), TASK.end()].map(|at| Span::from_nanos(*at));
        return wrong(format!("a task of {task}; write {least} to {most}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
