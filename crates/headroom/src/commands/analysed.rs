//! A run, analysed by what its cells have: a page, a headline, verdicts, and what a CI and an index read.

use std::path::Path;

use analysis::{
    Analysis, gates, in_cells,
    limited::{self, Limited, Versus},
    metrics::{Metric, baseline},
    profiling::{self, FoldedCell},
};
use lab::run_folder::{self, Recorded};
use model::{inert, study::Gates, trial::Trial, verdict};
use report::{
    Given, Overall, Pending,
    index::{self, Entry, Place, Wanted as Figure},
    junit::{self, Took},
    markdown,
    verdict_lines::{self, Kind, VerdictLine},
};
use serde::Serialize;
use serde_json::json;

use super::{
    check::{self, Decision},
    publish, study,
};
#[cfg(feature = "mcp")]
use crate::answer::{self, Answer};
use crate::{
    code_files::SymbolFolders,
    explain,
    failure::{Failure, Verdict},
    flags::{self, Limits, Outputs},
    options::Options,
    output,
};

/// All that a run says.
pub(crate) enum Analysed {
    /// What a subject costs.
    Process(Box<Analysis>),
    /// What traffic and applications take from each other, or what a card's driver spends.
    Limited(Box<Limited>),
}

/// The version of the JSON of a run and of its verdicts. It rises where a key goes or changes its meaning.
const JSON_VERSION: u32 = 1;

#[derive(Serialize)]
struct Versioned<'a, T> {
    version: u32,
    #[serde(flatten)]
    found: &'a T,
}

impl<'a, T> Versioned<'a, T> {
    const fn of(found: &'a T) -> Self {
        Self { version: JSON_VERSION, found }
    }
}

/// What an analysed run says, in every form.
#[derive(Debug)]
struct Summary {
    /// For a terminal, inert but for colours.
    text: String,
    lines: Vec<VerdictLine>,
    overall: Overall,
    markdown: String,
}

impl Analysed {
    /// Analyses a run with the limits of the command line among its study's.
    pub(crate) fn of(
        recorded: &Recorded,
        symbols: &SymbolFolders,
        limits: &Limits,
        near: Option<&Path>,
    ) -> Result<Self, Failure> {
        if recorded.run.versus.is_some() && !recorded.run.study.is_of_clients() {
            refuse_baseline(limits)?;
        }
        Self::with(recorded, &explain::cells(recorded, symbols)?, limits, near)
    }

    /// The same with these stacks. Baselines are looked for from here, near the study and in the run's folder.
    fn with(
        recorded: &Recorded,
        stacks: &[FoldedCell],
        limits: &Limits,
        near: Option<&Path>,
    ) -> Result<Self, Failure> {
        let Recorded { run, trials, path, .. } = recorded;
        let study = &run.study;
        let limited = check::with_limits(run, limits)?;
        let baselines = check::baselines(&limited, limits, &[near, Some(path)])?;
        if study.is_of_clients() {
            let mut analysis = analysis::unjudged(run, trials);
            if !stacks.is_empty() {
                profiling::with_profiles(&mut analysis, run, trials, stacks);
            }
            // Gates judge everything else, profiles included.
            gates::judge(&mut analysis, &limited, trials, &baselines);
            return Ok(Self::Process(Box::new(analysis)));
        }
        let mut analysis = limited::analyse(&limited, trials, &baselines);
        if let Some(subject) = analysis.subject.as_mut().filter(|_| !stacks.is_empty())
            && let Some((run, trials)) = in_cells::of(run, trials)
        {
            profiling::with_profiles(subject, &run, &trials, stacks);
        }
        Ok(Self::Limited(Box::new(analysis)))
    }

    /// An unfinished run, without its stacks and without what cannot be decided yet.
    pub(crate) fn so_far(recorded: &Recorded, pending: Option<&Pending>) -> Result<Self, Failure> {
        let mut analysed = Self::with(recorded, &[], &Limits::default(), None)?;
        if let (Self::Process(analysis), Some(_)) = (&mut analysed, pending) {
            analysis.gates.retain(|gate| gate.verdict != verdict::Verdict::Invalid);
            analysis.pauses.retain(|pause| pause.verdict != verdict::Verdict::Invalid);
        }
        Ok(analysed)
    }

    pub(crate) fn page(
        &self,
        recorded: &Recorded,
        pending: Option<&Pending>,
    ) -> Result<String, Failure> {
        let Recorded { run, study_text, .. } = recorded;
        let given = Given { study_toml: study_text, pending };
        let page = match self {
            Self::Process(analysis) => report::html(run, analysis, given),
            Self::Limited(limited) => report::limited::page(limited, run, given),
        };
        page.map_err(Failure::Page)
    }

