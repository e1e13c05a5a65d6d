//! Completion study files: TOML text to a checked [`Study`], and one clear line where that fails.
//!
//! The shape is [`model::transmit`]'s; here is what its types cannot say. Pure but for [`load`].

use std::{collections::BTreeSet, fs, ops::RangeInclusive, path::Path};

use model::{
    contention::Machine,
    span::Span,
    study::Mode,
    transmit::{Load, Place, Strategy, Study},
};
use toml::de::{DeTable, DeValue};

use crate::study_file::{Error, Fault, line_at, shape_fault};

/// The table by which a study file is known as one of completion.
const MARK: &str = "completion";

/// An agent is silent from its order to its figures, and one that is silent for long counts as hung.
const LONGEST: Span = Span::from_secs(60);

/// Completion times that a trial of seconds can show.
const COMPLETES: RangeInclusive<u64> = 1_000..=100_000_000;

/// An Ethernet frame without its check sum: what `txd`'s frames need to prove themselves, and `ETH_FRAME_LEN` of the
/// kernel.
const BYTES: RangeInclusive<u32> = 66..=1514;

/// Nobody offers more frames a second to a card of 11 Mb/s.
const MOST_RATE: u32 = 100_000;

/// A shorter task is all noise, a longer one is silence.
const TASK_MS: RangeInclusive<u32> = 100..=60_000;

/// A completion study as it was given, and what it means.
#[derive(Clone, Debug)]
pub struct StudyFile {
    /// The file's name without folder and ending.
    pub name: String,
    /// The text.
    pub text: String,
    /// What it means, and what is carried out.
    pub study: Study,
}

/// Whether a text is a completion study, whole or broken.
pub fn is_one(text: &str) -> bool {
    DeTable::parse_recoverable(text).0.get_ref().contains_key(MARK)
}

/// Reads and checks a study file; `None` where it is a study of another kind.
///
/// # Errors
///
/// [`Error`], with file and line.
pub fn load(path: &Path) -> Result<Option<StudyFile>, Error> {
    let read = fs::read_to_string(path);
    let text = read.map_err(|source| Error::Read { path: path.to_owned(), source })?;
    if !is_one(&text) {
        return Ok(None);
    }
    let wrong = |Fault { line, why }| Error::Wrong { path: path.to_owned(), line, why };
    let study = parse(&text).map_err(wrong)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Some(StudyFile { name, text, study }))
}

/// Checks a study that the command line has changed; there is no line to tell then.
///
/// # Errors
///
/// What is wrong.
pub fn check(study: &Study) -> Result<(), String> {
    Rules { text: "", study }.check().map_err(|fault| fault.why)
}

/// Reads a study from text and checks it.
///
/// # Errors
///
/// The first [`Fault`].
pub fn parse(text: &str) -> Result<Study, Fault> {
    let study: Study = toml::from_str(text).map_err(|error| shape_fault(text, &error))?;
    Rules { text, study: &study }.check()?;
    Ok(study)
}

struct Rules<'a> {
    /// Empty for a study that has no lines any more.
    text: &'a str,
    study: &'a Study,
}

/// What is wrong, and in which key of its table.
type Told = Result<(), (&'static str, String)>;

impl Rules<'_> {
    fn check(&self) -> Result<(), Fault> {
        let study = self.study;
        self.shape().or_else(|(key, why)| self.table_fault(key, why))?;
        self.each(("place", &study.places), |place| &place.name, |at, one| self.place(at, one))?;
        self.each(("load", &study.loads), |load| &load.name, |_, one| offered(one))
    }

    fn shape(&self) -> Told {
        let shape = &self.study.completion;
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

    /// Looks at every entry of an array of tables, and at their names; there is at least one.
    fn each<T>(
        &self,
        (what, all): (&str, &[T]),
        name: impl Fn(&T) -> &str,
        look: impl Fn(usize, &T) -> Told,
    ) -> Result<(), Fault> {
        if all.is_empty() {
            let why = format!("no [[{what}]]; a completion study has at least one");
            return Err(Fault { line: 1, why });
        }
        let mut names = BTreeSet::new();
        for (at, one) in all.iter().enumerate() {
            let name = name(one);
            let twice = || ("name", format!("two [[{what}]] are named `{name}`"));
            let told = named(what, name)
                .and_then(|()| names.insert(name).then_some(()).ok_or_else(twice))
                .and_then(|()| {
                    look(at, one).map_err(|(key, why)| (key, format!("{what} `{name}`: {why}")))
                });
            told.or_else(|told| self.entry_fault((what, at), told))?;
        }
        Ok(())
    }

    fn place(&self, at: usize, place: &Place) -> Told {
        let says_mode = self.entry("place", at).is_some_and(|table| table.contains_key("mode"));
        if place.on == Machine::Host && says_mode && place.mode == Mode::Counted {
            let why = "time on this machine is always real; leave `mode` out, or write on = \"vm\"";
            return Err(("mode", why.to_owned()));
        }
        Ok(())
    }

    /// A fault of a key of the table `[completion]`.
    fn table_fault(&self, key: &str, why: String) -> Result<(), Fault> {
        let Ok(document) = DeTable::parse(self.text) else { return Err(Fault { line: 1, why }) };
        let Some((head, value)) = document.get_ref().get_key_value(MARK) else {
            return Err(Fault { line: 1, why });
        };
        let inner = match value.get_ref() {
            DeValue::Table(table) => table.get_key_value(key),
            _ => None,
        };
        let offset = inner.map_or(head.span().start, |(key, _)| key.span().start);
        Err(Fault { line: line_at(self.text, offset), why })
    }

    /// A fault of the entry with this number of an array of tables, on the line of its key.
    fn entry_fault(
        &self,
        (what, at): (&str, usize),
        (key, why): (&'static str, String),
    ) -> Result<(), Fault> {
        let Ok(document) = DeTable::parse(self.text) else { return Err(Fault { line: 1, why }) };
        let entry = document.get_ref().get(what).and_then(|value| value.get_ref().get(at));
        let Some(entry) = entry else { return Err(Fault { line: 1, why }) };
        let found = entry.get_ref().as_table().and_then(|table| table.get_key_value(key));
        let offset = found.map_or(entry.span().start, |(key, _)| key.span().start);
        Err(Fault { line: line_at(self.text, offset), why })
    }

    fn entry(&self, what: &str, at: usize) -> Option<DeTable<'_>> {
        let document = DeTable::parse(self.text).ok()?;
        let entry = document.get_ref().get(what)?.get_ref().get(at)?;
        entry.get_ref().as_table().cloned()
    }
}

fn named(what: &str, name: &str) -> Told {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    if name.is_empty() || name.starts_with(['.', '-']) || !name.chars().all(plain) {
        return Err(("name", format!("{what} name `{name}`: use a-z, 0-9, - and .")));
    }
    Ok(())
}

fn offered(load: &Load) -> Told {
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
