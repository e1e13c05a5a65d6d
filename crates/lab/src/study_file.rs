//! Study files: TOML text to a checked [`Study`], and one clear line where that fails.
//!
//! The shape is [`model::study`]'s; here are the lines and nearest keys of what is misspelt, and the
//! rules that a type cannot say. Pure but for [`load`], which reads the file.

mod cells;
mod gates;
mod instruments;
pub(crate) mod lines;
mod load;
mod maxima;
mod missing;
mod renamed;
mod traffic;
mod witness;

use std::{collections::BTreeSet, path::Path};

use model::{
    nearest,
    plural::count,
    study::{HostLoad, Load, Study, Subject, TrialShape, Variant, VariantLoad},
};

pub(crate) use self::load::folder_of;
pub use self::load::{StudyFile, StudyText, load};
use self::{
    gates::{is_no_process, no_process},
    lines::{Checked, Lines, ensure, within},
};
use crate::{plan, uploads};

/// Stations that one access-point interface can hold: association ids end at 2007 (IEEE 802.11).
pub const STATIONS_A_RADIO: u32 = 2007;

/// Radios that the virtual access point can give a channel of its own.
pub const MOST_RADIOS: u32 = 8;

/// The most that a load's commands may be, bytes as they are ordered: the rest of an order has 8 KiB.
const LONGEST_LOAD: usize = model::wire::LONGEST_ORDER - (8 << 10);

/// Checks a study that the command line has changed; there is no line to tell then.
pub fn check(study: &Study) -> Result<(), String> {
    Rules { text: "", study }.check().map_err(|(_, why)| why)
}

#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub why: String,
}

pub fn parse(text: &str) -> Result<Study, Fault> {
    checked(text, read(text)?)
}

/// The same for a device: its clients are those that are there, and need not be said; and its time is real, so that more
/// pairs and repetitions are made where the study does not say how many.
fn parse_for_device(text: &str) -> Result<Study, Fault> {
    let mut study = read(text)?;
    if study.access_point.clients.is_empty() {
        study.access_point.clients = vec![0];
    }
    if !Lines(text).has("trial.repetitions") {
        study.trial.repetitions = ON_DEVICES;
    }
    if !Lines(text).has("compare.up-to") {
        study.compare.up_to = 2 * ON_DEVICES;
    }
    checked(text, study)
}

/// Repetitions on a device: twice as many as where time is counted, because real time is noisy. Comparisons take up to two
/// pairs for each.
pub const ON_DEVICES: u32 = 12;

fn read(text: &str) -> Result<Study, Fault> {
    renamed::refuse(text)?;
    toml::from_str(text).map_err(|error| shape_fault(text, &error))
}

fn checked(text: &str, study: Study) -> Result<Study, Fault> {
    let rules = Rules { text, study: &study };
    let checked = rules.no_device().and_then(|()| rules.check());
    checked.map(|()| study).map_err(|wrong| Lines(text).fault(wrong))
}

/// A fault of shape, in our words where serde's can be bettered.
pub(crate) fn shape_fault(text: &str, error: &toml::de::Error) -> Fault {
    let line = error.span().map_or(1, |span| line_at(text, span.start));
    let message = error.message();
    // serde's words for a control without its figure are of Rust's types.
    let figure = message.contains("unit variant").then(|| FIGURE.to_owned());
    let why =
        figure.or_else(|| missing::what_to_add(text, message)).or_else(|| nearest_key(message));
    Fault { line, why: why.unwrap_or_else(|| message.replace('\n', "; ")) }
}

const FIGURE: &str =
    "this needs a figure or none at all; write for instance { weight = 512 } or \"idle\"";

pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

/// serde says “unknown field `x`, expected one of `a`, `b`”; people want the one they meant.
fn nearest_key(message: &str) -> Option<String> {
    let (kind, rest) = ["unknown field", "unknown variant"]
        .into_iter()
        .find_map(|kind| message.strip_prefix(kind).map(|rest| (kind, rest)))?;
    let mut words = rest.split('`').skip(1).step_by(2);
    let wrong = words.next()?;
    let known: Vec<&str> = words.collect();
    let what = if kind == "unknown field" { "key" } else { "value" };
    Some(format!("unknown {what} `{wrong}`; {}", nearest::or_all(wrong, &known, "known here:")))
}

struct Rules<'a> {
    text: &'a str,
    study: &'a Study,
}