    /// The run in one sentence, names in backticks.
    pub(crate) fn headline(&self) -> &str {
        match self {
            Self::Process(analysis) => &analysis.headline.sentence,
            Self::Limited(limited) => &limited.headline.sentence,
        }
    }

    /// The run's table, and how many of its trials count.
    pub(super) fn table(&self) -> (&[Metric], u32) {
        match self {
            Self::Process(analysis) => {
                (&analysis.table, analysis.cells.iter().map(|cell| cell.valid).sum())
            }
            Self::Limited(limited) => (&limited.table, limited.counted),
        }
    }

    fn json(&self) -> String {
        let json = match self {
            Self::Process(analysis) => serde_json::to_string(&Versioned::of(analysis)),
            Self::Limited(limited) => serde_json::to_string(&Versioned::of(limited)),
        };
        json.unwrap_or_default()
    }

    fn summary(&self, recorded: &Recorded) -> Summary {
        let run = &recorded.run;
        match self {
            Self::Process(analysis) => {
                let (lines, overall) =
                    (verdict_lines::all(run, analysis), report::overall(run, analysis));
                let text = publish::text(analysis) + &plain(&lines, &overall);
                Summary { text, lines, overall, markdown: markdown::summary(run, analysis) }
            }
            Self::Limited(limited) => {
                if let Some(one) = &limited.comparison {
                    return one_question(limited, one);
                }
                let markdown = report::limited::markdown(limited);
                let text = inert::lines(&report::limited::summary(limited)).into_owned();
                let lines = report::limited::lines(&limited.targets);
                Summary { text, lines, overall: report::limited::overall(limited), markdown }
            }
        }
    }

    /// Prints the run with its verdicts, writes what CI reads, and gives the verdict.
    pub(super) fn print(
        &self,
        options: &Options,
        recorded: &Recorded,
        outputs: &Outputs,
    ) -> Result<Verdict, Failure> {
        let summary = self.summary(recorded);
        if options.json {
            output::json_text(&self.json());
        } else {
            output::painted(summary.text.trim_end());
            self.note_edited(recorded);
        }
        write_files(recorded, &summary, outputs)
    }

