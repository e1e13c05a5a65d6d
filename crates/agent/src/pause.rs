//! Stops a consumer span by span, to see what it makes the subject spend, and resumes it whatever happens.
//!
//! ```text
//! sample:    0       3         6      9       12
//! span:      ╞ runs ═╪ stopped ╪ runs ╪═ sham ╡
//! consumer:  runs    T T T T T runs   runs
//! decoy:     sleeps  sleeps    sleeps T T T T
//! ```
//!
//! A span begins right before the counters of its first sample are read, once its state has been seen. The
//! watchdog is told before anybody is stopped, and after everybody runs again; it continues them where we
//! cannot. Whom the load starts is there only as the window opens, so the consumer is looked for then;
//! children that it starts later are not chased.

mod consumer;
mod decoy;

use std::{
    io,
    os::fd::BorrowedFd,
    thread::sleep,
    time::{Duration, Instant},
};

use linux::{
    pause::{Sight, Stoppable},
    system::monotonic_ns,
};
use model::{
    pause::{PauseOrder, PauseSpan, PauseState, Paused, Pauses, Target},
    span::Span,
    wire::Refusal,
};

use crate::{peers, subject, undo::Undo};

use self::{
    consumer::{Guarded, Parent, Side, Spared, list_of},
    decoy::Decoy,
};

pub use self::decoy::{WORD as DECOY, run as sleep_until_asked};

/// A process may take this long to be stopped, or to run again.
const PATIENCE: Duration = Duration::from_secs(1);

/// The first wait between two looks, and the longest. On one CPU nobody stops before we sleep.
const POLLS: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(5));

/// The window that the experiment is a part of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) subject: &'a [u32],
    /// Intervals between samples in the window.
    pub(crate) intervals: u64,
}

/// The experiment in place. Dropping it resumes whoever is stopped.
#[derive(Debug)]
pub(crate) struct Pause {
    target: Target,
    longest: Span,
    changes: Vec<Change>,
    spared: Spared,
    /// The decoy where there is a sham span, and from the opening of the window on the consumer; in the order in which the
    /// watchdog got to know them.
    guarded: Vec<Guarded>,
    /// What happens now, and since when, ns.
    current: Option<(PauseState, u64)>,
    done: Vec<Paused>,
    opened_ns: u64,
    // Dropped in this order: the watchdog is the last to go.
    decoy: Option<Decoy>,
    watchdog: Undo,
}

