//! One trial's raw counters as figures: what was spent in the window, by whom, and how often.
//!
//! # How a rate is made
//!
//! Counters are differences between neighbouring samples, summed; time is the difference of the
//! samples' own `at_ns`. A thread that appears within the window counts in full, one that disappears
//! counts up to its last sample; the control group misses neither, which is why it comes first.
//! A counter that falls makes the trial invalid: there is no honest reading of it.

mod window;

use model::{
    reading::Reading,
    study::{HostLoad, Mode},
    trial::{HostCost, Outcome, Trial, TrialId},
};
use serde::Serialize;

pub(crate) use self::window::Window;
use crate::{census, counters::Source};

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
    /// Other processes that the study counts alongside it, together.
    Others,
    /// headroom's own agent; in no sum.
    Agent,
    /// Subject, load and others together: the headline.
    Sum,
}

/// How much of a window a process was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ran {
    /// In every sample.
    Throughout,
    /// In some samples; its CPU is known from the first to the last of these only.
    Partly,
    /// In no sample: it adds nothing.
    Never,
}

/// Another process that was to be counted, in one window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherFigures {
    pub name: String,
    /// How much of the window it was there.
    pub ran: Ran,
    /// Its CPU; `None` where it did not run, or where nothing counts it.
    pub cpu: Option<Cpu>,
}

/// The subject's CPU by every counter that the machine has, µs/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Readings {
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
    pub pid: u32,
    pub tid: u32,
    pub name: String,
    /// CPU, µs/s (`schedstat`, else ticks).
    pub us_per_second: Option<f64>,
    /// Context switches that it asked for, each second.
    pub voluntary_per_second: f64,
    pub involuntary_per_second: f64,
}

/// Memory of the subject at both ends of the window, KiB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MemoryFigures {
    pub rss_start_kib: u64,
    pub rss_end_kib: u64,
    /// The most that the control group held until the last sample, shared memory and files in memory included.
    pub group_kib: Option<u64>,
    pub pss_start_kib: Option<u64>,
    pub pss_end_kib: Option<u64>,
}

/// IO of the subject, each second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct IoFigures {
    pub read_calls: f64,
    pub write_calls: f64,
    pub read_bytes: f64,
    pub write_bytes: f64,
}

/// The load's rounds inside the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RoundFigures {
    pub ended: u64,
    pub failed: u64,
    /// Rounds left out.
    pub skipped: u64,
}

/// CPU between two neighbouring samples, µs/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// From the window's opening to the end of this step, s.
    pub at_s: f64,
    pub length_s: f64,
    pub subject: f64,
    /// Load, where it is counted.
    pub load: Option<f64>,
    /// Other processes together, where one runs and all are counted.
    pub others: Option<f64>,
    /// All of them; `None` where one of the others is not counted.
    pub sum: Option<f64>,
}

impl Step {
    /// CPU of a part, µs/s; the agent's is not taken step by step.
    pub(crate) fn part(&self, part: Part) -> Option<f64> {
        match part {
            Part::Subject => Some(self.subject),
            Part::Load => self.load,
            Part::Others => self.others,
            Part::Agent => None,
            Part::Sum => self.sum,
        }
    }
}

