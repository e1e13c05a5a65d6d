//! Replies that were given inside the measured window, each held against what others said around its round.
//!
//! The reading before a round is as old as a value may be: what a counter says must not lie before it. Pure.

use std::collections::BTreeSet;

use model::{
    parity::Reading,
    verdict::Verdict,
    witness::{CheckedRound, WitnessOrder, Witnessed},
};

use super::{Agreement, Asked, Fault, compared, past::Past, sides, stations};

/// What the checked rounds of one window come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    pub(crate) replies: u64,
    pub(crate) rounds: u64,
    /// Values that a second source confirms.
    pub(crate) values: u64,
    /// The age that a value may at most have had, ns.
    pub(crate) oldest_ns: u64,
    /// Keys that the subject tells, and nobody else who was asked.
    pub(crate) alone: BTreeSet<String>,
}

pub(crate) fn of(witnessed: &Witnessed, order: &WitnessOrder) -> Result<Checked, Fault> {
    let past = past(&witnessed.rounds);
    let (mut checked, mut counters) = (Checked::default(), 0);
    for round in &witnessed.rounds {
        let agreement = agreement(round, order, &past).map_err(|why| in_round(round, why))?;
        let started_ns = round.started_ns.unwrap_or_default();
        checked.replies += own(round).count() as u64;
        checked.rounds += 1;
        checked.values += agreement.values;
        counters += agreement.counters;
        checked.oldest_ns = checked.oldest_ns.max(started_ns - round.read_from_ns);
        checked.alone.extend(agreement.alone);
    }
    if checked.rounds < order.rounds.len() as u64 {
        let why = format!("{} of {} checked rounds came", checked.rounds, order.rounds.len());
        return Err(Fault::unable(why));
    }
    if counters == 0 {
        let why =
            "no reply holds a counter that another source confirms, so nothing says how old it is";
        return Err(Fault::unable(why));
    }
    if past.moving().is_empty() {
        let why = "no client's counters moved in the window, so an old value would look like a new one; let clients \
                   send: background = \"headroom-agent --move-clients packets=1s\"";
        return Err(Fault::unable(why));
    }
    Ok(checked)
}

/// Everything that others said in the window.
fn past(rounds: &[CheckedRound]) -> Past {
    let mut past = Past::default();
    for round in rounds {
        let (before, after) = sides(&round.readings);
        for side in [before, after] {
            if let Some(last) = side.last() {
                past.push(last.at_ns, stations(side));
            }
        }
    }
    past
}

pub(super) fn own(round: &CheckedRound) -> impl Iterator<Item = &str> {
    round.readings.iter().filter_map(Reading::subject)
}

fn agreement(round: &CheckedRound, order: &WitnessOrder, past: &Past) -> Result<Agreement, Fault> {
    let unable = |why: &str| Err(Fault::unable(why));
    let Some(started_ns) = round.started_ns else {
        return unable("the load left it out: the round before had not ended");
    };
    if own(round).count() < order.interfaces.len() {
        return unable("a command of the load failed, and gave no reply to check");
    }
    let (before, _) = sides(&round.readings);
    let read_ns = before.iter().map(|reading| reading.at_ns).max().unwrap_or_default();
    if read_ns > started_ns || round.read_from_ns > started_ns {
        return unable("the reading before it had not ended when it began");
    }
    let asked = Asked { hostapd: order.hostapd, past: Some(past) };
    let is_late = read_ns > started_ns.saturating_sub(order.age.as_nanos());
    compared(&round.readings, asked).map_err(|fault| match fault.verdict {
        Verdict::Fail if is_late => Fault::unable(format!(
            "{}; but the reading before was taken late, so that a value may be no older than {}",
            fault.why, order.age
        )),
        _ => fault,
    })
}

pub(super) fn in_round(round: &CheckedRound, fault: Fault) -> Fault {
    let why = format!("round {} of the window: {}", round.place + 1, fault.why);
    Fault { why, ..fault }
}

#[cfg(test)]
mod tests;
