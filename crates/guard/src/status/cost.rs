//! What each application would have if no one were bounded: its fair share of the CPU that Wi-Fi leaves.
//!
//! Pure. The share is max-min fair, as the kernel's scheduler is among equal weights: anyone who wants less than
//! an equal part has all of it, and what they leave is parted among the rest
//! (<https://docs.kernel.org/scheduler/sched-design-CFS.html>).

use crate::reading::Reading;

/// Fair shares of the policy's applications in CPUs, in its order; `None` where what one wanted is not known.
///
/// What one wants is what it ran and what it waited for. Time that a quota holds it back is no waiting for
/// the kernel and is added.
pub fn fair_shares(reading: &Reading) -> Vec<Option<f64>> {
    let span = reading.span_ns as f64;
    if reading.span_ns == 0 {
        return vec![None; reading.applications.len()];
    }
    let taken: u64 = reading.cpus.iter().map(|cpu| cpu.softirq_ns + cpu.steal_ns).sum();
    let workers: u64 = reading.workers.iter().map(|worker| worker.ran_ns).sum();
    let room = (reading.cpus.len() as f64 - (taken + workers) as f64 / span).max(0.0);
    let wanted: Vec<Option<f64>> = reading
        .applications
        .iter()
        .map(|one| {
            let waited = one.waited_ns? + one.throttled_ns.unwrap_or(0);
            Some((one.ran_ns + waited) as f64 / span)
        })
        .collect();
    let level = water_level(wanted.iter().flatten().copied().collect(), room);
    wanted.into_iter().map(|wanted| Some(wanted?.min(level))).collect()
}

/// The most that anybody gets, so that all together get no more than there is room for.
fn water_level(mut wanted: Vec<f64>, room: f64) -> f64 {
    wanted.sort_by(f64::total_cmp);
    let mut left = room;
    let mut others = wanted.len();
    for want in wanted {
        let part = left / others as f64;
        if want > part {
            return part;
        }
        left -= want;
        others -= 1;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Application, Cpu, Worker};

    const SECOND: u64 = 1_000_000_000;

    fn application(ran: f64, waited: Option<f64>) -> Application {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        Application { ran_ns: ns(ran), waited_ns: waited.map(ns), ..Application::default() }
    }

    fn reading(applications: Vec<Application>) -> Reading {
        let cpu = Cpu { softirq_ns: SECOND / 10, ..Cpu::default() };
        let worker = Worker { ran_ns: SECOND * 3 / 10, ..Worker::default() };
        Reading {
            span_ns: SECOND,
            cpus: vec![cpu.clone(), cpu],
            workers: vec![worker],
            applications,
            ..Reading::default()
        }
    }

    #[test]
    fn who_wants_little_has_it_and_the_rest_is_parted_equally() {
        let shares = fair_shares(&reading(vec![
            application(0.2, Some(0.0)),
            application(0.5, Some(1.5)),
            application(0.7, Some(0.9)),
        ]));
        // Two CPUs without 0.2 of softirq, 0.3 of workers, and the first one's 0.2: 1.3 for two.
        let rounded: Vec<_> = shares.iter().map(|share| (share.unwrap() * 100.0).round()).collect();
        assert_eq!(rounded, [20.0, 65.0, 65.0]);
    }

    #[test]
    fn an_application_that_is_alone_has_what_it_wants() {
        let shares = fair_shares(&reading(vec![application(0.4, Some(0.1))]));
        assert!((shares[0].unwrap() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        assert_eq!(fair_shares(&reading(vec![application(0.4, None)])), [None]);
        let none =
            Reading { applications: vec![application(1.0, Some(0.0))], ..Reading::default() };
        assert_eq!(fair_shares(&none), [None]);
    }
}
