//! Cells with traffic and applications for people: harm before cure.
//!
//! Every figure, verdict and sentence of judgement is that of [`analysis::contention`]. Cells without a trial are there
//! too: what is not there yet is said.

mod arm_tables;
mod cases;
pub(crate) mod controls;
mod measured;

use analysis::{
    Estimate,
    contention::{Arm, Cell, Contention},
    limited::Limited,
    metrics::Measure,
    quantity::{ABSENT, count},
};
use model::{cell::Role, figure::Figure, run::Run, study::Study, traffic::Guarding, trial::NONE};

use self::controls::Family;
use crate::{
    drawing::{
        bars::{Bar, Bars},
        marks, plane,
        steps::{self, Steps},
        svg::escape,
    },
    judged,
    page::{Section, card, or_none},
    prose::{self, figure, folded, list, note, sentence},
    table::Table,
};

/// More than this of traffic alone is cut off in a picture of seconds: it is the drain of a queue.
const MOST: f64 = 1.5;
/// Cells that the table of the terminal holds; the page has all.
const MOST_CELLS: usize = 8;

/// The sections of a page.
pub(crate) fn sections(contention: &Contention, limited: &Limited, run: &Run) -> Vec<Section> {
    let candidates = candidates(contention);
    vec![
        Section::new("where", "Where it was measured", place(contention, limited, run)),
        Section::new("harm", "The harm", harm(contention, &candidates)).opened(true),
        Section::new("cases", "Four cases", four_cases(contention)),
        Section::new("cure", "The cure", cure(&run.study, &candidates)).opened(true),
        Section::new("contest", "Contest and regret", contest(contention, &candidates)),
        Section::new("others", "Other load", others(contention, run)),
        Section::new("cost", "guard’s own cost", cost(contention)),
    ]
}

/// The cells with harm for a terminal, and what it has no room for.
pub(crate) fn in_short(contention: &Contention) -> (Table, String) {
    let candidates = candidates(contention);
    let shown = harmed_or_all(&candidates);
    let table = arm_tables::harmed(&shown[..shown.len().min(MOST_CELLS)], false);
    let more = match shown.len().saturating_sub(MOST_CELLS) {
        0 => String::new(),
        more => count(more as u32, "more cell"),
    };
    (table, more)
}

/// The harm cells for a CI's summary.
pub(crate) fn figures(contention: &Contention) -> Table {
    let candidates = candidates(contention).into_iter();
    arm_tables::harmed(&candidates.filter(|cell| cell.is_harmed()).collect::<Vec<_>>(), true)
}

/// A share as per cent with one decimal, without the sign.
pub(crate) fn short(share: Option<Estimate>) -> String {
    let words = share.map_or(ABSENT.to_owned(), |share| Measure::Share.words(share.mean));
    words.trim_end_matches(" %").to_owned()
}

/// A share as per cent with its interval, one decimal each.
pub(crate) fn short_whole(share: Option<&Estimate>) -> String {
    let Some(share) = share else { return ABSENT.to_owned() };
    let end = |end: f64| format!("{:.1}", 100.0 * end).replace('-', "−");
    let ends = share.interval.map(|ends| format!(" [{}, {}]", end(ends.low), end(ends.high)));
    format!("{} %{}", end(share.mean), ends.unwrap_or_default())
}

/// The cells that may be harmed, in the study's order.
fn candidates(contention: &Contention) -> Vec<&Cell> {
    contention.cells.iter().filter(|cell| cell.shape.role == Role::Harm).collect()
}

/// Those with shown harm; all of them where none has any.
fn harmed_or_all<'a>(cells: &[&'a Cell]) -> Vec<&'a Cell> {
    let harmed: Vec<_> = cells.iter().copied().filter(|cell| cell.is_harmed()).collect();
    if harmed.is_empty() { cells.to_vec() } else { harmed }
}

fn place(contention: &Contention, limited: &Limited, run: &Run) -> String {
    let unmeasured = measured::unmeasured(contention, limited, run);
    let unmeasured = match unmeasured.is_empty() {
        true => String::new(),
        false => note("Without a figure, and why:") + &list(unmeasured),
    };
    measured::cells(contention).html() + &unmeasured
}