    /// Judges a run again: `headroom check`.
    pub(super) fn check(
        &self,
        options: &Options,
        recorded: &Recorded,
        flags: &flags::Check,
    ) -> Result<Verdict, Failure> {
        let (table, valid) = self.table();
        if let Some(file) = &flags.save_baseline {
            let planned = match self {
                Self::Process(analysis) => analysis.cells.iter().map(|cell| cell.planned).sum(),
                _ => recorded.run.plan.len() as u32,
            };
            check::save(file, valid, planned, &baseline::of(&recorded.run, table))?;
        }
        let summary = self.summary(recorded);
        let Summary { lines, overall, .. } = &summary;
        match self {
            Self::Process(_) if options.json => {
                let verdicts: Vec<Decision> = lines.iter().map(Decision::of).collect();
                let Overall { verdict, sentence } = overall;
                output::json(&json!({
                    "version": JSON_VERSION, "verdict": verdict, "sentence": sentence, "verdicts": verdicts
                }));
            }
            _ if options.json => output::json_text(&self.json()),
            _ => {
                output::painted(plain(lines, overall).trim_end());
                self.note_edited(recorded);
            }
        }
        write_files(recorded, &summary, &flags.outputs)
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn answer(&self, recorded: &Recorded) -> Answer {
        let (Summary { overall, lines, .. }, table) = (self.summary(recorded), self.table().0);
        let (doubts, profiles) = match self {
            Self::Process(analysis) => (&*analysis.doubts, &*analysis.profiles),
            _ => (&[][..], &[][..]),
        };
        Answer {
            verdict: overall.verdict.to_string(),
            sentence: overall.sentence,
            headline: self.headline().to_owned(),
            decided: lines.iter().map(Decision::of).collect(),
            figures: table.iter().take(answer::MOST_FIGURES).map(answer::Figure::of).collect(),
            figures_left_out: table.len().saturating_sub(answer::MOST_FIGURES),
            doubts: doubts.iter().map(answer::Doubtful::of).collect(),
            flames: answer::flames(profiles),
        }
    }

    /// Names the trials that were edited; of a subject's run they are among its doubts.
    fn note_edited(&self, recorded: &Recorded) {
        let named = recorded.edited.iter().filter(|_| !matches!(self, Self::Process(_)));
        named.for_each(|file| {
            output::line(format_args!("edited: trials/{file}.json is not as it was written"));
        });
    }

    /// What an index says of a run that lies here.
    fn entry(&self, recorded: &Recorded, figure: &Figure, place: Place<'_>) -> Entry {
        let run = &recorded.run;
        match self {
            Self::Process(analysis) => index::entry(run, analysis, figure, place),
            Self::Limited(limited) => index::by_targets(run, limited, figure, place),
        }
    }
}

/// A run's entry in an index, which follows a figure. Stacks are read only where a gate judges them or they are followed.
pub(crate) fn entry(
    recorded: &Recorded,
    (figure, symbols): (&Figure, &SymbolFolders),
    place: Place<'_>,
) -> Result<Entry, String> {
    const STACKS: &str = "unknown-frames";
    let asks_for_stacks = |gates: &Gates| {
        gates.unknown_frames.is_some() || gates.limits.iter().any(|limit| limit.contains(STACKS))
    };
    let limits = Limits::default();
    let analysed = match figure.name() == Some(STACKS)
        || recorded.run.study.gates.as_ref().is_some_and(asks_for_stacks)
    {
        true => Analysed::of(recorded, symbols, &limits, None),
        false => Analysed::with(recorded, &[], &limits, None),
    };
    // A limit that cannot be judged any more makes the run unreadable as a verdict, and is reported.
    Ok(analysed.map_err(|failure| failure.sentence())?.entry(recorded, figure, place))
}

/// Verdicts for people, coloured where the output is a terminal.
fn plain(lines: &[VerdictLine], overall: &Overall) -> String {
    verdict_lines::plain(lines, overall, output::has_colours())
}

fn write_files(
    recorded: &Recorded,
    summary: &Summary,
    outputs: &Outputs,
) -> Result<Verdict, Failure> {
    if let Some(file) = &outputs.junit {
        let (run, took) = (&recorded.run, took(recorded));
        let document = junit::document(run, &run.study.question, &summary.lines, took);
        run_folder::write_out(file, document.as_bytes())?;
    }
    if let Some(file) = &outputs.markdown {
        check::append(file, &summary.markdown)?;
    }
    Ok(summary.overall.verdict.into())
}

/// Keeps the figures with the page where nothing else does.
pub(super) fn keep_figures(analysed: &Analysed, page: &Path) -> Result<(), Failure> {
    // Next to a pipe or a device nobody looks for them.
    if let (Analysed::Limited(limited), true) = (analysed, page.is_file())
        && limited.cards.is_some()
    {
        let json = serde_json::to_string_pretty(&Versioned::of(limited)).unwrap_or_default() + "\n";
        run_folder::write_whole(&page.with_extension("json"), json.as_bytes())?;
    }
    Ok(())
}

fn refuse_baseline(limits: &Limits) -> Result<(), Failure> {
    let said = limits.baseline.is_some() || !limits.gates.iter().all(check::names_none);
    study::refuse(&[("a baseline", said)], |word| {
        format!(
            "{word} means nothing to a comparison: its other side is measured with it; leave it out"
        )
    })
}

/// A comparison of traffic or cards: its headline, its verdict as one line, and the limits that were set.
fn one_question(limited: &Limited, Versus { cell, judgement }: &Versus) -> Summary {
    let own = VerdictLine {
        kind: Kind::Comparison,
        name: format!("{} to {} of {cell}", judgement.base, judgement.variant),
        verdict: judgement.verdict,
        counts: true,
        effect: judgement.effect(),
        sentence: judgement.sentence.clone(),
    };
    let others = report::limited::lines(limited.targets.get(1..).unwrap_or_default());
    let lines: Vec<VerdictLine> = [own].into_iter().chain(others).collect();
    let overall = report::limited::overall(limited);
    let headline = limited.headline.sentence.replace('`', "");
    let [question, headline] = [&limited.question, &headline].map(|text| inert::line(text));
    let text = format!("{question}\n\n  {headline}\n\n{}", plain(&lines, &overall));
    Summary { text, lines, overall, markdown: report::limited::markdown(limited) }
}

fn took(recorded: &Recorded) -> Took {
    let ends = |trial: &Trial| trial.began_unix + trial.cost.measure_ms / 1000;
    let trials = || recorded.trials.iter().filter(|trial| trial.same_as.is_none());
    let (first, last) = (trials().map(|trial| trial.began_unix).min(), trials().map(ends).max());
    let wall_s = first.zip(last).map_or(0.0, |(first, last)| last.saturating_sub(first) as f64);
    Took { trials: (recorded.trials.len() as u32, recorded.run.plan.len() as u32), wall_s }
}