impl Pause {
    /// Checks the schedule, and starts the watchdog and the process that is stopped in the consumer's place.
    pub(crate) fn prepare(order: &PauseOrder, setting: Setting<'_>) -> Result<Self, Refusal> {
        let refused = |why: String| Refusal::new(format!("cannot pause `{}`", order.target), why);
        let changes = changes(&order.spans, setting.intervals).map_err(refused)?;
        if order.longest.as_nanos() == 0 {
            return Err(refused("no process may stay stopped for longer than 0 s".to_owned()));
        }
        let mount = match &order.target {
            Target::Process(_) => None,
            Target::Group(path) => Some(consumer::place_of(path).map_err(refused)?.0),
        };
        let failed = |what: &'static str| {
            move |error: io::Error| refused(format!("cannot start the {what}: {error}"))
        };
        let watchdog = Undo::start(Some(order.longest)).map_err(failed("watchdog"))?;
        let has_sham = order.spans.iter().any(|span| span.state == PauseState::Sham);
        let decoy = has_sham.then(|| Decoy::start(mount.as_deref()));
        let decoy = decoy.transpose().map_err(failed("process that is stopped for comparison"))?;
        let helpers = [watchdog.pid()].into_iter().chain(decoy.as_ref().map(Decoy::pid)).collect();
        let mut pause = Self {
            target: order.target.clone(),
            longest: order.longest,
            changes,
            spared: Spared { subject: setting.subject.to_vec(), helpers },
            guarded: Vec::new(),
            current: None,
            done: Vec::new(),
            opened_ns: monotonic_ns(),
            decoy,
            watchdog,
        };
        pause.guard_decoy().map_err(|error| pause.refused(&error))?;
        Ok(pause)
    }

    fn guard_decoy(&mut self) -> io::Result<()> {
        let Some(decoy) = &self.decoy else { return Ok(()) };
        if let Some(folder) = decoy.folder() {
            self.watchdog.note(&format!("sweep {}", folder.display()))?;
        }
        let guarded = Guarded::new(Side::Decoy, decoy.held()?, vec![decoy.pid()]);
        self.watchdog.hold(&guarded.held)?;
        self.guarded.push(guarded);
        Ok(())
    }

    /// A sample is about to be taken, the first is 0: ends one span and begins the next where it is due.
    pub(crate) fn step(&mut self, sample: u64) -> Result<(), Refusal> {
        if sample == 0 {
            self.opened_ns = monotonic_ns();
            self.find()?;
        }
        self.look()?;
        match self.changes.iter().find(|(at, _)| *at == sample) {
            Some(&(_, next)) => self.change(next),
            None => Ok(()),
        }
    }

    fn find(&mut self) -> Result<(), Refusal> {
        let found = consumer::find(&self.target, &self.spared).map_err(|why| self.refused(&why))?;
        for mut one in found {
            match self.watchdog.hold(&one.held) {
                Ok(()) => {}
                Err(_) if !one.vital && one.held.look().has_ended() => continue,
                Err(error) => return Err(self.unguarded(&error)),
            }
            one.parent = one.pids.first().and_then(|pid| Parent::of(*pid));
            self.guarded.push(one);
        }
        Ok(())
    }

    fn consumer(&self) -> impl Iterator<Item = &Guarded> {
        self.guarded.iter().filter(|one| one.side == Side::Consumer)
    }

    /// Checks that every process is as we left it, also between two samples. Fails if the consumer ended, if the watchdog
    /// is gone or was needed, or if another process stops or resumes the consumer.
    pub(crate) fn look(&mut self) -> Result<(), Refusal> {
        let sights: Vec<Sight> = self.consumer().map(|one| one.held.look()).collect();
        let all = || self.consumer().zip(&sights);
        if let Some((one, _)) = all().find(|(one, sight)| one.vital && sight.has_ended()) {
            return Err(self.ended(one));
        }
        let seen = || all().filter(|(_, sight)| !sight.has_ended());
        let continued = seen().find(|(one, sight)| one.stopped && !sight.is_stopped());
        let stopped = seen().find(|(one, sight)| !one.stopped && sight.stopped > 0);
        // Whoever is killed is seen to run before the end is seen.
        if let Some((one, _)) = continued
            && wait_for(&one.held, Expected::Stopped).has_ended()
            && one.vital
        {
            return Err(self.ended(one));
        }
        let meddled = match (continued, stopped) {
            (Some((one, _)), _) => Some(("continued", one)),
            (None, Some((one, _))) => Some(("stopped", one)),
            (None, None) => None,
        };
        let meddled = meddled.map(|(did, one)| {
            let whom = list_of(&one.pids);
            format!(
                "somebody else {did} {whom} in the middle of the window; is there a supervisor?"
            )
        });
        // Asked after the look: the watchdog says what it does before it does it.
        match self.watchdog.was_late() {
            Ok(false) => meddled.map_or(Ok(()), |why| Err(self.refused(&why))),
            Ok(true) => Err(self.refused(&format!(
                "it was stopped for {}, the longest that was allowed, and the watchdog continued it",
                self.longest
            ))),
            Err(error) => Err(self.unguarded(&error)),
        }
    }

    /// Descriptors that become readable when there is something to see.
    pub(crate) fn wakers(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        // The end of a worker is no news, and would be told for ever.
        let vital = self.consumer().filter(|one| one.vital);
        let ends = vital.filter_map(|one| match &one.held {
            Stoppable::Process(process) => process.end(),
            Stoppable::Group(_) => None,
        });
        ends.chain(self.watchdog.waker())
    }

    fn change(&mut self, next: Option<PauseState>) -> Result<(), Refusal> {
        let before = self.current.take();
        let mut now = monotonic_ns();
        if let Some((state, from_ns)) = before {
            self.done.push(Paused { state, from_ns, to_ns: now });
        }
        if before.map(|(state, _)| state) != next {
            self.continue_all()?;
            match next {
                Some(PauseState::Stopped) => self.stop(Side::Consumer)?,
                Some(PauseState::Sham) => self.stop(Side::Decoy)?,
                Some(PauseState::Runs) | None => {}
            }
            now = monotonic_ns();
        }
        self.current = next.map(|state| (state, now));
        Ok(())
    }

    /// Stops one side, and waits until that is seen. Where it is not, everybody runs again.
    fn stop(&mut self, side: Side) -> Result<(), Refusal> {
        let stopped = self.try_to_stop(side);
        if stopped.is_err() {
            let _ = self.continue_all();
        }
        stopped
    }

    fn try_to_stop(&mut self, side: Side) -> Result<(), Refusal> {
        for number in 0..self.guarded.len() {
            if self.guarded[number].side != side {
                continue;
            }
            let noted = self.watchdog.note(&format!("stops {number}"));
            noted.map_err(|error| self.unguarded(&error))?;
            // Also where it fails half-way: to continue somebody who runs does no harm.
            self.guarded[number].stopped = true;
            let one = &self.guarded[number];
            let Err(error) = one.held.stop() else { continue };
            let ended = one.held.look().has_ended();
            if ended && !one.vital {
                continue;
            }
            let why = format!("{}: {}", list_of(&one.pids), explained(&error));
            let consumer_ended = ended && side == Side::Consumer;
            return Err(if consumer_ended { self.ended(one) } else { self.refused(&why) });
        }
        self.see(side, Expected::Stopped)
    }

    /// Waits until everybody of a side is seen so.
    fn see(&self, side: Side, expected: Expected) -> Result<(), Refusal> {
        for one in self.guarded.iter().filter(|one| one.side == side) {
            let sight = wait_for(&one.held, expected);
            if expected.is(sight) || (sight.has_ended() && !one.vital) {
                continue;
            }
            let consumer_ended = sight.has_ended() && side == Side::Consumer;
            let refused = || self.refused(&excuse(&one.pids, sight));
            return Err(if consumer_ended { self.ended(one) } else { refused() });
        }
        Ok(())
    }

    /// Continues everybody whom we have stopped, waits until that is seen, and tells the watchdog.
    fn continue_all(&mut self) -> Result<(), Refusal> {
        self.send_continue();
        for side in [Side::Consumer, Side::Decoy] {
            if self.guarded.iter().any(|one| one.side == side && one.stopped) {
                self.see(side, Expected::Running)?;
            }
        }
        for number in 0..self.guarded.len() {
            if std::mem::take(&mut self.guarded[number].stopped) {
                let noted = self.watchdog.note(&format!("runs {number}"));
                noted.map_err(|error| self.unguarded(&error))?;
            }
        }
        Ok(())
    }

    fn send_continue(&self) {
        for one in self.guarded.iter().filter(|one| one.stopped) {
            // Whoever has ended needs nothing; whoever does not run is seen.
            let _ = one.held.resume();
        }
    }

    pub(crate) fn finish(mut self) -> Result<Pauses, Refusal> {
        self.continue_all()?;
        self.look()?;
        let mut pids: Vec<u32> = self.consumer().flat_map(|one| &one.pids).copied().collect();
        pids.sort_unstable();
        // Looked at here, because it would be felt in the window. What serves everybody stays connected.
        let asked = peers::asked(&self.spared.subject, &pids);
        Ok(Pauses { pids, spans: std::mem::take(&mut self.done), asked })
    }

    fn refused(&self, why: &dyn std::fmt::Display) -> Refusal {
        Refusal::new(format!("cannot pause `{}`", self.target), why)
    }

    fn unguarded(&self, error: &io::Error) -> Refusal {
        self.refused(&format!(
            "its watchdog does not answer ({error}), and without it no process is stopped"
        ))
    }

    fn ended(&self, one: &Guarded) -> Refusal {
        // Nobody waits stopped for what is looked at here.
        self.send_continue();
        let now = monotonic_ns();
        let since = |from_ns: u64| Span::from_nanos(now.saturating_sub(from_ns));
        let pid = one.pids.first().copied().unwrap_or_default();
        let was_stopped = match self.current {
            Some((PauseState::Stopped, from_ns)) => Some(since(from_ns)),
            _ => None,
        };
        let how = how_it_ended(was_stopped, self.is_back(), one.parent.as_ref());
        let after = since(self.opened_ns).rounded();
        let target = &self.target;
        Refusal::plain(format!(
            "`{target}` (pid {pid}) ended {after} after the window opened, {how}"
        ))
    }

    /// Whether a process of the consumer's name has been started since the window opened. Whoever starts one needs a moment.
    fn is_back(&self) -> bool {
        let Target::Process(name) = &self.target else { return false };
        let is_new = |pid: &u32| !self.consumer().any(|one| one.pids.contains(pid));
        let until = Instant::now() + PATIENCE;
        loop {
            if subject::pids_of(name).unwrap_or_default().iter().any(is_new) {
                return true;
            }
            if Instant::now() > until {
                return false;
            }
            sleep(POLLS.1);
        }
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        self.send_continue();
    }
}

