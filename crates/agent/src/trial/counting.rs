//! What is counted at the window's ends: where every CPU's time went, and who ran and who waited.
//!
//! Kernel threads that carry packets are always told (`ksoftirqd`, NAPI's), others where they ran for more
//! than a two-hundredth of the window. A thread that ended inside the window is not counted; of one that was
//! born in it, all is.

use std::collections::BTreeMap;

use linux::{
    load::{self, CpuLine, Softnet},
    proc::{self, SchedStat},
    system,
};
use model::traffic::{CpuTime, ThreadTime};

use super::pmu::{Count, Pmu};

const CARRIERS: [&str; 2] = ["ksoftirqd/", "napi/"];

/// Another kernel thread is told where it ran for so many parts of the window.
const PART: u64 = 200;

/// Threads of a process set: their ids and times.
type Threads = BTreeMap<u32, SchedStat>;

#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) at_ns: u64,
    pub(super) used_ns: Option<u64>,
    pub(super) throttled_ns: Option<u64>,
    cpus: Vec<CpuLine>,
    softnet: Vec<Softnet>,
    kernel: BTreeMap<u32, (String, SchedStat)>,
    sets: Vec<(String, Threads)>,
    pmu: Option<Vec<Count>>,
}

/// Who is asked after: processes by the set's name, and single threads of the agent's.
#[derive(Debug, Default)]
pub(super) struct Parties {
    pub(super) processes: Vec<(String, Vec<u32>)>,
    pub(super) threads: Vec<(String, u32)>,
}

impl Snapshot {
    pub(super) fn take(parties: &Parties, pmu: Option<&Pmu>) -> Self {
        let mut snapshot = Self { at_ns: system::monotonic_ns(), ..Self::default() };
        if let Ok(text) = proc::read("/proc/stat") {
            load::cpus(&text, |cpu| snapshot.cpus.push(cpu));
        }
        if let Ok(text) = proc::read("/proc/net/softnet_stat") {
            load::softnet(&text, |row| snapshot.softnet.push(row));
        }
        snapshot.pmu = pmu.map(Pmu::read);
        for (name, pids) in &parties.processes {
            let threads = pids.iter().flat_map(|&pid| threads_of(pid)).collect();
            snapshot.sets.push((name.clone(), threads));
        }
        let own = std::process::id();
        for (name, tid) in &parties.threads {
            let threads = time_of(own, *tid).map(|time| (*tid, time));
            snapshot.sets.push((name.clone(), threads.into_iter().collect()));
        }
        snapshot.kernel = kernel_threads();
        snapshot
    }

    /// Each CPU's time from `before` to this.
    pub(super) fn cpus_since(&self, before: &Self) -> Vec<CpuTime> {
        let tick_ns = 1_000_000_000 / system::ticks_per_second().max(1);
        let line = |after: &CpuLine| {
            let before_line = before.cpus.iter().find(|line| line.cpu == after.cpu)?;
            let ns = |part: fn(&CpuLine) -> u64| {
                part(after).saturating_sub(part(before_line)).saturating_mul(tick_ns)
            };
            let (packets, dropped, squeezed) = self.softnet_since(before, after.cpu);
            Some(CpuTime {
                cpu: after.cpu,
                user_ns: ns(|line| line.user),
                system_ns: ns(|line| line.system),
                irq_ns: ns(|line| line.irq),
                softirq_ns: ns(|line| line.softirq),
                idle_ns: ns(|line| line.idle + line.wait),
                steal_ns: ns(|line| line.steal),
                packets,
                dropped,
                squeezed,
            })
        };
        self.cpus.iter().filter_map(line).collect()
    }

    /// Packets, drops and squeezes of a CPU; rows without a number are the online CPUs in order.
    fn softnet_since(&self, before: &Self, cpu: u32) -> (u64, u64, u64) {
        let place = self.cpus.iter().position(|line| line.cpu == cpu).unwrap_or(usize::MAX);
        let row = |rows: &[Softnet]| {
            let named = rows.iter().find(|row| row.cpu == Some(cpu)).copied();
            named.or_else(|| rows.get(place).filter(|row| row.cpu.is_none()).copied())
        };
        let (Some(after), Some(before)) = (row(&self.softnet), row(&before.softnet)) else {
            return (0, 0, 0);
        };
        // The kernel's counters are of 32 bits and wrap.
        let part = |after: u32, before: u32| u64::from(after.wrapping_sub(before));
        (
            part(after.processed, before.processed),
            part(after.dropped, before.dropped),
            part(after.squeezed, before.squeezed),
        )
    }

    /// Who ran and who waited from `before` to this.
    pub(super) fn threads_since(&self, before: &Self) -> Vec<ThreadTime> {
        let least_ns = self.at_ns.saturating_sub(before.at_ns) / PART;
        let mut reported: Vec<ThreadTime> = Vec::new();
        for (tid, (name, after)) in &self.kernel {
            let earlier = before.kernel.get(tid).map(|(_, time)| *time);
            let time = passed(earlier, *after);
            if time.run_ns >= least_ns || carries(name) {
                reported.push(thread(name.clone(), time));
            }
        }
        reported.sort_by(|one, other| one.name.cmp(&other.name));
        for (name, threads) in &self.sets {
            let earlier = before.sets.iter().find(|(set, _)| set == name);
            let mut sum = SchedStat { run_ns: 0, wait_ns: 0 };
            for (tid, after) in threads {
                let time =
                    passed(earlier.and_then(|(_, threads)| threads.get(tid).copied()), *after);
                sum.run_ns += time.run_ns;
                sum.wait_ns += time.wait_ns;
            }
            reported.push(thread(name.clone(), sum));
        }
        reported
    }

