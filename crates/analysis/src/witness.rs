//! Whether replies that were given inside measured windows are true, over all trials that checked them.

use std::collections::BTreeSet;

use model::{
    plural::count,
    trial::{Outcome, Trial},
    verdict::Verdict,
    witness::Witnessed,
};

use crate::{
    agreement::{
        exact,
        rounds::{self, Checked},
    },
    verdicts::Conclusion,
};

/// What all of these trials say; `None` where none of them was to check anything. The first reply that is not true
/// makes it fail.
pub fn of_trials(trials: &[&Trial]) -> Option<Conclusion> {
    let asked = trials.iter().filter(|trial| is_checked(trial));
    let named = |trial: &&Trial| {
        checked(trial).map_err(|found| found.after(&format!("`{}`, ", trial.planned.id)))
    };
    let found: Vec<Result<Checked, Conclusion>> = asked.map(named).collect();
    let of =
        |one: &Result<_, Conclusion>| one.as_ref().map_or_else(|it| it.verdict, |_| Verdict::Pass);
    let verdict = Verdict::of_all(found.iter().map(of));
    let first = found.iter().find(|one| of(one) == verdict)?;
    let confirmed = |_: &Checked| {
        let all: Vec<&Checked> = found.iter().flatten().collect();
        Conclusion { verdict, sentence: confirmed(&all) }
    };
    Some(first.as_ref().map_or_else(Clone::clone, confirmed))
}

/// Of the pairs of a comparison, `(base, variant)`. Nothing can be compared with a base whose own replies are not true,
/// which is no failure of the variant.
pub(crate) fn of_sides(pairs: &[(&Trial, &Trial)]) -> Option<Conclusion> {
    let (base, variant): (Vec<&Trial>, Vec<&Trial>) = pairs.iter().copied().unzip();
    let faulty = |side: &[&Trial]| of_trials(side).filter(|one| one.verdict != Verdict::Pass);
    if let Some(own) = faulty(&variant) {
        return Some(own);
    }
    if let Some(base) = faulty(&base) {
        return Some(Conclusion::invalid(format!("the base does not hold: {}", base.sentence)));
    }
    of_trials(&base.into_iter().chain(variant).collect::<Vec<_>>())
}

/// Whether the variant's replies are the base's, byte by byte but for the values that a table names as changing. Of the
/// pairs of a comparison, `(base, variant)`; without a pair, and where a trial holds no reply, nothing agrees.
pub fn word_for_word(pairs: &[(&Trial, &Trial)]) -> Conclusion {
    let mut trials = pairs.iter().flat_map(|(base, variant)| [base, variant]);
    if let Some(unseen) = trials.find(|one| replies(one).is_none()) {
        return Conclusion::invalid(format!("`{}`, no round was checked", unseen.planned.id));
    }
    let sides = pairs.iter().filter_map(|(base, variant)| replies(base).zip(replies(variant)));
    match exact::of(&sides.collect::<Vec<_>>()) {
        Ok(0) => Conclusion::invalid("no reply was compared with the base's"),
        Ok(parts) => {
            let parts = counted(parts, "part of a reply is", "parts of replies are");
            let sentence = format!("{parts} the base's, word for word");
            Conclusion { verdict: Verdict::Pass, sentence }
        }
        Err((pair, found)) => found.after(&format!("`{}`, ", pairs[pair].1.planned.id)),
    }
}

fn replies(trial: &Trial) -> Option<&Witnessed> {
    trial.reading()?.witness.as_deref()
}

/// Whether a trial's replies are checked: without a client there is nothing to say.
pub(crate) fn is_checked(trial: &Trial) -> bool {
    trial.planned.order.witness.is_some() && trial.planned.id.clients > 0
}

fn checked(trial: &Trial) -> Result<Checked, Conclusion> {
    if let Outcome::Invalid { why, .. } = &trial.outcome {
        return Err(Conclusion::invalid(why));
    }
    let asked = replies(trial).zip(trial.planned.order.witness.as_ref());
    let (witnessed, order) = asked.ok_or_else(|| Conclusion::invalid("no round was checked"))?;
    rounds::of(witnessed, order)
}

/// What was confirmed in all trials together.
fn confirmed(found: &[&Checked]) -> String {
    let sum = |of: fn(&Checked) -> u64| found.iter().map(|one| of(one)).sum();
    let oldest_ns = found.iter().map(|one| one.oldest_ns).max().unwrap_or_default();
    let alone: BTreeSet<&String> = found.iter().flat_map(|one| &one.alone).collect();
    let alone = match alone.len() as u64 {
        0 => String::new(),
        keys => format!("; {} told by the subject alone", counted(keys, "key is", "keys are")),
    };
    format!(
        "{} of {} in {} hold {} that nl80211 confirms, none older than {:.2} s{alone}",
        counted(sum(|one| one.replies), "reply", "replies"),
        count(sum(|one| one.rounds), "round"),
        count(found.len(), "trial"),
        count(sum(|one| one.values), "value"),
        // Rounded up: nothing is promised that was not seen.
        (oldest_ns as f64 / 1e7).ceil() / 100.0,
    )
}

