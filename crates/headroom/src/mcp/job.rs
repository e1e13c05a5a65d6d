//! One job: a headroom at work, as far as its events say. Pure but for the clock that it is given.

use std::{path::PathBuf, time::Instant};

use model::event::Event;
use rmcp::model::JsonObject;

use super::{
    answers::{Kind, State, Status},
    budget::Cost,
};
use crate::{
    answer::Answer,
    progress::{pace::Pace, stage},
};

/// More notes are no use to anybody.
const MOST_NOTES: usize = 20;

#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) kind: Kind,
    /// Of which study or process.
    pub(super) of: String,
    /// What its plan takes; `None` where there is none before.
    pub(super) cost: Option<Cost>,
    /// Wall time that its plan takes, seconds.
    pub(super) estimate_s: Option<f64>,
}

impl Order {
    /// Of something whose cost nobody knows before it begins.
    pub(super) fn unplanned(kind: Kind, of: &str) -> Self {
        Self { kind, of: of.to_owned(), cost: None, estimate_s: None }
    }
}

#[derive(Clone, Debug)]
pub(super) struct End {
    /// The exit code; `None` where a signal ended it.
    pub(super) code: Option<i32>,
    /// What it said last.
    pub(super) said: Option<String>,
    pub(super) answer: Option<Answer>,
    /// The value that it printed at its end.
    pub(super) value: Option<JsonObject>,
}

#[derive(Debug)]
pub(super) struct Job {
    /// Its number, from 1.
    pub(super) number: usize,
    pub(super) order: Order,
    pub(super) folder: PathBuf,
    pub(super) pid: Option<u32>,
    began: Instant,
    since_unix: u64,
    stage: Option<String>,
    pace: Pace,
    planned: Option<u64>,
    begun: u64,
    done: u64,
    invalid: u64,
    device_ms: u64,
    so_far: Option<String>,
    notes: Vec<String>,
    /// Why it was asked to stop.
    stopped: Option<String>,
    end: Option<(Instant, End)>,
}

impl Job {
    pub(super) fn new(number: usize, order: Order, folder: PathBuf) -> Self {
        Self {
            number,
            planned: order.cost.map(|cost| cost.trials),
            order,
            folder,
            pid: None,
            began: Instant::now(),
            since_unix: lab::host::unix_now(),
            stage: None,
            pace: Pace::default(),
            begun: 0,
            done: 0,
            invalid: 0,
            device_ms: 0,
            so_far: None,
            notes: Vec::new(),
            stopped: None,
            end: None,
        }
    }

    /// What a client calls it.
    pub(super) fn handle(&self) -> String {
        format!("job-{}", self.number)
    }

    pub(super) fn see(&mut self, event: Event) {
        self.pace.follow(&event, Instant::now());
        stage(&event).into_iter().for_each(|stage| self.stage = stage);
        match event {
            Event::RunStarted { trials, .. } => self.planned = Some(trials.into()),
            Event::TrialStarted { .. } => self.begun += 1,
            Event::TrialEnded { device_ms, invalid, id: name, .. } => {
                self.done += 1;
                self.device_ms += device_ms;
                self.invalid += u64::from(invalid.is_some());
                invalid.into_iter().for_each(|why| self.note(format!("invalid: {name}: {why}")));
            }
            Event::SoFar { headline } => self.so_far = Some(headline),
            Event::Doubt { text } => self.note(text),
            Event::RunEnded { .. } => self.stage = Some("the report is written".to_owned()),
            _ => {}
        }
    }

