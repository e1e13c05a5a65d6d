//! The page of a run of clients and subjects: its sections, each where it has something to show.

mod ledger;
mod pictures;

use analysis::{Analysis, Doubt, InvalidTrial, Level, core_of, metrics::Target};
use analysis::{
    quantity::{Unit, count},
    verdicts::{Gate, PauseFigures},
};
use model::{run::Run, study::Mode, verdict::Verdict};

use crate::{
    Error, again,
    cpu_section::{self, Material},
    drawing::{steps, svg::escape},
    fix_section, identity,
    overall::{counts, overall},
    page::{self, Given, Section, View},
    prose::{self, figure, folded, note},
    stage_tables,
    table::Table,
    tables::{self, summed},
};

pub(crate) fn html<'a>(
    run: &'a Run,
    analysis: &'a Analysis,
    given: Given<'a>,
) -> Result<String, Error> {
    let shown: Vec<&str> = analysis.headline.bars.iter().map(|bar| &*bar.name).collect();
    // What stands in a chain is said with its step.
    let has_chain = analysis.stages.asked && analysis.stages.cures.is_some();
    let shown = if has_chain { Vec::new() } else { shown };
    let doubts = analysis.doubts.iter().filter(|one| one.level == Level::Doubt).count();
    page::page(View {
        study: &run.study_name,
        began_unix: run.began_unix,
        headroom: &run.headroom,
        question: &analysis.question,
        headline: &analysis.headline,
        overall: overall(run, analysis),
        status: status(run, analysis),
        doubts: doubts_of(analysis, &shown).iter().map(|doubt| prose::html(doubt)).collect(),
        all_doubts: Some(doubts),
        command: again::command(run),
        given,
        sections: sections(run, analysis, given)?,
    })
}

fn sections(run: &Run, analysis: &Analysis, given: Given<'_>) -> Result<Vec<Section>, Error> {
    let is_comparison = run.versus.is_some();
    let (is_lab, is_stages) = (analysis.lab.asked, analysis.stages.asked);
    let has_chain = is_stages && analysis.stages.cures.is_some();
    let cpu = cpu_section::html(&Material::of(analysis))?;
    let pauses: String =
        analysis.pauses.iter().enumerate().map(|(at, one)| pause(run, at, one)).collect();
    let pauses = if pauses.is_empty() { pauses } else { pauses + &pause_table(analysis) };
    Ok(vec![
        Section::new("steps", "Step by step", chain(run, analysis)).opened(true),
        page::answer(&analysis.answer),
        Section::new("lab", "The lab itself", lab(analysis)).opened(true),
        Section::new("stages", "Side by side", stages(run, analysis)).opened(!has_chain),
        Section::new("curve", "CPU against clients", curve(run, analysis))
            .opened(!is_lab && !is_stages),
        Section::new("cpu", "Where the CPU goes", cpu)
            .opened(!analysis.asks_for_cpu() && analysis.pauses.is_empty()),
        Section::new("pause", "What makes it work", pauses).opened(!analysis.asks_for_cpu()),
        Section::new("fixes", "Comparisons", fix_section::html(run, analysis)?)
            .opened(is_comparison),
        gates(&analysis.gates, run),
        Section::new("corrections", "Repairs", corrections(analysis)),
        validity(analysis),
        page::again(&again::commands(run), &same(run)),
        Section::new("ledger", "What it took", ledger::html(&analysis.ledger)),
        Section::new("slope", "What a client costs", slope(run, analysis)),
        Section::new("series", "Second by second", series(analysis)),
        Section::new("detail", "Detail", detail(analysis)),
        page::measured(
            vec![tables::variants(run, analysis), tables::programs(analysis)],
            &identity::facts(run, analysis.machine.as_ref()),
            given.study_toml,
        ),
    ])
}

/// What a subject costs in cells with traffic, for the page of these.
pub(crate) fn of_subject(run: &Run, analysis: &Analysis) -> Result<Vec<Section>, Error> {
    let cpu = cpu_section::html(&Material::of(analysis))?;
    Ok(vec![
        Section::new("subject", "What the process costs", curve(run, analysis)).opened(true),
        Section::new("cpu", "Where the CPU goes", cpu),
        Section::new("fixes", "What changes its cost", fix_section::html(run, analysis)?),
        Section::new("slope", "What a client costs", slope(run, analysis)),
    ])
}

/// The line below the verdict: what kind of run this is.
fn status(run: &Run, analysis: &Analysis) -> Vec<String> {
    let core = |mode: Mode| {
        let explained = match mode {
            Mode::Counted => ", each executed instruction takes 2\u{a0}ns",
            Mode::RealTime => "",
        };
        format!("{}: {}{explained}", mode.name(), core_of(run, mode))
    };
    let valid = format!("{} of {} valid", analysis.valid, count(analysis.planned, "trial"));
    let window = format!("{} window", run.study.trial.window);
    [valid, window].into_iter().chain(identity::modes(run).into_iter().map(core)).collect()
}

