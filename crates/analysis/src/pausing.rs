//! The attribution experiment: what of the subject's CPU goes away while a consumer is stopped.
//!
//! Cuts the windows of trials for pauses by what was done in them and compares neighbours: a stopped span
//! with the running ones before and after it, and likewise the control, in which a process of the agent's is
//! stopped. Only spans of one window are compared, so what differs between trials is in no share.

mod rhythm;

use std::collections::BTreeMap;

use model::{
    instrument::Instrument,
    pause::{PauseState, Paused, Pauses},
    span::Span,
    trial::{Purpose, Trial, TrialId},
    verdict::Verdict,
};

use self::rhythm::{Rhythm, Shape};
use crate::{
    figures::{TrialFigures, Window},
    judge::ERROR,
    measured::Measured,
    quantity::{Unit, count, percent},
    stats::{Estimate, Interval},
    steady::Usual,
    verdicts::{self, PauseFigures},
};

/// The beginning of a span that is in no figure, where the study says nothing of it.
const SETTLE: Span = Span::from_secs(2);
/// What moves by less than this did not move: a stopped process costs the kernel's timers a little.
const STILL: f64 = 0.001;
/// Who is shown to cause no more than this share causes nothing that matters. Without a bound below it nothing is shown.
const LITTLE: f64 = 0.05;
/// The part of a share by which the control may move without putting it in doubt: the share is judged by what it has
/// beyond the control's.
const OF_SHARE: f64 = 0.01;
/// How far the control may move where a consumer is shown to cause no more than `LITTLE`.
const OF_NOTHING: f64 = LITTLE / 5.0;
/// Shares that are more than all of it by less than this are rounding, and how the subject's CPU moves by itself.
const ROUNDING: f64 = 0.05;

/// What one trial says, µs of CPU a second.
#[derive(Default)]
struct Seen {
    running: Option<f64>,
    stopped: Option<f64>,
    sham: Option<f64>,
    share: Option<f64>,
    sham_share: Option<f64>,
}

/// A trial whose windows could be cut.
struct Used<'a> {
    seen: Seen,
    figures: &'a TrialFigures,
    trial: &'a Trial,
}

/// One consumer in one variant at one client count.
struct Cell<'a> {
    variant: &'a str,
    clients: u32,
    consumer: String,
    subject: &'a str,
    /// Its trials in the order of the plan; what cannot be used says why.
    trials: Vec<(&'a TrialId, Result<Used<'a>, String>)>,
}

impl<'a> Cell<'a> {
    /// What its consumer has in common with others that are one question each: the study's variant, of which each consumer
    /// that is paused in turn has a copy, the clients and the subject.
    fn question(&self) -> (&str, u32, &str) {
        let variant = verdicts::without_consumer(self.variant, &self.consumer);
        (variant, self.clients, self.subject)
    }

    fn used(&self) -> impl Iterator<Item = &Used<'a>> {
        self.trials.iter().filter_map(|(_, trial)| trial.as_ref().ok())
    }
}

/// Every consumer that was paused, the largest share first.
pub(crate) fn all(measured: &Measured) -> Vec<PauseFigures> {
    let cells = cells(measured);
    let of = |cell: &Cell| {
        let alike = cells.iter().filter(|other| other.question() == cell.question());
        of_cell(measured, cell, ERROR / alike.count() as f64)
    };
    let mut figures: Vec<PauseFigures> = cells.iter().map(of).collect();
    figures.sort_by(|a, b| mean_share(b).total_cmp(&mean_share(a)));
    refuse_more_than_all(&mut figures);
    figures
}

fn mean_share(figures: &PauseFigures) -> f64 {
    figures.share.map_or(f64::NEG_INFINITY, |one| one.mean)
}

