//! A made-up run with everything that a whole story has: verdicts, a pause, gates, corrections, a ledger.
//!
//! **Synthetic.** The shapes are made here; how they come about is tested in `analysis`.

use analysis::{
    Analysis, Estimate, fixture,
    verdicts::{Corrected, Finding, Gate, Judgement, Ledger, PauseFigures, Ran, RateChange},
};
use model::{name::VariantName, run::Run, topology::Correction, trial::TrialId, verdict::Verdict};

/// The profiled fixture with all that is decided about it.
pub(crate) fn run() -> (Run, Analysis) {
    let (run, mut analysis) = fixture::profiled();
    let cheaper = cheaper(analysis.judgements.swap_remove(0));
    let others = [no_op(&cheaper), strange(&cheaper)];
    analysis.judgements = [cheaper].into_iter().chain(others).collect();
    analysis.pauses = vec![pause()];
    analysis.gates = gates();
    analysis.corrections = corrections();
    analysis.ledger = Ledger {
        trials: (66, 66),
        wall_s: 431.0,
        trials_s: 792.0,
        cpu_s: Some(801.5),
        device_s: 1_518.0,
        stopped_s: 48.0,
        samples: 1_234_567,
    };
    (run, analysis)
}

/// Six repetitions around a mean.
fn six(mean: f64, spread: f64) -> Estimate {
    let values = [-1.0, -0.4, -0.1, 0.1, 0.5, 0.9].map(|each| mean + each * spread);
    Estimate::of(&values).expect("numbers")
}

/// The comparison with what was counted on both sides.
fn cheaper(judged: Judgement) -> Judgement {
    let apply = "station::stations::Stations::apply".to_owned();
    Judgement {
        ran: vec![Ran { function: apply, calls: Some(2_280) }],
        rates: vec![
            RateChange { function: "transactions".to_owned(), before: 342.0, after: 3.0 },
            RateChange { function: "hash".to_owned(), before: 114.0, after: 0.0 },
        ],
        ..judged
    }
}

fn no_op(other: &Judgement) -> Judgement {
    Judgement {
        base: "write-on-change".to_owned(),
        variant: "bulk".to_owned(),
        verdict: Verdict::Invalid,
        finding: Finding::NoOp,
        sentence:
            "no-op: this code never ran here: `hash::of_bucket` was not called in any window."
                .to_owned(),
        differences: vec![12.0, -31.0, 8.0, 44.0, -25.0, 3.0],
        absolute: Some(six(1.8, 30.0)),
        relative: Some(six(0.00001, 0.0002)),
        pairs_needed: Some(48),
        look: Some((2, 5)),
        ran: vec![Ran { function: "hash::of_bucket".to_owned(), calls: Some(0) }],
        rates: Vec::new(),
        ..other.clone()
    }
}

fn strange(other: &Judgement) -> Judgement {
    Judgement {
        variant: "bulk".to_owned(),
        verdict: Verdict::Invalid,
        finding: Finding::NotComparable,
        sentence: "The sides differ in more than their variants: libc.so.6 is not the same file."
            .to_owned(),
        pairs: 0,
        differences: Vec::new(),
        before: None,
        after: None,
        absolute: None,
        relative: None,
        per_client: None,
        p: None,
        p_equivalence: None,
        detectable: None,
        split: None,
        together: None,
        strangers: vec![format!("libc.so.6 <sha256>: {} and {}", "1c".repeat(32), "2d".repeat(32))],
        ran: Vec::new(),
        rates: Vec::new(),
        ..other.clone()
    }
}

fn pause() -> PauseFigures {
    let state = |second: u32| match second {
        4..=8 | 19..=23 => "stopped",
        11..=15 | 26..=29 => "sham",
        _ => "runs",
    };
    let cpu = |second: u32| {
        let ripple = f64::from(second * 37 % 11) * 140.0;
        if state(second) == "stopped" { 5_200.0 + ripple } else { 358_400.0 + ripple }
    };
    PauseFigures {
        variant: "found".to_owned(),
        clients: 114,
        consumer: "station-monitor".to_owned(),
        subject: "stationd".to_owned(),
        trials: 6,
        running: Some(six(359_000.0, 120.0)),
        stopped: Some(six(5_900.0, 80.0)),
        sham: Some(six(358_990.0, 130.0)),
        share: Some(six(0.9836, 0.0003)),
        sham_share: Some(six(0.00003, 0.0003)),
        level: 0.05,
        series: (1..=30).map(|at| (f64::from(at), cpu(at), state(at).to_owned())).collect(),
        verdict: Verdict::Pass,
        sentence: "`station-monitor` causes 98.36 % [98.33, 98.39] of the CPU of `stationd`; stopping another \
                   process in its place changed nothing."
            .to_owned(),
    }
}

fn gates() -> Vec<Gate> {
    let bulk = "bulk: cpu at 114 clients <= 2%";
    let gate = |(name, verdict, sentence): (&str, Verdict, &str)| Gate {
        name: name.to_owned(),
        verdict,
        sentence: sentence.to_owned(),
    };
    #[rustfmt::skip]
    let gates = [
        ("monotonic", Verdict::Pass, "The CPU of every variant rises with the clients, p 0.0002."),
        ("unknown-frames", Verdict::Pass, "At most 0.031 % of the samples are not explained; the limit is 0.1 %."),
        ("clients-agree", Verdict::Invalid, "The access point reports no stations of hostapd in 3 trials."),
        (bulk, Verdict::Fail, "bulk takes 2.31 % [2.30, 2.32] of a core at 114 clients, above 2 %."),
    ];
    gates.map(gate).to_vec()
}

fn corrections() -> Vec<Corrected> {
    let of = |variant: &str, repetition, what: &str| Corrected {
        trial: TrialId::at(VariantName::literal(variant), 114, repetition),
        correction: Correction {
            what: what.to_owned(),
            was: "was down".to_owned(),
            done: "set up".to_owned(),
        },
    };
    vec![of("found", 1, "wlan1"), of("bulk", 1, "wlan1"), of("bulk", 2, "steerd")]
}
