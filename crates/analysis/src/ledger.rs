//! What a run took: wall time, CPU time, trials, device time. What it took of people is theirs to say.

use model::{
    pause::{PauseState, Pauses},
    reading::Reading,
    run::Run,
    trial::Trial,
};

use crate::verdicts::Ledger;

/// Adds up a run. [`Ledger::effort`] is the caller's to fill in.
pub(crate) fn of(run: &Run, trials: &[Trial]) -> Ledger {
    // Whole numbers are added up, so that the order of the trials does not matter.
    let ends_ms = trials
        .iter()
        .map(|trial| trial.began_unix.saturating_mul(1000).saturating_add(took_ms(trial)));
    let end_ms = ends_ms.max();
    let begin = trials.iter().map(|trial| trial.began_unix).min();
    let cpu_ms: Vec<u64> = trials.iter().filter_map(|trial| trial.cost.cpu_ms).collect();
    let recordings = || trials.iter().filter_map(|trial| Some((trial, trial.reading()?)));
    Ledger {
        trials: (trials.len() as u32, run.plan.len() as u32),
        wall_s: begin.zip(end_ms).map_or(0.0, |(begin, end)| {
            end.saturating_sub(begin.saturating_mul(1000)) as f64 / 1e3
        }),
        trials_s: total(trials.iter().map(took_ms)) / 1e3,
        cpu_s: (!cpu_ms.is_empty()).then(|| total(cpu_ms.iter().copied()) / 1e3),
        device_s: total(recordings().map(|(trial, recording)| device_ns(trial, recording))) / 1e9,
        stopped_s: total(recordings().filter_map(|(_, it)| it.pauses.as_deref()).map(stopped_ns))
            / 1e9,
        samples: recordings()
            .filter_map(|(_, recording)| recording.stacks.as_ref())
            .fold(0, |sum: u64, stacks| sum.saturating_add(stacks.recorded.samples)),
        effort: None,
    }
}

fn took_ms(trial: &Trial) -> u64 {
    trial.cost.restore_ms.saturating_add(trial.cost.measure_ms)
}

fn total(each: impl Iterator<Item = u64>) -> f64 {
    each.fold(0_u64, u64::saturating_add) as f64
}

/// Offset and warm-up as ordered, the window as the samples' clock saw it.
fn device_ns(trial: &Trial, recording: &Reading) -> u64 {
    let measure = &trial.planned.order;
    let ends = [recording.samples.first(), recording.samples.last()];
    let window_ns = match ends.map(|sample| sample.map(|sample| sample.at_ns)) {
        [Some(first), Some(last)] => last.saturating_sub(first),
        _ => 0,
    };
    let before = measure.offset.as_nanos().saturating_add(measure.warm_up.as_nanos());
    before.saturating_add(window_ns)
}

fn stopped_ns(pauses: &Pauses) -> u64 {
    let stopped = pauses.spans.iter().filter(|span| span.state == PauseState::Stopped);
    let each = stopped.map(|span| span.to_ns.saturating_sub(span.from_ns));
    each.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use model::pause::Paused;

    use super::*;
    use crate::fixture;

    #[test]
    fn a_ledger_is_the_sum_of_its_trials() {
        let run = fixture::run();
        let mut trials = fixture::trials(&run);
        trials.truncate(2);
        trials[1].began_unix += 10;
        trials[1].cost.cpu_ms = Some(2_500);
        let costs: Vec<f64> = trials.iter().map(|trial| took_ms(trial) as f64 / 1e3).collect();
        if let model::trial::Outcome::Measured(recording) = &mut trials[0].outcome {
            let span = |state, to_ns| Paused { state, from_ns: 1_000_000_000, to_ns };
            let spans = vec![
                span(PauseState::Stopped, 4_000_000_000),
                span(PauseState::Sham, 9_000_000_000),
            ];
            recording.pauses = Some(Box::new(Pauses { pids: vec![9], spans, asked: None }));
        }
        let ledger = of(&run, &trials);
        assert_eq!(ledger.trials, (2, 54));
        assert!((ledger.wall_s - 10.0 - costs[1]).abs() < 1e-6);
        assert!((ledger.trials_s - costs[0] - costs[1]).abs() < 1e-9);
        assert_eq!((ledger.cpu_s, ledger.stopped_s), (Some(2.5), 3.0));
        // Offset 1 ms, warm-up 5 s, window 20 s, each.
        assert!((ledger.device_s - 50.002).abs() < 1e-9, "{}", ledger.device_s);
    }

    #[test]
    fn nothing_done_took_nothing() {
        let ledger = of(&fixture::run(), &[]);
        assert_eq!((ledger.wall_s, ledger.cpu_s, ledger.trials.0), (0.0, None, 0));
    }
}
