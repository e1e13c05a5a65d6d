//! A run of cells with traffic, applications or cards for people: a page, a terminal's text and Markdown.
//!
//! Every figure, verdict and sentence of judgement is that of [`analysis::limited`]. An empty or partial run makes a
//! page too: what is not there yet is said.

use analysis::{
    in_cells,
    limited::{LeftOut, Limited},
    metrics::{self, Target},
    quantity::count,
};
use model::{cell::Cell, inert, run::Run, study::Mode, verdict::Verdict};

use crate::{
    Error, again, clients, completion, contention,
    identity::{self, Fact, plain},
    markdown,
    overall::Overall,
    page::{self, Given, Section, View},
    prose::note,
    table::Table,
    text::{self, COLUMNS, fold, sentences},
    verdict_lines::{Kind, VerdictLine},
};

/// Lines that a terminal shows of such a run, and of its answer.
const MOST_LINES: usize = 30;
const MOST_ANSWER: usize = 10;

/// How the run was decided on the whole, and why.
pub fn overall(limited: &Limited) -> Overall {
    let (verdict, sentence) = metrics::overall(&limited.targets, limited.counted);
    Overall { verdict, sentence }
}

/// The run as one HTML file; given is the study file, and while the run goes on what is still to come. What cannot be
/// decided yet is then no verdict.
///
/// # Errors
///
/// [`Error::Layout`] where the template cannot be filled; no input is known to do that.
pub fn page<'a>(
    limited: &'a Limited,
    run: &'a Run,
    given: impl Into<Given<'a>>,
) -> Result<String, Error> {
    const SAME: &str = "Figures of counted places come out the same wherever image, study and headroom are the \
                        same; figures in real time are of the host named below.";
    let given = given.into();
    let is_decided =
        |target: &&Target| given.pending.is_none() || target.verdict != Verdict::Invalid;
    let decided: Vec<_> = limited.targets.iter().filter(is_decided).cloned().collect();
    let (verdict, sentence) = metrics::overall(&decided, limited.counted);
    let command = again::command(run);
    let mut sections = vec![page::answer(&limited.answer)];
    if let Some(traffic) = &limited.traffic {
        sections.extend(contention::sections(traffic, limited, run));
    }
    sections.extend(limited.cards.iter().flat_map(completion::sections));
    if let Some((analysis, (run, _))) = limited.subject.as_ref().zip(in_cells::of(run, &[])) {
        sections.extend(clients::of_subject(&run, analysis)?);
    }
    sections.extend([
        page::limits(&limited.targets),
        left_out(limited),
        page::again(&[command.clone(), "headroom report .".to_owned()], &note(SAME)),
        page::measured(Vec::new(), &facts(run), given.study_toml),
    ]);
    page::page(View {
        study: &run.study_name,
        began_unix: run.began_unix,
        headroom: &run.headroom,
        question: &limited.question,
        headline: &limited.headline,
        overall: Overall { verdict, sentence },
        status: status(limited, run),
        doubts: Vec::new(),
        all_doubts: None,
        command,
        given,
        sections,
    })
}

/// The run as a terminal shows it at its end: at most thirty lines of a hundred columns, and what a subject costs.
pub fn summary(limited: &Limited) -> String {
    let traffic = limited.traffic.as_ref();
    let shown = traffic.map(contention::in_short);
    let shown = shown.or_else(|| limited.cards.as_ref().map(completion::in_short));
    let (table, more) = shown.unwrap_or_default();
    let all = sentences(&limited.headline, &limited.answer).into_iter();
    let answer: String =
        all.map(|one| fold(&inert::line(one).replace('`', ""), "  ", "    ") + "\n").collect();
    let mut text = fold(&inert::line(&limited.question), "", "") + "\n\n";
    text += &cut(&answer, MOST_ANSWER);
    if !table.rows.is_empty() {
        text += &format!("\n{}", table.plain());
    }
    if !more.is_empty() {
        text += &format!("  … and {more} on the page\n");
    }
    text += &format!("\n{}\n", fold(&overall(limited).sentence, "  ", "  "));
    text += &targets_in(limited, MOST_LINES.saturating_sub(text.lines().count()));
    text + &limited.subject.as_deref().map(text::summary).unwrap_or_default()
}

