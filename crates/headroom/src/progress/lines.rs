//! Prints a line for each thing worth one, and what is being done and how long that still takes, however long nothing
//! happens: at the foot of a terminal each second, elsewhere in a line every 15 s.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use model::{event::Event, inert, plural::count};

use super::{pace::Pace, stage};
use crate::{output, run_path::PAGE};

/// Between two lines on what is being done.
const EVERY: Duration = Duration::from_secs(15);

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
        let (lines, is_trial) = (lines(&event), matches!(event, Event::TrialEnded { .. }));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.follow(event, Instant::now());
        let last = state.run.as_ref().filter(|run| is_trial && run.done == run.trials);
        lines.into_iter().chain(last.map(Run::trials)).for_each(&*self.say);
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
fn lines(event: &Event) -> Vec<String> {
    let seconds = |ms: u64| format!("{:.1} s", ms as f64 / 1e3);
    let line = match event {
        Event::ImageStep { .. } | Event::KvmStarted => stage(event).flatten().unwrap_or_default(),
        Event::ImageReady { image, made: true, took_ms } => {
            format!("image: {} made in {}", &image[..12.min(image.len())], seconds(*took_ms))
        }
        Event::KvmTried { works, took_ms } => format!(
            "KVM: tried for {}: {}; kept until this machine boots again",
            seconds(*took_ms),
            if *works { "it works" } else { "no guest runs on it, so real time is emulated" }
        ),
        Event::SnapshotReady { clients, mode, made: true, associated_ms, bytes } => format!(
            "access point: {clients} associated in {} ({}, {} MB kept)",
            seconds(*associated_ms),
            mode.name(),
            bytes / 1_000_000,
            clients = count(clients, "client")
        ),
        Event::RunStarted { folder, trials, done } => {
            let page = Path::new(folder).join(PAGE);
            return vec![
                format!("run: {folder}: {}, {done} done before", count(*trials, "trial")),
                format!("report: {} (updated as trials finish)", page.display()),
            ];
        }
        Event::TrialEnded { invalid: Some(why), id: name, .. } => format!("invalid: {name}: {why}"),
        Event::SoFar { headline } => format!("so far: {}", headline.replace('`', "")),
        Event::Doubt { text } => format!("note: {text}"),
        _ => return Vec::new(),
    };
    vec![line]
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
}

impl State {
    fn follow(&mut self, event: Event, at: Instant) {
        self.run.iter_mut().for_each(|run| run.pace.follow(&event, at));
        if let Some(stage) = stage(&event) {
            // The time of an access point counts from its boot.
            let booted = matches!(event, Event::Associated { .. });
            let booted = self.making.as_ref().filter(|_| booted).map(|(_, since)| *since);
            self.making = stage.map(|what| (what, booted.unwrap_or(at)));
        }
        match event {
            Event::RunStarted { trials, done, .. } => {
                let (pace, at) = (Pace::default(), String::new());
                self.run = Some(Run { pace, trials, done, at });
            }
            Event::TrialStarted { id } => {
                self.run.iter_mut().for_each(|run| run.at.clone_from(&id))
            }
            Event::TrialEnded { .. } => self.run.iter_mut().for_each(|run| run.done += 1),
            Event::RunEnded { .. } => *self = Self::default(),
            _ => {}
        }
    }

    /// What is being done, and how long it has taken or will take.
    fn now(&self, at: Instant) -> Option<String> {
        let Some((what, since)) = &self.making else {
            return self.run.as_ref().map(|run| run.now(at));
        };
        let seconds = at.saturating_duration_since(*since).as_secs();
        Some(format!("{what}, {seconds} s so far"))
    }
}

impl Run {
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

    /// What is shown at a second of a run with this many trials, after trials have started (`+`) and ended (`-`).
    fn shown(trials: u32, done: u32, events: &[(u64, &str)], at: u64) -> String {
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        let mut state = State::default();
        assert_eq!(state.now(begin), None);
        let folder = "runs/one".to_owned();
        state.follow(Event::RunStarted { folder, trials, done }, begin);
        for (second, words) in events {
            for word in words.split(' ') {
                let (sign, id) = word.split_at(1);
                let id = id.to_owned();
                let event = match sign {
                    "+" => Event::TrialStarted { id },
                    _ => Event::TrialEnded { id, took_ms: 0, device_ms: 0, invalid: None },
                };
                state.follow(event, after(*second));
            }
        }
        state.now(after(at)).unwrap()
    }

    #[test]
    fn trials_say_how_many_how_long_and_which() {
        let now = shown(24, 4, &[(0, "+bulk@114#1")], 15);
        assert_eq!(now, "4 of 24 trials done; at bulk@114#1");
        // Those of an earlier execution took none of these 30 s.
        let events = [(0, "+bulk"), (20, "-bulk +found"), (30, "-found")];
        let now = shown(24, 4, &events, 30);
        assert_eq!(now, "6 of 24 trials done, about 5 minutes left; at found");
        // A minute for the first access point, 10 s for one trial, and a minute for the next access point.
        let mut events = vec![(60, "+a"), (70, "-a")];
        let now = shown(12, 0, &events, 130);
        assert!(now.starts_with("1 of 12 trials done, about 2 minutes left"), "{now}");
        // Two at a time are twice as quick.
        events.extend([(130, "+b +c"), (140, "-b -c")]);
        let now = shown(12, 0, &events, 200);
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
