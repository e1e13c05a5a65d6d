//! One trial's raw counters as figures: what was spent in the window, by whom, and how often.
//!
//! Reads a [`Trial`] and gives [`TrialFigures`], or the reason why the trial cannot be used. It knows
//! nothing of other trials.
//!
//! # How a rate is made
//!
//! Counters are differences between neighbouring samples, summed; time is the difference of the
//! samples' own `at_ns`. A thread that appears within the window counts in full, one that disappears
//! counts up to its last sample; the control group misses neither, which is why it comes first.
//! A counter that falls makes the trial invalid: there is no honest reading of it.

use model::{
    sample::{Account, Sample},
    study::{Beside, Mode},
    trial::{HostCost, Outcome, Recording, Trial, TrialId},
};
use serde::Serialize;

use crate::{
    census,
    counters::{self, Source},
};

/// Nanoseconds that one instruction takes in counted mode (`-icount shift=1` is 2^1 ns).
pub const NANOSECONDS_PER_INSTRUCTION: f64 = 2.0;

/// CPU time spent in the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cpu {
    /// Exactly as counted, ns.
    pub spent_ns: u64,
    /// µs of CPU time for each second of the window.
    pub us_per_second: f64,
    /// The same as a share of one core, 1 is a full core.
    pub share_of_core: f64,
    /// Executed instructions for each second of the window; counted mode only.
    pub instructions_per_second: Option<f64>,
    /// Which counter this is.
    pub source: Source,
}

/// Who spends CPU time in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The process that the study asks about.
    Subject,
    /// The programs that make it work.
    Load,
    /// headroom's own agent; in no sum.
    Agent,
    /// Subject and load together: the headline.
    Sum,
}

/// The subject's CPU by every counter that the machine has, µs/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Readings {
    /// Control group.
    pub group: Option<f64>,
    /// Of it in user mode, where the kernel tells.
    pub group_user: Option<f64>,
    /// Of it in the kernel, where the kernel tells.
    pub group_system: Option<f64>,
    /// `schedstat`, summed over threads.
    pub schedstat: Option<f64>,
    /// The same over the whole window, exactly as counted, ns.
    pub schedstat_ns: Option<u64>,
    /// utime + stime, summed over threads.
    pub ticks: Option<f64>,
    /// One tick for utime and one for stime of each thread, spread over the window: how far `ticks` can
    /// be off by its grain alone.
    pub ticks_grain: Option<f64>,
}

/// One thread of the subject in one window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadFigures {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// CPU, µs/s (`schedstat`, else ticks).
    pub us_per_second: Option<f64>,
    /// Context switches that it asked for, each second.
    pub voluntary_per_second: f64,
    /// Context switches that it suffered, each second.
    pub involuntary_per_second: f64,
}

/// Memory of the subject at both ends of the window, KiB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MemoryFigures {
    /// Resident at the first sample.
    pub rss_start_kib: u64,
    /// Resident at the last sample.
    pub rss_end_kib: u64,
    /// Proportional at the first sample.
    pub pss_start_kib: Option<u64>,
    /// Proportional at the last sample.
    pub pss_end_kib: Option<u64>,
}

/// IO of the subject, each second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct IoFigures {
    /// Read calls.
    pub read_calls: f64,
    /// Write calls.
    pub write_calls: f64,
    /// Bytes read.
    pub read_bytes: f64,
    /// Bytes written.
    pub write_bytes: f64,
}

/// The load's rounds inside the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RoundFigures {
    /// Ended.
    pub ended: u64,
    /// Commands that failed.
    pub failed: u64,
    /// Rounds left out.
    pub skipped: u64,
}

/// CPU between two neighbouring samples, µs/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// From the window's opening to the end of this step, s.
    pub at_s: f64,
    /// Length, s.
    pub length_s: f64,
    /// Subject.
    pub subject: f64,
    /// Load, where it is counted.
    pub load: Option<f64>,
    /// Both.
    pub sum: f64,
}