/// Everything that one valid trial says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialFigures {
    pub id: TrialId,
    pub mode: Mode,
    pub host_load: HostLoad,
    /// From the first sample to the last, s.
    pub window_s: f64,
    pub samples: u32,
    pub subject: Cpu,
    /// Load; `None` where there is none, or where nothing counts it.
    pub load: Option<Cpu>,
    /// Other processes, in the order's order.
    pub others: Vec<OtherFigures>,
    /// Those of them that ran, together; `None` where none did, or one has no counter.
    pub others_sum: Option<Cpu>,
    /// The agent itself, where it is counted; in no sum.
    pub agent: Option<Cpu>,
    /// Subject, load and others; `None` where one of the others ran uncounted.
    pub sum: Option<Cpu>,
    /// What the subject spent between the window's end and the end of the drain, µs; `None` where none was ordered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub put_off_us: Option<f64>,
    pub readings: Readings,
    pub threads: Vec<ThreadFigures>,
    pub memory: Option<MemoryFigures>,
    pub io: Option<IoFigures>,
    /// Context switches of the subject's threads that they asked for, each second.
    pub voluntary_per_second: f64,
    /// Context switches of the subject's threads that they suffered, each second.
    pub involuntary_per_second: f64,
    pub rounds: RoundFigures,
    /// Share of the machine's CPU time that was not idle.
    pub machine_busy: Option<f64>,
    pub series: Vec<Step>,
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
            Part::Others => self.others_sum.map(|cpu| cpu.us_per_second),
            Part::Agent => self.agent.map(|cpu| cpu.us_per_second),
            Part::Sum => self.sum.map(|cpu| cpu.us_per_second),
        }
    }

    pub fn other(&self, name: &str) -> Option<&OtherFigures> {
        self.others.iter().find(|other| other.name == name)
    }
}

/// A trial that gives no figure, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InvalidTrial {
    pub id: TrialId,
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

fn measured(trial: &Trial, recording: &Reading) -> Result<TrialFigures, String> {
    census::check(trial.planned.id.clients, recording)?;
    let window = Window::of(trial, recording)?;
    let spent = window.spent()?;
    let rounds = window.rounds(spent.load)?;
    let threads = window.threads();
    let switches = |of: fn(&ThreadFigures) -> f64| threads.iter().map(of).sum::<f64>();
    Ok(TrialFigures {
        id: trial.planned.id.clone(),
        mode: trial.planned.mode,
        host_load: trial.planned.host_load,
        window_s: window.seconds,
        samples: recording.samples.len() as u32,
        series: window.series(&spent),
        subject: spent.subject,
        load: spent.load,
        others: spent.others,
        others_sum: spent.others_sum,
        agent: spent.agent,
        sum: spent.sum,
        put_off_us: window.put_off_us(spent.subject.source),
        readings: window.readings(),
        voluntary_per_second: switches(|thread| thread.voluntary_per_second),
        involuntary_per_second: switches(|thread| thread.involuntary_per_second),
        threads,
        memory: window.memory(),
        io: window.io(),
        rounds,
        machine_busy: window.machine_busy(),
        cost: trial.cost,
        speed: speed(window.seconds, trial.cost),
    })
}

fn speed(window_s: f64, cost: HostCost) -> Option<f64> {
    (cost.window_ms > 0).then(|| window_s * 1e3 / cost.window_ms as f64)
}

#[cfg(test)]
mod tests {
    use model::sample::{Account, Group, Task};

    use super::*;
    use crate::{fixture, judge::test_data::recording};