/// The run for a CI's summary: verdict and question, headline and answer, its figures, its limits.
pub fn markdown(limited: &Limited) -> String {
    let figures = limited.traffic.as_ref().map(contention::figures);
    let figures = figures.or_else(|| limited.cards.as_ref().map(completion::figures));
    let limits = Table::of("", &limited.targets)
        .text("verdict", "", |target| target.verdict.name().to_owned())
        .text("limit", "", |target| target.name.clone())
        .text("by", "", |target| target.limit.clone())
        .text("found", "", |target| target.found.clone())
        .table();
    let sentences = sentences(&limited.headline, &limited.answer);
    markdown::head(&overall(limited), &limited.question, &sentences)
        + &figures.unwrap_or_default().markdown()
        + &limits.markdown()
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

/// Missed targets with their figures, as far as there is room; then the names of the others.
fn targets_in(limited: &Limited, room: usize) -> String {
    let of = |verdict| limited.targets.iter().filter(move |target| target.verdict == verdict);
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

/// The lines that have room; where some have none, the last line says so.
fn cut(text: &str, room: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= room {
        return text.to_owned();
    }
    let kept = lines.iter().take(room.saturating_sub(1)).map(|line| format!("{line}\n"));
    format!("{}  … and more on the page\n", kept.collect::<String>())
}

/// The line below the verdict, with the places.
fn status(limited: &Limited, run: &Run) -> Vec<String> {
    let shape = &run.study.trial;
    let completes = limited.cards.as_ref().map(|cards| cards.completes_us);
    let own = [
        count(limited.counted, "valid trial"),
        count(shape.repetitions, "block"),
        format!("{} window", shape.window),
    ];
    let completes = completes.map(|us| format!("a command takes {us} µs"));
    let places = run.study.places();
    let places = places.iter().map(|cell| format!("{}: {}", cell.place(), core(cell)));
    own.into_iter().chain(completes).chain(places).collect()
}

/// Whose CPU and whose clock a place's figures are of.
fn core(cell: &Cell) -> &'static str {
    match (&cell.target, cell.mode) {
        (model::target::Target::Host, _) => "this host’s cores in real time",
        (_, Mode::Counted) => "a 500-MIPS core, counted",
        (_, Mode::RealTime) => "the virtual access point in real time",
    }
}

/// Trials that do not count: the same reason in one cell is one row.
fn left_out(limited: &Limited) -> Section {
    // By cell, variant and reason, the first one first.
    let mut groups: Vec<Vec<&LeftOut>> = Vec::new();
    for trial in &limited.left_out {
        let is_alike = |group: &&mut Vec<&LeftOut>| {
            let first = group[0];
            (&first.cell, &first.variant, &first.why) == (&trial.cell, &trial.variant, &trial.why)
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(trial),
            None => groups.push(vec![trial]),
        }
    }
    let table = Table::of("Trials that do not count", groups)
        .head("cell", "", |group| group[0].cell.clone())
        .text("variant", "", |group| group[0].variant.clone())
        .text("repetitions", "", |group| {
            group.iter().map(|trial| trial.repetition.to_string()).collect::<Vec<_>>().join(", ")
        })
        .number("trials", "", |group| group.len().to_string())
        .text("why", "", |group| group[0].why.clone())
        .table();
    let counted = count(limited.counted, "trial");
    let lead = match limited.left_out.len() {
        0 => format!("Nothing: {counted}, all valid."),
        left => format!("{counted} count; {left} do not, and are excluded from results."),
    };
    Section::new("left-out", "Left out", format!("<p>{lead}</p>{}", table.html()))
}

fn facts(run: &Run) -> Vec<Fact> {
    let shape = &run.study.trial;
    let alone = if run.study.has_traffic() { ", and traffic alone first and last" } else { "" };
    let blocks = format!(
        "{}; each has every variant once in an order drawn from seed {}{alone}",
        shape.repetitions, shape.seed
    );
    let idle = format!(
        "a trial in real time begins after a second in which the machine was idle for {}",
        run.study.idle_gate()
    );
    let trial = format!("{} warm-up, {} window", shape.warm_up, shape.window);
    let more = [("Trial", trial), ("Blocks", blocks), ("Idle gate", idle)];
    identity::of_run(run, more.map(|(name, value)| plain(name, value)).to_vec())
}