/// Everything that one valid trial says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialFigures {
    /// Which trial.
    pub id: TrialId,
    /// Its mode.
    pub mode: Mode,
    /// What the host did beside it.
    pub beside: Beside,
    /// From the first sample to the last, s.
    pub window_s: f64,
    /// Samples in it.
    pub samples: u32,
    /// Subject.
    pub subject: Cpu,
    /// Load; `None` where there is none, or where nothing counts it.
    pub load: Option<Cpu>,
    /// The agent itself, where it is counted; in no sum.
    pub agent: Option<Cpu>,
    /// Subject and load.
    pub sum: Cpu,
    /// The subject by every counter.
    pub readings: Readings,
    /// The subject's threads.
    pub threads: Vec<ThreadFigures>,
    /// The subject's memory.
    pub memory: Option<MemoryFigures>,
    /// The subject's IO.
    pub io: Option<IoFigures>,
    /// Context switches of the subject's threads that they asked for, each second.
    pub voluntary_per_second: f64,
    /// Context switches of the subject's threads that they suffered, each second.
    pub involuntary_per_second: f64,
    /// The load's rounds.
    pub rounds: RoundFigures,
    /// Share of the machine's CPU time that was not idle.
    pub machine_busy: Option<f64>,
    /// Second by second.
    pub series: Vec<Step>,
    /// Wall time that the host took.
    pub cost: HostCost,
    /// Window over wall time of the window: how many times faster than real time it went.
    pub speed: Option<f64>,
}

impl TrialFigures {
    /// CPU of a part, µs/s.
    pub fn part(&self, part: Part) -> Option<f64> {
        match part {
            Part::Subject => Some(self.subject.us_per_second),
            Part::Load => self.load.map(|cpu| cpu.us_per_second),
            Part::Agent => self.agent.map(|cpu| cpu.us_per_second),
            Part::Sum => Some(self.sum.us_per_second),
        }
    }
}

/// A trial that gives no figure, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InvalidTrial {
    /// Which.
    pub id: TrialId,
    /// The reason, one line.
    pub why: String,
    /// The end of the access point's console.
    pub console: Vec<String>,
}

/// A trial's figures, or why it has none.
///
/// # Errors
///
/// [`InvalidTrial`] where the trial could not measure, or where what it recorded contradicts its plan.
pub(crate) fn of(trial: &Trial) -> Result<TrialFigures, InvalidTrial> {
    let invalid = |why: String, console: &[String]| InvalidTrial {
        id: trial.planned.id.clone(),
        why,
        console: console.to_vec(),
    };
    match &trial.outcome {
        Outcome::Invalid { why, console } => Err(invalid(why.clone(), console)),
        Outcome::Measured(recording) => measured(trial, recording).map_err(|why| invalid(why, &[])),
    }
}

fn measured(trial: &Trial, recording: &Recording) -> Result<TrialFigures, String> {
    census::check(trial.planned.id.clients, recording)?;
    let window = Window::of(trial, recording)?;
    let rounds = window.rounds()?;
    let subject = window.cpu(|sample| Some(&sample.subject))?;
    let subject = subject.ok_or("the subject has neither a control group nor threads to count")?;
    let load = window.cpu(|sample| sample.load.as_ref())?;
    let threads = window.threads();
    let switches = |of: fn(&ThreadFigures) -> f64| threads.iter().map(of).sum::<f64>();
    Ok(TrialFigures {
        id: trial.planned.id.clone(),
        mode: trial.planned.mode,
        beside: trial.planned.beside,
        window_s: window.seconds,
        samples: recording.samples.len() as u32,
        subject,
        load,
        agent: window.cpu(|sample| Some(&sample.agent))?,
        sum: window.sum(subject, load),
        readings: window.readings(),
        voluntary_per_second: switches(|thread| thread.voluntary_per_second),
        involuntary_per_second: switches(|thread| thread.involuntary_per_second),
        threads,
        memory: window.memory(),
        io: window.io(),
        rounds,
        machine_busy: window.machine_busy(),
        series: window.series(subject.source, load.map(|cpu| cpu.source)),
        cost: trial.cost,
        speed: speed(window.seconds, trial.cost),
    })
}

fn speed(window_s: f64, cost: HostCost) -> Option<f64> {
    (cost.window_ms > 0).then(|| window_s * 1e3 / cost.window_ms as f64)
}

/// A recording's samples with the time between them.
struct Window<'a> {
    recording: &'a Recording,
    first: &'a Sample,
    last: &'a Sample,
    mode: Mode,
    has_load: bool,
    seconds: f64,
}

impl<'a> Window<'a> {
    fn of(trial: &Trial, recording: &'a Recording) -> Result<Self, String> {
        let [first, .., last] = recording.samples.as_slice() else {
            return Err(format!("{} samples are no window", recording.samples.len()));
        };
        if recording.samples.windows(2).any(|pair| pair[1].at_ns <= pair[0].at_ns) {
            return Err("the access point's clock stood still or ran backwards".to_owned());
        }
        Ok(Self {
            recording,
            first,
            last,
            mode: trial.planned.mode,
            has_load: trial.planned.measure.load.is_some(),
            seconds: (last.at_ns - first.at_ns) as f64 / 1e9,
        })
    }

    /// A count as a rate over the window.
    fn rate(&self, count: u64) -> f64 {
        count as f64 / self.seconds
    }

