//! What must be measured before a study's trials can be ordered, and how it is found: trial by trial. Pure.
//!
//! Paced traffic is ordered with a share of its full rate alone. A CPU task is so many rounds of `txd`'s own loop as take
//! a wanted time alone: a few rounds are timed, then as many more as should take the time, until one attempt was long
//! enough to be believed. In counted time the answer is the same every time.

use model::{
    calibration::Calibration,
    card::CardOrder,
    cell::Cell,
    order::TrialOrder,
    span::Span,
    study::{Mode, Study},
    target::Target,
    traffic::{Flow, Traffic},
    trial::Outcome,
};

/// The window in which a rate is found that traffic is paced by.
const PACING_WINDOW: Span = Span::from_secs(3);

/// How often that is measured where time is real; counted time gives the same figure every time.
const PACINGS: usize = 3;

const FIRST: u64 = 1_000;

/// From one attempt to the next the work grows no more than this.
const MOST_GROWTH: f64 = 100.0;

/// An attempt of this share of the wanted time tells what a round takes.
const LONG_ENOUGH: f64 = 0.2;

/// Attempts. Four reach a minute from a round of a nanosecond.
const ATTEMPTS: usize = 6;

/// Bytes of the frames that a task alone does not send.
const SMALLEST: u32 = 66;

#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    Try(Box<TrialOrder>),
    Found(u64),
    Failed(String),
}

