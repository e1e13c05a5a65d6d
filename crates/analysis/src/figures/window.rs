//! The samples of one trial with the time between them: counters become rates here.

use model::plural::count;
use model::{
    reading::Reading,
    sample::{Account, Group, Sample},
    study::Mode,
    trial::Trial,
    wire::{TrialOrder, Work},
};

use super::{
    Cpu, IoFigures, MemoryFigures, NANOSECONDS_PER_INSTRUCTION, OtherFigures, Ran, Readings,
    RoundFigures, Step, ThreadFigures,
};
use crate::counters::{self, Source};

/// A recording's samples with the time between them.
pub(crate) struct Window<'a> {
    recording: &'a Reading,
    order: &'a TrialOrder,
    first: &'a Sample,
    last: &'a Sample,
    mode: Mode,
    pub(crate) seconds: f64,
}

/// Everybody's CPU in a window, apart and summed.
pub(crate) struct Spent {
    pub(crate) subject: Cpu,
    pub(crate) load: Option<Cpu>,
    pub(crate) others: Vec<OtherFigures>,
    /// Those of `others` that ran, together; `None` where none did, or one has no counter.
    pub(crate) others_sum: Option<Cpu>,
    /// `None` where one of `others` ran uncounted.
    pub(crate) sum: Option<Cpu>,
    pub(crate) agent: Option<Cpu>,
}

impl<'a> Window<'a> {
    pub(crate) fn of(trial: &'a Trial, recording: &'a Reading) -> Result<Self, String> {
        let [first, .., last] = recording.samples.as_slice() else {
            return Err(format!("no window: {}", count(recording.samples.len(), "sample")));
        };
        if recording.samples.windows(2).any(|pair| pair[1].at_ns <= pair[0].at_ns) {
            return Err("the access point's clock stood still or ran backwards".to_owned());
        }
        Ok(Self {
            recording,
            order: &trial.planned.order,
            first,
            last,
            mode: trial.planned.mode,
            seconds: (last.at_ns - first.at_ns) as f64 / 1e9,
        })
    }

    /// A count as a rate over the window.
    fn rate(&self, count: u64) -> f64 {
        count as f64 / self.seconds
    }

    fn ticks(&self) -> u64 {
        self.recording.facts.clk_tck
    }

    pub(crate) fn spent(&self) -> Result<Spent, String> {
        let subject = self.everywhere("the subject", |sample| Some(&sample.subject))?;
        let subject =
            subject.ok_or("the subject has neither a control group nor threads to count")?;
        let load = self.everywhere("the load", |sample| sample.load.as_ref())?;
        let names = self.order.others.iter();
        let others = names.map(|name| self.other(name)).collect::<Result<Vec<_>, _>>()?;
        let uncounted = others.iter().any(|other| other.ran != Ran::Never && other.cpu.is_none());
        let others_sum = self.together(others.iter().filter_map(|other| other.cpu), uncounted);
        let parts = [Some(subject), load, others_sum].into_iter().flatten();
        Ok(Spent {
            sum: self.together(parts, uncounted),
            agent: self.everywhere("the agent", |sample| Some(&sample.agent))?,
            subject,
            load,
            others,
            others_sum,
        })
    }

    /// CPU of the account that `of` picks, where every sample has it.
    fn everywhere(
        &self,
        whose: &str,
        of: impl Fn(&Sample) -> Option<&Account>,
    ) -> Result<Option<Cpu>, String> {
        match self.recording.samples.iter().map(of).collect::<Option<Vec<_>>>() {
            Some(accounts) => self.cpu(whose, &accounts),
            None => Ok(None),
        }
    }

    /// CPU by the best counter that all of the accounts have.
    fn cpu(&self, whose: &str, accounts: &[&Account]) -> Result<Option<Cpu>, String> {
        let Some(source) = Source::best(accounts, self.ticks()) else { return Ok(None) };
        let spent = counters::spent(source, accounts, self.ticks())
            .ok_or_else(|| format!("a CPU counter of {whose} ran backwards within the window"))?;
        Ok(Some(self.of_ns(spent, source)))
    }

