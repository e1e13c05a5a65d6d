//! A run that is decided by limits on its figures: what its page, its terminal text, its Markdown and an index show.

use analysis::{
    headline::Headline,
    metrics::{self, Metric, Target},
    quantity::count,
};
use model::{cell::Cell, inert, run::Run, study::Mode, verdict::Verdict};

use crate::{
    Error, again,
    identity::Fact,
    markdown,
    overall::Overall,
    page::{self, Given, Section, View},
    prose::note,
    table::Table,
    text::{COLUMNS, fold, sentences},
    verdict_lines::{Kind, VerdictLine},
};

/// Lines that a terminal shows of such a run, and of its answer.
const MOST_LINES: usize = 30;
const MOST_ANSWER: usize = 10;

/// Such a run: its question, the limits that answer it, and what they were decided on.
#[derive(Clone, Copy, Debug)]
pub struct Limited<'a> {
    question: &'a str,
    headline: &'a Headline,
    answer: &'a [String],
    /// The limits, decided.
    pub targets: &'a [Target],
    /// Trials that count.
    pub counted: u32,
    /// The run's figures.
    pub table: &'a [Metric],
}

impl<'a> From<&'a analysis::limited::Limited> for Limited<'a> {
    fn from(of: &'a analysis::limited::Limited) -> Self {
        let analysis::limited::Limited { question, headline, answer, targets, table, .. } = of;
        Self { question, headline, answer, targets, counted: of.counted, table }
    }
}

/// What a page of such a run has of its own.
pub(crate) struct Own {
    /// The line below the verdict, before the places.
    pub(crate) status: Vec<String>,
    /// The sections between the answer and the limits.
    pub(crate) sections: Vec<Section>,
    /// Trials that do not count, and how many they are.
    pub(crate) left_out: (Table, usize),
    pub(crate) facts: Vec<Fact>,
}

impl<'a> Limited<'a> {
    /// How the run was decided on the whole, and why.
    pub fn overall(&self) -> Overall {
        let (verdict, sentence) = metrics::overall(self.targets, self.counted);
        Overall { verdict, sentence }
    }

    /// The page. While the run goes on, what cannot be decided yet is no verdict.
    pub(crate) fn page(self, run: &Run, given: Given<'_>, own: Own) -> Result<String, Error> {
        const SAME: &str = "Figures of counted places come out the same wherever image, study and headroom are the \
                            same; figures in real time are of the host named below.";
        let is_decided =
            |target: &&Target| given.pending.is_none() || target.verdict != Verdict::Invalid;
        let decided: Vec<_> = self.targets.iter().filter(is_decided).cloned().collect();
        let command = again::command(run);
        let places = run.study.places();
        let places = places.iter().map(|cell| format!("{}: {}", cell.place(), core(cell)));
        let mut sections = vec![page::answer(self.answer)];
        sections.extend(own.sections);
        sections.extend([
            page::limits(self.targets),
            left_out(self.counted, own.left_out),
            page::again(&[command.clone(), "headroom report .".to_owned()], &note(SAME)),
            page::measured(Vec::new(), &own.facts, given.study_toml),
        ]);
        page::page(View {
            study: &run.study_name,
            began_unix: run.began_unix,
            headroom: &run.headroom,
            question: self.question,
            headline: self.headline,
            overall: Limited { targets: &decided, ..self }.overall(),
            status: own.status.into_iter().chain(places).collect(),
            doubts: Vec::new(),
            all_doubts: None,
            command,
            given,
            sections,
        })
    }

    /// At most thirty lines of a hundred columns; `more` is what the table has no room for, as `3 more cells`.
    pub(crate) fn text(&self, answer: &[String], table: Table, more: &str) -> String {
        let all = sentences(self.headline, answer).into_iter();
        let answer: String =
            all.map(|one| fold(&inert::line(one).replace('`', ""), "  ", "    ") + "\n").collect();
        let mut text = fold(&inert::line(self.question), "", "") + "\n\n";
        text += &cut(&answer, MOST_ANSWER);
        if !table.rows.is_empty() {
            text += &format!("\n{}", table.plain());
        }
        if !more.is_empty() {
            text += &format!("  … and {more} on the page\n");
        }
        text += &format!("\n{}\n", fold(&self.overall().sentence, "  ", "  "));
        let room = MOST_LINES.saturating_sub(text.lines().count());
        text + &self.targets_in(room)
    }

    /// Missed targets with their figures, as far as there is room; then the names of the others.
    fn targets_in(&self, room: usize) -> String {
        let of = |verdict| self.targets.iter().filter(move |target| target.verdict == verdict);
        let names = |verdict: Verdict| {
            let names: Vec<&str> = of(verdict).map(|target| target.name.as_str()).collect();
            let said = format!("{:<8}{}", verdict.name(), names.join("; "));
            let said = fold(&inert::line(&said), "  ", "          ") + "\n";
            if names.is_empty() { String::new() } else { said }
        };
        let line = |target: &Target| {
            let line = format!("  {:<8}{}: {}", target.verdict.name(), target.name, target.found);
            let line = inert::line(&line).into_owned();
            let kept: String = line.chars().take(COLUMNS - 1).collect();
            if line.chars().count() <= COLUMNS { line + "\n" } else { kept + "…\n" }
        };
        let missed: String = of(Verdict::Fail).map(line).collect();
        let rest = names(Verdict::Invalid) + &names(Verdict::Pass);
        let rest = cut(&rest, (room / 2).max(room.saturating_sub(missed.lines().count())));
        cut(&missed, room.saturating_sub(rest.lines().count())) + &rest
    }

    /// The summary for CI: verdict and question, headline and answer, its figures, its limits.
    pub(crate) fn markdown(&self, figures: &Table) -> String {
        let limits = Table::of("", self.targets)
            .text("verdict", "", |target| target.verdict.name().to_owned())
            .text("limit", "", |target| target.name.clone())
            .text("by", "", |target| target.limit.clone())
            .text("found", "", |target| target.found.clone())
            .table();
        let sentences = sentences(self.headline, self.answer);
        markdown::head(&self.overall(), self.question, &sentences)
            + &figures.markdown()
            + &limits.markdown()
    }
}

/// The lines that have room; where some have none, the last line says so.
fn cut(text: &str, room: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= room {
        return text.to_owned();
    }
    let kept = lines.iter().take(room.saturating_sub(1)).map(|line| format!("{line}\n"));
    format!("{}  … and more on the page\n", kept.collect::<String>())
}

/// Every target as a verdict.
pub fn lines(targets: &[Target]) -> Vec<VerdictLine> {
    let line = |target: &Target| VerdictLine {
        kind: Kind::Gate,
        name: target.name.clone(),
        verdict: target.verdict,
        counts: true,
        effect: None,
        sentence: target.sentence(),
    };
    targets.iter().map(line).collect()
}

/// Trials that do not count.
fn left_out(counted: u32, (table, left): (Table, usize)) -> Section {
    let counted = count(counted, "trial");
    let lead = match left {
        0 => format!("Nothing: {counted}, all valid."),
        left => format!("{counted} count; {left} do not, and are excluded from results."),
    };
    Section::new("left-out", "Left out", format!("<p>{lead}</p>{}", table.html()))
}

/// Whose CPU and whose clock a place's figures are of.
fn core(cell: &Cell) -> &'static str {
    match (&cell.target, cell.mode) {
        (model::target::Target::Host, _) => "this host’s cores in real time",
        (_, Mode::Counted) => "a 500-MIPS core, counted",
        (_, Mode::RealTime) => "the virtual access point in real time",
    }
}