/// The sample at which a span begins, and its state; `None` is the end of the last span.
type Change = (u64, Option<PauseState>);

/// The changes in a window of this many intervals between samples.
fn changes(spans: &[PauseSpan], intervals: u64) -> Result<Vec<Change>, String> {
    let (mut changes, mut at) = (Vec::with_capacity(spans.len() + 1), 0);
    for span in spans {
        if span.intervals == 0 {
            return Err("a span of no interval was ordered".to_owned());
        }
        changes.push((at, Some(span.state)));
        at += u64::from(span.intervals);
    }
    if at != intervals || spans.is_empty() {
        return Err(format!(
            "the spans are {at} sampling intervals, and the window is {intervals}"
        ));
    }
    changes.push((at, None));
    Ok(changes)
}

/// Whether the consumer was stopped as it ended, and for how long; who has started it again; and what to do.
fn how_it_ended(was_stopped: Option<Span>, is_back: bool, parent: Option<&Parent>) -> String {
    let when = was_stopped.map_or_else(
        || "in the middle of the experiment".to_owned(),
        |since| format!("{} after it was stopped", since.rounded()),
    );
    let who = parent.map(|Parent { pid, name }| format!("`{name}` (pid {pid})"));
    let back = match (is_back, who) {
        (true, Some(who)) => format!(", and was started again, it seems by its parent {who}"),
        (true, None) => ", and was started again".to_owned(),
        (false, Some(who)) => format!("; its parent is {who}"),
        (false, None) => String::new(),
    };
    let advice = match (was_stopped.is_some(), is_back) {
        (false, false) => "",
        _ => {
            ". A watchdog ends whoever is silent for too long: choose a shorter --span, or switch it off for the run"
        }
    };
    format!("{when}{back}{advice}")
}

