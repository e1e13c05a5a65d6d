//! The verdict on a whole run: one word and the sentence that goes with it.
//!
//! Puts together what the analysis decided; it decides nothing of its own. What counts: every gate, every
//! pause, the judgement that the run was made for, and whether all trials of the plan are there and valid.
//! Judgements of a study that is no comparison are findings and do not count: that `iw` is dearer than the
//! daemon fails no one.

use analysis::{Analysis, quantity::count, verdicts::PauseFigures};
use model::{run::Run, verdict::Verdict};

/// The verdict on a run, or one decision in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overall {
    pub verdict: Verdict,
    /// Why: one sentence.
    pub sentence: String,
}

/// The verdict on a run: one decision that fails fails it, else one that is invalid makes it invalid.
pub fn overall(run: &Run, analysis: &Analysis) -> Overall {
    let decided = decisions(run, analysis);
    let verdict = Verdict::of_all(decided.iter().map(|each| each.verdict));
    let of_word = decided.iter().filter(|each| each.verdict == verdict);
    let others = of_word.clone().count().saturating_sub(1);
    let first = of_word.map(|each| each.sentence.clone()).next();
    let sentence = match (verdict, first) {
        (Verdict::Measured | Verdict::Pass, _) => passed(run, analysis),
        (_, None) => String::new(),
        (_, Some(first)) if others == 0 => first,
        (Verdict::Fail, Some(first)) => {
            format!("{first} {}.", more(others, "fails", "fail"))
        }
        (_, Some(first)) => {
            format!("{first} {}.", more(others, "is invalid", "are invalid"))
        }
    };
    Overall { verdict, sentence }
}

/// `One more fails`, `3 more fail`.
fn more(others: usize, one: &str, many: &str) -> String {
    if others == 1 { format!("One more {one}") } else { format!("{others} more {many}") }
}

fn decisions(run: &Run, analysis: &Analysis) -> Vec<Overall> {
    let judgements = analysis.judgements.iter().filter(|_| run.versus.is_some());
    let judgements =
        judgements.map(|each| Overall { verdict: each.verdict, sentence: stopped(&each.sentence) });
    let pauses = analysis.pauses.iter().filter(|pause| counts(run, pause));
    let pauses =
        pauses.map(|each| Overall { verdict: each.verdict, sentence: stopped(&each.sentence) });
    let gates = analysis.gates.iter().map(|gate| Overall {
        verdict: gate.verdict,
        sentence: format!("Gate {}: {}", gate.name, stopped(&gate.sentence)),
    });
    judgements.chain(pauses).chain(gates).chain(incomplete(run, analysis)).collect()
}

/// Whether a pause counts for the run's verdict: where several consumers are ranked, that one of them causes nothing is
/// a finding and fails no one.
pub(crate) fn counts(run: &Run, pause: &PauseFigures) -> bool {
    let asked = run.study.pause.as_ref();
    let ranks = asked.is_some_and(|asked| asked.process.is_none() && asked.group.is_none());
    !(ranks && pause.verdict == Verdict::Fail)
}

/// Trials that are missing or invalid: what was asked for was not measured in full.
fn incomplete(run: &Run, analysis: &Analysis) -> Option<Overall> {
    // A comparison that was decided early has a shorter plan, and lacks nothing.
    let lacking = (run.plan.len() as u32).saturating_sub(analysis.valid);
    (lacking > 0).then(|| Overall {
        verdict: Verdict::Invalid,
        sentence: format!(
            "{lacking} of {} {} missing or invalid, so the run is incomplete.",
            count(run.plan.len() as u32, "trial"),
            if lacking == 1 { "is" } else { "are" }
        ),
    })
}

