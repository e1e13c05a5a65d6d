//! `headroom check`: a run against its limits, as a table, an exit code, and files for CI.
//!
//! Reads a run's folder and measures nothing. Other verbs judge and conclude with the same functions.

use std::{
    fs,
    path::{Path, PathBuf},
};

use analysis::metrics::baseline::Baselines;
use lab::run_folder;
use linux::file;
use model::{
    baseline::{Baseline, FORMAT},
    limit::{self, Asked},
    run::Run,
    share::Share,
    study::Study,
};
use report::verdict_lines::VerdictLine;
use serde::Serialize;
use serde_json::Value;

use super::analysed::Analysed;
use crate::{
    code_files::SymbolFolders,
    failure::{Failure, Verdict},
    flags::{self, Limits},
    options::Options,
};

pub(crate) fn check(options: &Options, flags: &flags::Check) -> Result<Verdict, Failure> {
    let recorded = run_folder::read(&flags.run)?;
    // What is wrong with the words is reported before any work.
    refuse(&recorded.run.study, &flags.limits)?;
    let symbols = SymbolFolders::of(options, &flags.symbols)?;
    Analysed::of(&recorded, &symbols, &flags.limits, None)?.check(options, &recorded, flags)
}

/// The baselines that a run's limits name, each as read from here or from the first of `places` that has it; where the
/// command line names a file, that one stands for them all.
pub(super) fn baselines(
    run: &Run,
    limits: &Limits,
    places: &[Option<&Path>],
) -> Result<Baselines, Failure> {
    let given =
        limits.baseline.as_deref().map(read_baseline).transpose().map_err(Failure::Usage)?;
    let baseline = |file: String| {
        let baseline = match &given {
            Some(baseline) => Ok(baseline.clone()),
            None => read_baseline(&find(&file, places)),
        };
        (file, baseline)
    };
    Ok(files(&run.study).into_iter().map(baseline).collect())
}

/// One decision, for programs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub(crate) struct Decision {
    /// What was decided: gate, comparison, pause or run
    pub(crate) kind: &'static str,
    /// Which
    pub(crate) name: String,
    /// How: pass, fail, invalid or measured
    pub(crate) verdict: String,
    /// Whether it counts for the run's verdict
    pub(crate) counts: bool,
    /// The figure and its interval, where one figure decides
    pub(crate) effect: Option<String>,
    /// Why, one sentence
    pub(crate) sentence: String,
}

impl Decision {
    pub(crate) fn of(line: &VerdictLine) -> Self {
        Self {
            kind: line.kind.name(),
            name: line.name.clone(),
            verdict: line.verdict.to_string(),
            counts: line.counts,
            effect: line.effect.clone(),
            sentence: line.sentence.clone(),
        }
    }
}

/// Refuses limits of the command line that speak of what the study does not have, before anything is measured.
pub(crate) fn refuse(study: &Study, limits: &Limits) -> Result<(), Failure> {
    let known = study.known();
    limits.gates.iter().try_for_each(|limit| known.check(limit)).map_err(Failure::Usage)
}

/// The run with the command line's limits among its study's.
pub(super) fn with_limits(run: &Run, limits: &Limits) -> Result<Run, Failure> {
    let mut run = run.clone();
    refuse(&run.study, limits)?;
    let mut more: Vec<String> = limits.gates.iter().map(|limit| limit.text.clone()).collect();
    if let Some(file) = limits.baseline.as_deref().filter(|_| limits.gates.iter().all(names_none))
        && files(&run.study).is_empty()
    {
        // Of other figures than CPU a run may be further off.
        let margin = if run.study.is_of_clients() { run.study.margin() } else { Share::of(0.05) };
        more.push(format!("no slower than {} by {margin}", file.display()));
    }
    if !more.is_empty() {
        run.study.gates.get_or_insert_default().limits.extend(more);
    }
    Ok(run)
}

pub(super) fn names_none(limit: &limit::Limit) -> bool {
    !matches!(limit.asked, Asked::NoSlower { .. })
}

pub(super) fn files(study: &Study) -> Vec<String> {
    let texts = study.gates.iter().flat_map(|gates| &gates.limits);
    let named = texts.filter_map(|text| match limit::parse(text).ok()?.asked {
        Asked::NoSlower { file, .. } => Some(file),
        Asked::Bound { .. } => None,
    });
    named.collect()
}

/// The first place that has the file, or its name as it stands.
fn find(file: &str, places: &[Option<&Path>]) -> PathBuf {
    let here = [Path::new("")].into_iter();
    let places = here.chain(places.iter().copied().flatten());
    let mut paths = places.map(|place| place.join(file));
    paths.find(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(file))
}

fn read_baseline(path: &Path) -> Result<Baseline, String> {
    let name = path.display();
    let text = file::text(path, file::GENERATED)
        .map_err(|error| format!("cannot read the baseline {name}: {error}"))?;
    let wrong = |error| format!("{name} is not a baseline: {error}");
    let value: Value = serde_json::from_str(&text).map_err(wrong)?;
    // A later format may have other keys, and that is what is to be reported then.
    match value.get("format").and_then(Value::as_u64) {
        Some(format) if format != u64::from(FORMAT) => Err(format!(
            "the baseline {name} has format {format}, this headroom reads {FORMAT}; save it again"
        )),
        _ => serde_json::from_value(value).map_err(wrong),
    }
}

/// Writes what later runs are judged by; of trials, as many as are planned must be valid.
pub(super) fn save(
    file: &Path,
    valid: u32,
    planned: u32,
    baseline: &Baseline,
) -> Result<(), Failure> {
    if planned == 0 || valid < planned {
        return Err(Failure::Unmeasured(format!(
            "no baseline was saved: {valid} of {planned} trials are valid, and all of them are needed"
        )));
    }
    let json = serde_json::to_string_pretty(baseline).unwrap_or_default();
    run_folder::write_out(file, format!("{json}\n").as_bytes())?;
    Ok(())
}

/// Adds to a summary: a CI gives one file to all steps of a job.
pub(super) fn append(file: &Path, text: &str) -> Result<(), Failure> {
    use std::io::Write;
    let open = fs::File::options().create(true).append(true).open(file);
    let wrote = open.and_then(|mut file| file.write_all(text.as_bytes()));
    wrote.map_err(|error| Failure::Environment(format!("cannot write {}: {error}", file.display())))
}