/// The doubts about the CPU of one of these variants.
fn doubts_of(analysis: &Analysis, variants: &[&str]) -> Vec<String> {
    let of_cpu = |doubt: &&Doubt| doubt.level == Level::Doubt && !doubt.is_about_instruments;
    let doubts = analysis.doubts.iter().filter(of_cpu);
    let touching =
        doubts.filter(|doubt| doubt.variants.iter().any(|one| variants.contains(&&**one)));
    touching.map(Doubt::to_string).collect()
}

/// The chain of cures: what each step leaves and takes away.
fn chain(run: &Run, analysis: &Analysis) -> String {
    let stages = &analysis.stages;
    let Some(cures) = stages.cures.as_ref().filter(|_| stages.asked) else { return String::new() };
    let names = std::iter::once(&cures.whole.base);
    let names: Vec<&String> = names.chain(cures.steps.iter().map(|step| &step.variant)).collect();
    let about = |name: &&&String| {
        let variant = run.study.variants.iter().find(|variant| variant.name == ***name);
        let about = variant.and_then(|variant| variant.about.clone()).into_iter();
        let said: Vec<_> = about.chain(doubts_of(analysis, &[**name])).collect();
        said.join(" Doubt: ").replace('`', "")
    };
    let caption = format!("CPU of {} at {}", summed(analysis), count(stages.clients, "client"));
    let table = Table::of("What each step is", &names)
        .head("step", "", |name| (**name).clone())
        .text("what it is", "", about)
        .table();
    let what = format!(
        "{caption}. Dashed: what the step took away. Beside it the difference from the step before."
    );
    figure(&pictures::chain(analysis, cures), &what) + &table.html()
}

fn lab(analysis: &Analysis) -> String {
    let what = "Range: largest minus smallest. Shift: the mean against the trials of the same mode and load that had the \
                host for themselves, paired by repetition. Speed: seconds of the access point for each second of wall \
                time. Results: how many different counts there are; 1 is bit-exact. Host load: “stress-ng” is twice as \
                many busy workers as the host has cores.";
    tables::lab(analysis).noted(what)
}

fn stages(run: &Run, analysis: &Analysis) -> String {
    let sources = stage_tables::sources(analysis).map_or(String::new(), |sources| {
        format!(
            " Published figures are of the subject alone and of a core that is not ours; their source: {sources}."
        )
    });
    let whose = match stage_tables::whose(analysis) {
        Some(_) => {
            " Where a pair has two subjects, one program’s CPU is divided by another’s, and the sums say more."
        }
        None => "",
    };
    if !analysis.stages.asked {
        return String::new();
    }
    let what = format!("Ratios are taken within repetitions, then averaged.{whose}{sources}");
    figure(&pictures::variants(analysis), &caption(run, analysis))
        + &stage_tables::bases(analysis, false).html()
        + &note(&what)
}

/// What stands below the picture of the variants.
fn caption(run: &Run, analysis: &Analysis) -> String {
    let stages = &analysis.stages;
    let core = stages.rows.first().map_or(String::new(), |row| core_of(run, row.mode));
    format!(
        "CPU of {} at {}, means: full the subject, pale the load, striped other processes; per cent are of {core}. \
         Whiskers are 95 % intervals of the sum.",
        summed(analysis),
        count(stages.clients, "client")
    )
}

/// CPU against clients; with one client count the variants side by side.
fn curve(run: &Run, analysis: &Analysis) -> String {
    let curve = pictures::curve(analysis);
    let picture = if curve.is_empty() && !analysis.stages.asked && analysis.asks_for_cpu() {
        figure(&pictures::variants(analysis), &caption(run, analysis))
    } else {
        let scale = match pictures::is_by_decades(analysis) {
            true => {
                " Each step of ten upwards is ten times as much; straight lines bend on such a scale."
            }
            false => "",
        };
        let what = format!(
            "CPU of {} together.{scale} Marks are means, whiskers 95 % intervals (often smaller than the mark), dots \
             single trials. Straight pieces join the means; they are no model.",
            summed(analysis)
        );
        figure(&curve, &what)
    };
    let has_figures = analysis.valid > 0 && analysis.asks_for_cpu();
    let idle =
        "“Above idle” takes away the idle variant of the same mode, repetition by repetition. ";
    let idle = if tables::has_idle(analysis) { idle } else { "" };
    let what = format!("{idle}CV: standard deviation over mean.");
    let table = has_figures.then(|| tables::summary(analysis, false).noted(&what));
    picture + &table.unwrap_or_default()
}

/// A pause: who was stopped, and what that showed.
fn pause(run: &Run, at: usize, pause: &PauseFigures) -> String {
    let (verdict, word) = match counts(run, pause) {
        true => (pause.verdict.name(), pause.verdict.name()),
        false => (Verdict::Measured.name(), "no effect"),
    };
    let what = "One trial, second by second. Shaded: it is stopped. Striped: the control, an idle process of the agent’s \
                own is stopped instead.";
    format!(
        "<div class=\"card\" id=\"pause-{at}\"><h3><span class=\"verdict {verdict}\">{word}</span> {} stopped: {}, {}</h3>\
         <p>{}</p>{}</div>",
        escape(&pause.consumer),
        escape(pause.of_variant()),
        count(pause.clients, "client"),
        prose::html(&pause.sentence),
        figure(&pictures::pause(pause), what)
    )
}