/// Of consumers that cause more than all of one subject's CPU together, some work only because another one does, or the
/// subject waits for one of them. Which it is no share says, so none of them is shown to be the cause.
fn refuse_more_than_all(figures: &mut [PauseFigures]) {
    let of = |one: &PauseFigures| (one.of_variant().to_owned(), one.clients, one.subject.clone());
    let mut together: BTreeMap<_, (f64, Vec<String>)> = BTreeMap::new();
    for one in figures.iter().filter(|one| one.verdict == Verdict::Pass) {
        let (sum, names) = together.entry(of(one)).or_default();
        *sum += mean_share(one);
        names.push(format!("`{}`", one.consumer));
    }
    for one in figures.iter_mut().filter(|one| one.verdict == Verdict::Pass) {
        let Some((sum, names)) = together.get(&of(one)) else { continue };
        if *sum > 1.0 + ROUNDING {
            let why = format!(
                "{} seem to cause {} of it together, more than all: one works through another, or the subject waits for one",
                names.join(" and "),
                percent(*sum)
            );
            (one.verdict, one.sentence) = (Verdict::Invalid, sentence(one, Verdict::Invalid, &why));
        }
    }
}

/// In the order of the plan; what is not in the plan comes behind it.
fn cells<'a>(measured: &'a Measured<'a>) -> Vec<Cell<'a>> {
    let mut cells: Vec<Cell> = Vec::new();
    let done = measured.instrumented.iter().map(|(_, trial)| &trial.planned);
    for planned in measured.plan().chain(done).filter(|one| one.id.purpose == Purpose::Pause) {
        let Some(Instrument::Pause(order)) = &planned.order.instrument else { continue };
        let (consumer, id) = (order.target.to_string(), &planned.id);
        let (variant, clients) = (id.variant.as_str(), id.clients);
        let is_here = |cell: &Cell| {
            (cell.variant, cell.clients, &cell.consumer) == (variant, clients, &consumer)
        };
        let at = cells.iter().position(is_here).unwrap_or_else(|| {
            let subject = planned.order.process().unwrap_or_default();
            cells.push(Cell { variant, clients, consumer, subject, trials: Vec::new() });
            cells.len() - 1
        });
        if !cells[at].trials.iter().any(|(other, _)| *other == id) {
            cells[at].trials.push((id, used(measured, id)));
        }
    }
    cells
}

fn used<'a>(measured: &'a Measured<'a>, id: &TrialId) -> Result<Used<'a>, String> {
    let settle = measured.run.study.pause.as_ref().map_or(SETTLE, |pause| pause.settle);
    let found = measured.instrumented.iter().find(|(figures, _)| figures.id == *id);
    let (figures, trial) = found.ok_or_else(|| {
        let invalid = measured.invalid.iter().find(|invalid| invalid.id == *id);
        invalid.map_or("is not done", |invalid| invalid.why.as_str())
    })?;
    Ok(Used { seen: seen(figures, trial, settle)?, figures, trial })
}

fn seen(figures: &TrialFigures, trial: &Trial, settle: Span) -> Result<Seen, String> {
    let recording = trial.reading().ok_or("it did not measure")?;
    let pauses = recording.pauses.as_deref().ok_or("the agent did not say what it stopped")?;
    if pauses.pids.is_empty() {
        return Err("no process was stopped".to_owned());
    }
    let window = Window::of(trial, recording)?;
    let rate = |span: &Paused| {
        let from_ns = span.from_ns.saturating_add(settle.as_nanos());
        window.subject_between(from_ns, span.to_ns, figures.subject.source)
    };
    let rates: Vec<_> = pauses.spans.iter().map(|span| (span.state, rate(span))).collect();
    let stopped = against_neighbours(&rates, PauseState::Stopped);
    let [running, stopped_rate] = stopped.ok_or(
        "no stopped span is next to a running one with two samples in each; pause for longer",
    )?;
    let sham = against_neighbours(&rates, PauseState::Sham);
    let control = steady_control(&steps(figures, &window, pauses, settle)).or(sham);
    Ok(Seen {
        running: Some(running),
        stopped: Some(stopped_rate),
        sham: sham.map(|[_, sham]| sham),
        share: (running > 0.0).then(|| 1.0 - stopped_rate / running),
        sham_share: control.and_then(|[runs, sham]| (runs > 0.0).then(|| 1.0 - sham / runs)),
    })
}

