//! Study files: TOML text to a checked [`Study`], and one clear line where that fails.
//!
//! The shape is [`model::study`]'s; here are the lines and nearest keys of what is misspelt, and the
//! rules that a type cannot say. Pure but for [`load`], which reads the file.

mod cells;
mod gates;
mod instruments;
pub(crate) mod lines;
mod load;
pub mod maxima;
mod missing;
mod renamed;
mod traffic;
pub mod witness;

use std::{collections::BTreeSet, path::Path};

use model::plural::count;
use model::{
    nearest,
    study::{HostLoad, Load, Study, Subject, Variant, VariantLoad},
};
use toml::de::DeTable;

use self::lines::Lines;
pub(crate) use self::load::folder_of;
pub use self::load::{StudyFile, StudyText, load};
use crate::{plan, uploads};

/// Stations that one access-point interface can hold: association ids end at 2007 (IEEE 802.11).
pub const STATIONS_A_RADIO: u32 = 2007;

/// Radios that the virtual access point can give a channel of its own.
pub const MOST_RADIOS: u32 = 8;

/// The most that a load's commands may be, bytes as they are ordered: the rest of an order has 8 KiB.
const LONGEST_LOAD: usize = model::wire::LONGEST_ORDER - (8 << 10);

/// Checks a study that the command line has changed; there is no line to tell then.
pub fn check(study: &Study) -> Result<(), String> {
    Rules { text: "", study }.check().map_err(|fault| fault.why)
}

#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub why: String,
}

