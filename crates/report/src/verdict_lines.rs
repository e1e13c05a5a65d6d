//! Every verdict of a run as one line each, for terminals and for CI.
//!
//! Chooses names and order; the sentences are the analysis's.

use analysis::{
    Analysis,
    quantity::{self, Unit},
    verdicts::{Judgement, PauseFigures},
};
use model::{inert, run::Run, verdict::Verdict};

use crate::{
    overall::{Overall, bare, counts, overall},
    text::fold,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Gate,
    /// Two variants.
    Comparison,
    Pause,
    /// Whether all of the run was measured.
    Run,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Gate => "gate",
            Kind::Comparison => "comparison",
            Kind::Pause => "pause",
            Kind::Run => "run",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct VerdictLine {
    pub kind: Kind,
    /// Which: `monotonic`, `brief to bulk at 114 clients`.
    pub name: String,
    pub verdict: Verdict,
    /// Whether it counts for the run's verdict: what a study that is no comparison finds between its variants
    /// does not.
    pub counts: bool,
    /// The figure and its interval, where one figure decides.
    pub effect: Option<String>,
    /// Why, one sentence.
    pub sentence: String,
}

/// Comparisons, pauses, gates, and the run itself where they alone do not say what it came to.
pub fn all(run: &Run, analysis: &Analysis) -> Vec<VerdictLine> {
    let gates = analysis.gates.iter().map(|gate| VerdictLine {
        kind: Kind::Gate,
        name: gate.name.clone(),
        verdict: gate.verdict,
        counts: true,
        effect: None,
        sentence: gate.sentence.clone(),
    });
    let comparisons = analysis.judgements.iter();
    let comparisons = comparisons.map(|judgement| comparison(judgement, run.versus.is_some()));
    let mut lines: Vec<_> = comparisons
        .chain(analysis.pauses.iter().map(|each| pause(run, each)))
        .chain(gates)
        .collect();
    let counting = lines.iter().filter(|line| line.counts).map(|line| line.verdict);
    let overall = overall(run, analysis);
    if Verdict::of_all(counting) != overall.verdict {
        lines.push(VerdictLine {
            kind: Kind::Run,
            name: "the whole run".to_owned(),
            verdict: overall.verdict,
            counts: true,
            effect: None,
            sentence: overall.sentence,
        });
    }
    lines
}

/// The lines for a terminal, with the run's verdict below them. The colours are the only escape sequences in them.
pub fn plain(lines: &[VerdictLine], overall: &Overall, colours: bool) -> String {
    let mut text = String::new();
    for line in lines {
        let effect = line.effect.as_ref().map(|effect| format!("  {}", inert::line(effect)));
        let effect = effect.unwrap_or_default();
        let word = word(line.verdict, line.counts, colours);
        text.push_str(&format!("{word}  {}{effect}\n", inert::line(&line.name)));
        text.push_str(&fold(&inert::line(bare(&line.sentence)).replace('`', ""), INDENT, INDENT));
        text.push('\n');
    }
    // One line says it all already.
    if lines.iter().filter(|line| line.counts).count() == 1 && lines.len() == 1 {
        return text;
    }
    let word = word(overall.verdict, true, colours);
    text + &fold(
        &format!("{word}  {}", inert::line(&overall.sentence).replace('`', "")),
        "",
        INDENT,
    ) + "\n"
}

/// Below the names.
const INDENT: &str = "         ";

/// The verdict's word, as wide as the longest; in brackets where it does not count.
fn word(verdict: Verdict, counts: bool, colours: bool) -> String {
    let word = if counts { verdict.name().to_owned() } else { format!("({})", verdict.name()) };
    let padded = format!("{word:<7}");
    let colour = match verdict {
        _ if !colours || !counts => return padded,
        Verdict::Measured => return padded,
        Verdict::Pass => 32,
        Verdict::Fail => 31,
        Verdict::Invalid => 33,
    };
    format!("\u{1b}[{colour}m{padded}\u{1b}[0m")
}

fn comparison(judgement: &Judgement, counts: bool) -> VerdictLine {
    let Judgement { base, variant, clients, verdict, sentence, .. } = judgement;
    VerdictLine {
        kind: Kind::Comparison,
        name: format!("{base} to {variant} at {}", quantity::count(*clients, "client")),
        verdict: *verdict,
        counts,
        effect: judgement.effect(),
        sentence: sentence.clone(),
    }
}

fn pause(run: &Run, pause: &PauseFigures) -> VerdictLine {
    let PauseFigures { consumer, clients, verdict, share, sentence, .. } = pause;
    let clients = quantity::count(*clients, "client");
    VerdictLine {
        kind: Kind::Pause,
        name: format!("{consumer} paused, in {} at {clients}", pause.of_variant()),
        verdict: *verdict,
        counts: counts(run, pause),
        effect: share.map(|share| Unit::PER_CENT.with_interval(&share)),
        sentence: sentence.clone(),
    }
}

/// Verdicts of all kinds, for tests.
#[cfg(test)]
pub(crate) fn fixture() -> (model::run::Run, Analysis) {
    use analysis::{Estimate, verdicts::Gate};

    let run = analysis::fixture::run();
    let mut analysis = analysis::analyse(&run, &analysis::fixture::trials(&run));
    let gate = |name: &str, verdict, sentence: &str| Gate {
        name: name.to_owned(),
        verdict,
        sentence: sentence.to_owned(),
    };
    analysis.gates = vec![
        gate("monotonic", Verdict::Pass, "The CPU rises <with> the clients & more."),
        gate("cpu at 114 clients <= 2%", Verdict::Fail, "It takes \"too much\" | really."),
        gate("machine", Verdict::Invalid, "The machine does not report its governor."),
    ];
    analysis.pauses.clear();
    let stations = analysis::fixture::stations();
    let judged = analysis::analyse(&stations, &analysis::fixture::trials(&stations)).judgements;
    analysis.judgements = vec![Judgement {
        base: "brief".to_owned(),
        variant: "bulk".to_owned(),
        clients: 114,
        verdict: Verdict::Pass,
        sentence: "`bulk` costs less than `brief`.".to_owned(),
        relative: Estimate::of(&[-0.36, -0.362, -0.358]),
        ..judged[0].clone()
    }];
    (run, analysis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_what_people_read_on_a_terminal() {
        let (run, analysis) = fixture();
        let lines = all(&run, &analysis);
        insta::assert_snapshot!(plain(&lines, &overall(&run, &analysis), false));
        assert!(
            plain(&lines, &overall(&run, &analysis), true).contains("\u{1b}[31mfail   \u{1b}[0m")
        );
    }

    #[test]
    fn a_run_with_a_trial_missing_has_a_line_for_that() {
        let (run, mut analysis) = fixture();
        analysis.gates.clear();
        assert!(all(&run, &analysis).iter().all(|line| line.kind != Kind::Run));
        analysis.valid -= 1;
        let lines = all(&run, &analysis);
        let last = lines.last().unwrap();
        assert_eq!((last.kind, last.verdict), (Kind::Run, Verdict::Invalid));
    }
}