/// What each step of the window that lies in a span, behind its beginning, took.
fn steps(
    figures: &TrialFigures,
    window: &Window,
    pauses: &Pauses,
    settle: Span,
) -> Vec<(PauseState, Vec<f64>)> {
    let at_ns = |at_s: f64| window.opened_ns().saturating_add((at_s * 1e9) as u64);
    let in_span = |span: &Paused| {
        let from_ns = span.from_ns.saturating_add(settle.as_nanos());
        let inside = figures.series.iter().filter(|step| {
            at_ns(step.at_s - step.length_s) >= from_ns && at_ns(step.at_s) <= span.to_ns
        });
        inside.map(|step| step.subject).collect()
    };
    pauses.spans.iter().map(|span| (span.state, in_span(span))).collect()
}

/// The control and its running neighbours without rare events: the kernel's own timers meet the spans of every trial at
/// the same moments, so what they charge to the subject is no replicate, and six trials would agree on a movement that
/// no stopping caused. While it runs and in the control the subject does the same, so its usual steps are found among
/// all of these. `None` where what is usual is not most of it, as in a subject that works in one second of five.
fn steady_control(steps: &[(PauseState, Vec<f64>)]) -> Option<[f64; 2]> {
    let alike = steps.iter().filter(|(state, _)| *state != PauseState::Stopped);
    let all: Vec<f64> = alike.flat_map(|(_, values)| values).copied().collect();
    let cost = mean(&all)?;
    let usual = Usual::of(&all, cost);
    let steady = |values: &[f64]| {
        let kept: Vec<f64> = values.iter().copied().filter(|one| usual.holds(*one)).collect();
        (kept.len() * 3 >= values.len() * 2).then(|| mean(&kept)).flatten()
    };
    let rates: Vec<_> = steps.iter().map(|(state, values)| (*state, steady(values))).collect();
    against_neighbours(&rates, PauseState::Sham).filter(|_| usual.middle >= cost / 2.0)
}

