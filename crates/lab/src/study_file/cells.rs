//! The rules of a study's cells, and of variants that are made for them.

use std::{collections::BTreeSet, ops::RangeInclusive};

use model::{
    cell::{CardEntry, Cell, CellEntry, Role},
    nearest,
    span::Span,
    study::{Mode, Study, Target},
    trial::{BASELINES, NONE},
};

use super::{
    Checked,
    lines::{Lines, ensure, within},
    traffic,
};

/// Letters of a name, which is a word of a command line and of a file's name.
const NAME: usize = 64;

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

pub(super) fn check(study: &Study, lines: Lines<'_>) -> Checked {
    let traffics = study.traffics.iter().map(|one| (&*one.name, one));
    each("traffic", traffics, |one| traffic::traffic(one, study.trial.window))?;
    let applications = study.applications.iter().map(|one| (&*one.name, one));
    each("application", applications, traffic::application)?;
    for (at, variant) in study.variants.iter().enumerate() {
        let name = &variant.name;
        ensure!(
            !BASELINES.contains(&name.as_str()) || !study.has_traffic(),
            format!("variant.{at}.name"),
            "`{name}` needs no entry: every cell has it already"
        );
        let checked = traffic::control(&variant.control);
        checked
            .map_err(|why| (format!("variant.{at}.control"), format!("variant `{name}`: {why}")))?;
    }
    for (at, entry) in study.entries.iter().enumerate() {
        let path = format!("cell.{at}");
        cell(study, lines, &path, entry).map_err(within(&path))?;
    }
    if let Some(name) = study.cells_of_one_name().first() {
        let why = format!("two cells are called `{name}`; give one of them a `name`");
        return Err(("cell".to_owned(), why));
    }
    if study.is_of_clients() {
        return Ok(());
    }
    mixed(study)?;
    shape(study).map_err(within("trial"))
}

/// Looks at every entry of an array of tables, and at their names; each comes with its name.
fn each<'a, T>(
    what: &str,
    all: impl Iterator<Item = (&'a str, T)>,
    look: impl Fn(T) -> Checked,
) -> Checked {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let mut names = BTreeSet::new();
    for (at, (name, one)) in all.enumerate() {
        let (path, letters) = (format!("{what}.{at}.name"), name.len());
        let is_plain = letters > 0 && !name.starts_with(['.', '-']) && name.chars().all(plain);
        ensure!(letters <= NAME, path, "a {what} name of {letters} letters; at most {NAME}");
        ensure!(is_plain, path, "{what} name `{name}`: use a-z, 0-9, - and .");
        ensure!(names.insert(name), path, "two [[{what}]] are named `{name}`");
        look(one).map_err(|(key, why)| {
            (format!("{what}.{at}.{key}"), format!("{what} `{name}`: {why}"))
        })?;
    }
    Ok(())
}

/// What is measured together must be shown together, and no page shows a card with traffic.
fn mixed(study: &Study) -> Checked {
    let (has_cards, has_subject) = (study.has_cards(), study.has_subject());
    let cells = study.cells();
    for Cell { name, .. } in cells.iter().filter(|cell| cell.target == Target::Host) {
        ensure!(
            !has_subject,
            "subject",
            "cell `{name}` is on this machine, and a subject is on an access point; leave one of them out"
        );
    }
    ensure!(
        !study.has_traffic() || !has_cards,
        "cell",
        "cells with traffic and cells with a card in one study; write two studies"
    );
    for cell in &cells {
        ensure!(
            cell.has_parts(),
            "cell",
            "cell `{}` without traffic, an application or a card; name at least one",
            cell.name
        );
    }
    for variant in &study.variants {
        ensure!(
            !has_cards || variant.strategy.is_some(),
            "variant",
            "variant `{}` has no strategy, and its cells have a card; write strategy = \"busy\"",
            variant.name
        );
    }
    Ok(())
}

fn shape(study: &Study) -> Checked {
    let shape = &study.trial;
    let (window, warm_up) = (shape.window, shape.warm_up);
    ensure!(
        !study.has_traffic() || window.as_nanos().is_multiple_of(1_000_000_000),
        "window",
        "a window of {window} is not a whole number of seconds"
    );
    for (key, span) in [("window", window), ("warm-up", warm_up)] {
        ensure!(span <= LONGEST, key, "{span} of one trial; write at most {LONGEST}");
    }
    ensure!(
        shape.sweep != Some(0),
        "sweep",
        "the candidates of the best fixed control would never be tried; at least 1"
    );
    if let Some(gate) = shape.idle_gate {
        ensure!(
            gate.get() < 1.0,
            "idle-gate",
            "no machine is ever idle for {gate}; write for instance 94%"
        );
    }
    Ok(())
}

