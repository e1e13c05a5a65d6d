//! A run, analysed by what its cells have: a page, a headline, verdicts, and what a CI and an index read.

use std::path::Path;

use analysis::{
    Analysis, in_cells,
    limited::{self, Limited, Versus},
    metrics::{
        Metric, Target,
        baseline::{self, Baselines},
    },
    profiling,
};
use lab::run_folder::{self, Recorded};
use model::{inert, study::Gates, trial::Trial, verdict::Verdict as Decided};
use report::{
    Given, Overall, Pending,
    index::{self, Entry, Place, Wanted as Figure},
    junit::{self, Took},
    markdown,
    verdict_lines::{self, Kind, VerdictLine},
};

use super::{check, publish, study};
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

/// What an analysed run says, in every form.
#[derive(Debug)]
struct Summary {
    /// For a terminal, inert but for colours.
    text: String,
    /// Every verdict.
    lines: Vec<VerdictLine>,
    /// The verdict on the run.
    overall: Overall,
    /// For a CI's summary.
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
        let study = &recorded.run.study;
        if study.is_of_clients() {
            let analysis = check::analysed(recorded, symbols, limits, near)?;
            return Ok(Self::Process(Box::new(analysis)));
        }
        let mut analysed = Self::at_once(recorded, limits, near)?;
        if let Self::Limited(limited) = &mut analysed
            && let Some(subject) =
                limited.traffic.as_mut().and_then(|traffic| traffic.subject.as_mut())
            && let Some((run, trials)) = in_cells::of(&recorded.run, &recorded.trials)
        {
            let cells = explain::cells(recorded, symbols)?;
            profiling::with_profiles(subject, &run, &trials, &cells);
        }
        Ok(analysed)
    }

    /// The same without stacks, which take their time.
    pub(crate) fn at_once(
        recorded: &Recorded,
        limits: &Limits,
        near: Option<&Path>,
    ) -> Result<Self, Failure> {
        let (study, trials) = (&recorded.run.study, &recorded.trials);
        if study.is_of_clients() {
            let mut analysis = analysis::unjudged(&recorded.run, trials);
            check::judge(&mut analysis, recorded, limits, near)?;
            return Ok(Self::Process(Box::new(analysis)));
        }
        if recorded.run.versus.is_some() {
            refuse_baseline(limits)?;
        }
        let run = check::with_limits(&recorded.run, limits)?;
        let texts = run.study.gates.iter().flat_map(|gates| &gates.limits);
        let baselines: Baselines =
            check::baselines(texts, limits, &[near, Some(recorded.path.as_path())])?;
        Ok(Self::Limited(Box::new(limited::analyse(&run, trials, &baselines))))
    }

    /// A run as far as it is, without what cannot be decided yet.
    pub(crate) fn so_far(recorded: &Recorded, pending: Option<&Pending>) -> Result<Self, Failure> {
        let mut analysed = Self::at_once(recorded, &Limits::default(), None)?;
        if let (Self::Process(analysis), Some(_)) = (&mut analysed, pending) {
            analysis.gates.retain(|gate| gate.verdict != Decided::Invalid);
            analysis.pauses.retain(|pause| pause.verdict != Decided::Invalid);
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
    fn table(&self) -> (&[Metric], u32) {
        match self {
            Self::Process(analysis) => {
                (&analysis.table, analysis.cells.iter().map(|cell| cell.valid).sum())
            }
            Self::Limited(limited) => (&limited.table, limited.counted),
        }
    }

    fn json(&self) -> String {
        let json = match self {
            Self::Process(analysis) => serde_json::to_string(analysis),
            Self::Limited(limited) => serde_json::to_string(limited),
        };
        json.unwrap_or_default()
    }

    fn said(&self, recorded: &Recorded) -> Summary {
        let (run, question) = (&recorded.run, &recorded.run.study.question);
        match self {
            Self::Process(analysis) => {
                let (lines, overall) =
                    (verdict_lines::all(run, analysis), report::overall(run, analysis));
                let text = publish::text(analysis) + &check::plain(&lines, &overall);
                Summary { text, lines, overall, markdown: markdown::summary(run, analysis) }
            }
            Self::Limited(limited) => {
                let markdown = report::limited::markdown(limited);
                Summary { markdown, ..by_limits(question, limited) }
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
        let said = self.said(recorded);
        if options.json {
            output::json_text(&self.json());
        } else {
            output::painted(said.text.trim_end());
            note_edited(recorded, self);
        }
        write_files(recorded, &said, outputs)
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
        let said = self.said(recorded);
        match self {
            Self::Process(_) if options.json => check::print_json(&said.lines, &said.overall),
            _ if options.json => output::json_text(&self.json()),
            _ => {
                output::painted(check::plain(&said.lines, &said.overall).trim_end());
                note_edited(recorded, self);
            }
        }
        write_files(recorded, &said, &flags.outputs)
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn answer(&self, recorded: &Recorded) -> Answer {
        let (Summary { overall, lines, .. }, table) = (self.said(recorded), self.table().0);
        let (doubts, profiles) = match self {
            Self::Process(analysis) => (&*analysis.doubts, &*analysis.profiles),
            _ => (&[][..], &[][..]),
        };
        Answer {
            verdict: overall.verdict.to_string(),
            sentence: overall.sentence,
            headline: self.headline().to_owned(),
            decided: lines.iter().map(check::Decided::of).collect(),
            figures: table.iter().take(answer::MOST_FIGURES).map(answer::Figure::of).collect(),
            figures_left_out: table.len().saturating_sub(answer::MOST_FIGURES),
            doubts: doubts.iter().map(answer::Doubtful::of).collect(),
            flames: answer::flames(profiles),
        }
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

/// What an index follows through its runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Following<'a> {
    pub(crate) figure: &'a Figure,
    /// For runs whose limits judge stacks.
    pub(crate) symbols: &'a SymbolFolders,
}

/// A run's entry in an index. Its stacks are read only where a gate judges them or they are followed.
pub(crate) fn entry(
    recorded: &Recorded,
    following: &Following<'_>,
    place: Place<'_>,
) -> Result<Entry, String> {
    const STACKS: &str = "unknown-frames";
    let limits = Limits::default();
    let asks_for_stacks = |gates: &Gates| {
        gates.unknown_frames.is_some() || gates.limits.iter().any(|limit| limit.contains(STACKS))
    };
    let is_asked = recorded.run.study.gates.as_ref().is_some_and(asks_for_stacks);
    let analysed = match is_asked || following.figure.name() == Some(STACKS) {
        true => Analysed::of(recorded, following.symbols, &limits, None),
        false => Analysed::at_once(recorded, &limits, None),
    };
    // A limit that cannot be judged any more makes the run unreadable as a verdict, and is reported.
    let analysed = analysed.map_err(|failure| failure.sentence())?;
    Ok(analysed.entry(recorded, following.figure, place))
}

/// Names the trials that were edited; of a subject's run they are among its doubts.
fn note_edited(recorded: &Recorded, analysed: &Analysed) {
    if !matches!(analysed, Analysed::Process(_)) {
        for file in &recorded.edited {
            output::line(format_args!("edited: trials/{file}.json is not as it was written"));
        }
    }
}

fn write_files(recorded: &Recorded, said: &Summary, outputs: &Outputs) -> Result<Verdict, Failure> {
    if let Some(file) = &outputs.junit {
        let (run, took) = (&recorded.run, took(recorded));
        let document = junit::document(run, &run.study.question, &said.lines, took);
        run_folder::write_out(file, document.as_bytes())?;
    }
    if let Some(file) = &outputs.markdown {
        check::append(file, &said.markdown)?;
    }
    Ok(said.overall.verdict.into())
}

/// Keeps the figures with the page where nothing else does.
pub(super) fn keep_figures(analysed: &Analysed, page: &Path) -> Result<(), Failure> {
    // Next to a pipe or a device nobody looks for them.
    if let (Analysed::Limited(limited), true) = (analysed, page.is_file())
        && limited.cards.is_some()
    {
        let json = serde_json::to_string_pretty(limited).unwrap_or_default() + "\n";
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

/// What is said of a run that limits decide, or of one question.
fn by_limits(question: &str, limited: &Limited) -> Summary {
    if let Some(one) = &limited.comparison {
        return one_question(question, one, &limited.targets);
    }
    let text = inert::lines(&report::limited::summary(limited)).into_owned();
    let lines = report::limited::lines(&limited.targets);
    let overall = report::limited::overall(limited);
    Summary { text, lines, overall, markdown: String::new() }
}

/// What is said of a run of one question: its verdict as one line, and the limits that were set.
fn one_question(question: &str, one: &Versus, targets: &[Target]) -> Summary {
    let Versus { cell, judgement: judged } = one;
    let own = VerdictLine {
        kind: Kind::Comparison,
        name: format!("{} to {} of {cell}", judged.base, judged.variant),
        verdict: judged.verdict,
        counts: true,
        effect: judged.effect(),
        sentence: judged.sentence.clone(),
    };
    let others = report::limited::lines(targets.get(1..).unwrap_or_default());
    let lines: Vec<VerdictLine> = [own].into_iter().chain(others).collect();
    let verdict = Decided::of_all(lines.iter().map(|line| line.verdict));
    let worst = lines.iter().find(|line| line.verdict == verdict);
    let sentence = worst.map(|line| {
        let of_verdict = format!("{verdict}: ");
        let why = line.sentence.strip_prefix(&of_verdict).unwrap_or(&line.sentence);
        format!("{}: {why}", line.name)
    });
    let overall = Overall { verdict, sentence: sentence.unwrap_or_default() };
    let text = format!("{}\n\n{}", inert::line(question), check::plain(&lines, &overall));
    Summary { text, lines, overall, markdown: String::new() }
}

fn took(recorded: &Recorded) -> Took {
    let ends = |trial: &Trial| trial.began_unix + trial.cost.measure_ms / 1000;
    let trials = || recorded.trials.iter().filter(|trial| trial.same_as.is_none());
    let (first, last) = (trials().map(|trial| trial.began_unix).min(), trials().map(ends).max());
    let wall_s = first.zip(last).map_or(0.0, |(first, last)| last.saturating_sub(first) as f64);
    Took { trials: (recorded.trials.len() as u32, recorded.run.plan.len() as u32), wall_s }
}
