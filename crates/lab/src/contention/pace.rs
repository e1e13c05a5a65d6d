//! The rates of paced traffic: full rate alone at its place first, then the share of it that is ordered.

use model::contention::{Outcome, Record, Run};

use super::{
    folder::{ContentionFolder, Pace},
    plan::{self, Pacing, Rates},
    runner::Floor,
};
use crate::Error;

/// The rates that are known.
pub(super) fn rates(paces: &[Pace]) -> Rates {
    let known = |pace: &Pace| Some(((pace.place.clone(), pace.traffic.clone()), pace.rate?));
    paces.iter().filter_map(known).collect()
}

/// Finds every rate that is not known yet, and keeps it.
///
/// # Errors
///
/// [`Error`] of the host. A bout that fails leaves its traffic without a rate, and is no error.
pub(super) fn find(
    floor: &Floor<'_>,
    folder: &ContentionFolder,
    run: &Run,
    mut paces: Vec<Pace>,
) -> Result<Vec<Pace>, Error> {
    // What could not be found then is looked for again now.
    paces.retain(|pace| pace.rate.is_some());
    for pacing in plan::pacings(&run.study) {
        if paces.iter().any(|pace| pace.place == pacing.place && pace.traffic == pacing.traffic) {
            continue;
        }
        let pace = measured(floor, &pacing)?;
        paces.push(pace);
        folder.keep_paces(&paces)?;
    }
    Ok(paces)
}

fn measured(floor: &Floor<'_>, pacing: &Pacing) -> Result<Pace, Error> {
    let fought: Vec<Outcome> = (1..=pacing.times)
        .map(|time| {
            let name = format!("pace-{}-{}-{time}", pacing.place, pacing.traffic);
            floor.bout(&pacing.place, &pacing.bout, &name).map(|end| end.outcome)
        })
        .collect::<Result<_, Error>>()?;
    let mut received: Vec<f64> = fought.iter().filter_map(received).collect();
    received.sort_by(f64::total_cmp);
    // Of three bouts the middle one: one that a neighbour slowed does not set the pace.
    let middle = received.get(received.len() / 2);
    let rate = middle.and_then(|bytes| plan::paced_rate(pacing, *bytes));
    let (place, traffic) = (pacing.place.clone(), pacing.traffic.clone());
    Ok(Pace { place, traffic, rate, fought })
}

/// Bytes that came through in a second, over the window.
fn received(outcome: &Outcome) -> Option<f64> {
    let Outcome::Fought(record) = outcome else { return None };
    let Record { window_ns, seconds, .. } = &**record;
    let bytes: u64 = seconds.iter().map(|second| second.received_bytes).sum();
    (*window_ns > 0 && bytes > 0).then(|| bytes as f64 / (*window_ns as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use model::contention::Second;

    use super::*;

    #[test]
    fn a_rate_is_of_the_whole_window_and_of_silence_there_is_none() {
        let second = |received_bytes| Second { received_bytes, ..Second::default() };
        let seconds = vec![second(1000), second(3000)];
        let record = Record { window_ns: 2_000_000_000, seconds, ..Record::default() };
        assert_eq!(received(&Outcome::Fought(Box::new(record))), Some(2000.0));
        assert_eq!(received(&Outcome::Fought(Box::default())), None);
        assert_eq!(received(&Outcome::Failed("no".to_owned())), None);
    }
}