    fn first() -> Trial {
        fixture::trials(&fixture::run()).remove(0)
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
    fn a_group_held_the_most_that_a_sample_saw_and_one_unknown_sample_makes_it_unknown() {
        let mut trial = first();
        let hold = |trial: &mut Trial, held: [Option<u64>; 3]| {
            let samples = &mut recording(trial).samples;
            samples.truncate(3);
            for (sample, held_kib) in samples.iter_mut().zip(held) {
                sample.subject.group.as_mut().unwrap().held_kib = held_kib;
            }
            of(trial).unwrap().memory.unwrap().group_kib
        };
        assert_eq!(hold(&mut trial, [Some(7), Some(900), Some(8)]), Some(900));
        assert_eq!(hold(&mut trial, [Some(7), None, Some(8)]), None);
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

    /// A trial of a stage of the fixture: subject, a load that stays, and hostapd alongside them.
    fn stage() -> Trial {
        fixture::trials(&fixture::stations()).remove(0)
    }

    #[test]
    fn what_others_do_counts_and_is_shown_apart() {
        let figures = of(&stage()).unwrap();
        let [load, hostapd] = [figures.load.unwrap(), figures.others_sum.unwrap()];
        assert_eq!(figures.other("hostapd").unwrap().cpu, Some(hostapd));
        let spent = figures.subject.spent_ns + load.spent_ns + hostapd.spent_ns;
        assert_eq!(figures.sum.unwrap().spent_ns, spent);
        let steps: f64 = figures.series.iter().map(|step| step.sum.unwrap() * step.length_s).sum();
        assert!((steps * 1e3 - spent as f64).abs() < 1.0, "{steps} µs in steps, {spent} ns in all");
    }

    #[test]
    fn another_process_that_did_not_run_adds_nothing() {
        let mut trial = stage();
        recording(&mut trial).samples.iter_mut().for_each(|sample| sample.others.clear());
        let figures = of(&trial).unwrap();
        let hostapd = figures.other("hostapd").unwrap();
        assert_eq!((hostapd.ran, hostapd.cpu, figures.others_sum), (Ran::Never, None, None));
        let both = figures.subject.spent_ns + figures.load.unwrap().spent_ns;
        assert_eq!(figures.sum.unwrap().spent_ns, both);
    }

    #[test]
    fn another_process_that_nothing_counts_leaves_no_sum() {
        let mut trial = stage();
        for other in recording(&mut trial).samples.iter_mut().flat_map(|one| &mut one.others) {
            other.account = Account::default();
        }
        let figures = of(&trial).unwrap();
        assert_eq!(figures.other("hostapd").unwrap().ran, Ran::Throughout);
        assert_eq!((figures.sum, figures.others_sum), (None, None));
        assert!(figures.series.iter().all(|step| step.sum.is_none()));
    }

    #[test]
    fn another_process_that_came_late_counts_from_its_first_sample() {
        let mut trial = stage();
        let whole = of(&trial).unwrap().others_sum.unwrap().spent_ns;
        recording(&mut trial).samples[0].others.clear();
        let figures = of(&trial).unwrap();
        assert_eq!(figures.other("hostapd").unwrap().ran, Ran::Partly);
        // The group's grain is 1 µs at both ends.
        let late = figures.others_sum.unwrap().spent_ns;
        assert!(late.abs_diff(whole / 20 * 19) < 2_000, "{late} of {whole}");
    }

    #[test]
    fn a_load_that_stays_has_no_rounds() {
        assert_eq!(of(&stage()).unwrap().rounds, RoundFigures::default());
    }

    #[test]
    fn what_contradicts_the_plan_is_no_figure_and_says_why() {
        let all = fixture::trials(&fixture::run());
        let loaded = all.into_iter().find(|trial| trial.planned.order.load.is_some()).unwrap();
        type Change = fn(&mut Vec<model::sample::Sample>);
        let cases: [(Trial, Change, &str); 5] = [
            (first(), |samples| samples.truncate(1), "no window: 1 sample"),
            (
                first(),
                |samples| samples.last_mut().unwrap().subject.group = Some(Group::default()),
                "a CPU counter of the subject ran backwards",
            ),
            (
                stage(),
                |samples| {
                    let last = samples.last_mut().unwrap();
                    last.others[0].account.group = Some(Group::default());
                },
                "of `hostapd` ran backwards",
            ),
            (
                loaded,
                |samples| samples.last_mut().unwrap().rounds.failed += 1_000,
                "the load failed",
            ),
            (
                stage(),
                |samples| {
                    let group = Some(Group::default());
                    let still = Account { group, ..Account::default() };
                    samples.iter_mut().for_each(|sample| sample.load = Some(still.clone()));
                },
                "took no CPU time",
            ),
        ];
        for (mut trial, change, why) in cases {
            change(&mut recording(&mut trial).samples);
            let found = of(&trial).unwrap_err().why;
            assert!(found.contains(why), "{found}");
        }
    }
}
