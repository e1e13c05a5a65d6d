//! `headroom check`: a run against its limits, as a table, an exit code, and files for CI.
//!
//! Reads a run's folder and measures nothing. Other verbs judge and conclude with the same functions.

use std::{
    fs,
    path::{Path, PathBuf},
};

use analysis::{Analysis, gates, metrics::baseline::Baselines, profiling};
use lab::run_folder::{self, Recorded};
use linux::file;
use model::{
    baseline::{Baseline, FORMAT},
    limit::{self, Asked},
    run::Run,
    share::Share,
    study::Study,
};
use report::{
    Overall,
    verdict_lines::{self, VerdictLine},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::analysed::Analysed;
use crate::{
    code_files::SymbolFolders,
    explain,
    failure::{Failure, Verdict},
    flags::{self, Limits},
    options::Options,
    output,
};

pub(crate) fn check(options: &Options, flags: &flags::Check) -> Result<Verdict, Failure> {
    let recorded = run_folder::read(&flags.run)?;
    // What is wrong with the words is reported before any work.
    refuse(&recorded.run.study, &flags.limits)?;
    let symbols = SymbolFolders::of(options, &flags.symbols)?;
    Analysed::of(&recorded, &symbols, &flags.limits, None)?.check(options, &recorded, flags)
}

/// All that a run says: its figures, its profiles, and what [`judge`] makes of its gates.
pub(crate) fn analysed(
    recorded: &Recorded,
    symbols: &SymbolFolders,
    limits: &Limits,
    near: Option<&Path>,
) -> Result<Analysis, Failure> {
    let mut analysis = analysis::unjudged(&recorded.run, &recorded.trials);
    let cells = explain::cells(recorded, symbols)?;
    if !cells.is_empty() {
        profiling::with_profiles(&mut analysis, &recorded.run, &recorded.trials, &cells);
    }
    judge(&mut analysis, recorded, limits, near)?;
    Ok(analysis)
}

/// Judges the gates of a run and of the command line. To be called when the analysis holds everything else,
/// profiles included. Baselines are looked for from here, alongside the study where `near` is its folder, and in
/// the run's folder.
pub(crate) fn judge(
    analysis: &mut Analysis,
    recorded: &Recorded,
    limits: &Limits,
    near: Option<&Path>,
) -> Result<(), Failure> {
    let run = with_limits(&recorded.run, limits)?;
    let texts = run.study.gates.iter().flat_map(|gates| &gates.limits);
    let baselines = baselines(texts, limits, &[near, Some(&recorded.path)])?;
    gates::judge(analysis, &run, &recorded.trials, &baselines);
    Ok(())
}

/// The baselines that limits name, each as read from here or from the first of `places` that has it; where the command
/// line names a file, that one stands for them all.
pub(super) fn baselines<'a>(
    texts: impl IntoIterator<Item = &'a String>,
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
    Ok(files(texts).into_iter().map(baseline).collect())
}

/// One decision, for programs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub(crate) struct Decided {
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

impl Decided {
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

pub(super) fn print_json(lines: &[VerdictLine], Overall { verdict, sentence }: &Overall) {
    let verdicts: Vec<Decided> = lines.iter().map(Decided::of).collect();
    output::json(&json!({"verdict": verdict, "sentence": sentence, "verdicts": verdicts}));
}

/// Verdicts for people, coloured where the output is a terminal.
pub(crate) fn plain(lines: &[VerdictLine], overall: &Overall) -> String {
    verdict_lines::plain(lines, overall, output::has_colours())
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
        && files(run.study.gates.iter().flat_map(|gates| &gates.limits)).is_empty()
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

pub(super) fn files<'a>(texts: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    texts
        .into_iter()
        .filter_map(|text| match limit::parse(text).ok()?.asked {
            Asked::NoSlower { file, .. } => Some(file),
            Asked::Bound { .. } => None,
        })
        .collect()
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
