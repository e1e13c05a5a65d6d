//! Prints a line for each thing worth one, and what is being done and how long that still takes, however long nothing
//! happens: at the foot of a terminal each second, elsewhere in a line every 15 s.

use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use model::{event::Event, inert, plural::count};

use super::{pace::Pace, readable, sentence};
use crate::output;

/// Between two lines on what is being done.
const EVERY: Duration = Duration::from_secs(15);

/// Where lines go.
type Say = Arc<dyn Fn(String) + Send + Sync>;

pub(super) struct Lines {
    state: Arc<Mutex<State>>,
    say: Say,
    /// Takes what is being done; nothing is empty.
    tick: Say,
    /// The ticking ends with it.
    _ticking: Sender<()>,
}

impl Default for Lines {
    fn default() -> Self {
        let tick = |now: String| {
            if !now.is_empty() {
                output::note(now);
            }
        };
        Self::with(EVERY, Arc::new(output::note), Arc::new(tick))
    }
}

impl Lines {
    /// Lines above one that says what is being done.
    pub(super) fn on_terminal() -> Self {
        let style = ProgressStyle::with_template("{msg}").unwrap_or(ProgressStyle::default_bar());
        let foot = ProgressBar::new_spinner().with_style(style);
        let above = foot.clone();
        let say = move |line: String| above.suspend(|| output::note(line));
        let tick = move |now: String| {
            if now.is_empty() {
                return foot.finish_and_clear();
            }
            if foot.is_finished() {
                foot.reset();
            }
            foot.set_message(inert::line(&now).into_owned());
        };
        Self::with(Duration::from_secs(1), Arc::new(say), Arc::new(tick))
    }

    fn with(every: Duration, say: Say, tick: Say) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let (ticking, ended) = mpsc::channel();
        let (seen, foot) = (Arc::downgrade(&state), Arc::clone(&tick));
        thread::spawn(move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                foot(now(&seen).unwrap_or_default());
            }
        });
        Self { state, say, tick, _ticking: ticking }
    }

    pub(super) fn show(&mut self, event: Event) {
        let line = line(&event);
        let page = match &event {
            Event::RunStarted { folder, .. } => Some(readable(folder)),
            _ => None,
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.follow(event, Instant::now());
        let last = state.is_last().then(|| state.trials());
        line.into_iter().chain(page).chain(last).for_each(&*self.say);
        if state.now(Instant::now()).is_none() {
            (self.tick)(String::new());
        }
    }
}

fn now(state: &Weak<Mutex<State>>) -> Option<String> {
    let state = state.upgrade()?;
    let state = state.lock().unwrap_or_else(PoisonError::into_inner);
    state.now(Instant::now())
}

/// What is worth a line at once.
fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::RunStarted { folder, trials, done } => {
            format!("run: {folder}: {}, {done} done before", count(*trials, "trial"))
        }
        Event::TrialEnded { invalid: Some(why), id: name, .. } => format!("invalid: {name}: {why}"),
        Event::KvmStarted => "KVM: a guest is tried on it, for 8 s at most".to_owned(),
        other => return sentence(other),
    })
}

#[derive(Debug, Default)]
struct State {
    /// Before the trials: what is made, and since when.
    making: Option<(String, Instant)>,
    run: Option<Run>,
}

#[derive(Debug)]
struct Run {
    pace: Pace,
    trials: u32,
    done: u32,
    /// The last trial that started.
    at: String,
    /// Whether a trial has just ended.
    stepped: bool,
}

impl State {
    fn follow(&mut self, event: Event, at: Instant) {
        if let Some(run) = &mut self.run {
            run.stepped = false;
            run.pace.follow(&event, at);
        }
        match event {
            Event::ImageStep { step } => self.making = Some((format!("image: {step}"), at)),
            Event::DeviceStep { device, step } => {
                self.making = Some((format!("{device}: {step}"), at));
            }
            Event::SnapshotStarted { clients, .. } => self.make(clients, 0, at),
            Event::Associated { associated, clients } => self.make(clients, associated, at),
            Event::ImageReady { .. } | Event::DeviceReady { .. } | Event::SnapshotReady { .. } => {
                self.making = None;
            }
            Event::RunStarted { trials, done, .. } => {
                let (pace, at) = (Pace::default(), String::new());
                self.run = Some(Run { pace, trials, done, at, stepped: false });
            }
            Event::TrialStarted { id } => {
                self.run.iter_mut().for_each(|run| run.at.clone_from(&id))
            }
            Event::TrialEnded { .. } => self.run.iter_mut().for_each(Run::step),
            Event::RunEnded { .. } => *self = Self::default(),
            _ => {}
        }
    }

    /// An access point is made; its time counts from its boot.
    fn make(&mut self, clients: u32, associated: u32, at: Instant) {
        let since = match &self.making {
            Some((_, since)) if associated > 0 => *since,
            _ => at,
        };
        let clients = count(clients, "client");
        let what = format!("access point: {associated} of {clients} have joined");
        self.making = Some((what, since));
    }