impl Rules<'_> {
    fn check(&self) -> Checked {
        let study = self.study;
        maxima::numbers(study)?;
        self.access_point()?;
        self.trial()?;
        self.variants()?;
        self.profile()?;
        self.count()?;
        self.decisions()?;
        cells::check(study, Lines(self.text))?;
        maxima::plan(study)?;
        if let Some(load) = &study.load {
            self.load(load).map_err(|why| ("load".to_owned(), why))?;
        }
        self.published()?;
        if let Some(subject) = &study.subject {
            return self.subject(subject).map_err(within("subject"));
        }
        // Only cells with traffic or a card have trials without a subject.
        let has_own = |variant: &Variant| variant.subject.is_some();
        ensure!(
            !study.is_of_clients() || study.variants.iter().all(has_own),
            "",
            "no [subject], whose CPU is the question; add:  [subject] process = \"hostapd\""
        );
        Ok(())
    }

    /// Whether the command line left something out: what only that has is no fault then.
    fn is_cut(&self) -> bool {
        self.text.is_empty()
    }

    /// What was published stands with a figure of the study's.
    fn published(&self) -> Checked {
        let (lines, known) = (Lines(self.text), self.study.known());
        self.study.published.iter().enumerate().try_for_each(|(at, one)| {
            let limit = format!("{} <= {}", one.ours, one.value);
            lines.limit(&limit, &known).map_err(|why| (format!("published.{at}.ours"), why))
        })
    }

    /// A study file is for any access point.
    fn no_device(&self) -> Checked {
        ensure!(
            self.study.access_point.kind.is_vm(),
            "access-point.kind",
            "a study file names no device; point `headroom run` at one with --on"
        );
        Ok(())
    }

    fn access_point(&self) -> Checked {
        let ap = &self.study.access_point;
        if let Some(files) = &ap.firmware {
            let at = "access-point.firmware";
            ensure!(
                !files.is_empty(),
                at,
                "firmware without a file; name its rootfs, its kernel or both"
            );
            ensure!(
                files.modules.is_none() || files.kernel.is_some(),
                at,
                "modules are of a kernel; name it as well"
            );
        }
        let mut names = BTreeSet::new();
        for path in &ap.programs {
            let at = "access-point.programs";
            let name = uploads::file_name(path).map_err(|error| (at.into(), error.to_string()))?;
            ensure!(
                names.insert(name.clone()),
                at,
                "two programs are called `{name}`; name one of them otherwise"
            );
        }
        let radios = count(ap.radios, "radio");
        ensure!(
            (1..=MOST_RADIOS).contains(&ap.radios),
            "access-point.radios",
            "{radios}; the virtual access point has 1 to {MOST_RADIOS}"
        );
        let (at, most) = ("access-point.clients", ap.radios * STATIONS_A_RADIO);
        ensure!(!ap.clients.is_empty(), at, "no client count; write for instance [18, 60, 114]");
        let mut seen = BTreeSet::new();
        for clients in &ap.clients {
            ensure!(
                *clients <= most,
                at,
                "{}; {radios} can hold {most} ({STATIONS_A_RADIO} association ids each)",
                count(clients, "client")
            );
            ensure!(seen.insert(clients), at, "client count {clients} stands there twice");
        }
        Ok(())
    }

    fn trial(&self) -> Checked {
        let TrialShape { window, sample_every: every, repetitions, .. } = self.study.trial;
        ensure!(repetitions > 0, "trial.repetitions", "at least 1 repetition");
        ensure!(
            every.as_nanos() >= 10_000_000,
            "trial.sample-every",
            "{every} between samples; the shortest is 10ms"
        );
        let is_whole = window.as_nanos().is_multiple_of(every.as_nanos());
        ensure!(
            window.as_nanos() > 0 && (is_whole || !self.study.has_subject()),
            "trial.window",
            "a window of {window} is not a whole number of {every} samples"
        );
        Ok(())
    }

    fn variants(&self) -> Checked {
        let mut names = BTreeSet::new();
        let repetitions = self.study.trial.repetitions;
        ensure!(
            !self.study.variants.is_empty(),
            "",
            "no [[variant]]; a study compares at least one"
        );
        for (at, variant) in self.study.variants.iter().enumerate() {
            let (name, path) = (&variant.name, format!("variant.{at}"));
            ensure!(names.insert(name), format!("{path}.name"), "two variants are named `{name}`");
            ensure!(
                variant.host_load != HostLoad::Trial || repetitions.is_multiple_of(2),
                format!("{path}.name"),
                "`{name}` runs in pairs (host-load = \"trial\"), but repetitions = {repetitions} is odd"
            );
            self.variant(variant).map_err(|(key, why)| {
                (format!("{path}.{key}"), format!("variant `{name}`: {why}"))
            })?;
        }
        Ok(())
    }

    /// What a variant has of its own: load, subject, what it is compared with, what others found.
    fn variant(&self, variant: &Variant) -> Checked {
        if let Some(VariantLoad::With(load)) = &variant.load {
            self.load(load).map_err(|why| ("load".to_owned(), why))?;
        }
        if let Some(subject) = &variant.subject {
            self.subject(subject).map_err(|(_, why)| ("subject".to_owned(), why))?;
        }
        if let Some(line) = &variant.background {
            ensure!(
                !is_no_command(line),
                "background",
                "its background is empty or has an open quote: `{line}`"
            );
        }
        let has_file = variant.image.as_ref().is_none_or(|image| !image.file.is_empty());
        ensure!(has_file, "image", "its image has no file");
        self.some_of_the_clients(&variant.clients, "clients")?;
        self.against(variant)?;
        self.changes(variant)?;
        self.parity_of(variant)?;
        let percent = variant.published.as_ref().map_or(0.0, |one| one.percent_of_core);
        ensure!(
            percent.is_finite() && percent >= 0.0,
            "published",
            "{percent} % of a core is not CPU time"
        );
        Ok(())
    }

    fn subject(&self, subject: &Subject) -> Checked {
        let Subject { process, start, ready, others } = subject;
        ensure!(!is_no_process(process), "process", "{}", no_process(process));
        if let Some(start) = start {
            ensure!(
                !is_no_command(start),
                "start",
                "the subject's command line is empty or has an open quote: `{start}`"
            );
            ensure!(
                !start.contains("{interface}"),
                "start",
                "`{{interface}}` stands for one in a load; a subject is started once"
            );
        }
        if let Some(ready) = ready {
            ensure!(
                start.is_some(),
                "ready",
                "`ready` without `start`: a subject that runs already is ready"
            );
            ensure!(
                Path::new(ready).is_absolute(),
                "ready",
                "`ready` is a path that begins with /, not `{ready}`"
            );
        }
        let mut seen = BTreeSet::new();
        for name in others {
            ensure!(!is_no_process(name), "others", "{}", no_process(name));
            ensure!(seen.insert(name), "others", "`{name}` stands there twice");
        }
        Ok(())
    }

    fn load(&self, load: &Load) -> Result<(), String> {
        let Load { run, every, .. } = load;
        let window = self.study.trial.window;
        if is_no_command(run) {
            return Err(format!("the load's command line is empty or has an open quote: `{run}`"));
        }
        if let Some(wrong) = unknown_placeholder(run) {
            return Err(format!(
                "unknown placeholder `{{{wrong}}}` in the load; known: {{interface}}"
            ));
        }
        let bytes = plan::load_bytes(load, &self.study.access_point);
        if bytes > LONGEST_LOAD {
            let (is, most) = (bytes.div_ceil(1024), LONGEST_LOAD / 1024);
            return Err(format!(
                "the load's commands are {is} KiB, for all interfaces together; the most is {most} \
                     KiB: put them into a file on the access point"
            ));
        }
        if every.as_nanos() == 0 || !window.as_nanos().is_multiple_of(every.as_nanos()) {
            return Err(format!(
                "the window of {window} holds no whole number of load rounds of {every}"
            ));
        }
        Ok(())
    }
}

fn is_no_command(line: &str) -> bool {
    shlex::split(line).is_none_or(|words| words.first().is_none_or(String::is_empty))
}

/// The first `{word}` that is not known. A shell's own braces hold no word alone, or follow a `$`.
fn unknown_placeholder(command: &str) -> Option<&str> {
    let is_word = |word: &&str| {
        !word.is_empty()
            && word.bytes().all(|one| one.is_ascii_alphanumeric() || b"-_".contains(&one))
    };
    let words = command.match_indices('{').filter(|(at, _)| !command[..*at].ends_with('$'));
    let words = words.filter_map(|(at, _)| Some(command[at + 1..].split_once('}')?.0));
    words.filter(is_word).find(|word| *word != "interface")
}

/// A study of hostapd at 18 and 60 clients by a variant `bulk`, with these keys and tables behind it; for tests.
#[cfg(test)]
pub(crate) fn small(keys: &str) -> Study {
    const SMALL: &str = include_str!("study_file/tests/small.toml");
    parse(&format!("{SMALL}{keys}\n")).unwrap()
}

#[cfg(test)]
mod tests;
