//! The page: what stands where. The words and pictures come from the other modules.
//!
//! Sections that have nothing to say are left out by the template.

use analysis::{Analysis, Doubt, InvalidTrial, Level, core_of, quantity::count};
use askama::Template;
use model::run::Run;

use crate::{
    bars::Bars,
    cpu_section::{self, Material},
    curve_chart, detail_tables,
    identity::{self, Fact},
    lab_chart, prose,
    sparks::Sparks,
    stage_chart, stage_tables,
    table::Table,
    tables,
};

/// Everything that the template shows.
#[derive(Template)]
#[template(path = "report.html")]
pub(crate) struct Page<'a> {
    question: &'a str,
    answer: Vec<String>,
    study_name: &'a str,
    began: String,
    headroom: &'a str,
    status: Vec<String>,
    /// Whose CPU is summed, as words.
    summed: String,
    others: &'a [String],
    stage_chart: String,
    stage_caption: String,
    /// Whether the variants' subjects are not all one process.
    subjects_differ: bool,
    /// Where published figures come from.
    sources: Option<String>,
    curve_chart: String,
    /// Whether the curve's scale is one of decades.
    decades: bool,
    has_idle: bool,
    lab_chart: String,
    /// Where the CPU goes; empty where nothing was profiled or counted.
    cpu: String,
    why_no_slope: Option<&'a str>,
    tables: Tables,
    doubts: Vec<Said>,
    caveats: Vec<Said>,
    invalid: &'a [InvalidTrial],
    facts: Vec<Fact>,
    study_toml: &'a str,
}

/// A doubt in words, as HTML.
struct Said {
    sentence: String,
    advice: String,
}

impl Said {
    fn of(doubt: &Doubt) -> Self {
        Self { sentence: prose::html(&doubt.to_string()), advice: prose::html(doubt.advice()) }
    }
}

/// The tables as HTML; an empty text is a table without rows.
struct Tables {
    stages: String,
    bases: String,
    bars: String,
    slopes: String,
    summary: String,
    full: String,
    idle: String,
    comparisons: String,
    sparks: String,
    lab: String,
    threads: String,
    beyond: String,
    trials: String,
    variants: String,
    programs: String,
}

impl<'a> Page<'a> {
    /// Lays out a run.
    pub(crate) fn of(
        run: &'a Run,
        analysis: &'a Analysis,
        study_toml: &'a str,
    ) -> askama::Result<Self> {
        let of_level = |level| {
            let doubts = analysis.doubts.iter().filter(move |doubt| doubt.level() == level);
            doubts.map(Said::of).collect::<Vec<_>>()
        };
        Ok(Self {
            question: &analysis.question,
            answer: analysis.answer.iter().map(|sentence| prose::html(sentence)).collect(),
            study_name: &run.study_name,
            began: identity::utc(run.began_unix),
            headroom: &run.headroom,
            status: status(run, analysis),
            summed: tables::summed(analysis),
            others: &analysis.others,
            stage_chart: stage_chart::draw(analysis),
            stage_caption: stage_chart::caption(run, analysis),
            subjects_differ: stage_tables::whose(analysis).is_some(),
            sources: stage_tables::sources(analysis),
            curve_chart: curve_chart::draw(analysis),
            decades: curve_chart::is_by_decades(analysis),
            has_idle: tables::has_idle(analysis),
            lab_chart: lab_chart::draw(analysis),
            cpu: cpu_section::html(&Material::of(analysis))?,
            why_no_slope: tables::why_no_slope(analysis).filter(|_| analysis.asks_for_cpu()),
            tables: Tables::of(run, analysis),
            doubts: of_level(Level::Doubt),
            caveats: of_level(Level::Caveat),
            invalid: &analysis.invalid,
            facts: identity::facts(run, analysis.machine.as_ref()),
            study_toml,
        })
    }
}

impl Tables {
    fn of(run: &Run, analysis: &Analysis) -> Self {
        // A study of stages has its own bars, and every cell has its figures further down.
        let bars = Bars::of(analysis, tables::unit_of(analysis));
        let no_bars = bars.is_empty() || analysis.stages.asked;
        let sparks = Sparks::of(analysis);
        let lab = if analysis.lab.asked { html(tables::lab(analysis)) } else { String::new() };
        Self {
            stages: html(stage_tables::stages(analysis)),
            bases: html(stage_tables::bases(analysis)),
            bars: if no_bars { String::new() } else { bars.to_string() },
            slopes: html(tables::slopes(analysis)),
            summary: if analysis.valid > 0 && analysis.asks_for_cpu() {
                html(tables::summary(analysis))
            } else {
                String::new()
            },
            full: html(tables::full(analysis)),
            idle: html(tables::idle(analysis)),
            comparisons: html(tables::comparisons(analysis)),
            sparks: if sparks.is_empty() { String::new() } else { sparks.to_string() },
            lab,
            threads: html(detail_tables::threads(analysis)),
            beyond: html(detail_tables::beyond(analysis)),
            trials: html(detail_tables::trials(analysis)),
            variants: html(detail_tables::variants(run, analysis)),
            programs: html(detail_tables::programs(analysis)),
        }
    }
}

fn html(table: Table) -> String {
    if table.rows.is_empty() { String::new() } else { table.html() }
}

/// The line under the title: what kind of run this is.
fn status(run: &Run, analysis: &Analysis) -> Vec<String> {
    let cores: Vec<_> = identity::modes(run)
        .into_iter()
        .map(|mode| format!("{}: {}", mode.name(), core_of(run, mode)))
        .collect();
    let mut status = vec![
        format!("{} of {} valid", analysis.valid, count(analysis.planned, "trial")),
        format!("{} window", run.study.trial.window),
    ];
    status.extend(cores);
    status
}