/// How somebody is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Stopped,
    /// Or ended: that is told by the next look.
    Running,
}

impl Expected {
    fn is(self, sight: Sight) -> bool {
        match self {
            Self::Stopped => sight.is_stopped(),
            Self::Running => sight.runs() || sight.has_ended(),
        }
    }
}

/// Waits until somebody is seen so, has ended, or patience is over: the last sight.
fn wait_for(held: &Stoppable, expected: Expected) -> Sight {
    let until = Instant::now() + PATIENCE;
    let (mut pause, longest) = POLLS;
    loop {
        let sight = held.look();
        if expected.is(sight) || sight.has_ended() || Instant::now() > until {
            return sight;
        }
        if expected == Expected::Stopped {
            // Where that fails too, it is seen that nobody stops.
            let _ = held.insist(sight);
        }
        sleep(pause);
        pause = (pause * 2).min(longest);
    }
}

/// The system's words, and what to do where that is known.
fn explained(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("{error}; the agent must run as root"),
        _ => error.to_string(),
    }
}

/// Why somebody is not as we want it.
fn excuse(pids: &[u32], sight: Sight) -> String {
    let whom = list_of(pids);
    let (is, does) = if pids.len() == 1 { ("is", "does") } else { ("are", "do") };
    match sight {
        sight if sight.uninterruptible > 0 => {
            format!(
                "{whom} {is} in uninterruptible sleep and cannot be stopped; nothing is left stopped"
            )
        }
        sight if sight.traced > 0 => format!("{whom} {is} held by a debugger; end that first"),
        sight if sight.stopped == 0 => {
            format!("{whom} {does} not stop within 1 s; nothing is left stopped")
        }
        _ => format!("{whom} {does} not run again within 1 s of being continued"),
    }
}

#[cfg(test)]
mod tests {
    use PauseState::{Runs, Sham, Stopped};

    use super::*;

    #[test]
    fn spans_follow_each_other_and_are_the_window() {
        let changes = |spans: &[(PauseState, u32)], intervals| {
            let span = |&(state, intervals)| PauseSpan { state, intervals };
            super::changes(&spans.iter().map(span).collect::<Vec<_>>(), intervals)
        };
        let expected = vec![(0, Some(Runs)), (2, Some(Stopped)), (3, Some(Sham)), (5, None)];
        assert_eq!(changes(&[(Runs, 2), (Stopped, 1), (Sham, 2)], 5), Ok(expected));
        assert!(changes(&[(Runs, 4)], 5).unwrap_err().contains("4 sampling intervals"));
        assert!(changes(&[], 0).is_err() && changes(&[(Runs, 0), (Runs, 5)], 5).is_err());
    }

    #[test]
    fn an_excuse_names_what_is_in_the_way() {
        let alive = Sight { alive: 2, ..Sight::default() };
        let asleep = Sight { uninterruptible: 1, ..alive };
        assert!(excuse(&[7], asleep).starts_with("pid 7 is in uninterruptible sleep"));
        assert!(excuse(&[7, 8], asleep).starts_with("pids 7 and 8 are in uninterruptible sleep"));
        assert!(excuse(&[7], Sight { traced: 1, ..alive }).contains("debugger"));
        assert!(excuse(&[7, 8], alive).contains("do not stop"));
        assert!(excuse(&[7], Sight { stopped: 2, ..alive }).contains("does not run again"));
        let how = |stopped: Option<u64>, back, parent: Option<&Parent>| {
            how_it_ended(stopped.map(Span::from_nanos), back, parent)
        };
        let parent = Parent { pid: 71, name: "superv.sh".to_owned() };
        assert_eq!(how(None, false, None), "in the middle of the experiment");
        let watched = how(Some(4_134_949_508), true, Some(&parent));
        let says = "4.1 s after it was stopped, and was started again, it seems by its parent `superv.sh` (pid 71). A watchdog";
        assert!(watched.starts_with(says), "{watched}");
        assert!(explained(&rustix::io::Errno::PERM.into()).contains("as root"));
    }
}