fn pause_table(analysis: &Analysis) -> String {
    let unit = tables::unit_of(analysis);
    let name = format!("{}/s", unit.name);
    let table = Table::of("CPU of the subject while another process is stopped", &analysis.pauses)
        .head("stopped", "", |pause| pause.consumer.clone())
        .text("subject", "", |pause| pause.subject.clone())
        .text("variant", "", |pause| pause.of_variant().to_owned())
        .number("clients", "", |pause| pause.clients.to_string())
        .number("trials", "", |pause| pause.trials.to_string())
        .mean(["running", &name], unit, |pause| pause.running)
        .mean(["stopped", &name], unit, |pause| pause.stopped)
        .mean(["control", &name], unit, |pause| pause.sham)
        .estimate(["share", "%"], Unit::PER_CENT, |pause| pause.share)
        .estimate(["control", "%"], Unit::PER_CENT, |pause| pause.sham_share)
        .table();
    let what = "Share: 1 − stopped ÷ running, pair by pair. The control’s interval must include 0; otherwise stopping any \
                process would show an effect.";
    table.html() + &note(what)
}

/// The gates as limits; without a section where the study sets none.
fn gates(gates: &[Gate], run: &Run) -> Section {
    let target = |gate: &Gate| Target {
        name: gate.name.clone(),
        limit: String::new(),
        found: gate.sentence.replace('`', ""),
        verdict: gate.verdict,
        cause: None,
    };
    let targets: Vec<_> = gates.iter().map(target).collect();
    match targets.is_empty() {
        true => Section::new("gates", "Limits", String::new()),
        false => page::limits(&targets).opened(run.versus.is_some() && gates.len() < 6),
    }
}

fn corrections(analysis: &Analysis) -> String {
    let what = "Before every trial the access point is checked against the study. What did not match was repaired.";
    tables::corrections(analysis).noted(what)
}

/// Doubts with what to do, caveats, and invalid trials.
fn validity(analysis: &Analysis) -> Section {
    let doubt = |(level, class, sign): (Level, &'static str, char)| {
        let of_level = analysis.doubts.iter().filter(move |doubt| doubt.level == level);
        of_level.map(move |doubt| {
            format!(
                r#"<div class="{class}"><dt><span class="sign" aria-hidden="true">{sign}</span>{}</dt><dd>{}</dd></div>"#,
                prose::html(&doubt.to_string()),
                prose::html(&doubt.advice)
            )
        })
    };
    let levels = [(Level::Doubt, "doubt", '!'), (Level::Caveat, "caveat", 'i')];
    let doubts: String = levels.into_iter().flat_map(doubt).collect();
    let has_doubt = analysis.doubts.iter().any(|doubt| doubt.level == Level::Doubt);
    let none = "<p>No doubts about this run. The notes below apply to every run of this kind.</p>";
    let none = if has_doubt { "" } else { none };
    let invalid = |trial: &InvalidTrial| {
        let console = escape(&trial.console.join("\n"));
        let console = if console.is_empty() { console } else { format!("<pre>{console}</pre>") };
        let (id, why) = (escape(&trial.id.to_string()), escape(&trial.why));
        format!("<li><code>{id}</code> {why}{}</li>", folded("console", &console))
    };
    let trials: String = analysis.invalid.iter().map(invalid).collect();
    let trials = match trials.is_empty() {
        true => trials,
        false => format!(
            "<h3>Invalid trials, excluded from results</h3><ul class=\"invalid\">{trials}</ul>"
        ),
    };
    Section::new("validity", "Doubts", format!("{none}<dl>{doubts}</dl>{trials}"))
}

fn same(run: &Run) -> String {
    let facts = identity::html(&again::same(run));
    format!("<p>The figures of a counted run are the same wherever these are:</p>{facts}")
}

fn slope(run: &Run, analysis: &Analysis) -> String {
    let none = tables::why_no_slope(analysis)
        .filter(|_| analysis.asks_for_cpu() && run.versus.is_none())
        .map_or(String::new(), |why| format!("<p>None: {}.</p>", prose::html(why)));
    let what = "Least squares over client counts within each repetition, then mean and Student’s t interval over \
                repetitions. The interval therefore leaves out curvature, which the slopes by segment show. “Core full” is \
                (10⁶ µs − value at 0 clients) ÷ slope: a straight line, extended far beyond what was measured.";
    none + &tables::slopes(analysis, false).noted(what)
}

fn series(analysis: &Analysis) -> String {
    let pictures = steps::draw(&pictures::series(analysis));
    let what = format!(
        "CPU of {} together between neighbouring samples, all repetitions of a cell drawn over each other. Every picture \
         starts at 0 and has its own scale.",
        summed(analysis)
    );
    if pictures.is_empty() { pictures } else { pictures + &note(&what) }
}

fn detail(analysis: &Analysis) -> String {
    tables::beyond(analysis).html()
        + &folded("The subject’s threads", &tables::threads(analysis).html())
        + &folded("Every valid trial", &tables::trials(analysis).html())
}