/// The mean of the running neighbours of every span of a state, and of those spans.
fn against_neighbours(rates: &[(PauseState, Option<f64>)], state: PauseState) -> Option<[f64; 2]> {
    let runs = |at: usize| match rates.get(at) {
        Some((PauseState::Runs, rate)) => *rate,
        _ => None,
    };
    let pair = |(at, (_, rate)): (usize, &(PauseState, Option<f64>))| {
        let neighbours: Vec<f64> =
            [at.checked_sub(1).and_then(runs), runs(at + 1)].into_iter().flatten().collect();
        Some([mean(&neighbours)?, (*rate)?])
    };
    let spans = rates.iter().enumerate().filter(|(_, (is, _))| *is == state);
    let pairs: Vec<[f64; 2]> = spans.filter_map(pair).collect();
    let part = |at: usize| mean(&pairs.iter().map(|pair| pair[at]).collect::<Vec<_>>());
    Some([part(0)?, part(1)?])
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn of_cell(measured: &Measured, cell: &Cell, level: f64) -> PauseFigures {
    let estimate = |of: fn(&Seen) -> Option<f64>| {
        Estimate::at(&cell.used().filter_map(|one| of(&one.seen)).collect::<Vec<_>>(), level)
    };
    let mut figures = PauseFigures {
        subject: cell.subject.to_owned(),
        level,
        variant: cell.variant.to_owned(),
        clients: cell.clients,
        consumer: cell.consumer.clone(),
        trials: cell.used().count() as u32,
        running: estimate(|seen| seen.running),
        stopped: estimate(|seen| seen.stopped),
        sham: estimate(|seen| seen.sham),
        share: estimate(|seen| seen.share),
        sham_share: estimate(|seen| seen.sham_share),
        series: cell.used().next().map(series).unwrap_or_default(),
        verdict: Verdict::Invalid,
        sentence: String::new(),
    };
    let beyond = estimate(|seen| Some(seen.share? - seen.sham_share?));
    let beyond = beyond.and_then(|beyond| beyond.interval);
    let (verdict, why) = verdict(&figures, cell, beyond, shape(measured).as_ref());
    (figures.verdict, figures.sentence) = (verdict, sentence(&figures, verdict, &why));
    figures
}

/// A span's shape as the study has it; `None` for a run whose study says nothing of it any more.
fn shape(measured: &Measured) -> Option<Spans> {
    let study = &measured.run.study;
    let pause = study.pause.as_ref()?;
    let every = study.trial.sample_every;
    let samples = |span: Span| (span.as_nanos() / every.as_nanos().max(1)) as usize;
    let (span, settle) = (samples(pause.span), samples(pause.settle));
    // The first sample after settling begins the figure; the last one lies before the span's end.
    let measured = span.saturating_sub(settle + 2).max(1);
    Some(Spans { every, settle: settle + 1, shape: Shape { span, measured } })
}

struct Spans {
    every: Span,
    settle: usize,
    shape: Shape,
}

/// The samples of a trial, and which of them nothing was done to.
fn undisturbed(trial: &Used, settle: usize) -> Vec<rhythm::Step> {
    let mut since = usize::MAX;
    let step = |(_, cpu, state): (f64, f64, String)| {
        since = if state == name(PauseState::Stopped) { 0 } else { since.saturating_add(1) };
        rhythm::Step { cpu, undisturbed: since > settle }
    };
    series(trial).into_iter().map(step).collect()
}

/// Why the share may be the subject's own doing, if that is so.
fn own_period(share: f64, cell: &Cell, spans: &Spans) -> Option<String> {
    let trials: Vec<_> = cell.used().map(|trial| undisturbed(trial, spans.settle)).collect();
    let Rhythm { period, swing } = rhythm::of(&trials, spans.shape)?;
    let time = |samples: usize| Span::from_nanos(spans.every.as_nanos() * samples as u64);
    let fits = time(spans.shape.span.div_ceil(period) * period);
    (swing >= share.abs() / 2.0).then(|| {
        format!(
            "the subject has a period of {} by itself, and its CPU changes by up to {} from one span of {} to the \
             next; say --span {fits}, which holds whole periods",
            time(period),
            percent(swing),
            time(spans.shape.span)
        )
    })
}

/// The steps of one trial, each with what was done in the middle of it.
fn series(Used { figures, trial, .. }: &Used) -> Vec<(f64, f64, String)> {
    let Some(recording) = trial.reading() else { return Vec::new() };
    let nothing = Pauses::default();
    let pauses = recording.pauses.as_deref().unwrap_or(&nothing);
    let opened = Window::of(trial, recording).map_or(0, |window| window.opened_ns());
    let state = |at_s: f64| {
        let at_ns = opened.saturating_add((at_s * 1e9) as u64);
        let is_in = |span: &&Paused| (span.from_ns..span.to_ns).contains(&at_ns);
        // Between two spans the consumer runs again.
        pauses.spans.iter().find(is_in).map_or(PauseState::Runs, |span| span.state)
    };
    let one = |step: &crate::figures::Step| {
        let name = name(state(step.at_s - step.length_s / 2.0));
        (step.at_s, step.subject, name.to_owned())
    };
    figures.series.iter().map(one).collect()
}

const fn name(state: PauseState) -> &'static str {
    match state {
        PauseState::Runs => "runs",
        PauseState::Stopped => "stopped",
        PauseState::Sham => "sham",
    }
}

