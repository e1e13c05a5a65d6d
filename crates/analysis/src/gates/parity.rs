//! Does every variant still do its job: hold its clients, give the same values, forget who left?

use model::{
    parity::{Count, Left, Parity},
    plural,
    study::{ParityShape, Variant},
    trial::{Purpose, TrialId},
    verdict::Verdict,
};

use super::{
    Evidence, Part,
    census::{self, Disagreement},
    nothing, together,
};
use crate::{quantity, verdicts::Gate};

const NAME: &str = "parity";

/// A trial that asked, and what it was answered.
#[derive(Clone, Copy)]
struct Asked<'a> {
    id: &'a TrialId,
    parity: &'a Parity,
}

pub(super) fn gate(evidence: &Evidence) -> Gate {
    let Some(shape) = &evidence.run.study.parity else {
        return nothing(NAME, "the study has no [parity]");
    };
    let is_asked = |variant: &&Variant| variant.is_meant(&shape.variants);
    let variants: Vec<&Variant> = evidence.run.study.variants.iter().filter(is_asked).collect();
    let mut parts = Vec::new();
    let mut first: Option<Asked> = None;
    for variant in &variants {
        let ids = evidence.planned(Purpose::Parity, &variant.name);
        if ids.is_empty() {
            parts.push(Part::invalid(format!("`{}` has no parity trial", variant.name)));
        }
        for id in ids {
            parts.push(trial(evidence, id, shape, &mut first));
        }
    }
    let mut gate = together(NAME, "trial", parts);
    if gate.verdict == Verdict::Pass {
        gate.sentence = sentence(variants.len() as u32, shape, first);
    }
    gate
}

fn sentence(variants: u32, shape: &ParityShape, first: Option<Asked>) -> String {
    let lines = first.and_then(|first| first.parity.values.as_ref()).map(Vec::len);
    let values = lines.map(|lines| {
        format!(", gives the same {} of values", quantity::count(lines as u32, "line"))
    });
    let leave = if shape.leave { ", and counts one less after one has left" } else { "" };
    format!(
        "Each of {} holds its clients{}{leave}.",
        quantity::count(variants, "variant"),
        values.unwrap_or_default()
    )
}

fn trial<'a>(
    evidence: &Evidence<'a>,
    id: &'a TrialId,
    shape: &ParityShape,
    first: &mut Option<Asked<'a>>,
) -> Part {
    if let Some(fault) = evidence.fault(&[id]) {
        return Part::invalid(fault);
    }
    let Some(parity) = evidence.recording(id).and_then(|recording| recording.parity.as_deref())
    else {
        return Part::invalid(format!("`{id}` asked nothing"));
    };
    let held = counts(&parity.before, id.clients, shape);
    held.and_then(|()| values(Asked { id, parity }, shape, first))
        .and_then(|()| left(parity.left.as_ref(), id.clients, shape))
        .map_or_else(
            |part| Part { sentence: format!("`{id}`: {}", part.sentence), ..part },
            |()| Part::pass(String::new()),
        )
}

/// Whether everybody counts so many.
fn counts(count: &Count, clients: u32, shape: &ParityShape) -> Result<(), Part> {
    census::agrees(&count.census, clients).map_err(|disagreement| match disagreement {
        Disagreement::Counts(why) => Part::fail(why),
        Disagreement::Silence(why) => Part::invalid(why),
    })?;
    if shape.clients.is_none() {
        return Ok(());
    }
    match &count.subject {
        Some(Ok(own)) if *own == clients => Ok(()),
        Some(Ok(own)) => {
            let own = plural::count(own, "client");
            Err(Part::fail(format!("the subject counts {own}, {clients} were expected")))
        }
        Some(Err(text)) => {
            Err(Part::invalid(format!("the subject's count is not a number: `{}`", text.trim())))
        }
        None => Err(Part::invalid("the subject was not asked for its clients".to_owned())),
    }
}

/// Whether the values are those of the first trial that has any, at the same client count.
fn values<'a>(
    asked: Asked<'a>,
    shape: &ParityShape,
    first: &mut Option<Asked<'a>>,
) -> Result<(), Part> {
    if shape.values.is_none() {
        return Ok(());
    }
    let Asked { id, parity } = asked;
    let Some(own) = &parity.values else {
        return Err(Part::invalid("the values were not asked for".to_owned()));
    };
    let Some(Asked { id: other, parity: expected }) = *first else {
        *first = Some(asked);
        return Ok(());
    };
    let expected = expected.values.as_deref().unwrap_or_default();
    if other.clients != id.clients || own == expected {
        return Ok(());
    }
    let lines = own.iter().map(Some).chain(std::iter::repeat(None));
    let theirs = expected.iter().map(Some).chain(std::iter::repeat(None));
    let mut pairs = lines.zip(theirs).take(own.len().max(expected.len()));
    let (mine, theirs) = pairs.find(|(mine, theirs)| mine != theirs).unwrap_or_default();
    let line =
        |line: Option<&String>| line.map_or("nothing".to_owned(), |text| format!("`{text}`"));
    Err(Part::fail(format!(
        "it gives {} where `{}` gives {}",
        line(mine),
        other.variant,
        line(theirs)
    )))
}

/// Whether everybody counts one less once one has left.
fn left(left: Option<&Left>, clients: u32, shape: &ParityShape) -> Result<(), Part> {
    if !shape.leave {
        return Ok(());
    }
    let Some(left) = left else {
        return Err(Part::invalid("no client was sent away".to_owned()));
    };
    counts(&left.after, clients.saturating_sub(1), shape).map_err(|part| Part {
        sentence: format!("after {} had left {}, {}", left.address, left.interface, part.sentence),
        ..part
    })
}
