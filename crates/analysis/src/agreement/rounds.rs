//! Replies that were given inside the measured window, each held against what others said around its round.
//!
//! The reading before a round is as old as a value may be: what a counter says must not lie before it. Pure.

use std::collections::BTreeSet;

use model::{
    parity::Reading,
    verdict::Verdict,
    witness::{CheckedRound, WitnessOrder, Witnessed},
};

use super::{Agreement, Others, Station, Stations, compared, sides, stations};
use crate::verdicts::Conclusion;

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

pub(crate) fn of(witnessed: &Witnessed, order: &WitnessOrder) -> Result<Checked, Conclusion> {
    let unable = |why: &str| Err(Conclusion::invalid(why));
    let past = past(&witnessed.rounds);
    let others = Others { hostapd: order.hostapd, past: &past };
    let (mut checked, mut counters) = (Checked::default(), 0);
    for round in &witnessed.rounds {
        let agreement = agreement(round, order, others).map_err(|why| in_round(round, why))?;
        let started_ns = round.started_ns.unwrap_or_default();
        checked.replies += own(round).count() as u64;
        checked.rounds += 1;
        checked.values += agreement.values;
        counters += agreement.counters;
        checked.oldest_ns = checked.oldest_ns.max(started_ns - round.read_from_ns);
        checked.alone.extend(agreement.alone);
    }
    if checked.rounds < order.rounds.len() as u64 {
        return unable(&format!(
            "{} of {} checked rounds came",
            checked.rounds,
            order.rounds.len()
        ));
    }
    if counters == 0 {
        return unable(
            "no reply holds a counter that another source confirms, so nothing says how old it is",
        );
    }
    if !is_moving(&past) {
        return unable(
            "no client's counters moved in the window, so an old value would look like a new one; let clients send: \
             background = \"headroom-agent --move-clients packets=1s\"",
        );
    }
    Ok(checked)
}

/// Everything that others said in the window, in the order of time.
fn past(rounds: &[CheckedRound]) -> Vec<(u64, Stations)> {
    let sides = rounds.iter().flat_map(|round| <[_; 2]>::from(sides(&round.readings)));
    let mut past: Vec<_> =
        sides.filter_map(|side| Some((side.last()?.at_ns, stations(side)))).collect();
    past.sort_by_key(|(at_ns, _)| *at_ns);
    past
}

/// Whether some client's counters of bytes moved from the first reading to the last.
fn is_moving(past: &[(u64, Stations)]) -> bool {
    let counters = |station: &Station| {
        station.kernel.as_ref().map(|values| (values.rx_bytes, values.tx_bytes))
    };
    let [(_, first), .., (_, last)] = past else { return false };
    first.iter().any(|(client, station)| {
        last.get(client).is_some_and(|last| counters(last) != counters(station))
    })
}

pub(super) fn own(round: &CheckedRound) -> impl Iterator<Item = &str> {
    round.readings.iter().filter_map(Reading::subject)
}

fn agreement(
    round: &CheckedRound,
    order: &WitnessOrder,
    others: Others<'_>,
) -> Result<Agreement, Conclusion> {
    let unable = |why: &str| Err(Conclusion::invalid(why));
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
    let is_late = read_ns > started_ns.saturating_sub(order.age.as_nanos());
    compared(&round.readings, others).map_err(|found| match found.verdict {
        Verdict::Fail if is_late => Conclusion::invalid(format!(
            "{}; but the reading before was taken late, so that a value may be no older than {}",
            found.sentence, order.age
        )),
        _ => found,
    })
}

pub(super) fn in_round(round: &CheckedRound, found: Conclusion) -> Conclusion {
    found.after(&format!("round {} of the window: ", round.place + 1))
}

#[cfg(test)]
mod tests;