/// The verdict and why it is none; `beyond` is how much more stopping the consumer shows than stopping a process that asks
/// the subject nothing, trial by trial.
fn verdict(
    figures: &PauseFigures,
    cell: &Cell,
    beyond: Option<Interval>,
    spans: Option<&Spans>,
) -> (Verdict, String) {
    let faulty = |(id, trial): &(&TrialId, Result<Used, String>)| {
        trial.as_ref().err().map(|why| format!("{id}: {why}"))
    };
    if let Some(why) = cell.trials.iter().find_map(faulty) {
        let (all, used) = (cell.trials.len(), cell.used().count());
        let why = format!("{} of {} cannot be used, {why}", all - used, count(all, "trial"));
        return (Verdict::Invalid, why);
    }
    let Some(estimate) = figures.share else {
        return (Verdict::Invalid, "the subject used no CPU while it ran".to_owned());
    };
    let Some(share) = estimate.interval else {
        return (Verdict::Invalid, "one trial has no interval; measure six".to_owned());
    };
    let Some((sham, moved)) = figures.sham_share.and_then(|sham| Some((sham, sham.interval?)))
    else {
        return (Verdict::Invalid, "there is no control to compare with".to_owned());
    };
    let is_still = |within: f64| moved.holds(0.0) || (-within <= moved.low && moved.high <= within);
    let own = || spans.and_then(|spans| own_period(estimate.mean, cell, spans));
    let causes = |beyond: Interval| share.low > 0.0 && estimate.mean > STILL && beyond.low > 0.0;
    match beyond {
        Some(beyond) if causes(beyond) && is_still(STILL.max(share.low * OF_SHARE)) => {
            match (asked(cell), own()) {
                (None, None) => (Verdict::Pass, String::new()),
                (None, Some(_)) if beyond.high <= LITTLE => (Verdict::Fail, String::new()),
                (Some(why), _) | (None, Some(why)) => (Verdict::Invalid, why),
            }
        }
        Some(beyond) if beyond.high <= LITTLE && is_still(OF_NOTHING) => {
            (Verdict::Fail, String::new())
        }
        _ if !is_still(STILL) => {
            let moved = Unit::PER_CENT.with_interval(&sham);
            let why = format!("the control moved too, by {moved}: stopping anything shows there");
            (Verdict::Invalid, own().unwrap_or(why))
        }
        beyond => (Verdict::Invalid, undecided(&estimate, beyond, figures.trials)),
    }
}

/// Neither an effect nor that there is none is shown.
fn undecided(share: &Estimate, beyond: Option<Interval>, trials: u32) -> String {
    let beyond = beyond.map_or_else(String::new, |Interval { low, high }| {
        let [low, high] = [low, high].map(|end| Unit::PER_CENT.plain(end));
        format!(", which against the control may be anything from {low} % to {high} %")
    });
    format!(
        "not decided after {}: it causes {}{beyond}; take more repetitions",
        count(trials, "trial"),
        Unit::PER_CENT.with_interval(share)
    )
}

/// Why the subject's CPU goes away with somebody that it asks itself, if that is so.
fn asked(cell: &Cell) -> Option<String> {
    let asked = |trial: &Trial| trial.reading()?.pauses.as_deref()?.asked.clone();
    let through = cell.used().find_map(|one| asked(one.trial))?;
    Some(format!(
        "the subject is its client ({through}), so while it is stopped the subject waits for it, and so does whoever asks \
         the subject through it; pause those who ask"
    ))
}

fn sentence(figures: &PauseFigures, verdict: Verdict, why: &str) -> String {
    let PauseFigures { consumer, subject, .. } = figures;
    let share =
        figures.share.as_ref().map(|share| Unit::PER_CENT.with_interval(share)).unwrap_or_default();
    let control = figures.sham_share.map_or_else(String::new, |sham| {
        format!("; control {}", Unit::PER_CENT.with_interval(&sham))
    });
    let at = format!("in `{}` at {}", figures.of_variant(), count(figures.clients, "client"));
    let mut trials = count(figures.trials, "trial");
    if figures.level < ERROR {
        trials += &format!(", intervals of {:.1} %", (1.0 - figures.level) * 100.0);
    }
    match verdict {
        Verdict::Pass => format!(
            "`{consumer}` causes {share} of the CPU of `{subject}` {at} ({trials}{control})"
        ),
        Verdict::Fail => format!(
            "`{consumer}` has no measurable effect on the CPU of `{subject}` {at}: it causes {share} ({trials}{control})"
        ),
        Verdict::Measured | Verdict::Invalid => {
            format!("The share of `{consumer}` {at} is unknown: {why}")
        }
    }
}

#[cfg(test)]
mod tests;