fn passed(run: &Run, analysis: &Analysis) -> String {
    let of_run = analysis.judgements.iter().find(|_| run.versus.is_some());
    if let Some(judgement) = of_run {
        return stopped(&judgement.sentence);
    }
    let trials = count(analysis.valid, "trial");
    let pause = analysis.pauses.first().map(|pause| stopped(&pause.sentence));
    // A gate that had nothing to judge is not kept either.
    let kept: Vec<_> = analysis.gates.iter().filter(|gate| gate.verdict == Verdict::Pass).collect();
    match (kept.len(), pause) {
        (0, Some(pause)) => pause,
        (1, Some(pause)) => format!("The one gate is kept; and {pause}"),
        (gates, Some(pause)) => format!("All {gates} gates are kept; and {pause}"),
        (0, None) => {
            let why = match run.study.gates {
                // Trials of a part of a study: its other limits were left out with what they are on.
                Some(_) => "No limit is on what was measured",
                None => "No limits are set",
            };
            let all = match analysis.valid {
                1 => "The only trial is valid".to_owned(),
                valid => format!("All {valid} trials are valid"),
            };
            format!("{all}. {why}, so there is no pass or fail.")
        }
        (1, None) => format!("The one gate is kept: {}", stopped(&kept[0].sentence)),
        (gates, None) => format!("All {gates} gates are kept ({trials}, all valid)."),
    }
}

/// A sentence with its stop, and without the verdict's word.
fn stopped(sentence: &str) -> String {
    let sentence = bare(sentence);
    let ends = sentence.ends_with(['.', '!', '?', ')']);
    if ends { sentence.to_owned() } else { format!("{sentence}.") }
}

/// A sentence without the verdict's word, which stands next to it.
pub(crate) fn bare(sentence: &str) -> &str {
    let words = [Verdict::Pass, Verdict::Fail, Verdict::Invalid].map(Verdict::name);
    let without = |word: &str| sentence.strip_prefix(word)?.strip_prefix(": ");
    words.into_iter().find_map(without).unwrap_or(sentence)
}

#[cfg(test)]
mod tests {
    use analysis::{analyse, fixture, verdicts::Gate};

    use super::*;

    fn gate(verdict: Verdict, sentence: &str) -> Gate {
        Gate { name: "monotonic".to_owned(), verdict, sentence: sentence.to_owned() }
    }

    #[test]
    fn a_failure_outweighs_what_could_not_be_measured() {
        let run = fixture::run();
        let mut analysis = analyse(&run, &fixture::troubled(&run));
        assert_eq!(overall(&run, &analysis).verdict, Verdict::Invalid);
        analysis.gates = vec![gate(Verdict::Fail, "18 clients cost more than 60")];
        let found = overall(&run, &analysis);
        assert_eq!(found.verdict, Verdict::Fail);
        assert_eq!(found.sentence, "Gate monotonic: 18 clients cost more than 60.");
    }

    #[test]
    fn among_several_consumers_one_that_causes_nothing_fails_nobody() {
        let mut run = fixture::run();
        let mut analysis = analyse(&run, &fixture::trials(&run));
        let nothing = PauseFigures {
            variant: "v".to_owned(),
            clients: 6,
            consumer: "bystander".to_owned(),
            subject: "s".to_owned(),
            trials: 6,
            running: None,
            stopped: None,
            sham: None,
            share: None,
            sham_share: None,
            level: 0.05,
            series: Vec::new(),
            verdict: Verdict::Fail,
            sentence: "it causes nothing".to_owned(),
        };
        let monitor = PauseFigures { verdict: Verdict::Pass, ..nothing.clone() };
        analysis.pauses = vec![monitor, nothing];
        for (process, verdict) in [(None, Verdict::Pass), (Some("bystander"), Verdict::Fail)] {
            run.study.pause = Some(model::study::Pause {
                process: process.map(str::to_owned),
                group: None,
                variants: Vec::new(),
                clients: Vec::new(),
                repetitions: 6,
                span: model::span::Span::from_secs(10),
                settle: model::span::Span::from_secs(2),
            });
            assert_eq!(overall(&run, &analysis).verdict, verdict);
        }
    }

    #[test]
    fn a_whole_run_without_limits_is_measured_and_limits_on_other_variants_are_not_called_absent() {
        let mut run = fixture::run();
        let cases = [
            (None, "No limits are set"),
            (
                Some(model::study::Gates::default()),
                "No limit is on what was measured, so there is no pass or fail.",
            ),
        ];
        for (gates, why) in cases {
            run.study.gates = gates;
            let found = overall(&run, &analyse(&run, &fixture::trials(&run)));
            assert_eq!(found.verdict, Verdict::Measured);
            assert!(found.sentence.contains(why), "{}", found.sentence);
        }
    }
}