    fn note(&mut self, text: String) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(text);
        }
    }

    /// It was asked to stop; the first reason counts.
    pub(super) fn stop(&mut self, why: &str) {
        self.stopped.get_or_insert_with(|| why.to_owned());
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    pub(super) fn end(&mut self, end: End) {
        self.stage = None;
        self.end = Some((Instant::now(), end));
    }

    pub(super) fn ended(&self) -> Option<&End> {
        self.end.as_ref().map(|(_, end)| end)
    }

    /// What it has taken so far.
    pub(super) fn spent(&self) -> Cost {
        Cost { trials: self.done, seconds: self.device_ms as f64 / 1e3 }
    }

    /// What it counts for: what it will take while it works, what it took when it has ended.
    pub(super) fn counted(&self) -> Cost {
        let spent = self.spent();
        if self.end.is_some() {
            return spent;
        }
        // Without a plan a trial counts as soon as it begins, so that the one too many is stopped.
        let plan = self.order.cost.unwrap_or(Cost { trials: self.begun, seconds: 0.0 });
        Cost { trials: plan.trials.max(spent.trials), seconds: plan.seconds.max(spent.seconds) }
    }

    /// Whether it prints a result of its own and has no run's folder.
    pub(super) const fn is_of_task(&self) -> bool {
        matches!(self.order.kind, Kind::Begin | Kind::Try | Kind::Accept)
    }

    fn state(&self) -> State {
        match &self.end {
            None if self.is_stopped() => State::Stopping,
            None => State::Running,
            Some(_) if self.is_stopped() => State::Cancelled,
            // A verdict is a result whatever it is; without a run there is none.
            Some((_, End { answer: None, value: None, .. })) => State::Failed,
            Some((_, End { code: Some(0 | 1 | 3), .. })) => State::Done,
            Some(_) => State::Failed,
        }
    }

    fn left_seconds(&self) -> Option<f64> {
        if self.end.is_some() {
            return None;
        }
        let rest = self.planned.map(|planned| planned.saturating_sub(self.done) as u32);
        let left = rest.and_then(|rest| self.pace.left(rest, Instant::now()));
        left.map(|left| left.as_secs_f64()).or_else(|| {
            let gone = self.began.elapsed().as_secs_f64();
            self.order.estimate_s.map(|estimate| (estimate - gone).max(0.0))
        })
    }

    pub(super) fn status(&self) -> Status {
        let state = self.state();
        let until = self.end.as_ref().map_or_else(Instant::now, |(at, _)| *at);
        let said = self.stopped.clone().or_else(|| self.ended()?.said.clone());
        Status {
            handle: self.handle(),
            kind: self.order.kind,
            of: self.order.of.clone(),
            state,
            since_unix: self.since_unix,
            ran_seconds: until.duration_since(self.began).as_secs_f64(),
            stage: self.stage.clone(),
            trials_done: self.done,
            trials_planned: self.planned,
            trials_invalid: self.invalid,
            left_seconds: self.left_seconds(),
            so_far: self.so_far.clone(),
            notes: self.notes.clone(),
            exit_code: self.ended().and_then(|end| end.code),
            said: said.filter(|_| state != State::Done),
            next: next(state).to_owned(),
        }
    }
}

const fn next(state: State) -> &'static str {
    match state {
        State::Running => "`wait` again, or `cancel` it.",
        State::Stopping => "`wait` for its end.",
        State::Done => "`result` has the verdict.",
        State::Failed => "Repair what it says and begin another one.",
        State::Cancelled => "`result` has what its finished trials say, where there are any.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(cost: Option<Cost>) -> Job {
        let of = "client-scale".to_owned();
        let order = Order { kind: Kind::Run, of, cost, estimate_s: Some(100.0) };
        Job::new(1, order, PathBuf::from("job-1"))
    }

    fn trial(job: &mut Job, invalid: Option<&str>) {
        job.see(Event::TrialStarted { id: "a".to_owned() });
        let (id, invalid) = ("a".to_owned(), invalid.map(str::to_owned));
        job.see(Event::TrialEnded { id, took_ms: 1, device_ms: 5_000, invalid });
    }

    #[test]
    fn a_job_counts_for_its_plan_until_it_has_ended_and_then_for_what_it_took() {
        let mut job = job(Some(Cost { trials: 4, seconds: 20.0 }));
        trial(&mut job, None);
        trial(&mut job, Some("the guest hung"));
        assert_eq!(job.counted(), Cost { trials: 4, seconds: 20.0 });
        let status = job.status();
        assert_eq!((status.trials_done, status.trials_invalid), (2, 1));
        assert_eq!(status.notes, ["invalid: a: the guest hung"]);
        job.end(End { code: Some(130), said: None, answer: None, value: None });
        assert_eq!(job.counted(), Cost { trials: 2, seconds: 10.0 });
    }

    #[test]
    fn a_job_without_a_result_has_failed_and_one_that_was_stopped_has_not() {
        let end = |code, said: &str| End {
            code: Some(code),
            said: Some(said.to_owned()),
            answer: None,
            value: None,
        };
        let mut failed = job(None);
        failed.end(end(2, "no such variant"));
        let status = failed.status();
        assert_eq!(
            (status.state, status.said.as_deref()),
            (State::Failed, Some("no such variant"))
        );
        let mut stopped = job(None);
        stopped.stop("cancelled by the client");
        assert_eq!(stopped.status().state, State::Stopping);
        stopped.end(end(130, "interrupted"));
        let status = stopped.status();
        assert_eq!(status.state, State::Cancelled);
        assert_eq!(status.said.as_deref(), Some("cancelled by the client"));
    }
}