    /// Another process. One that comes or goes within the window counts from the first sample that has
    /// it to the last: what it spent before and after is not known.
    fn other(&self, name: &str) -> Result<OtherFigures, String> {
        let samples = &self.recording.samples;
        let accounts: Vec<_> =
            samples.iter().filter_map(|sample| account_of(sample, name)).collect();
        let ran = match accounts.len() {
            0 => Ran::Never,
            seen if seen < samples.len() => Ran::Partly,
            _ => Ran::Throughout,
        };
        let cpu = self.cpu(&format!("`{name}`"), &accounts)?.filter(|_| ran != Ran::Never);
        Ok(OtherFigures { name: name.to_owned(), ran, cpu })
    }

    fn of_ns(&self, spent_ns: u64, source: Source) -> Cpu {
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

    /// Several parties as one; `None` where there is none, or where one more ran uncounted.
    fn together(&self, shares: impl Iterator<Item = Cpu>, uncounted: bool) -> Option<Cpu> {
        let sum = shares.reduce(|sum, share| {
            self.of_ns(sum.spent_ns.saturating_add(share.spent_ns), sum.source)
        });
        sum.filter(|_| !uncounted)
    }

    /// The subject's CPU from the first sample at or after one moment to the last at or before another,
    /// µs/s; `None` where fewer than two samples lie between them.
    pub(crate) fn subject_between(&self, from_ns: u64, to_ns: u64, source: Source) -> Option<f64> {
        let is_in = |sample: &&Sample| (from_ns..=to_ns).contains(&sample.at_ns);
        let samples: Vec<_> = self.recording.samples.iter().filter(is_in).collect();
        let [first, .., last] = samples.as_slice() else { return None };
        let seconds = (last.at_ns - first.at_ns) as f64 / 1e9;
        let accounts: Vec<_> = samples.iter().map(|sample| &sample.subject).collect();
        Some(counters::spent(source, &accounts, self.ticks())? as f64 / 1e3 / seconds)
    }

    /// What the subject spent from the last sample to the drained one, µs, by the counter that counts its window.
    pub(crate) fn put_off_us(&self, source: Source) -> Option<f64> {
        let drained = self.recording.witness.as_ref()?.drained.as_deref()?;
        let accounts = [&self.last.subject, &drained.subject];
        Some(counters::spent(source, &accounts, self.ticks())? as f64 / 1e3)
    }

    pub(crate) fn opened_ns(&self) -> u64 {
        self.first.at_ns
    }

    pub(crate) fn readings(&self) -> Readings {
        let accounts: Vec<_> =
            self.recording.samples.iter().map(|sample| &sample.subject).collect();
        let spent = |source| counters::spent(source, &accounts, self.ticks());
        let by = |source| Some(self.rate(spent(source)?) / 1e3);
        let half = |of: fn(&Group) -> Option<u64>| {
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

    pub(crate) fn threads(&self) -> Vec<ThreadFigures> {
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

    pub(crate) fn memory(&self) -> Option<MemoryFigures> {
        let (start, end) = (self.first.subject.memory?, self.last.subject.memory?);
        Some(MemoryFigures {
            rss_start_kib: start.rss_kib,
            rss_end_kib: end.rss_kib,
            group_kib: self.group_kib(),
            pss_start_kib: start.pss_kib,
            pss_end_kib: end.pss_kib,
        })
    }

    /// Where the kernel says what the group holds now, the most of it that was seen.
    fn group_kib(&self) -> Option<u64> {
        let held = |sample: &Sample| sample.subject.group?.held_kib;
        let held: Option<Vec<u64>> = self.recording.samples.iter().map(held).collect();
        held?.into_iter().max()
    }

    pub(crate) fn io(&self) -> Option<IoFigures> {
        let (from, to) = (self.first.subject.io?, self.last.subject.io?);
        Some(IoFigures {
            read_calls: self.rate(to.read_calls.checked_sub(from.read_calls)?),
            write_calls: self.rate(to.write_calls.checked_sub(from.write_calls)?),
            read_bytes: self.rate(to.read_bytes.checked_sub(from.read_bytes)?),
            write_bytes: self.rate(to.write_bytes.checked_sub(from.write_bytes)?),
        })
    }

    /// The load's rounds, where it worked: a load that does nothing, or fails every time, answers no
    /// question.
    pub(crate) fn rounds(&self, load: Option<Cpu>) -> Result<RoundFigures, String> {
        let (from, to) = (&self.first.rounds, &self.last.rounds);
        let rose = |from: u64, to: u64| {
            to.checked_sub(from).ok_or("a count of rounds ran backwards within the window")
        };
        let rounds = RoundFigures {
            ended: rose(from.ended, to.ended)?,
            failed: rose(from.failed, to.failed)?,
            skipped: rose(from.skipped, to.skipped)?,
        };
        match self.order.load.as_ref().map(|load| &load.work) {
            None => Ok(rounds),
            Some(Work::Rounds(_)) => rounds_worked(rounds).map(|()| rounds),
            // It has no rounds to count, so its CPU time must tell.
            Some(Work::LongRunning(_)) if load.is_some_and(|load| load.spent_ns == 0) => {
                Err("the load stayed, but took no CPU time within the window".to_owned())
            }
            Some(Work::LongRunning(_)) => Ok(rounds),
        }
    }

    pub(crate) fn machine_busy(&self) -> Option<f64> {
        let busy = self.last.machine.busy.checked_sub(self.first.machine.busy)? as f64;
        let idle = self.last.machine.idle.checked_sub(self.first.machine.idle)? as f64;
        (busy + idle > 0.0).then(|| busy / (busy + idle))
    }

    pub(crate) fn series(&self, spent: &Spent) -> Vec<Step> {
        self.recording
            .samples
            .windows(2)
            .map(|pair| self.step([&pair[0], &pair[1]], spent))
            .collect()
    }

    fn step(&self, pair: [&Sample; 2], spent: &Spent) -> Step {
        let [from, to] = pair;
        let length_s = (to.at_ns - from.at_ns) as f64 / 1e9;
        let between = |cpu: Cpu, from: Option<&Account>, to: Option<&Account>| {
            let ns = counters::spent(cpu.source, &[from?, to?], self.ticks())?;
            Some(ns as f64 / 1e3 / length_s)
        };
        // Whether the counter exists and rises was settled for the whole window before.
        let subject = between(spent.subject, Some(&from.subject), Some(&to.subject)).unwrap_or(0.0);
        let load = spent.load.and_then(|cpu| between(cpu, from.load.as_ref(), to.load.as_ref()));
        let others = spent.others_sum.map(|_| {
            let each = |other: &OtherFigures| {
                let [from, to] = pair.map(|sample| account_of(sample, &other.name));
                other.cpu.and_then(|cpu| between(cpu, from, to)).unwrap_or(0.0)
            };
            spent.others.iter().map(each).sum()
        });
        Step {
            at_s: (to.at_ns - self.first.at_ns) as f64 / 1e9,
            length_s,
            subject,
            load,
            others,
            sum: spent.sum.map(|_| subject + load.unwrap_or(0.0) + others.unwrap_or(0.0)),
        }
    }
}

fn account_of<'a>(sample: &'a Sample, name: &str) -> Option<&'a Account> {
    sample.others.iter().find(|other| other.name == name).map(|other| &other.account)
}

fn rounds_worked(rounds: RoundFigures) -> Result<(), String> {
    if rounds.ended == 0 {
        return Err("no round of the load ended within the window".to_owned());
    }
    if rounds.failed >= rounds.ended {
        return Err(format!(
            "the load failed: {} failed in {}; run it by hand with `headroom up`",
            count(rounds.failed, "command"),
            count(rounds.ended, "round")
        ));
    }
    Ok(())
}