fn counted(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

#[cfg(test)]
mod tests {
    use model::{
        parity::{Answer, Reading, StationList, StationValues},
        span::Span,
        verdict::Expect,
        witness::{CheckedRound, WitnessOrder, Witnessed},
    };

    use super::*;
    use crate::judge::test_data::{compared, only, pairs, recording, versus};

    const SECOND: u64 = 1_000_000_000;

    fn iw(bytes: u64) -> String {
        format!(
            "Station 02:00:00:00:01:0a (on wlan0)\n\trx bytes:\t{bytes}\n\ttx bytes:\t7\n\
             \tcurrent time:\t0 ms\n"
        )
    }

    fn kernel(bytes: u64) -> Answer {
        let address = "02:00:00:00:01:0a".to_owned();
        let (rx_bytes, tx_bytes) = (Some(bytes), Some(7));
        let station = StationValues { address, rx_bytes, tx_bytes, ..StationValues::default() };
        Answer::Kernel(StationList { stations: vec![station], ..StationList::default() })
    }

    /// One checked round, in which the subject says that it is at so many bytes; nl80211 says 100 and then 200.
    fn check(trial: &mut Trial, own: u64) {
        trial.planned.order.witness = Some(WitnessOrder {
            rounds: vec![3],
            interfaces: vec![Some("wlan0".to_owned())],
            age: Span::from_secs(1),
            drain: Span::default(),
            hostapd: false,
        });
        let said = |at_ns, answer| Reading { interface: Some("wlan0".to_owned()), at_ns, answer };
        let readings = vec![
            said(3 * SECOND, kernel(100)),
            said(5 * SECOND, Answer::Subject(iw(own))),
            said(6 * SECOND, kernel(200)),
        ];
        let (read_from_ns, started_ns) = (3 * SECOND, Some(9 * SECOND / 2));
        let round = CheckedRound { place: 3, read_from_ns, started_ns, readings };
        let witnessed = Witnessed { rounds: vec![round], drained: None };
        recording(trial).witness = Some(Box::new(witnessed));
    }

    /// A comparison whose sides say this in every trial.
    fn compare(base: u64, variant: u64) -> crate::verdicts::Judgement {
        let (mut run, mut trials) = compared(&pairs(6, -0.042, 0.0005, 1));
        versus(&mut run).expect = Expect::Faster;
        for trial in &mut trials {
            check(trial, if trial.planned.id.variant == "after" { variant } else { base });
        }
        only(&run, &trials)
    }

    #[test]
    fn replies_that_are_true_say_how_many_they_are_and_how_old() {
        let judgement = compare(150, 200);
        assert_eq!(judgement.verdict, Verdict::Pass, "{}", judgement.sentence);
        let found = judgement.witness.unwrap();
        assert_eq!(found.verdict, Verdict::Pass);
        let words = "12 replies of 12 rounds in 12 trials hold 36 values that nl80211 confirms, none older than 1.50 s";
        assert!(found.sentence.starts_with(words), "{}", found.sentence);
    }

    #[test]
    fn a_variant_whose_replies_are_not_true_fails_however_cheap_it_is() {
        let judgement = compare(150, 40);
        assert_eq!(judgement.verdict, Verdict::Fail);
        let words = "fail: `after@60#1`, round 4 of the window: rx bytes of 02:00:00:00:01:0a on wlan0 is 40 B, ";
        assert!(judgement.sentence.starts_with(words), "{}", judgement.sentence);
        assert_eq!(judgement.witness.unwrap().verdict, Verdict::Fail);
    }

    #[test]
    fn a_base_whose_replies_are_not_true_is_no_failure_of_the_variant() {
        let judgement = compare(40, 150);
        assert_eq!(judgement.verdict, Verdict::Invalid);
        let words = "invalid: the base does not hold: `before@60#1`, round 4";
        assert!(judgement.sentence.starts_with(words), "{}", judgement.sentence);
    }

    #[test]
    fn a_trial_that_was_to_check_and_did_not_is_no_pass() {
        let (_, mut trials) = compared(&pairs(2, 0.0, 0.0, 1));
        assert_eq!(of_trials(&trials.iter().collect::<Vec<_>>()), None);
        trials.iter_mut().for_each(|trial| check(trial, 150));
        recording(&mut trials[1]).witness = None;
        let found = of_trials(&trials.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(found.verdict, Verdict::Invalid);
        assert!(found.sentence.ends_with("no round was checked"), "{}", found.sentence);
    }
}