    /// The PMU's counters from `before` to this.
    pub(super) fn counters_since(&self, before: &Self) -> Option<model::traffic::Counters> {
        Some(super::pmu::between(before.pmu.as_deref()?, self.pmu.as_deref()?))
    }
}

/// How packets were carried, as time, ns: in softirqs on top of whoever ran, in ksoftirqd, in NAPI's threads.
///
/// The kernel counts ksoftirqd's time as softirq, so the first is what is left of that.
pub(super) fn carried(cpus: &[CpuTime], threads: &[ThreadTime]) -> Vec<(String, u64)> {
    let ran = |prefix: &str| {
        threads
            .iter()
            .filter(|thread| thread.name.starts_with(prefix))
            .map(|t| t.ran_ns)
            .sum::<u64>()
    };
    let softirq: u64 = cpus.iter().map(|cpu| cpu.softirq_ns).sum();
    let (ksoftirqd, napi) = (ran(CARRIERS[0]), ran(CARRIERS[1]));
    let inline = softirq.saturating_sub(ksoftirqd);
    [("softirq", inline), ("ksoftirqd", ksoftirqd), ("napi", napi)]
        .map(|(name, ns)| (name.to_owned(), ns))
        .into()
}

fn carries(name: &str) -> bool {
    CARRIERS.iter().any(|prefix| name.starts_with(prefix))
}

fn passed(before: Option<SchedStat>, after: SchedStat) -> SchedStat {
    let before = before.unwrap_or(SchedStat { run_ns: 0, wait_ns: 0 });
    SchedStat {
        run_ns: after.run_ns.saturating_sub(before.run_ns),
        wait_ns: after.wait_ns.saturating_sub(before.wait_ns),
    }
}

fn thread(name: String, time: SchedStat) -> ThreadTime {
    ThreadTime { name, ran_ns: time.run_ns, waited_ns: Some(time.wait_ns) }
}

fn time_of(pid: u32, tid: u32) -> Option<SchedStat> {
    proc::schedstat(&proc::read(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?)
}

fn threads_of(pid: u32) -> Vec<(u32, SchedStat)> {
    let time = |tid| Some((tid, time_of(pid, tid)?));
    proc::threads_of(pid).into_iter().filter_map(time).collect()
}

pub(super) fn carriers() -> Vec<u32> {
    kernel_threads()
        .into_iter()
        .filter(|(_, (name, _))| carries(name))
        .map(|(tid, _)| tid)
        .collect()
}

fn kernel_threads() -> BTreeMap<u32, (String, SchedStat)> {
    let of = |pid: u32| {
        let text = proc::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = proc::stat(&text).filter(|stat| stat.kernel_thread)?;
        let name = String::from_utf8_lossy(stat.comm).into_owned();
        Some((pid, (name, time_of(pid, pid)?)))
    };
    proc::pids().unwrap_or_default().into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(run_ns: u64, at_ns: u64) -> Snapshot {
        let time = SchedStat { run_ns, wait_ns: 2 * run_ns };
        let kernel = [(9, "ksoftirqd/0"), (30, "kworker/0:1")]
            .map(|(tid, name)| (tid, (name.to_owned(), time)));
        let sets = vec![("sender".to_owned(), Threads::from([(70, time)]))];
        Snapshot { at_ns, kernel: kernel.into(), sets, ..Snapshot::default() }
    }

    #[test]
    fn carriers_are_always_reported_and_others_where_they_ran() {
        let reported = |ran| snapshot(ran, 1_000_000).threads_since(&snapshot(0, 0));
        let names =
            |reported: Vec<ThreadTime>| reported.into_iter().map(|t| t.name).collect::<Vec<_>>();
        assert_eq!(names(reported(10)), ["ksoftirqd/0", "sender"]);
        assert_eq!(names(reported(5000)), ["ksoftirqd/0", "kworker/0:1", "sender"]);
        assert_eq!(reported(10)[1].waited_ns, Some(20));
    }

    #[test]
    fn time_in_ksoftirqd_is_not_counted_twice() {
        let cpus = [CpuTime { softirq_ns: 100, ..CpuTime::default() }];
        let threads = snapshot(40, 1000).threads_since(&snapshot(0, 0));
        let carried = carried(&cpus, &threads);
        assert_eq!(carried[0], ("softirq".to_owned(), 60));
        assert_eq!(carried[1], ("ksoftirqd".to_owned(), 40));
    }

    #[test]
    fn softnet_counters_wrap() {
        let row = |processed| vec![Softnet { cpu: Some(0), processed, ..Softnet::default() }];
        let cpus = vec![CpuLine::default()];
        let before = Snapshot { cpus: cpus.clone(), softnet: row(u32::MAX), ..Snapshot::default() };
        let after = Snapshot { cpus, softnet: row(4), ..Snapshot::default() };
        assert_eq!(after.cpus_since(&before)[0].packets, 5);
    }
}