fn harm(contention: &Contention, cells: &[&Cell]) -> String {
    let verdict = |cell: &&Cell| {
        let (class, word) = arm_tables::verdict(cell);
        let missing = "It has no valid trial both alone and without control.".to_owned();
        let why = cell.harm.as_ref().map_or(missing, |harm| {
            format!("{} {}", sentence(&harm.why), sentence(&harm.mechanism))
        });
        format!(
            r#"<div><dt><span class="verdict {class}">{word}</span></dt><dd class="whose">{}</dd><dd>{}</dd></div>"#,
            escape(&cell.name),
            prose::html(&why)
        )
    };
    let what = "Wi-Fi kept with the application running, without control, of traffic alone in the same block; whiskers \
                are 95 % intervals. A full bar is a cell with shown harm. On the right the 99th percentile of round trips \
                against alone.";
    let starved = "A loss that is only starved traffic endpoints looks like lost Wi-Fi. So a cell counts only where the \
                   sender waited for a CPU no more than alone. What it offered is no sign: a sender feels the road, and \
                   offers less where less is forwarded.";
    let verdicts: String = cells.iter().map(verdict).collect();
    let picture = figure(&harm_picture(cells), what);
    let table = arm_tables::harm(cells).html();
    let lead = contention.harm();
    format!("<p>{lead}</p>{picture}{table}<dl class=\"answers\">{verdicts}</dl>{}", note(starved))
}

fn harm_picture(cells: &[&Cell]) -> String {
    let bar = |cell: &&Cell| {
        let arm = cell.arm(NONE)?;
        let kept = arm.of(Figure::Kept)?;
        let slower = arm.of(Figure::P99Ratio).map(|ratio| format!("p99 {:.2} ×", ratio.mean));
        Some(Bar {
            name: cell.name.clone(),
            style: if cell.is_harmed() { 2 } else { 0 },
            parts: vec![(if cell.is_harmed() { "subject" } else { "load" }, kept.mean)],
            interval: kept.interval,
            figure: Measure::Share.words(kept.mean),
            notes: [String::new(), slower.unwrap_or_default()],
        })
    };
    let percent = |share: f64| (share, format!("{:.0} %", 100.0 * share));
    Bars {
        about: "Wi-Fi kept without control".to_owned(),
        rows: cells.iter().filter_map(bar).collect(),
        ticks: [0.0, 0.25, 0.5, 1.0].map(percent).to_vec(),
        axis: "",
        limit: Some(percent(analysis::contention::KEPT)),
    }
    .draw()
}