    /// CPU of the account that `of` picks, by the best counter that every sample has.
    fn cpu(&self, of: impl Fn(&Sample) -> Option<&Account>) -> Result<Option<Cpu>, String> {
        let Some(accounts) = self.recording.samples.iter().map(of).collect::<Option<Vec<_>>>()
        else {
            return Ok(None);
        };
        let Some(source) = Source::best(&accounts, self.ticks()) else { return Ok(None) };
        let spent = counters::spent(source, &accounts, self.ticks())
            .ok_or("a CPU counter ran backwards within the window")?;
        Ok(Some(self.spent(spent, source)))
    }

    fn ticks(&self) -> u64 {
        self.recording.facts.clk_tck
    }

    fn spent(&self, spent_ns: u64, source: Source) -> Cpu {
        let per_second = self.rate(spent_ns);
        Cpu {
            spent_ns,
            us_per_second: per_second / 1e3,
            share_of_core: per_second / 1e9,
            instructions_per_second: (self.mode == Mode::Counted)
                .then_some(per_second / NANOSECONDS_PER_INSTRUCTION),
            source,
        }
    }

    fn sum(&self, subject: Cpu, load: Option<Cpu>) -> Cpu {
        let load_ns = load.map_or(0, |load| load.spent_ns);
        self.spent(subject.spent_ns.saturating_add(load_ns), subject.source)
    }

    fn readings(&self) -> Readings {
        let accounts: Vec<_> =
            self.recording.samples.iter().map(|sample| &sample.subject).collect();
        let spent = |source| counters::spent(source, &accounts, self.ticks());
        let by = |source| Some(self.rate(spent(source)?) / 1e3);
        let half = |of: fn(&model::sample::Group) -> Option<u64>| {
            let ends = [&self.first.subject, &self.last.subject];
            let [from, to] = ends.map(|account| account.group.as_ref().and_then(of));
            Some(self.rate(to?.checked_sub(from?)?) / 1e3)
        };
        Readings {
            group: by(Source::Group),
            group_user: half(|group| group.user_ns),
            group_system: half(|group| group.system_ns),
            schedstat: by(Source::Schedstat),
            schedstat_ns: spent(Source::Schedstat),
            ticks: by(Source::Ticks),
            ticks_grain: self.ticks_grain(),
        }
    }

    fn ticks_grain(&self) -> Option<f64> {
        let tasks = self.last.subject.tasks.len() as f64;
        (self.ticks() > 0).then(|| 2.0 * tasks * 1e6 / self.ticks() as f64 / self.seconds)
    }

    fn threads(&self) -> Vec<ThreadFigures> {
        let spent = counters::by_thread(&self.recording.samples, self.ticks());
        spent
            .into_iter()
            .map(|thread| ThreadFigures {
                pid: thread.pid,
                tid: thread.tid,
                name: thread.name,
                us_per_second: thread.spent_ns.map(|ns| self.rate(ns) / 1e3),
                voluntary_per_second: self.rate(thread.voluntary),
                involuntary_per_second: self.rate(thread.involuntary),
            })
            .collect()
    }

    fn memory(&self) -> Option<MemoryFigures> {
        let (start, end) = (self.first.subject.memory?, self.last.subject.memory?);
        Some(MemoryFigures {
            rss_start_kib: start.rss_kib,
            rss_end_kib: end.rss_kib,
            pss_start_kib: start.pss_kib,
            pss_end_kib: end.pss_kib,
        })
    }

    fn io(&self) -> Option<IoFigures> {
        let (from, to) = (self.first.subject.io?, self.last.subject.io?);
        Some(IoFigures {
            read_calls: self.rate(to.read_calls.checked_sub(from.read_calls)?),
            write_calls: self.rate(to.write_calls.checked_sub(from.write_calls)?),
            read_bytes: self.rate(to.read_bytes.checked_sub(from.read_bytes)?),
            write_bytes: self.rate(to.write_bytes.checked_sub(from.write_bytes)?),
        })
    }

    fn rounds(&self) -> Result<RoundFigures, String> {
        let (from, to) = (&self.first.rounds, &self.last.rounds);
        let rose = |from: u64, to: u64| {
            to.checked_sub(from).ok_or("a count of rounds ran backwards within the window")
        };
        let rounds = RoundFigures {
            ended: rose(from.ended, to.ended)?,
            failed: rose(from.failed, to.failed)?,
            skipped: rose(from.skipped, to.skipped)?,
        };
        self.load_worked(rounds).map(|()| rounds)
    }

