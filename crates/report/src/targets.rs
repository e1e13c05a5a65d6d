//! A run that is decided by limits on its figures: what its page, its terminal text and its Markdown have alike.

use analysis::{
    completion::Completion,
    contention::Contention,
    headline::Headline,
    metrics::{self, Target},
    quantity::count,
};
use model::{inert, run::Run, verdict::Verdict};

use crate::{
    markdown,
    page::{Given, Section, View},
    table::Table,
    text::{COLUMNS, fold, sentences},
    verdict_lines::{Kind, VerdictLine},
};

/// Lines that a terminal shows of such a run, and of its answer.
const MOST_LINES: usize = 30;
const MOST_ANSWER: usize = 10;

pub(crate) struct Limited<'a> {
    question: &'a str,
    headline: &'a Headline,
    answer: &'a [String],
    targets: &'a [Target],
    /// Trials that count.
    counted: u32,
}

impl<'a> From<&'a Contention> for Limited<'a> {
    fn from(of: &'a Contention) -> Self {
        let Contention { question, headline, answer, targets, counted, .. } = of;
        Self { question, headline, answer, targets, counted: *counted }
    }
}

impl<'a> From<&'a Completion> for Limited<'a> {
    fn from(of: &'a Completion) -> Self {
        let Completion { question, headline, answer, targets, counted, .. } = of;
        Self { question, headline, answer, targets, counted: *counted }
    }
}

impl<'a> Limited<'a> {
    /// How the run was decided on the whole, and why.
    pub(crate) fn overall(&self) -> (Verdict, String) {
        metrics::overall(self.targets, self.counted)
    }

    /// The page without its sections; while the run goes on, what cannot be decided yet is no verdict.
    pub(crate) fn view(&self, run: &'a Run, given: Given<'a>) -> View<'a> {
        let is_decided =
            |target: &&Target| given.pending.is_none() || target.verdict != Verdict::Invalid;
        let decided: Vec<_> = self.targets.iter().filter(is_decided).cloned().collect();
        View {
            study: &run.study_name,
            began_unix: run.began_unix,
            headroom: &run.headroom,
            question: self.question,
            headline: self.headline,
            overall: metrics::overall(&decided, self.counted),
            status: Vec::new(),
            doubts: Vec::new(),
            all_doubts: None,
            command: String::new(),
            given,
            sections: Vec::new(),
        }
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
        text += &format!("\n{}\n", fold(&self.overall().1, "  ", "  "));
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
        let (verdict, why) = self.overall();
        markdown::head(verdict, self.question, &why, &sentences(self.headline, self.answer))
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
pub(crate) fn left_out(counted: u32, left: usize, table: Table) -> Section {
    let counted = count(counted, "trial");
    let lead = match left {
        0 => format!("Nothing: {counted}, all valid."),
        left => format!("{counted} count; {left} do not, and are excluded from results."),
    };
    Section::new("left-out", "Left out", format!("<p>{lead}</p>{}", table.html()))
}