fn cell(study: &Study, lines: Lines<'_>, path: &str, entry: &CellEntry) -> Checked {
    ensure!(
        !entry.on.iter().any(|target| matches!(target, Target::Device(_))),
        "on",
        "a study file names no device; point `headroom run` at one with --on"
    );
    let is_on_host = entry.on.contains(&Target::Host);
    ensure!(
        !is_on_host || entry.mode != Some(Mode::Counted) || !lines.has(&format!("{path}.mode")),
        "mode",
        "time on this machine is always real; leave `mode` out, or write on = \"vm\""
    );
    let own = &study.access_point.clients;
    for clients in entry.clients.iter() {
        ensure!(
            lines.is_empty() || own.contains(clients),
            "clients",
            "{clients} clients are not among the access point's, which are {own:?}"
        );
    }
    let traffics: Vec<&str> = study.traffics.iter().map(|one| one.name.as_str()).collect();
    let applications: Vec<&str> = study.applications.iter().map(|one| one.name.as_str()).collect();
    let variants: Vec<&str> = study.variants.iter().map(|one| one.name.as_str()).collect();
    let named = |key: &str, what: &str, name: &str, all: &[&str]| -> Checked {
        ensure!(
            all.contains(&name),
            key,
            "no [[{what}]] is named `{name}`; {}",
            nearest::or_all(name, all, "there are:")
        );
        Ok(())
    };
    entry.traffic.iter().try_for_each(|name| named("traffic", "traffic", name, &traffics))?;
    let mut names = entry.application.iter();
    names.try_for_each(|name| named("application", "application", name, &applications))?;
    let mut seen = BTreeSet::new();
    for name in &entry.variants {
        if *name != NONE {
            named("variants", "variant", name, &variants)?;
        }
        ensure!(seen.insert(name), "variants", "variant `{name}` stands there twice");
    }
    let (has_traffic, has_work) = (!entry.traffic.is_empty(), !entry.application.is_empty());
    ensure!(
        !entry.cases || has_traffic && has_work,
        "cases",
        "the four cases need both, traffic and an application"
    );
    ensure!(
        has_traffic == has_work || entry.role == Role::NoHarm,
        "role",
        "only a negative control has traffic or an application alone; write role = \"no-harm\""
    );
    let card_entry = entry.card.as_ref().map(|one| one.over(study.card.as_ref()));
    card_entry.map_or(Ok(()), |one| card(&one)).map_err(|why| ("card".to_owned(), why))
}

fn card(card: &CardEntry) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let twice = card.rate.iter().find(|rate| !seen.insert(**rate));
    let fastest = card.rate.iter().max().copied().unwrap_or_default();
    let outside = |span: Option<Span>, range: &RangeInclusive<u64>| {
        span.filter(|span| !range.contains(&span.as_nanos()))
    };
    let ends = |range: RangeInclusive<u64>| {
        let [least, most] = [range.start(), range.end()].map(|at| Span::from_nanos(*at));
        format!("write {least} to {most}")
    };
    Err(if card.rate.is_empty() {
        "a card without a rate; write for instance rate = [440, 1000]".to_owned()
    } else if fastest > MOST_RATE {
        format!(
            "{fastest} frames a second; write at most {MOST_RATE}, or 0 for as fast as the card takes them"
        )
    } else if let Some(rate) = twice {
        format!("the rate {rate} stands there twice")
    } else if card.bytes.is_none() {
        "a card without `bytes` of a frame; write for instance bytes = 1500".to_owned()
    } else if let Some(bytes) = card.bytes.filter(|bytes| !BYTES.contains(bytes)) {
        let (least, most) = (BYTES.start(), BYTES.end());
        format!("{bytes} bytes; an Ethernet frame has {least} to {most}")
    } else if let Some(span) = outside(card.completes_in, &COMPLETES) {
        format!("a command that completes in {span}; {}", ends(COMPLETES))
    } else if let Some(word) = card.bus_word.filter(|word| *word > LONGEST_WORD) {
        format!("a bus word of {word} for 16 bits; write at most {LONGEST_WORD}")
    } else if let Some(task) = outside(card.task, &TASK) {
        format!("a task of {task}; {}", ends(TASK))
    } else {
        return Ok(());
    })
}
