//! What a comparison's run says of a candidate, as the judge of tries reads it.
//!
//! Reads a run that was recorded; decides nothing.

use std::{collections::BTreeMap, fs, path::Path};

use analysis::{
    Estimate, NANOSECONDS_PER_INSTRUCTION, unjudged,
    verdicts::{Conclusion, Judgement},
    witness,
};
use improve::{
    Built,
    judge::{Answer, Evidence},
};
use lab::run_folder::Recorded;
use model::{
    parity::Reading,
    trial::{Outcome, Purpose, Trial},
    witness::CheckedRound,
};

/// Of a run: what there is to judge, where it holds a comparison, and the time that passed on access points, s.
pub(super) fn of(
    recorded: &Recorded,
    base: &Path,
    built: &Built,
    floor_us: Option<f64>,
) -> (Option<Evidence>, f64) {
    let analysis = unjudged(&recorded.run, &recorded.trials);
    let evidence = |judgement: &Judgement| {
        let memory = |name: &str| {
            [&judgement.base, &judgement.variant]
                .map(|variant| analysis.cell(variant, judgement.clients)?.beyond(name))
        };
        Evidence {
            broken: broken(recorded, judgement),
            floor_us,
            latency_us: [&judgement.base, &judgement.variant]
                .map(|side| latency_us(recorded, side)),
            memory_kib: memory("rss_end_kib"),
            group_kib: memory("group_kib"),
            bytes: [fs::metadata(base).ok().map(|file| file.len()), Some(built.bytes)]
                .map(|bytes| bytes.map(|bytes| bytes as f64)),
            warnings: built.warnings,
            outside: outside(recorded, judgement),
            never_ran: Vec::new(),
            words: None,
            judgement: judgement.clone(),
        }
    };
    (analysis.judgements.first().map(evidence), analysis.ledger.device_s)
}

fn of_variant<'a>(recorded: &'a Recorded, name: &str) -> impl Iterator<Item = &'a Trial> {
    recorded.trials.iter().filter(move |trial| trial.planned.id.variant == *name)
}

/// What the load waited for the end of the rounds that were checked, mean, µs; `None` where none was.
fn latency_us(recorded: &Recorded, variant: &str) -> Option<f64> {
    let rounds =
        of_variant(recorded, variant).filter_map(|trial| trial.reading()?.witness.as_deref());
    let waited = |round: &CheckedRound| {
        let own = round.readings.iter().filter(|reading| reading.subject().is_some());
        own.map(|reading| reading.at_ns).max()?.checked_sub(round.started_ns?)
    };
    let waits: Vec<f64> = rounds
        .flat_map(|witnessed| &witnessed.rounds)
        .filter_map(waited)
        .map(|ns| ns as f64 / 1e3)
        .collect();
    Estimate::of(&waits).map(|waits| waits.mean)
}

/// Whether the candidate's replies are the base's, word for word, in all pairs.
pub(super) fn words(recorded: &Recorded, judgement: &Judgement) -> Conclusion {
    let of = |name: &str| {
        let own = of_variant(recorded, name).filter(|trial| trial.planned.id.purpose.is_cpu());
        own.map(|trial| ((trial.planned.id.repetition, trial.planned.id.perturbed), trial))
            .collect::<BTreeMap<_, _>>()
    };
    let (base, variant) = (of(&judgement.base), of(&judgement.variant));
    let pairs = base.iter().filter_map(|(id, base)| Some((*base, *variant.get(id)?)));
    witness::word_for_word(&pairs.collect::<Vec<_>>())
}

/// What both sides answer to the test of a task in each of their trials, `[base, candidate]`, and the time that passed on access
/// points, s.
pub(super) fn answers(recorded: &Recorded) -> ([Vec<Answer>; 2], f64) {
    let of = |is_base: bool| {
        let base = recorded.run.versus.as_ref().map(|versus| versus.base.as_str());
        let own = recorded
            .trials
            .iter()
            .filter(|trial| (Some(trial.planned.id.variant.as_str()) == base) == is_base);
        own.map(answer).collect()
    };
    ([of(true), of(false)], unjudged(&recorded.run, &recorded.trials).ledger.device_s)
}

fn answer(trial: &Trial) -> Answer {
    let recording = match &trial.outcome {
        Outcome::Measured(recording) => recording,
        Outcome::Invalid { why, .. } => return Err(without_the_test(trial, why)),
    };
    let round = recording.witness.as_ref().and_then(|witnessed| witnessed.rounds.first());
    let readings = round.into_iter().flat_map(|round| &round.readings);
    let said: Vec<&str> = readings.filter_map(Reading::subject).collect();
    let why = || match &recording.load_failure {
        Some(failure) => without_the_test(trial, &failure.why),
        None => "it has not ended within 60 s".to_owned(),
    };
    if said.is_empty() { Err(why()) } else { Ok(said.concat()) }
}

/// A reason without the text of the test, which is long and known.
fn without_the_test(trial: &Trial, why: &str) -> String {
    let commands = trial.planned.order.load.iter().flat_map(|load| load.work.commands());
    commands.fold(why.to_owned(), |why, command| why.replace(&command.join(" "), "test"))
}

/// What the whole machine executed more in the variant's windows than in the base's, pair by pair, µs a second, as QEMU
/// counted it; `None` where it did not count in each window that was measured.
fn outside(recorded: &Recorded, judgement: &Judgement) -> Option<Estimate> {
    let of = |name: &str| -> Option<BTreeMap<u32, f64>> {
        let own = of_variant(recorded, name);
        let own = own.filter(|trial| trial.planned.id.purpose == Purpose::Cpu);
        let measured = own.filter_map(|trial| Some((&trial.planned, trial.reading()?)));
        let cost = measured.map(|(planned, reading)| {
            let ns = reading.executed?.total() as f64 * NANOSECONDS_PER_INSTRUCTION;
            Some((planned.id.repetition, ns / 1e3 / planned.order.window.as_secs_f64()))
        });
        cost.collect()
    };
    let (base, variant) = (of(&judgement.base)?, of(&judgement.variant)?);
    let pair = |(repetition, us): (&u32, &f64)| Some(us - base.get(repetition)?);
    let differences: Vec<f64> = variant.iter().filter_map(pair).collect();
    Estimate::of(&differences).filter(|_| differences.len() >= judgement.pairs as usize)
}

/// Why the candidate's trials came to no end, or its load's rounds to none, where all of the base's did.
fn broken(recorded: &Recorded, judgement: &Judgement) -> Option<String> {
    let of = |name: &str| of_variant(recorded, name).find_map(why_broken);
    of(&judgement.variant).filter(|_| of(&judgement.base).is_none())
}

/// Why a trial holds no answer to every question of its load.
fn why_broken(trial: &Trial) -> Option<String> {
    let recording = match &trial.outcome {
        Outcome::Measured(recording) => recording,
        Outcome::Invalid { why, .. } => return Some(why.clone()),
    };
    let (first, last) = (recording.samples.first()?.rounds, recording.samples.last()?.rounds);
    let (failed, skipped) = (last.failed - first.failed, last.skipped - first.skipped);
    let said = recording.load_failure.as_ref().map(|failure| format!(" ({})", failure.why));
    let said = said.unwrap_or_default();
    (failed + skipped > 0).then(|| {
        format!(
            "in one window {failed} of the load's commands failed, and {skipped} of its rounds had no turn{said}"
        )
    })
}