    /// A load that does nothing, or fails every time, answers no question.
    fn load_worked(&self, rounds: RoundFigures) -> Result<(), String> {
        if !self.has_load {
            return Ok(());
        }
        if rounds.ended == 0 {
            return Err("no round of the load ended within the window".to_owned());
        }
        if rounds.failed >= rounds.ended {
            return Err(format!(
                "the load failed: {} commands failed in {} rounds; run it by hand with `headroom up`",
                rounds.failed, rounds.ended
            ));
        }
        Ok(())
    }

    fn machine_busy(&self) -> Option<f64> {
        let busy = self.last.machine.busy.checked_sub(self.first.machine.busy)? as f64;
        let idle = self.last.machine.idle.checked_sub(self.first.machine.idle)? as f64;
        (busy + idle > 0.0).then(|| busy / (busy + idle))
    }

    fn series(&self, subject: Source, load: Option<Source>) -> Vec<Step> {
        self.recording.samples.windows(2).map(|pair| self.step(pair, subject, load)).collect()
    }

    fn step(&self, pair: &[Sample], subject: Source, load: Option<Source>) -> Step {
        let length_s = (pair[1].at_ns - pair[0].at_ns) as f64 / 1e9;
        let rate = |source, accounts: &[&Account]| {
            let ns = counters::spent(source, accounts, self.ticks())?;
            Some(ns as f64 / 1e3 / length_s)
        };
        // Whether the counter exists and rises was settled for the whole window before.
        let subject = rate(subject, &[&pair[0].subject, &pair[1].subject]).unwrap_or(0.0);
        let load = load.zip(pair[0].load.as_ref().zip(pair[1].load.as_ref()));
        let load = load.and_then(|(source, (from, to))| rate(source, &[from, to]));
        Step {
            at_s: (pair[1].at_ns - self.first.at_ns) as f64 / 1e9,
            length_s,
            subject,
            load,
            sum: subject + load.unwrap_or(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::sample::{Group, Task};

    use super::*;
    use crate::fixture;

    fn first() -> Trial {
        fixture::trials(&fixture::run()).remove(0)
    }

    fn recording(trial: &mut Trial) -> &mut Recording {
        match &mut trial.outcome {
            Outcome::Measured(recording) => recording,
            Outcome::Invalid { .. } => panic!("the fixture's first trial is valid"),
        }
    }

    #[test]
    fn the_rate_uses_the_samples_own_clock() {
        let mut trial = first();
        let samples = &mut recording(&mut trial).samples;
        let group = |usage_ns| Some(Group { usage_ns, ..Group::default() });
        samples.truncate(2);
        samples[0].at_ns = 1_000_000_000;
        samples[1].at_ns = 3_000_000_000;
        samples[0].subject.group = group(5_000_000);
        samples[1].subject.group = group(9_000_000);
        let figures = of(&trial).unwrap();
        assert_eq!(figures.window_s, 2.0);
        assert_eq!(figures.subject.spent_ns, 4_000_000);
        assert_eq!(figures.subject.us_per_second, 2_000.0);
        assert_eq!(figures.subject.share_of_core, 0.002);
        assert_eq!(figures.subject.instructions_per_second, Some(1_000_000.0));
    }

    #[test]
    fn without_a_group_the_threads_are_summed_and_new_ones_count_in_full() {
        let mut trial = first();
        let samples = &mut recording(&mut trial).samples;
        samples.truncate(2);
        let task = |tid, run_ns| Task { tid, run_ns: Some(run_ns), ..Task::default() };
        for sample in samples.iter_mut() {
            sample.subject.group = None;
        }
        samples[0].subject.tasks = vec![task(1, 100)];
        samples[1].subject.tasks = vec![task(1, 150), task(2, 30)];
        let figures = of(&trial).unwrap();
        assert_eq!(figures.subject.source, Source::Schedstat);
        assert_eq!(figures.subject.spent_ns, 80);
    }

    #[test]
    fn a_counter_that_falls_is_no_figure() {
        let mut trial = first();
        let last = recording(&mut trial).samples.last_mut().unwrap();
        last.subject.group = Some(Group::default());
        assert!(of(&trial).unwrap_err().why.contains("backwards"));
    }

    #[test]
    fn a_load_that_always_fails_is_no_figure() {
        let run = fixture::run();
        let mut trial = fixture::trials(&run)
            .into_iter()
            .find(|trial| trial.planned.measure.load.is_some())
            .unwrap();
        recording(&mut trial).samples.last_mut().unwrap().rounds.failed += 1_000;
        assert!(of(&trial).unwrap_err().why.contains("the load failed"));
    }

    #[test]
    fn one_sample_is_no_window() {
        let mut trial = first();
        recording(&mut trial).samples.truncate(1);
        assert_eq!(of(&trial).unwrap_err().why, "1 samples are no window");
    }
}
