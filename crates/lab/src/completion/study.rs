//! Completion study files: TOML text to a checked [`Study`], and one clear line where that fails.
//!
//! The shape is [`model::completion`]'s; here is what its types cannot say. Pure.

use std::{collections::BTreeSet, ops::RangeInclusive};

use model::{
    completion::{Load, Strategy, Study},
    experiment::Kind,
    span::Span,
};

use crate::study_file::{
    Fault,
    lines::{Checked, Lines},
    maxima, shape_fault,
};

/// The table that has its shape.
const MARK: &str = "completion";

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
const TASK_MS: RangeInclusive<u32> = 100..=60_000;

/// Checks a study that the command line has changed; there is no line to tell then.
pub fn check(study: &Study) -> Result<(), String> {
    Rules { text: "", study }.check().map_err(|fault| fault.why)
}

/// Reads a study from text and checks it.
pub fn parse(text: &str) -> Result<Study, Fault> {
    let study: Study =
        toml::from_str(text).map_err(|error| shape_fault(text, Kind::Completion, &error))?;
    Rules { text, study: &study }.check()?;
    Ok(study)
}

struct Rules<'a> {
    /// Empty for a study that has no lines any more.
    text: &'a str,
    study: &'a Study,
}

impl Rules<'_> {
    fn check(&self) -> Result<(), Fault> {
        let (study, lines) = (self.study, Lines(self.text));
        self.shape().or_else(|(key, why)| lines.fault(&[MARK, key], why))?;
        maxima::completion(study, lines)?;
        for (what, is_empty) in
            [("place", study.places.is_empty()), ("load", study.loads.is_empty())]
        {
            if is_empty {
                let why = format!("no [[{what}]]; a completion study has at least one");
                return lines.fault(&[], why);
            }
        }
        let places = study.places.iter().map(|one| (&*one.name, one));
        lines.each("place", places, |at, place| lines.place(at, place.on, place.mode))?;
        let loads = study.loads.iter().map(|one| (&*one.name, one));
        lines.each("load", loads, |_, load| offered(load))?;
        let known = study.known();
        for (at, one) in study.published.iter().enumerate() {
            let checked = lines.limit(&format!("{} <= {}", one.ours, one.value), &known);
            checked.or_else(|why| lines.entry_fault("published", at, ("ours", why)))?;
        }
        lines.limits(study.gates.as_ref().map_or(&[], |gates| &gates.limits), &known)
    }

    fn shape(&self) -> Checked {
        let shape = &self.study.completion;
        if shape.versus.is_some() && !self.text.is_empty() {
            let why = "headroom compare writes this key; leave it out, and say `headroom compare STUDY busy event`";
            return Err(("versus", why.to_owned()));
        }
        if shape.window.as_nanos() == 0 {
            return Err(("window", "a window of 0s measures nothing".to_owned()));
        }
        for (key, span) in [("window", shape.window), ("warm-up", shape.warm_up)] {
            if span > LONGEST {
                return Err((key, format!("{span} of one trial; write at most {LONGEST}")));
            }
        }
        if shape.blocks == 0 {
            return Err(("blocks", "at least 1 block".to_owned()));
        }
        if !COMPLETES.contains(&shape.completes_in.as_nanos()) {
            let [least, most] =
                [COMPLETES.start(), COMPLETES.end()].map(|at| Span::from_nanos(*at));
            let why = format!(
                "a command that completes in {}; write {least} to {most}",
                shape.completes_in
            );
            return Err(("completes-in", why));
        }
        if shape.idle_gate.get() >= 1.0 {
            let why =
                format!("no machine is ever idle for {}; write for instance 90%", shape.idle_gate);
            return Err(("idle-gate", why));
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = shape.strategies.iter().find(|strategy| !seen.insert(**strategy)) {
            return Err(("strategies", format!("`{}` stands there twice", twice.name())));
        }
        if shape.strategies.is_empty() {
            let all = Strategy::ALL.map(Strategy::name).join("\", \"");
            return Err(("strategies", format!("no strategy; write some of \"{all}\"")));
        }
        Ok(())
    }
}

fn offered(load: &Load) -> Checked {
    if load.rates.is_empty() {
        return Err(("rates", "no rate; write for instance [440, 1000]".to_owned()));
    }
    let mut seen = BTreeSet::new();
    for rate in &load.rates {
        if *rate > MOST_RATE {
            let why = format!(
                "{rate} frames a second; write at most {MOST_RATE}, or 0 for as fast as the card takes them"
            );
            return Err(("rates", why));
        }
        if !seen.insert(rate) {
            return Err(("rates", format!("the rate {rate} stands there twice")));
        }
    }
    if !BYTES.contains(&load.bytes) {
        let (least, most) = (BYTES.start(), BYTES.end());
        let why = format!("{} bytes; an Ethernet frame has {least} to {most}", load.bytes);
        return Err(("bytes", why));
    }
    if let Some(word) = load.bus_word.filter(|word| *word > LONGEST_WORD) {
        return Err(("bus-word", format!("{word} for 16 bits; write at most {LONGEST_WORD}")));
    }
    match load.task_ms {
        Some(ms) if !TASK_MS.contains(&ms) => {
            let (least, most) = (TASK_MS.start(), TASK_MS.end());
            Err(("task-ms", format!("a task of {ms} ms; write {least} to {most}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