/// Reads a study from text and checks it.
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
    if !Lines(text).has(&["trial", "repetitions"]) {
        study.trial.repetitions = ON_DEVICES;
    }
    if !Lines(text).has(&["compare", "up-to"]) {
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
    rules.no_device()?;
    rules.check()?;
    Ok(study)
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

/// The line of a byte offset, from 1.
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
    fn check(&self) -> Result<(), Fault> {
        let lines = Lines(self.text);
        maxima::numbers(self.study, lines)?;
        self.radios()?;
        self.clients()?;
        self.trial()?;
        self.variants()?;
        self.profile()?;
        self.count()?;
        self.decisions()?;
        cells::check(self.study, lines)?;
        maxima::plan(self.study, lines)?;
        if let Some(load) = &self.study.load {
            self.load(load, &["load"])?;
        }
        self.published()?;
        match &self.study.subject {
            Some(subject) => {
                self.subject(subject).or_else(|(key, why)| self.fault(&["subject", key], why))
            }
            None => self.no_subject(),
        }
    }

    /// Only cells with traffic or a card have trials without a subject.
    fn no_subject(&self) -> Result<(), Fault> {
        let has_own = |variant: &Variant| variant.subject.is_some();
        if !self.study.is_of_clients() || self.study.variants.iter().all(has_own) {
            return Ok(());
        }
        let why = "no [subject], whose CPU is the question; add:  [subject] process = \"hostapd\"";
        self.fault(&[], why.to_owned())
    }

    /// What was published stands with a figure of the study's.
    fn published(&self) -> Result<(), Fault> {
        let (lines, known) = (Lines(self.text), self.study.known());
        for (at, one) in self.study.published.iter().enumerate() {
            let checked = lines.limit(&format!("{} <= {}", one.ours, one.value), &known);
            checked.or_else(|why| lines.entry_fault("published", at, ("ours", why)))?;
        }
        Ok(())
    }

    /// A study file is for any access point.
    fn no_device(&self) -> Result<(), Fault> {
        if !self.study.access_point.kind.is_vm() {
            let why = "a study file names no device; point `headroom run` at one with --on";
            return self.fault(&["access-point", "kind"], why.to_owned());
        }
        Ok(())
    }

    fn programs(&self) -> Result<(), Fault> {
        let mut names = BTreeSet::new();
        for path in &self.study.access_point.programs {
            let name = uploads::file_name(path).map_err(|error| error.to_string());
            let twice =
                |name| format!("two programs are called `{name}`; name one of them otherwise");
            let result =
                name.and_then(
                    |name| {
                        if names.insert(name.clone()) { Ok(()) } else { Err(twice(name)) }
                    },
                );
            result.or_else(|why| self.fault(&["access-point", "programs"], why))?;
        }
        Ok(())
    }

    fn radios(&self) -> Result<(), Fault> {
        self.firmware()?;
        self.programs()?;
        let radios = self.study.access_point.radios;
        if (1..=MOST_RADIOS).contains(&radios) {
            return Ok(());
        }
        let why = format!(
            "{radios}; the virtual access point has 1 to {MOST_RADIOS}",
            radios = count(radios, "radio")
        );
        self.fault(&["access-point", "radios"], why)
    }

    fn firmware(&self) -> Result<(), Fault> {
        let at = ["access-point", "firmware"];
        match &self.study.access_point.firmware {
            Some(files) if files.is_empty() => self.fault(
                &at,
                "firmware without a file; name its rootfs, its kernel or both".to_owned(),
            ),
            Some(files) if files.modules.is_some() && files.kernel.is_none() => {
                self.fault(&at, "modules are of a kernel; name it as well".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn clients(&self) -> Result<(), Fault> {
        let (at, ap) = (["access-point", "clients"], &self.study.access_point);
        let most = ap.radios * STATIONS_A_RADIO;
        let mut seen = BTreeSet::new();
        if ap.clients.is_empty() {
            return self.fault(&at, "no client count; write for instance [18, 60, 114]".to_owned());
        }
        for clients in &ap.clients {
            if *clients > most {
                let why = format!(
                    "{}; {} can hold {most} ({STATIONS_A_RADIO} association ids each)",
                    count(clients, "client"),
                    count(ap.radios, "radio")
                );
                return self.fault(&at, why);
            }
            if !seen.insert(clients) {
                return self.fault(&at, format!("client count {clients} stands there twice"));
            }
        }
        Ok(())
    }

    fn trial(&self) -> Result<(), Fault> {
        let trial = &self.study.trial;
        let (window, every) = (trial.window.as_nanos(), trial.sample_every.as_nanos());
        if trial.repetitions == 0 {
            return self.fault(&["trial", "repetitions"], "at least 1 repetition".to_owned());
        }
        if every < 10_000_000 {
            let why = format!("{} between samples; the shortest is 10ms", trial.sample_every);
            return self.fault(&["trial", "sample-every"], why);
        }
        if window == 0 || (self.study.has_subject() && !window.is_multiple_of(every)) {
            let why = format!(
                "a window of {} is not a whole number of {} samples",
                trial.window, trial.sample_every
            );
            return self.fault(&["trial", "window"], why);
        }
        Ok(())
    }

    fn variants(&self) -> Result<(), Fault> {
        let mut names = BTreeSet::new();
        if self.study.variants.is_empty() {
            return self.fault(&[], "no [[variant]]; a study compares at least one".to_owned());
        }
        for variant in &self.study.variants {
            let name = variant.name.as_str();
            if !names.insert(name) {
                return self.variant_fault(name, format!("two variants are named `{name}`"));
            }
            if variant.host_load == HostLoad::Trial
                && !self.study.trial.repetitions.is_multiple_of(2)
            {
                return self.variant_fault(
                    name,
                    format!(
                        "`{name}` runs in pairs (host-load = \"trial\"), but repetitions = {} is odd",
                        self.study.trial.repetitions
                    ),
                );
            }
            self.parts(variant)?;
        }
        Ok(())
    }

    /// What a variant has of its own: load, subject, whom it is compared with, what others found.
    fn parts(&self, variant: &Variant) -> Result<(), Fault> {
        let name = variant.name.as_str();
        let message = |key: &str, why: String| Fault {
            line: self.key_line(name, key),
            why: format!("variant `{name}`: {why}"),
        };
        if let Some(VariantLoad::With(load)) = &variant.load {
            self.load(load, &["variant"]).map_err(|fault| message("load", fault.why))?;
        }
        if let Some(subject) = &variant.subject {
            self.subject(subject).map_err(|(_, why)| message("subject", why))?;
        }
        if let Some(line) = variant.background.as_ref().filter(|line| is_no_command(line)) {
            let why = format!("its background is empty or has an open quote: `{line}`");
            return Err(message("background", why));
        }
        if variant.image.as_ref().is_some_and(|image| image.file.is_empty()) {
            return Err(message("image", "its image has no file".to_owned()));
        }
        self.some_of_the_clients(&variant.clients, &["variant"])
            .map_err(|fault| message("clients", fault.why))?;
        self.against(variant).map_err(|why| message("against", why))?;
        self.changes(variant).map_err(|why| message("changes", why))?;
        self.asked(variant).map_err(|why| message("parity", why))?;
        let published = variant.published.as_ref();
        let percent = published.map_or(0.0, |published| published.percent_of_core);
        if !percent.is_finite() || percent < 0.0 {
            return Err(message("published", format!("{percent} % of a core is not CPU time")));
        }
        Ok(())
    }

    /// A subject's keys; the first that is wrong, and why.
    fn subject(&self, subject: &Subject) -> Result<(), (&'static str, String)> {
        if gates::is_no_process(&subject.process) {
            return Err(("process", gates::no_process(&subject.process)));
        }
        if let Some(start) = subject.start.as_ref().filter(|start| is_no_command(start)) {
            let why =
                format!("the subject's command line is empty or has an open quote: `{start}`");
            return Err(("start", why));
        }
        if subject.start.as_ref().is_some_and(|start| start.contains("{interface}")) {
            let why =
                "`{interface}` stands for one in a load; a subject is started once".to_owned();
            return Err(("start", why));
        }
        if let Some(ready) = &subject.ready {
            if subject.start.is_none() {
                let why =
                    "`ready` without `start`: a subject that runs already is ready".to_owned();
                return Err(("ready", why));
            }
            if !Path::new(ready).is_absolute() {
                return Err((
                    "ready",
                    format!("`ready` is a path that begins with /, not `{ready}`"),
                ));
            }
        }
        let mut seen = BTreeSet::new();
        let mut others = subject.others.iter();
        match others.find(|name| gates::is_no_process(name) || !seen.insert(*name)) {
            Some(name) if gates::is_no_process(name) => Err(("others", gates::no_process(name))),
            Some(name) => Err(("others", format!("`{name}` stands there twice"))),
            None => Ok(()),
        }
    }

    fn load(&self, load: &Load, at: &[&str]) -> Result<(), Fault> {
        let window = self.study.trial.window;
        let every = load.every.as_nanos();
        if is_no_command(&load.run) {
            let why =
                format!("the load's command line is empty or has an open quote: `{}`", load.run);
            return self.fault(at, why);
        }
        if let Some(wrong) = unknown_placeholder(&load.run) {
            let why =
                format!("unknown placeholder `{{{wrong}}}` in the load; known: {{interface}}");
            return self.fault(at, why);
        }
        let bytes = plan::load_bytes(load, &self.study.access_point);
        if bytes > LONGEST_LOAD {
            let (is, most) = (bytes.div_ceil(1024), LONGEST_LOAD / 1024);
            let why = format!(
                "the load's commands are {is} KiB, for all interfaces together; the most is {most} \
                     KiB: put them into a file on the access point"
            );
            return self.fault(at, why);
        }
        if every == 0 || !window.as_nanos().is_multiple_of(every) {
            let why = format!(
                "the window of {window} holds no whole number of load rounds of {}",
                load.every
            );
            return self.fault(at, why);
        }
        Ok(())
    }

    fn fault<T>(&self, path: &[&str], why: String) -> Result<T, Fault> {
        Lines(self.text).fault(path, why)
    }

    fn variant_fault<T>(&self, name: &str, why: String) -> Result<T, Fault> {
        Err(Fault { line: self.variant_line(name), why })
    }

    /// The line of the last variant with this name.
    fn variant_line(&self, name: &str) -> usize {
        self.key_line(name, "name")
    }

    /// The line of a key of the last variant with this name, or of its name.
    fn key_line(&self, name: &str, key: &str) -> usize {
        let Ok(document) = DeTable::parse(self.text) else { return 1 };
        let variants = document.get_ref().get("variant").and_then(|v| v.get_ref().as_array());
        let mut tables = variants.into_iter().flatten().filter_map(|one| one.get_ref().as_table());
        let named = |table: &&DeTable<'_>| {
            table.get("name").is_some_and(|given| given.get_ref().as_str() == Some(name))
        };
        let Some(table) = tables.rfind(named) else { return 1 };
        let found = table.get_key_value(key).or_else(|| table.get_key_value("name"));
        found.map_or(1, |(key, _)| line_at(self.text, key.span().start))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shells_braces_are_no_placeholders() {
        for known in [
            "f() { iw dev \"$@\"; }",
            "awk '{ print $2 }'",
            "echo ${one} ${two##*/}",
            "iw {interface}",
        ] {
            assert_eq!(unknown_placeholder(known), None, "{known}");
        }
        assert_eq!(unknown_placeholder("iw { a; } {radio}"), Some("radio"));
    }

    const GOOD: &str = "\
question = \"What does it cost?\"

[access-point]
clients = [18, 60, 114]

[subject]
process = \"hostapd\"

[[variant]]
name = \"idle\"

[[variant]]
name = \"dump\"
load = { run = \"iw dev {interface} station dump\" }
";

    fn fault(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from:?} is not in the good study");
        let Fault { line, why } = parse(&GOOD.replacen(from, to, 1)).unwrap_err();
        format!("{line}: {why}")
    }

    #[test]
    fn a_good_study_has_its_defaults_filled_in() {
        let study = parse(GOOD).unwrap();
        assert_eq!(study.access_point.radios, 3);
        assert_eq!(study.trial.repetitions, 6);
        assert!(study.load_of(&study.variants[0]).is_none());
        assert_eq!(study.load_of(&study.variants[1]).unwrap().every.as_nanos(), 1_000_000_000);
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line() {
        let message = [
            fault("clients =", "cleints ="),
            fault("[subject]\n", "[subject]\nfrobnicate = 1\n"),
            fault("18, 60", "18, 7000"),
            fault("18, 60", "18, 18"),
            fault("[18, 60, 114]", "[]"),
            fault("[18, 60, 114]", "[-1]"),
            fault("[18, 60, 114]", "\"many\""),
            fault("clients", "radios = 9\nclients"),
            fault("[subject]", "[trial]\nwindow = \"20 parsecs\"\n[subject]"),
            fault("[subject]", "[trial]\nwindow = \"2500ms\"\n[subject]"),
            fault("[subject]", "[trial]\nrepetitions = 0\n[subject]"),
            fault("name = \"dump\"", "name = \"idle\""),
            fault("name = \"dump\"", "name = \"a/b\""),
            fault("name = \"dump\"", "name = \"dump\"\nhost-load = \"trail\""),
            fault("name = \"dump\"", "name = \"dump\"\nmode = \"fast\""),
            fault("{interface}", "{radio}"),
            fault("station dump\"", "station dump\", every = \"3s\""),
            fault("iw dev {interface} station dump", "iw 'dev"),
            fault("{ run = \"iw dev", "{ rnu = \"iw dev"),
            fault("{ run = \"iw dev {interface} station dump\" }", "\"nothing\""),
            fault("question", "qestion"),
            fault("[[variant]]", "[[variant]"),
        ];
        insta::assert_snapshot!(message.join("\n"));
    }

    #[test]
    fn what_is_wrong_with_a_subject_or_a_comparison_is_reported_with_its_line() {
        let subject = |keys: &str| fault("[[variant]]", &format!("{keys}\n[[variant]]"));
        let dump = |key: &str| fault("name = \"dump\"", &format!("name = \"dump\"\n{key}"));
        let message = [
            fault("\"hostapd\"", "\"/usr/sbin/hostapd\""),
            subject("start = \"stationd 'all\""),
            subject("start = \"\""),
            subject("start = \"stationd {interface}\""),
            subject("ready = \"/run/stationd\""),
            subject("start = \"stationd\"\nready = \"run/stationd\""),
            subject("others = [\"hostapd\", \"hostapd\"]"),
            subject("redy = \"/run/stationd\""),
            dump("subject = { process = \"stationd\", start = \"'\" }"),
            dump("subject = { start = \"stationd\" }"),
            dump("against = [\"idel\"]"),
            dump("against = [\"everything\"]"),
            dump("against = [\"dump\"]"),
            dump("against = [\"idle\", \"idle\"]"),
            dump("published = { clients = 114, percent-of-core = -1.0, source = \"a page\" }"),
            dump("published = { clients = 114, percent-of-cores = 1.0, source = \"a page\" }"),
            fault("station dump\"", "station dump\", long-running = \"yes\""),
            fault("run = \"iw dev {interface} station dump\"", "long-running = true"),
            fault("station dump\"", "station dump\", long-runing = true"),
        ];
        insta::assert_snapshot!(message.join("\n"));
    }

    #[test]
    fn a_started_subject_and_a_load_that_stays_survive_being_written_and_read() {
        let text = GOOD.replace(
            "name = \"dump\"\n",
            "name = \"dump\"\nagainst = [\"idle\"]\n\
             subject = { process = \"stationd\", start = \"stationd --set all\", ready = \"/run/s\", others = [\"hostapd\"] }\n\
             published = { clients = 114, percent-of-core = 43.95, source = \"a page\" }\n",
        );
        let study =
            parse(&text.replace("station dump\"", "station dump\", long-running = true")).unwrap();
        assert_eq!(study.subject_of(&study.variants[1]).others, ["hostapd"]);
        assert!(study.load_of(&study.variants[1]).unwrap().long_running);
        assert_eq!(parse(&toml::to_string(&study).unwrap()).unwrap(), study);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_study_or_a_fault(text: String) {
            let _ = parse(&text);
        }
    }
}
