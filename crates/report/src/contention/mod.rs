//! A contention run for people: harm before cure, as one HTML file, a terminal's text and Markdown.
//!
//! Takes the answer of [`analysis::contention`] and lays it out; every figure, verdict and sentence of judgement
//! is that crate's. An empty or partial run makes a page too: what is not there yet is said.
//!
//! ```text
//! Contention + Run ─► gate, harm_chart ─────────────► the harm
//!                  ├► cases ────────────────────────► the field report's four cases
//!                  ├► plane (labels), seconds, arm_tables ─► the cure, contest, regret
//!                  ├► measured ─────────────────────► what, where, left out     all ─► page (askama)
//!                  └► summary ──────────────────────► terminal, Markdown
//! ```

mod arm_tables;
mod cases;
mod controls;
mod cure;
mod figures;
mod gate;
mod harm_chart;
mod labels;
mod measured;
mod plane;
mod seconds;
pub(crate) mod summary;

use analysis::{
    contention::{Cell, Contention},
    quantity::count,
};
use askama::Template;
use model::contention::Run;

pub use self::summary::{markdown, overall, summary};
use self::{cases::CasesSection, cure::Cured, gate::HarmVerdict};
use crate::{
    Error, again,
    frame::{Frame, Parts, framed},
    lead::Given,
};

/// A contention run as one HTML file; given is the study file, and while the run goes on what is still to come.
///
/// # Errors
///
/// [`Error::Layout`] where the template cannot be filled; no input is known to do that.
pub fn page<'a>(
    contention: &'a Contention,
    run: &'a Run,
    given: impl Into<Given<'a>>,
) -> Result<String, Error> {
    crate::rendered(&Page::of(contention, run, given.into())?)
}

/// Everything that the template shows; an empty text is a part that is not there.
#[derive(Template)]
#[template(path = "contention.html")]
struct Page<'a> {
    frame: Frame<'a>,
    places: String,
    cells: String,
    harm_lead: String,
    harm_chart: String,
    harm_table: String,
    harm_verdicts: Vec<HarmVerdict>,
    cases: Vec<CasesSection>,
    cure: Cured,
    versus: String,
    contests: String,
    regrets: String,
    /// Cells in which no other control keeps as much Wi-Fi as guard.
    unmatched: Vec<String>,
    /// Cells that have no valid trial, by name.
    unmeasured: Vec<String>,
    others: Vec<Others>,
    costs: String,
    decisions: Vec<Decisions>,
}

/// The cells of a role other than harm.
struct Others {
    id: String,
    title: &'static str,
    lead: &'static str,
    table: String,
    seconds: Vec<(String, String)>,
}

/// guard's decisions in one cell, in its words.
struct Decisions {
    cell: String,
    /// How many there are, in words.
    count: String,
    /// Each setting with its decisions: seconds from the application's start, and the words.
    settings: Vec<(String, Vec<(String, String)>)>,
}

framed!(Page);

impl<'a> Page<'a> {
    fn of(contention: &'a Contention, run: &'a Run, given: Given<'a>) -> askama::Result<Self> {
        let candidates = gate::candidates(contention);
        let every: Vec<_> = contention.cells.iter().collect();
        let contested = gate::harmed_or_all(&candidates);
        let cases: Vec<_> = contention.cases.iter().map(CasesSection::of).collect();
        let others = others(contention, run);
        let parts = Parts {
            question: &contention.question,
            headline: &contention.headline,
            answer: &contention.answer,
            targets: &contention.targets,
            counted: contention.counted,
            left: contention.left_out.len(),
            left_out: measured::left_out(contention),
            status: measured::status(contention, run),
            facts: measured::facts(run),
            described: vec![
                measured::traffics(run),
                measured::applications(run),
                measured::controls(run),
            ],
            again: again::whole(&run.overrides) + &again::firmware(&run.lab),
            sections: vec![
                (true, "answer", "In sentences"),
                (true, "harm", "The harm"),
                (!cases.is_empty(), "cases", "Four cases"),
                (true, "cure", "The cure"),
                (true, "contest", "Contest and regret"),
                (!others.is_empty(), "others", "Other load"),
                (true, "cost", "guard’s own cost"),
                (true, "targets", "Limits"),
                (true, "left", "Left out"),
                (true, "again", "Run it again"),
                (true, "measured", "What was measured"),
            ],
        };
        Ok(Self {
            frame: Frame::of(run, given, parts)?,
            places: measured::places(run).html_or_nothing(),
            cells: measured::cells(contention).html_or_nothing(),
            harm_lead: gate::lead(&candidates),
            harm_chart: harm_chart::draw(&candidates),
            harm_table: gate::table(&candidates).html_or_nothing(),
            harm_verdicts: gate::verdicts(&candidates),
            cases,
            cure: Cured::of(&run.study, &candidates),
            versus: arm_tables::versus(&contention.cells.iter().collect::<Vec<_>>())
                .html_or_nothing(),
            contests: arm_tables::contests(&contested).html_or_nothing(),
            regrets: arm_tables::regrets(&contested).html_or_nothing(),
            unmatched: arm_tables::unmatched(&contested),
            unmeasured: measured::unmeasured(contention, run),
            others,
            costs: arm_tables::costs(&every).html_or_nothing(),
            decisions: decisions(contention),
        })
    }
}

fn others(contention: &Contention, run: &Run) -> Vec<Others> {
    let of_role = |(role, title, lead): (model::contention::Role, &'static str, &'static str)| {
        let cells: Vec<_> = contention.cells.iter().filter(|cell| cell.role == role).collect();
        let table = arm_tables::of_role(&cells).html_or_nothing();
        let drawn = cells.iter().map(|cell| (cell.name.clone(), seconds::draw(&run.study, cell)));
        let seconds = drawn.filter(|(_, drawn)| !drawn.is_empty()).collect();
        let id = format!("role-{}", title.split(' ').next().unwrap_or_default().to_lowercase());
        (!cells.is_empty()).then_some(Others { id, title, lead, table, seconds })
    };
    arm_tables::OTHER_ROLES.into_iter().filter_map(of_role).collect()
}

fn decisions(contention: &Contention) -> Vec<Decisions> {
    let reported = |(at_ms, words): &(i64, String)| {
        let seconds = format!("{:.1} s", *at_ms as f64 / 1000.0).replace('-', "−");
        (seconds, words.clone())
    };
    let of_cell = |cell: &Cell| {
        let settings: Vec<(String, Vec<_>)> = arm_tables::guarded(&[cell])
            .into_iter()
            .map(|(_, arm, guard)| {
                (arm.control.clone(), guard.decisions.iter().map(reported).collect())
            })
            .collect();
        let all = settings.iter().map(|(_, lines)| lines.len()).sum::<usize>();
        (!settings.is_empty()).then(|| Decisions {
            cell: cell.name.clone(),
            count: match all {
                0 => "no decision changed anything".to_owned(),
                all => count(all as u32, "decision"),
            },
            settings,
        })
    };
    contention.cells.iter().filter_map(of_cell).collect()
}
