//! A run's folder, read as its users read it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use analysis::fixture;
use lab::run_folder;
use model::{
    event::Event,
    reading::Reading,
    run::Run,
    trial::{Outcome, Trial},
};
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct RunFolder(PathBuf);

impl RunFolder {
    pub(super) fn at(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn run(&self) -> Run {
        serde_json::from_str(&self.text("run.json")).unwrap()
    }

    /// The bytes of every finished trial, by file name.
    pub(crate) fn trial_files(&self) -> BTreeMap<String, Vec<u8>> {
        let files = fs::read_dir(self.path("trials")).unwrap().flatten().map(|file| file.path());
        let whole = files.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
        whole.map(|path| (name_of(&path), fs::read(path).unwrap())).collect()
    }

    pub(crate) fn count(&self) -> usize {
        fs::read_dir(self.path("trials")).map_or(0, Iterator::count)
    }

    pub(crate) fn trials(&self) -> Vec<Trial> {
        let files = self.trial_files();
        files.values().map(|bytes| serde_json::from_slice(bytes).unwrap()).collect()
    }

    pub(crate) fn recordings(&self) -> Vec<Reading> {
        self.trials().iter().filter_map(|trial| trial.reading().cloned()).collect()
    }

    /// Asserts that each trial found these clients on `wlan0` and on, by the kernel and by hostapd.
    pub(crate) fn has_clients(&self, counts: [u32; 3]) {
        for census in self.recordings().iter().flat_map(|one| one.census.as_ref().unwrap()) {
            let found = census.interfaces.iter().map(|one| (&*one.name, one.kernel, one.hostapd));
            let planned = ["wlan0", "wlan1", "wlan2"].into_iter().zip(counts);
            let planned = planned.map(|(name, count)| (name, Some(count), Some(count)));
            assert!(found.eq(planned), "{census:?}");
        }
    }

    /// Why the invalid trials are so, and the console's end that was kept with each.
    pub(crate) fn invalid(&self) -> Vec<(String, Vec<String>)> {
        let invalid = self.trials().into_iter().filter_map(|trial| match trial.outcome {
            Outcome::Measured(_) => None,
            Outcome::Invalid { why, console } => Some((why, console)),
        });
        invalid.collect()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let text = self.text("events.jsonl");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The report, which must be a page with the harness's question.
    pub(crate) fn report(&self) -> String {
        self.report_on(super::Study::QUESTION)
    }

    pub(crate) fn report_on(&self, question: &str) -> String {
        let page = self.text("report.html");
        let question = question.replace('\'', "&#39;");
        assert!(page.contains(&question), "the page does not ask the question");
        page
    }
}

/// Makes a run's folder with made-up trials, of a run that is changed first.
pub(crate) fn made_up(path: &Path, change: impl FnOnce(&mut Run)) {
    let mut run = fixture::run();
    change(&mut run);
    let kept = run_folder::RunFolder::create(path, &run, "question = \"?\"\n").unwrap();
    fixture::trials(&run).iter().for_each(|trial| kept.keep(trial).unwrap());
}

/// SHA-256 of a file, as the machine's own tool counts it.
pub(crate) fn sha256sum(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

/// Asserts that a JSON object has these members.
#[track_caller]
pub(crate) fn has(value: &Value, members: &Value) {
    for (name, expected) in members.as_object().unwrap() {
        assert_eq!(value[name], *expected, "{name} of {value:#}");
    }
}

/// What a variant's subject and load take, µs of CPU a second.
pub(crate) fn cpu(analysis: &Value, variant: &str) -> f64 {
    let cells = analysis["cells"].as_array().unwrap();
    number(cells.iter().find(|cell| cell["variant"] == variant).unwrap(), "/cpu/sum/mean")
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

pub(crate) fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {value:#}"))
}