    /// What is being done, and how long it has taken or will take.
    fn now(&self, at: Instant) -> Option<String> {
        let Some((what, since)) = &self.making else {
            return self.run.as_ref().map(|run| run.now(at));
        };
        let seconds = at.saturating_duration_since(*since).as_secs();
        Some(format!("{what}, {seconds} s so far"))
    }

    /// Whether the last trial has just ended.
    fn is_last(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.stepped && run.done == run.trials)
    }

    fn trials(&self) -> String {
        self.run.as_ref().map(Run::trials).unwrap_or_default()
    }
}

impl Run {
    fn step(&mut self) {
        self.done += 1;
        self.stepped = true;
    }

    fn trials(&self) -> String {
        format!("{} of {} done", self.done, count(self.trials, "trial"))
    }

    fn now(&self, at: Instant) -> String {
        let left = self.pace.left(self.trials.saturating_sub(self.done), at);
        let left =
            left.map_or_else(String::new, |left| format!(", about {} left", HumanDuration(left)));
        let name = if self.at.is_empty() { String::new() } else { format!("; at {}", self.at) };
        format!("{}{left}{name}", self.trials())
    }
}

#[cfg(test)]
mod tests {
    use model::study::Mode;

    use super::*;

    fn started(state: &mut State, id: &str, at: Instant) {
        state.follow(Event::TrialStarted { id: id.to_owned() }, at);
    }

    fn ended(state: &mut State, id: &str, at: Instant) {
        let id = id.to_owned();
        state.follow(Event::TrialEnded { id, took_ms: 0, device_ms: 0, invalid: None }, at);
    }

    #[test]
    fn trials_say_how_many_how_long_and_which() {
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        let mut state = State::default();
        assert_eq!(state.now(begin), None);
        let folder = "runs/one".to_owned();
        state.follow(Event::RunStarted { folder, trials: 24, done: 4 }, begin);
        started(&mut state, "bulk@114#1", begin);
        let now = state.now(after(15)).unwrap();
        assert_eq!(now, "4 of 24 trials done; at bulk@114#1");
        ended(&mut state, "bulk@114#1", after(20));
        started(&mut state, "found@114#1", after(20));
        ended(&mut state, "found@114#1", after(30));
        // Those of an earlier execution took none of these 30 s.
        let now = state.now(after(30)).unwrap();
        assert_eq!(now, "6 of 24 trials done, about 5 minutes left; at found@114#1");
    }

    #[test]
    fn access_points_that_come_up_in_a_run_are_in_no_pace() {
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        let mut state = State::default();
        let folder = "runs/one".to_owned();
        state.follow(Event::RunStarted { folder, trials: 12, done: 0 }, begin);
        // A minute for the first access point, 10 s for one trial, and a minute for the next access point.
        started(&mut state, "a", after(60));
        ended(&mut state, "a", after(70));
        let now = state.now(after(130)).unwrap();
        assert!(now.starts_with("1 of 12 trials done, about 2 minutes left"), "{now}");
        // Two at a time are twice as quick.
        ["b", "c"].iter().for_each(|id| started(&mut state, id, after(130)));
        ["b", "c"].iter().for_each(|id| ended(&mut state, id, after(140)));
        let now = state.now(after(200)).unwrap();
        assert!(now.starts_with("3 of 12 trials done, about 60 seconds left"), "{now}");
    }

    #[test]
    fn what_is_made_before_the_trials_says_how_long_it_has_taken() {
        let begin = Instant::now();
        let mut state = State::default();
        state.follow(Event::ImageStep { step: "packages".to_owned() }, begin);
        let later = begin + Duration::from_secs(15);
        assert_eq!(state.now(later).unwrap(), "image: packages, 15 s so far");
        state.follow(Event::SnapshotStarted { clients: 114, mode: Mode::Counted }, later);
        state.follow(Event::Associated { associated: 60, clients: 114 }, later);
        let now = state.now(later + Duration::from_secs(16)).unwrap();
        assert_eq!(now, "access point: 60 of 114 clients have joined, 16 s so far");
    }

    #[test]
    fn lines_come_though_nothing_happens_and_end_with_the_work() {
        static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let said = || SAID.lock().unwrap().len();
        let say: Say = Arc::new(|line: String| {
            SAID.lock().unwrap().extend(Some(line).filter(|line| !line.is_empty()));
        });
        let mut lines = Lines::with(Duration::from_millis(5), Arc::clone(&say), say);
        lines.show(Event::ImageStep { step: "packages".to_owned() });
        let deadline = Instant::now() + Duration::from_secs(10);
        while said() < 3 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(SAID.lock().unwrap()[1..].iter().all(|line| line.ends_with("s so far")));
        drop(lines);
        thread::sleep(Duration::from_millis(50));
        let then = said();
        thread::sleep(Duration::from_millis(50));
        assert!(then >= 3 && said() == then);
    }
}
