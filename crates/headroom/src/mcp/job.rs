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

/// More notes than this are not shown.
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
    /// Of a job whose cost is not known before it begins.
    pub(super) fn unplanned(kind: Kind, of: &str) -> Self {
        Self { kind, of: of.to_owned(), cost: None, estimate_s: None }
    }
}

#[derive(Clone, Debug, Default)]
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
    /// What clients are told, but for what changes by itself ([`Job::status`]).
    told: Status,
    began: Instant,
    pace: Pace,
    begun: u64,
    device_ms: u64,
    is_stopped: bool,
    end: Option<(Instant, End)>,
}

impl Job {
    pub(super) fn new(number: usize, order: Order, folder: PathBuf) -> Self {
        let told = Status {
            handle: format!("job-{number}"),
            kind: order.kind,
            of: order.of.clone(),
            since_unix: lab::host::unix_now(),
            trials_planned: order.cost.map(|cost| cost.trials),
            ..Status::default()
        };
        Self {
            number,
            order,
            folder,
            pid: None,
            told,
            began: Instant::now(),
            pace: Pace::default(),
            begun: 0,
            device_ms: 0,
            is_stopped: false,
            end: None,
        }
    }

    /// What a client calls it.
    pub(super) fn handle(&self) -> &str {
        &self.told.handle
    }

    pub(super) fn see(&mut self, event: Event) {
        self.pace.follow(&event, Instant::now());
        stage(&event).into_iter().for_each(|stage| self.told.stage = stage);
        match event {
            Event::RunStarted { trials, .. } => self.told.trials_planned = Some(trials.into()),
            Event::TrialStarted { .. } => self.begun += 1,
            Event::TrialEnded { device_ms, invalid, id: name, .. } => {
                self.told.trials_done += 1;
                self.device_ms += device_ms;
                self.told.trials_invalid += u64::from(invalid.is_some());
                invalid.into_iter().for_each(|why| self.note(format!("invalid: {name}: {why}")));
            }
            Event::SoFar { headline } => self.told.so_far = Some(headline),
            Event::Doubt { text } => self.note(text),
            Event::RunEnded { .. } => self.told.stage = Some("the report is written".to_owned()),
            _ => {}
        }
    }

    fn note(&mut self, text: String) {
        if self.told.notes.len() < MOST_NOTES {
            self.told.notes.push(text);
        }
    }

    /// It was asked to stop, unless it has ended; the first reason counts.
    pub(super) fn stop(&mut self, why: &str) {
        if self.end.is_none() && !self.is_stopped {
            (self.is_stopped, self.told.said) = (true, Some(why.to_owned()));
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    pub(super) fn end(&mut self, end: End) {
        (self.told.stage, self.told.exit_code) = (None, end.code);
        if !self.is_stopped {
            self.told.said.clone_from(&end.said);
        }
        self.end = Some((Instant::now(), end));
    }

    pub(super) fn ended(&self) -> Option<&End> {
        self.end.as_ref().map(|(_, end)| end)
    }

    /// What it counts for: what it will take while it works, what it took when it has ended.
    pub(super) fn counted(&self) -> Cost {
        let spent = Cost { trials: self.told.trials_done, seconds: self.device_ms as f64 / 1e3 };
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
            None if self.is_stopped => State::Stopping,
            None => State::Running,
            Some(_) if self.is_stopped => State::Cancelled,
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
        let Status { trials_planned, trials_done, .. } = self.told;
        let rest = trials_planned.map(|planned| planned.saturating_sub(trials_done) as u32);
        let left = rest.and_then(|rest| self.pace.left(rest, Instant::now()));
        left.map(|left| left.as_secs_f64()).or_else(|| {
            let gone = self.began.elapsed().as_secs_f64();
            self.order.estimate_s.map(|estimate| (estimate - gone).max(0.0))
        })
    }

    pub(super) fn status(&self) -> Status {
        let state = self.state();
        let until = self.end.as_ref().map_or_else(Instant::now, |(at, _)| *at);
        let told = self.told.clone();
        Status {
            state,
            ran_seconds: until.duration_since(self.began).as_secs_f64(),
            left_seconds: self.left_seconds(),
            said: told.said.filter(|_| state != State::Done),
            next: next(state).to_owned(),
            ..told
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
        job.end(End { code: Some(130), ..End::default() });
        assert_eq!(job.counted(), Cost { trials: 2, seconds: 10.0 });
    }

    #[test]
    fn a_job_without_a_result_has_failed_and_one_that_was_stopped_has_not() {
        for (is_stopped, code, said, state) in [
            (false, 2, "no such variant", State::Failed),
            (true, 130, "cancelled by the client", State::Cancelled),
        ] {
            let mut job = job(None);
            if is_stopped {
                job.stop(said);
                job.stop("the server ended");
                assert_eq!(job.status().state, State::Stopping);
            }
            let last = if is_stopped { "interrupted" } else { said };
            job.end(End { code: Some(code), said: Some(last.to_owned()), ..End::default() });
            let status = job.status();
            assert_eq!((status.state, status.said.as_deref()), (state, Some(said)));
        }
    }
}
