//! Wi-Fi's own threads: their nice values, a group that counts their CPU time, and threaded NAPI.
//!
//! Never real-time, never another CPU. `ksoftirqd` is bound to its CPU and enters no group, and a worker of the
//! kernel's pools works for everybody: the first keeps its group, the second everything.

use linux::cgroup::Version;

use super::{Levers, Step, Targets, WIFI, bounding::version};
use crate::{
    bounds::{FULL_WEIGHT, Placement},
    decide::Lever,
    groups::{Controller, OWN_WIFI},
    journal::{Failure, Knob, nice_of},
    reading::{Worker, WorkerKind},
};

/// The kernel's range towards more (setpriority(2)); guard never makes Wi-Fi weaker.
const NICE: std::ops::RangeInclusive<i32> = -20..=0;

impl Levers {
    /// Has Wi-Fi's threads placed so.
    pub(super) fn place(&mut self, placement: &Placement, targets: &Targets<'_>) {
        self.renice(placement.nice, targets.workers);
        if placement.accounted && !self.was_refused(WIFI, Lever::Placement) {
            self.account(targets.workers)
                .unwrap_or_else(|failure| self.fail(WIFI, Lever::Placement, failure));
        }
        for interface in targets.interfaces {
            let folder = self.hierarchies.root().join("sys/class/net").join(&interface.name);
            self.thread(&folder.join("threaded"), placement.threaded);
        }
    }

    fn renice(&mut self, nice: Option<i32>, workers: &[Worker]) {
        let held: Vec<Step> = self
            .journal
            .values()
            .filter(|value| value.knob == Knob::Nice)
            .map(|value| Step::new(value.path.clone(), Knob::Nice, value.original.clone()))
            .collect();
        let Some(nice) = nice else {
            held.iter().for_each(|step| self.pull_nice(step));
            return;
        };
        let nice = nice.clamp(*NICE.start(), *NICE.end());
        for worker in workers.iter().filter(|worker| is_its_own(worker)) {
            let path = nice_of(worker.tid);
            let original =
                held.iter().find(|step| step.path == path).map(|step| step.wanted.clone());
            let original =
                original.or_else(|| Some(self.journal.files().nice(worker.tid).ok()?.to_string()));
            let Some(original) = original.and_then(|text| text.trim().parse::<i32>().ok()) else {
                // It has ended since the reading.
                continue;
            };
            self.pull_nice(&Step::new(path, Knob::Nice, original.min(nice).to_string()));
        }
    }

    /// A thread that has ended is no refusal.
    fn pull_nice(&mut self, step: &Step) {
        if self
            .journal
            .look(&step.path, step.knob)
            .is_err_and(|f| matches!(f, Failure::Refused(..)))
        {
            return;
        }
        self.pull(WIFI, Lever::Placement, std::slice::from_ref(step));
    }

    /// Puts threads into a group that counts their time. Where that group has a weight, it gets what the threads
    /// had without it.
    fn account(&mut self, workers: &[Worker]) -> Result<(), Failure> {
        let tree =
            self.hierarchies.tree(Controller::Cpuacct).filter(|tree| !tree.read_only).cloned();
        let Some(tree) = tree else {
            return Err(Failure::Refused(
                "this device counts no CPU time by group".to_owned(),
                None,
            ));
        };
        let movable = |worker: &&Worker| is_its_own(worker) && worker.kind != WorkerKind::Ksoftirqd;
        let threads: Vec<u32> = workers.iter().filter(movable).map(|worker| worker.tid).collect();
        if threads.is_empty() {
            return Ok(());
        }
        let group = tree.mount.join(OWN_WIFI);
        self.found(&group)?;
        let weight = |least: u32| (least * threads.len() as u32).to_string();
        let (name, knob, weight) = match version(&group) {
            Version::V1 => ("cpu.shares", Knob::Plain, weight(FULL_WEIGHT)),
            Version::V2 => ("cpu.weight", Knob::Weight, weight(100)),
        };
        if group.join(name).exists() {
            self.journal.set(&group.join(name), knob, &weight)?;
        }
        threads.iter().try_for_each(|&tid| self.move_into(tid, &group, &tree))
    }

    fn thread(&mut self, path: &std::path::Path, threaded: Option<bool>) {
        let wanted = match threaded {
            Some(threaded) => u8::from(threaded).to_string(),
            None if self.holds(path) => self.original(path).unwrap_or_default(),
            None => return,
        };
        if !self.was_refused(WIFI, Lever::Threaded) {
            self.pull(WIFI, Lever::Threaded, &[Step::new(path.to_owned(), Knob::Plain, wanted)]);
        }
    }
}

/// Whether a thread works for Wi-Fi, or for packets, alone.
fn is_its_own(worker: &Worker) -> bool {
    worker.kind != WorkerKind::Daemon && !worker.name.starts_with("kworker/")
}