pub fn needs(study: &Study) -> Vec<Calibration> {
    let mut all: Vec<Calibration> = Vec::new();
    for cell in study.cells() {
        let paced = study.traffic_of(&cell).filter(|traffic| traffic.paced.is_some());
        let task = cell.card.and_then(|card| card.task);
        let Cell { target: on, mode, .. } = cell;
        let rate = paced.map(|one| Calibration::FullRate {
            on: on.clone(),
            mode,
            traffic: one.name.clone(),
        });
        let rounds = task.map(|task| Calibration::TaskRounds { on, mode, task });
        for one in rate.into_iter().chain(rounds) {
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }
    all
}

/// Where its trials are made, and what they are called.
pub fn place(what: &Calibration) -> (&Target, Mode, String) {
    match what {
        Calibration::FullRate { on, mode, traffic } => (on, *mode, format!("rate-{traffic}")),
        Calibration::TaskRounds { on, mode, task } => (on, *mode, format!("rounds-{task}")),
    }
}

pub fn next(study: &Study, what: &Calibration, outcomes: &[Outcome]) -> Next {
    match what {
        Calibration::FullRate { on, mode, traffic } => {
            let named = |one: &&Traffic| one.name == *traffic;
            let Some(traffic) = study.traffics.iter().find(named) else {
                return Next::Failed(format!("the study has no traffic `{traffic}`"));
            };
            let times = if *mode == Mode::Counted { 1 } else { PACINGS };
            if outcomes.len() < times {
                return Next::Try(Box::new(full(study, traffic, on)));
            }
            found_rate(traffic, outcomes)
        }
        Calibration::TaskRounds { task, .. } => rounds(study, *task, outcomes),
    }
}

/// The traffic alone, as fast as it can. Bursts have no rate of their own, and a limited link would be the rate.
fn full(study: &Study, traffic: &Traffic, on: &Target) -> TrialOrder {
    let full =
        Traffic { rate: None, paced: None, bursts: None, link_limit: None, ..traffic.clone() };
    TrialOrder {
        road: Some(on.road()),
        traffic: Some(full),
        warm_up: study.trial.warm_up,
        window: PACING_WINDOW,
        ..TrialOrder::default()
    }
}

/// Of three trials the middle one: one that a neighbour slowed does not set the pace.
fn found_rate(traffic: &Traffic, outcomes: &[Outcome]) -> Next {
    let mut received: Vec<f64> = outcomes.iter().filter_map(received).collect();
    received.sort_by(f64::total_cmp);
    let middle = received.get(received.len() / 2);
    match middle.and_then(|bytes| paced_rate(traffic, *bytes)) {
        Some(rate) => Next::Found(rate),
        None => Next::Failed("the traffic alone at full rate could not be measured".to_owned()),
    }
}

fn received(outcome: &Outcome) -> Option<f64> {
    let Outcome::Measured(reading) = outcome else { return None };
    let traffic = reading.traffic.as_ref()?;
    let bytes: u64 = traffic.seconds.iter().map(|second| second.received_bytes).sum();
    let window = traffic.window_ns;
    (window > 0 && bytes > 0).then(|| bytes as f64 / (window as f64 / 1e9))
}

/// The rate that a share of full rate means, from the interface's bytes in a second: bits of payload. Of TCP and
/// of silence there is none.
fn paced_rate(traffic: &Traffic, received_bytes_a_second: f64) -> Option<u64> {
    /// Headers of Ethernet, IPv4 and UDP, bytes.
    const HEADERS: f64 = 14.0 + 20.0 + 8.0;
    let bytes = f64::from(traffic.bytes);
    let payload = received_bytes_a_second * 8.0 * bytes / (bytes + HEADERS);
    let rate = (payload * traffic.paced?.get()) as u64;
    (traffic.flow == Flow::Udp && rate > 0).then_some(rate)
}

/// The rounds that take this long, or the next attempt.
fn rounds(study: &Study, task: Span, outcomes: &[Outcome]) -> Next {
    let mut rounds = FIRST;
    for outcome in outcomes {
        let took_ns = match outcome {
            Outcome::Invalid { why, .. } => return Next::Failed(why.clone()),
            Outcome::Measured(reading) => {
                reading.card.as_ref().and_then(|card| card.task_wall_ns).filter(|took| *took > 0)
            }
        };
        let Some(took_ns) = took_ns else {
            return Next::Failed("txd did not say how long the task took".to_owned());
        };
        let (next, is_known) = more(rounds, took_ns, task);
        if is_known {
            return Next::Found(next);
        }
        rounds = next;
    }
    if outcomes.len() >= ATTEMPTS {
        return Next::Failed(format!("no number of rounds took {task} in {ATTEMPTS} attempts"));
    }
    Next::Try(Box::new(alone(study, task, rounds)))
}

fn alone(study: &Study, task: Span, rounds: u64) -> TrialOrder {
    let cards = study.cells().into_iter().filter_map(|cell| cell.card);
    let card = cards.clone().find(|card| card.task == Some(task)).or(cards.clone().next());
    let card = CardOrder {
        bytes: SMALLEST,
        completes_in: card.map(|card| card.completes_in).unwrap_or_default(),
        task_rounds: Some(rounds),
        ..CardOrder::default()
    };
    TrialOrder { card: Some(card), window: study.trial.window, ..TrialOrder::default() }
}

/// The rounds that should take the time, and whether an attempt that took this long is believed.
fn more(rounds: u64, took_ns: u64, task: Span) -> (u64, bool) {
    let wanted = task.as_nanos() as f64;
    let growth = wanted / took_ns as f64;
    let next = (rounds as f64 * growth.min(MOST_GROWTH)).round().max(1.0);
    (next as u64, took_ns as f64 >= LONG_ENOUGH * wanted)
}

#[cfg(test)]
mod tests {
    use model::{
        card::CardReading,
        reading::Reading,
        traffic::{Second, TrafficReading},
    };

    use super::*;
    use crate::study_file::parse;

    fn measured(reading: Reading) -> Outcome {
        Outcome::Measured(Box::new(reading))
    }

    fn task(task_wall_ns: u64) -> Outcome {
        let card = CardReading { task_wall_ns: Some(task_wall_ns), ..CardReading::default() };
        measured(Reading { card: Some(Box::new(card)), ..Reading::default() })
    }

    fn received(bytes: &[u64]) -> Outcome {
        let second = |bytes: &u64| Second { received_bytes: *bytes, ..Second::default() };
        let traffic = TrafficReading {
            window_ns: bytes.len() as u64 * 1_000_000_000,
            seconds: bytes.iter().map(second).collect(),
            ..TrafficReading::default()
        };
        measured(Reading { traffic: Some(Box::new(traffic)), ..Reading::default() })
    }

    fn study(cells: &str) -> Study {
        let text = format!(
            "question = \"?\"\n[access-point]\nradios = 1\nclients = [1]\n\
             [[traffic]]\nname = \"half\"\nflow = \"udp\"\npaced = \"50%\"\nbytes = 958\nbursts = [\"1s\", \"1s\"]\n\
             [[variant]]\nname = \"busy\"\nstrategy = \"busy\"\n{cells}"
        );
        parse(&text).unwrap()
    }

    #[test]
    fn each_rate_and_each_task_is_found_once_where_it_is_needed() {
        let cards = study(
            "[[cell]]\non = [\"vm\", \"host\"]\ncard = { rate = [1, 2], bytes = 66, task = \"2s\" }\n\
             [[cell]]\nname = \"more\"\ncard = { rate = 9, bytes = 900, task = \"2s\" }\n",
        );
        let names: Vec<_> = needs(&cards).iter().map(|one| format!("{:?}", place(one))).collect();
        assert_eq!(names, ["(Vm, Counted, \"rounds-2s\")", "(Host, RealTime, \"rounds-2s\")"]);
    }

    #[test]
    fn work_grows_until_an_attempt_is_long_enough_and_then_fits() {
        // 2 µs a round, and 40 ms besides: what a start costs is not a round's.
        let takes = |rounds: u64| 40_000_000 + rounds * 2_000;
        let study = study("[[cell]]\ncard = { rate = 1, bytes = 66, task = \"2s\" }\n");
        let what = needs(&study).remove(0);
        let mut outcomes = Vec::new();
        while let Next::Try(order) = next(&study, &what, &outcomes) {
            outcomes.push(task(takes(order.card.unwrap().task_rounds.unwrap())));
        }
        let Next::Found(found) = next(&study, &what, &outcomes) else { panic!("{outcomes:?}") };
        let off = takes(found) as f64 / 2e9 - 1.0;
        assert!(off.abs() < 0.1 && outcomes.len() <= ATTEMPTS, "{off}");
        assert_eq!(more(1_000, 1, Span::from_secs(1)), (100_000, false), "not for ever");
        for (outcomes, expected) in [
            (vec![task(1); ATTEMPTS], "no number of rounds took 2s in 6 attempts"),
            (vec![Outcome::invalid("no txd")], "no txd"),
            (vec![measured(Reading::default())], "txd did not say how long the task took"),
        ] {
            assert_eq!(next(&study, &what, &outcomes), Next::Failed(expected.to_owned()));
        }
    }

    #[test]
    fn a_rate_is_a_share_of_the_middle_one_and_of_silence_there_is_none() {
        let cell = "[[cell]]\ntraffic = \"half\"\nrole = \"no-harm\"\non = \"host\"\n";
        let text = toml::to_string(&study("[[cell]]\ncard = { rate = 1, bytes = 66 }\n")).unwrap();
        let mut study: Study = toml::from_str(&text).unwrap();
        study.entries = toml::from_str::<Study>(&format!("question = \"?\"\nvariant = []\n{cell}"))
            .unwrap()
            .entries;
        let what = needs(&study).remove(0);
        let Next::Try(order) = next(&study, &what, &[]) else { panic!() };
        let traffic = order.traffic.unwrap();
        assert_eq!(
            (traffic.rate, traffic.paced, traffic.bursts, order.window),
            (None, None, None, PACING_WINDOW)
        );
        let three = [received(&[100]), received(&[1000, 3000]), received(&[9000])];
        // Of 2000 bytes with headers a second 1916 are payload, 15,328 bits; half of them.
        assert_eq!(next(&study, &what, &three), Next::Found(7_664));
        let silent = [received(&[0]), Outcome::invalid("no"), measured(Reading::default())];
        assert!(matches!(next(&study, &what, &silent), Next::Failed(_)));
    }
}
