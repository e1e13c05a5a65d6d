//! The subject's own period: does its CPU change from one span to the next although nothing was done to it?
//!
//! A subject that works every ten seconds is met by every second span of five seconds. What a stopped span lacks
//! is then no consumer's. The period is the first lag at which the undisturbed samples of all trials repeat
//! themselves (autocorrelation), and what it does to spans is computed from the samples folded by it. It judges
//! no share.

/// One sample of a trial.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// µs of CPU a second.
    pub(super) cpu: f64,
    /// Whether the consumer ran, and had for as long as a span takes to settle.
    pub(super) undisturbed: bool,
}

/// What a span consists of, in samples.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) span: usize,
    /// Those that its figure is of: all but the beginning.
    pub(super) measured: usize,
}

/// A period that spans do not hold a whole number of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rhythm {
    pub(super) period: usize,
    /// The most by which neighbouring spans differ for this reason alone, share of the mean.
    pub(super) swing: f64,
}

/// Samples repeat themselves where they are correlated this much: half of their variance is the period's.
const REPEATS: f64 = 0.5;

/// Fewer pairs of samples than this show no period.
const FEWEST_PAIRS: usize = 8;

/// Spans that differ by less than this share do not differ.
const STILL: f64 = 0.001;

/// Of the periods that all trials show and that a span holds no whole number of, one that makes spans differ most.
/// A subject may have several: what it does every second does not hide what it does twice a minute. `None` where none
/// makes spans differ.
pub(super) fn of(trials: &[Vec<Step>], shape: Shape) -> Option<Rhythm> {
    // A run from elsewhere may say anything of its spans.
    let longest = trials.iter().map(Vec::len).max().filter(|all| shape.span <= *all)?;
    let correlation = |lag| correlation(trials, lag);
    let is_peak = |lag: &usize| {
        let here = correlation(*lag);
        here >= REPEATS && here >= correlation(lag + 1) && here > correlation(lag - 1)
    };
    let periods = (2..longest).filter(|lag| !shape.span.is_multiple_of(*lag)).filter(is_peak);
    let swinging = periods.filter_map(|period| {
        let swings = trials.iter().filter_map(|trial| swing(&folded(trial, period)?, shape));
        let swing = super::mean(&swings.collect::<Vec<_>>())?;
        (swing > STILL).then_some(Rhythm { period, swing })
    });
    let swinging: Vec<Rhythm> = swinging.collect();
    let most = swinging.iter().map(|one| one.swing).fold(0.0, f64::max);
    // Lags near the period repeat a little, too, and are folded worse; the period itself repeats best.
    // Of two that repeat alike the shorter one is it.
    let large = swinging.into_iter().rev().filter(|one| one.swing >= most / 2.0);
    large.max_by(|a, b| correlation(a.period).total_cmp(&correlation(b.period)))
}

/// How alike undisturbed samples are that lie `lag` apart, −1 to 1; −1 where too few do.
fn correlation(trials: &[Vec<Step>], lag: usize) -> f64 {
    let (mut both, mut first, mut second, mut pairs) = (0.0, 0.0, 0.0, 0);
    for steps in trials {
        let undisturbed: Vec<f64> =
            steps.iter().filter(|step| step.undisturbed).map(|step| step.cpu).collect();
        let Some(mean) = super::mean(&undisturbed) else { continue };
        for (a, b) in steps.iter().zip(steps.iter().skip(lag)) {
            if a.undisturbed && b.undisturbed {
                let (a, b) = (a.cpu - mean, b.cpu - mean);
                (both, first, second) = (both + a * b, first + a * a, second + b * b);
                pairs += 1;
            }
        }
    }
    let scale = (first * second).sqrt();
    if pairs < FEWEST_PAIRS || scale <= 0.0 { -1.0 } else { both / scale }
}

/// The mean of the undisturbed samples at each phase of a period; `None` where a phase has none.
fn folded(trial: &[Step], period: usize) -> Option<Vec<f64>> {
    let at = |phase: usize| {
        let steps = trial.iter().skip(phase).step_by(period);
        let here: Vec<f64> = steps.filter(|step| step.undisturbed).map(|step| step.cpu).collect();
        super::mean(&here)
    };
    (0..period).map(at).collect()
}

/// By how much spans of this shape differ from their neighbours in a folded period, share of the mean, at most.
fn swing(folded: &[f64], shape: Shape) -> Option<f64> {
    let all = super::mean(folded).filter(|mean| *mean > 0.0)?;
    let span = |from: usize| {
        let sum: f64 = (from..from + shape.measured).map(|at| folded[at % folded.len()]).sum();
        sum / shape.measured as f64
    };
    let differences = (0..folded.len()).map(|from| (span(from) - span(from + shape.span)).abs());
    Some(differences.fold(0.0, f64::max) / all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six trials of five spans, the second one stopped, each at its own phase.
    fn trials(span: usize, cpu: impl Fn(usize) -> f64) -> Vec<Vec<Step>> {
        let step = |phase: usize, at: usize| Step {
            cpu: cpu(at + phase),
            undisturbed: !(span..2 * span + 1).contains(&at),
        };
        let one = |phase: usize| (0..5 * span).map(|at| step(phase, at)).collect();
        (0..6).map(|trial| one(trial * 3)).collect()
    }

    /// Works every tenth second.
    fn every_tenth(at: usize) -> f64 {
        if at.is_multiple_of(10) { 5_000.0 } else { 100.0 }
    }

    #[test]
    fn a_span_of_half_a_period_swings() {
        let found = of(&trials(5, every_tenth), Shape { span: 5, measured: 3 }).unwrap();
        assert_eq!(found.period, 10);
        assert!(found.swing > 1.0, "{found:?}");
    }

    #[test]
    fn spans_of_whole_periods_do_not() {
        assert_eq!(of(&trials(10, every_tenth), Shape { span: 10, measured: 7 }), None);
        assert_eq!(of(&trials(20, every_tenth), Shape { span: 20, measured: 17 }), None);
    }

    #[test]
    fn a_short_period_does_not_hide_a_long_one() {
        // A round every 2 s, and work of its own in every second span of 10 s.
        let both = |at: usize| {
            let round = if at.is_multiple_of(2) { 2_000.0 } else { 0.0 };
            round + if at % 20 < 10 { 800.0 } else { 0.0 }
        };
        let found = of(&trials(10, both), Shape { span: 10, measured: 6 }).unwrap();
        assert_eq!((found.period, found.swing > 0.3), (20, true), "{found:?}");
    }

    #[test]
    fn what_does_not_repeat_has_no_period() {
        let noise = |at: usize| (at as f64 * 12.9898).sin().mul_add(43_758.547, 1e6).fract();
        assert_eq!(of(&trials(6, |at| 1_000.0 + noise(at)), Shape { span: 6, measured: 4 }), None);
        assert_eq!(of(&trials(6, |_| 1_000.0), Shape { span: 6, measured: 4 }), None);
        assert_eq!(of(&trials(6, |at| at as f64), Shape { span: 6, measured: 4 }), None);
    }
}