fn four_cases(contention: &Contention) -> String {
    let case = |cases: &analysis::contention::FourCases| {
        let (name, html) = (escape(&cases.name), cases::html(cases));
        format!(r#"<article class="card"><h3>{name}</h3>{html}</article>"#)
    };
    let cases: String = contention.cases.iter().map(case).collect();
    let lead = "<p>Application alone, Wi-Fi alone, both, both under control; guard is the fifth. The field report’s figures \
                are of another router and its PMU, so cases are compared by how they move and not by size.</p>";
    if cases.is_empty() { cases } else { lead.to_owned() + &cases }
}

fn cure(study: &Study, candidates: &[&Cell]) -> String {
    let tried = candidates.iter().copied().filter(|cell| !cell.arms.is_empty());
    let (harmed, unharmed): (Vec<&Cell>, Vec<&Cell>) = tried.partition(|cell| cell.is_harmed());
    // Without a harm cell the planes show the candidates: the picture is still what was measured.
    let drawn = if harmed.is_empty() { &unharmed } else { &harmed };
    let cards = |cells: &[&Cell], open: bool| {
        let one = |cell: &&Cell| {
            let html = steps::draw(&seconds(study, cell)) + &arm_tables::arms(cell).html();
            card(&cell.name, &cure_summary(cell), &html, open)
        };
        cells.iter().map(one).collect::<String>()
    };
    let lead = match (harmed.len() as u32, unharmed.len()) {
        (0, 0) => "No cell has a valid trial yet, so there is nothing to improve.".to_owned(),
        (0, _) => "No cell shows harm, so there is no loss to restore. What the controls did where harm was looked for is \
                   shown none the less."
            .to_owned(),
        (some, _) => format!(
            "{} with shown harm, every control in turn. Up is more Wi-Fi kept, right is more application work kept; what \
             Wi-Fi gets, the application gives.",
            count(some, "cell")
        ),
    };
    let more = if unharmed.is_empty() { "" } else { "<h3>Cells without shown harm</h3>" };
    let is_one_block = harmed.iter().chain(&unharmed).any(|cell| cell.blocks == 1);
    let one_block = " One block has no interval, so nothing of it is shown by a bound.";
    let what = format!(
        "Seconds are those of the first block. Restored: (kept − kept without control) ÷ (1 − kept without control), block \
         by block; – where nothing was lost, or one of the two was not measured.{} “Worst second in 100”: the first \
         percentile of all busy seconds of all blocks.",
        if is_one_block { one_block } else { "" }
    );
    let what = if drawn.is_empty() { String::new() } else { note(&what) };
    [
        format!("<p>{lead}</p>"),
        planes(study, drawn),
        cards(&harmed, true),
        more.to_owned(),
        cards(&unharmed, false),
        what,
    ]
    .concat()
}

/// A plane for each cell, and what their marks are.
fn planes(study: &Study, cells: &[&Cell]) -> String {
    let scales = plane::Scales::of(cells);
    let planes = cells.iter().map(|cell| (escape(&cell.name), plane::draw(study, cell, scales)));
    let planes = planes.filter(|(_, drawn)| !drawn.is_empty());
    let one = |(name, drawn)| format!("<figure><figcaption>{name}</figcaption>{drawn}</figure>");
    let planes: String = planes.map(one).collect();
    if planes.is_empty() {
        return planes;
    }
    let is_shown = |(family, _): &(Family, &str)| {
        let mut arms = cells.iter().flat_map(|cell| &cell.arms);
        arms.any(|arm| controls::family(study, &arm.control) == *family)
    };
    let family = |(family, name): (Family, &str)| marks::named(family as usize, name);
    let families: String = Family::ALL.into_iter().filter(is_shown).map(family).collect();
    let signs = [
        (r#"<circle class="ring" r="5"/>"#, "best other control that keeps as much Wi-Fi as guard"),
        (r#"<circle class="knee" r="5"/>"#, "knee of the front"),
        (
            r#"<path class="front" d="M-6 -5V0H6V5"/>"#,
            "front: no other control beats these in both",
        ),
        (r#"<path class="limit" d="M-6 0H6"/>"#, "Wi-Fi that guard kept"),
    ];
    let sign = |(drawn, name)| {
        format!(
            r#"<li class="s2"><svg class="glyph" viewBox="-6 -6 12 12" aria-hidden="true">{drawn}</svg>{name}</li>"#
        )
    };
    let signs: String = signs.map(sign).concat();
    let what = "Each mark is a control’s mean over blocks, thin lines are 95 % intervals, all of traffic alone and \
                application alone in the same block. Wi-Fi kept is capped at 100 % in every block: more than alone is no \
                win. The front goes in steps, because between two marks nothing was measured. The knee is its mark farthest \
                beyond the straight way between its ends.";
    format!(
        r#"<ul class="names">{families}{signs}</ul><div class="planes">{planes}</div>{}"#,
        note(what)
    )
}

/// What guard did in a cell, in a line.
fn cure_summary(cell: &Cell) -> String {
    let percent = |share: Option<Estimate>| {
        share.map_or(ABSENT.to_owned(), |share| Measure::Share.words(share.mean))
    };
    let without = percent(cell.arm(NONE).and_then(|arm| arm.of(Figure::Kept)));
    let Some(guard) = cell.cure() else {
        return format!("without control {without} of Wi-Fi kept; guard was not tried");
    };
    let regret = cell.oracle.as_ref().and_then(|oracle| oracle.regret);
    let regret = regret.map_or(String::new(), |one| format!(", regret {}", percent(Some(one))));
    format!(
        "without control {without} of Wi-Fi kept; under {} {}, with {} of application work{regret}",
        guard.control,
        percent(guard.of(Figure::Kept)),
        percent(guard.of(Figure::Work)),
    )
}

/// One trial of each of a few controls, second by second, as a share of traffic alone: without control, the field
/// report's weight, guard.
fn seconds(study: &Study, cell: &Cell) -> Vec<Steps> {
    let published = cell.arms.iter().find(|arm| controls::is_published(study, &arm.control));
    let arms: Vec<&Arm> = [cell.arm(NONE), published, cell.cure()].into_iter().flatten().collect();
    // The seconds of the first block: all blocks have as many.
    let of = |arm: &Arm| {
        let blocks = arm.of(Figure::Kept).map_or(1, |kept| kept.n as usize).max(1);
        arm.seconds[..arm.seconds.len() / blocks].to_vec()
    };
    let most = arms.iter().flat_map(|arm| of(arm)).fold(1.0, f64::max).min(MOST);
    let picture = |arm: &&Arm| {
        let steps = of(arm).into_iter().enumerate();
        let steps: Vec<_> = steps.map(|(at, share)| (at as f64, at as f64 + 1.0, share)).collect();
        let seconds = count(steps.len() as u32, "second");
        let worst = arm
            .mean(Figure::KeptP01)
            .map_or(ABSENT.to_owned(), |share| Measure::Share.words(share));
        (!steps.is_empty()).then(|| Steps {
            class: marks::class(controls::family(study, &arm.control) as usize),
            name: arm.control.clone(),
            note: format!("1st percentile: {worst}"),
            series: vec![steps],
            level: 1.0,
            top: most,
            range: format!("{seconds} of one trial; the line is traffic alone"),
        })
    };
    arms.iter().filter_map(picture).collect()
}

fn contest(contention: &Contention, candidates: &[&Cell]) -> String {
    let contested = harmed_or_all(candidates);
    let what = "Pairs are of one block, compared second by second where a window has four periods or more: at least six \
                  pairs, the interval of the differences, the exact test. “pass” is shown to keep more.";
    let contests = "Of guard’s settings the one that keeps as much Wi-Fi as the other control and leaves most work. 1 is a \
                    draw, more is guard’s. – where no measured setting of guard’s keeps as much, or the other control \
                    leaves no work at all.";
    let regrets = "Regret: how much less application work guard left than the best other control that keeps as much Wi-Fi, \
                   of that control’s; below 0 guard left more. The best is known only afterwards and for one load. \
                   Application work is the stressor’s own count of operations; its CPU time where it counts fewer than \
                   10 000 in its whole life.";
    let unmatched = arm_tables::unmatched(&contested);
    let lead = "No regret: no other measured control keeps as much Wi-Fi as guard in these cells.";
    let unmatched =
        if unmatched.is_empty() { String::new() } else { note(lead) + &list(unmatched) };
    let heads = ["cell", "control"];
    let versus = contention.cells.iter().flat_map(|cell| &cell.versus);
    let compared: Vec<_> = versus.map(judged::with_cell).collect();
    let parts = judged::parts(&heads, &compared).html();
    let all = [
        judged::overview(&heads, &compared),
        note(if compared.is_empty() { "" } else { what }),
        folded("Steady differences and rare events", &parts),
        arm_tables::contests(&contested).noted(contests),
        arm_tables::regrets(&contested).noted(regrets),
        unmatched,
    ]
    .concat();
    or_none(all, "None: a contest needs guard and another control in the same blocks.")
}

/// The cells of each role other than harm.
fn others(contention: &Contention, run: &Run) -> String {
    let of_role = |(role, title, lead): (Role, &str, &str)| {
        let cells: Vec<_> =
            contention.cells.iter().filter(|cell| cell.shape.role == role).collect();
        let table = arm_tables::of_role(&cells).html();
        let table =
            if table.is_empty() { note("No valid trial of these cells yet.") } else { table };
        let drawn = cells.iter().map(|cell| (&cell.name, steps::draw(&seconds(&run.study, cell))));
        let drawn = drawn.filter(|(_, drawn)| !drawn.is_empty());
        let drawn: String =
            drawn.map(|(name, drawn)| format!("<h4>{}</h4>{drawn}", escape(name))).collect();
        let seconds = folded("Second by second, one trial each", &drawn);
        let what = note(
            "– where a cell has no traffic or no application, or too few valid trials for a figure.",
        );
        let html = format!("<h3>{title}</h3><p>{lead}</p>{table}{what}{seconds}");
        if cells.is_empty() { String::new() } else { html }
    };
    arm_tables::OTHER_ROLES.map(of_role).concat()
}

fn cost(contention: &Contention) -> String {
    let every: Vec<_> = contention.cells.iter().collect();
    let costs = arm_tables::costs(&every).html();
    if costs.is_empty() {
        return "<p>Nothing is known: there is no valid trial with guard.</p>".to_owned();
    }
    let what = "CPU of guard and its watchdog in the window, of one core. “Protects in” is from the beginning of contention \
                until guard saw its target held for a second on end, in ticks of 200 ms. “Never” counts trials in which it \
                never was; “restored” those after which everything was as before. Decisions are in guard’s own words, with \
                seconds from the application’s start.";
    let decisions: String = contention.cells.iter().map(decisions).collect();
    costs + &note(what) + &decisions
}

/// guard's decisions in one cell, in the first block; empty where guard was not tried.
fn decisions(cell: &Cell) -> String {
    let guarded = arm_tables::guarded(&[cell]);
    let line = |(at_ms, words): &(i64, String)| {
        let seconds = format!("{:.1} s", *at_ms as f64 / 1000.0).replace('-', "−");
        format!("<div><dt>{seconds}</dt><dd>{}</dd></div>", escape(words))
    };
    let of = |arm: &Arm| {
        arm.guard.first().map_or(Vec::new(), |first: &Guarding| first.decisions.clone())
    };
    let setting = |(_, arm): &(&Cell, &Arm)| {
        let lines: String = of(arm).iter().map(line).collect();
        let none = note("No decision changed anything.");
        let lines =
            if lines.is_empty() { none } else { format!(r#"<dl class="decisions">{lines}</dl>"#) };
        format!("<h3>{}, in the first block</h3>{lines}", escape(&arm.control))
    };
    let all: usize = guarded.iter().map(|(_, arm)| of(arm).len()).sum();
    let settings: String = guarded.iter().map(setting).collect();
    folded(&format!("{}: {}", cell.name, count(all as u32, "decision")), &settings)
}
