//! The page: what stands where. The words and pictures come from the other modules.
//!
//! Sections that have nothing to say are left out by the template.

use analysis::{Analysis, Doubt, InvalidTrial, Level, core_of, quantity::count};
use askama::Template;
use model::{run::Run, study::Mode};

use crate::{
    again,
    bars::Bars,
    cpu_section::{self, Material},
    curve_chart, detail_tables, end_tables, fix_section, frame,
    identity::{self, Fact},
    lab_chart,
    lead::{self, Given, Pending, Screen},
    left_section,
    overall::overall,
    proof_section, prose,
    sparks::Sparks,
    stage_chart, stage_tables, steps_section, tables,
};

/// Everything that the template shows.
#[derive(Template)]
#[template(path = "report.html")]
pub(crate) struct Page<'a> {
    question: &'a str,
    headroom: &'a str,
    /// Whether the run goes on.
    is_pending: bool,
    /// The first screen.
    lead: String,
    /// The chain of cures; empty where there is none.
    steps: String,
    answer: Vec<String>,
    /// The section that stands open below.
    open: &'static str,
    /// Ids and short names of the sections that there are, in their order.
    contents: Vec<(&'static str, &'static str)>,
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
    /// Who was paused, and what that showed; empty where no one was.
    proof: String,
    /// Comparisons that were decided.
    fixes: String,
    gate_tally: String,
    /// The cheapest stage, and how far it is from the lower bound.
    left: String,
    /// Commands that run it again.
    again: Vec<String>,
    /// What has to be the same then.
    same: Vec<Fact>,
    ledger: Vec<Fact>,
    why_no_slope: Option<&'a str>,
    tables: Tables,
    doubts: Vec<Doubtful>,
    caveats: Vec<Doubtful>,
    invalid: &'a [InvalidTrial],
    facts: Vec<Fact>,
    study_toml: &'a str,
    /// What the page is made of, in a word.
    made_of: &'static str,
}

/// A doubt in words, as HTML.
struct Doubtful {
    sentence: String,
    advice: String,
}

impl Doubtful {
    fn of(doubt: &Doubt) -> Self {
        Self { sentence: prose::html(&doubt.to_string()), advice: prose::html(&doubt.advice) }
    }
}

/// The tables as HTML; an empty text is a table without rows.
struct Tables {
    gates: String,
    corrections: String,
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
        given: Given<'a>,
    ) -> askama::Result<Self> {
        let Given { study_toml, pending } = given;
        let of_level = |level| {
            let doubts = analysis.doubts.iter().filter(move |doubt| doubt.level == level);
            doubts.map(Doubtful::of).collect::<Vec<_>>()
        };
        let open = main_section(analysis);
        let mut page = Self {
            question: &analysis.question,
            answer: analysis.answer.iter().map(|sentence| prose::html(sentence)).collect(),
            headroom: &run.headroom,
            is_pending: pending.is_some(),
            lead: lead(run, analysis, pending)?,
            steps: steps_section::html(run, analysis)?,
            open,
            contents: Vec::new(),
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
            proof: proof_section::html(run, analysis)?,
            fixes: fix_section::html(run, analysis)?,
            gate_tally: end_tables::tally(analysis),
            // Two sides are no stages on the way to a bound.
            left: if run.versus.is_some() { String::new() } else { left_section::html(analysis)? },
            again: again::commands(run),
            same: again::same(run),
            ledger: end_tables::ledger(&analysis.ledger),
            why_no_slope: tables::why_no_slope(analysis)
                .filter(|_| analysis.asks_for_cpu() && run.versus.is_none()),
            tables: Tables::of(run, analysis),
            doubts: of_level(Level::Doubt),
            caveats: of_level(Level::Caveat),
            invalid: &analysis.invalid,
            facts: identity::facts(run, analysis.machine.as_ref()),
            study_toml,
            made_of: "counters",
        };
        page.contents = page.contents();
        Ok(page)
    }

    /// The sections that there are, in their order.
    fn contents(&self) -> Vec<(&'static str, &'static str)> {
        let tables = &self.tables;
        let has_curve = !tables.bars.is_empty() || !self.curve_chart.is_empty();
        let has_slope = self.why_no_slope.is_some() || !tables.slopes.is_empty();
        let all = [
            (!self.steps.is_empty(), "steps", "Step by step"),
            (!self.answer.is_empty(), "answer", "In sentences"),
            (!self.lab_chart.is_empty(), "lab", "The lab itself"),
            (!tables.stages.is_empty(), "stages", "Side by side"),
            (has_curve, "curve", "Curve"),
            (!self.cpu.is_empty(), "cpu", "Cause"),
            (!self.proof.is_empty(), "proof", "Proof"),
            (!self.fixes.is_empty(), "fixes", "Fixes"),
            (!tables.gates.is_empty(), "gates", "Gates"),
            (!tables.corrections.is_empty(), "corrections", "Repairs"),
            (!self.left.is_empty(), "left", "What is left"),
            (true, "validity", "Doubts"),
            (!self.again.is_empty(), "again", "Run it again"),
            (!self.ledger.is_empty(), "ledger", "Ledger"),
            (has_slope, "slope", "Slope"),
            (!tables.summary.is_empty(), "figures", "Figures"),
            (!tables.idle.is_empty(), "idle", "Idle"),
            (!tables.comparisons.is_empty(), "comparison", "Pairs"),
            (!tables.sparks.is_empty(), "series", "Second by second"),
            (!tables.full.is_empty(), "detail", "Detail"),
            (true, "measured", "What was measured"),
        ];
        frame::contents(all)
    }
}

