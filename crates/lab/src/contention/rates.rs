//! The rates of paced traffic: full rate alone at its place first, then the share of it that is ordered.

use model::{
    contention::{FullRate, Place, Rates, TrafficReading},
    experiment::Contention,
    trial::Outcome,
};

use super::plan::{self, Pacing};
use crate::{
    Error,
    procedure::{Site, TrialFiles},
};

/// Finds every rate that is not known yet, and keeps it.
///
/// # Errors
///
/// [`Error`] of the host. A trial that fails leaves its traffic without a rate, and is no error.
pub(super) fn find(site: &Site<'_, Contention>, Rates(mut known): Rates) -> Result<Rates, Error> {
    // What could not be found then is looked for again now.
    known.retain(|one| one.rate.is_some());
    for pacing in plan::pacings(&site.run.study) {
        let is_this =
            |one: &FullRate| (&one.place, &one.traffic) == (&pacing.place, &pacing.traffic);
        let place = site.run.study.places.iter().find(|place| place.name == pacing.place);
        if let Some(place) = place.filter(|_| !known.iter().any(is_this)) {
            known.push(measured(site, &pacing, place)?);
            site.folder.keep_calibration(&known)?;
        }
    }
    Ok(Rates(known))
}

fn measured(
    site: &Site<'_, Contention>,
    pacing: &Pacing,
    place: &Place,
) -> Result<FullRate, Error> {
    let make = |time| {
        let name = format!("rate-{}-{}-{time}", pacing.place, pacing.traffic);
        let files = TrialFiles::of(site.folder, &name);
        let made = super::made(site, place, &pacing.order, &files)?;
        Ok(made.outcome)
    };
    let outcomes: Vec<Outcome> = (1..=pacing.times).map(make).collect::<Result<_, Error>>()?;
    let mut received: Vec<f64> = outcomes.iter().filter_map(received).collect();
    received.sort_by(f64::total_cmp);
    // Of three trials the middle one: one that a neighbour slowed does not set the pace.
    let middle = received.get(received.len() / 2);
    let rate = middle.and_then(|bytes| plan::paced_rate(pacing, *bytes));
    let (place, traffic) = (pacing.place.clone(), pacing.traffic.clone());
    Ok(FullRate { place, traffic, rate, outcomes })
}

/// Bytes that came through in a second, over the window.
fn received(outcome: &Outcome) -> Option<f64> {
    let Outcome::Measured(reading) = outcome else { return None };
    let TrafficReading { window_ns, seconds, .. } = reading.traffic.as_deref()?;
    let bytes: u64 = seconds.iter().map(|second| second.received_bytes).sum();
    (*window_ns > 0 && bytes > 0).then(|| bytes as f64 / (*window_ns as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use model::{contention::Second, reading::Reading};

    use super::*;

    #[test]
    fn a_rate_is_of_the_whole_window_and_of_silence_there_is_none() {
        let second = |received_bytes| Second { received_bytes, ..Second::default() };
        let seconds = vec![second(1000), second(3000)];
        let traffic =
            TrafficReading { window_ns: 2_000_000_000, seconds, ..TrafficReading::default() };
        let measured = |traffic| {
            let traffic = Some(Box::new(traffic));
            Outcome::Measured(Box::new(Reading { traffic, ..Reading::default() }))
        };
        assert_eq!(received(&measured(traffic)), Some(2000.0));
        assert_eq!(received(&measured(TrafficReading::default())), None);
        assert_eq!(received(&Outcome::invalid("no")), None);
    }
}