impl Tables {
    fn of(run: &Run, analysis: &Analysis) -> Self {
        // A study of stages has its own bars, and every cell has its figures further down.
        let bars = Bars::of(analysis, tables::unit_of(analysis));
        let no_bars = bars.is_empty() || analysis.stages.asked;
        let sparks = Sparks::of(analysis);
        let lab = if analysis.lab.asked {
            tables::lab(analysis).html_or_nothing()
        } else {
            String::new()
        };
        Self {
            gates: end_tables::gates(analysis).html_or_nothing(),
            corrections: end_tables::corrections(analysis).html_or_nothing(),
            stages: stage_tables::stages(analysis).html_or_nothing(),
            bases: stage_tables::bases(analysis).html_or_nothing(),
            bars: if no_bars { String::new() } else { bars.to_string() },
            slopes: tables::slopes(analysis).html_or_nothing(),
            summary: if analysis.valid > 0 && analysis.asks_for_cpu() {
                tables::summary(analysis).html_or_nothing()
            } else {
                String::new()
            },
            full: tables::full(analysis).html_or_nothing(),
            idle: tables::idle(analysis).html_or_nothing(),
            comparisons: tables::comparisons(analysis).html_or_nothing(),
            sparks: if sparks.is_empty() { String::new() } else { sparks.to_string() },
            lab,
            threads: detail_tables::threads(analysis).html_or_nothing(),
            beyond: detail_tables::beyond(analysis).html_or_nothing(),
            trials: detail_tables::trials(analysis).html_or_nothing(),
            variants: detail_tables::variants(run, analysis).html_or_nothing(),
            programs: detail_tables::programs(analysis).html_or_nothing(),
        }
    }
}

/// The first screen.
fn lead(run: &Run, analysis: &Analysis, pending: Option<&Pending>) -> askama::Result<String> {
    let overall = overall(run, analysis);
    let shown: Vec<&str> = analysis.headline.bars.iter().map(|bar| &*bar.name).collect();
    // What stands in a chain is said with its step.
    let has_chain = analysis.stages.asked && analysis.stages.cures.is_some();
    let doubts = if has_chain { Vec::new() } else { steps_section::doubts(analysis, &shown) };
    lead::html(&Screen {
        study: &run.study_name,
        began: &identity::utc(run.began_unix),
        question: &analysis.question,
        headline: &analysis.headline,
        verdict: overall.verdict,
        why: &prose::html(&overall.sentence),
        status: &status(run, analysis),
        doubts: &doubts,
        all_doubts: Some(analysis.doubts.iter().filter(|one| one.level == Level::Doubt).count()),
        command: &again::command(run),
        pending,
    })
}

/// The section of curves, stages or the lab that has what was asked, where no chain of cures says it; all others stand
/// folded.
fn main_section(analysis: &Analysis) -> &'static str {
    match analysis {
        Analysis { lab, .. } if lab.asked => "lab",
        Analysis { stages, .. } if stages.asked && stages.cures.is_some() => "",
        Analysis { stages, .. } if stages.asked => "stages",
        _ => "curve",
    }
}

/// What a core is, where it is first named.
const fn explained(mode: Mode) -> &'static str {
    match mode {
        Mode::Counted => ", each executed instruction takes 2\u{a0}ns",
        Mode::RealTime => "",
    }
}

/// The line under the title: what kind of run this is.
fn status(run: &Run, analysis: &Analysis) -> Vec<String> {
    let cores: Vec<_> = identity::modes(run)
        .into_iter()
        .map(|mode| format!("{}: {}{}", mode.name(), core_of(run, mode), explained(mode)))
        .collect();
    let mut status = vec![
        format!("{} of {} valid", analysis.valid, count(analysis.planned, "trial")),
        format!("{} window", run.study.trial.window),
    ];
    status.extend(cores);
    status
}
