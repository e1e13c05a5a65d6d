//! Which file of an application's groups gets which text.
//!
//! Each lever is looked at only where it is wanted or was pulled before, so that an application that no one
//! bounds costs nothing, not even a read.

use std::path::{Path, PathBuf};

use linux::cgroup::{self, Version};

use super::{Levers, Step};
use crate::{
    bounds::{Bounds, FULL_WEIGHT, LEAST_WEIGHT, QUOTA_PERIOD_US},
    decide::Lever,
    groups::{Application, Applications, Controller, Place},
    journal::{Failure, Knob, list, listed},
};

/// The shortest quota that the kernel takes, µs: <https://docs.kernel.org/scheduler/sched-bwc.html>.
const LEAST_QUOTA_US: u32 = 1000;

/// Quotas below a tenth of a CPU have a period this much longer, so that they are not below the kernel's least.
const STRETCH: u32 = 2;

/// Whether a lever is wanted, and which controller it needs.
struct Want {
    controller: Controller,
    lever: Lever,
    wanted: bool,
}

impl Levers {
    /// Has one application bounded so.
    pub(super) fn bound(&mut self, application: &Application, bounds: &Bounds) {
        let weighed = bounds.weight < FULL_WEIGHT || bounds.idle;
        if self.prepared(
            application,
            Want { controller: Controller::Cpu, lever: Lever::Weight, wanted: weighed },
        ) {
            for group in application.groups(Controller::Cpu) {
                self.weigh(&application.name, &group, bounds);
            }
        }
        let packed = bounds.cpus.is_some();
        if self.prepared(
            application,
            Want { controller: Controller::Cpuset, lever: Lever::Packing, wanted: packed },
        ) {
            self.pack(application, bounds.cpus.as_deref());
        }
        let rationed = bounds.quota.is_some();
        if self.prepared(
            application,
            Want { controller: Controller::Cpu, lever: Lever::Quota, wanted: rationed },
        ) {
            for group in application.groups(Controller::Cpu) {
                let steps = self.ration(&group, bounds);
                self.pull(&application.name, Lever::Quota, &steps);
            }
        }
        let high = bounds.memory_high_kib.is_some();
        let of_v1 = |place: &Place| place.version == Version::V1;
        if application.place(Controller::Memory).is_some_and(of_v1) {
            if high && !self.was_refused(&application.name, Lever::Memory) {
                let line = "control groups of version 1 have no memory.high".to_owned();
                self.fail(&application.name, Lever::Memory, Failure::Refused(line, None));
            }
        } else if self.prepared(
            application,
            Want { controller: Controller::Memory, lever: Lever::Memory, wanted: high },
        ) {
            for group in application.groups(Controller::Memory) {
                self.slow(&application.name, &group, bounds.memory_high_kib);
            }
        }
    }

    /// Whether there is anything to do for a lever: it is wanted, and the groups are there with their
    /// controller; or it was wanted, and a group is still held.
    fn prepared(&mut self, application: &Application, want: Want) -> bool {
        let Want { controller, lever, wanted } = want;
        if !wanted {
            let groups = application.groups(controller);
            return self
                .journal
                .values()
                .any(|value| groups.iter().any(|group| value.path.starts_with(group)));
        }
        if application.is_absent() || self.was_refused(&application.name, lever) {
            return false;
        }
        match self.house(application, controller) {
            Ok(()) => true,
            Err(failure) => {
                self.fail(&application.name, lever, failure);
                false
            }
        }
    }

    /// Weight and idle class of a group, which exclude each other.
    pub(super) fn weigh(&mut self, who: &str, group: &Path, bounds: &Bounds) {
        let idle = group.join("cpu.idle");
        if bounds.idle && !self.was_refused(who, Lever::Idle) {
            let missing = self.journal.files().read(&idle).is_err();
            if missing {
                let line = format!("{} has no cpu.idle; it needs Linux 5.15", group.display());
                self.fail(who, Lever::Idle, Failure::Refused(line, None));
            } else {
                self.pull(who, Lever::Idle, &[Step::new(idle.clone(), Knob::Idle, "1")]);
            }
        } else if self.holds(&idle) {
            let original = self.original(&idle).unwrap_or_default();
            self.pull(who, Lever::Idle, &[Step::new(idle.clone(), Knob::Idle, original)]);
        }
        let asleep = self.journal.files().read(&idle).is_ok_and(|text| text.trim() == "1");
        if let Some(step) = self.weight(group, bounds.weight).filter(|_| !asleep) {
            self.pull(who, Lever::Weight, &[step]);
        }
    }

    /// The weight of a group: what is wanted, but never more than it had.
    fn weight(&self, group: &Path, weight: u32) -> Option<Step> {
        let weight = weight.clamp(LEAST_WEIGHT, FULL_WEIGHT);
        let (name, knob, wanted) = match version(group) {
            Version::V1 => ("cpu.shares", Knob::Plain, weight),
            Version::V2 => ("cpu.weight", Knob::Weight, of_version_2(weight)),
        };
        let path = group.join(name);
        if weight == FULL_WEIGHT && !self.holds(&path) {
            return None;
        }
        let original: u32 = self.original(&path)?.trim().parse().ok()?;
        let wanted = if weight == FULL_WEIGHT { original } else { wanted.min(original) };
        Some(Step::new(path, knob, wanted.to_string()))
    }

    /// Groups above the applications in which no one else is: a weight counts among siblings only, so they get
    /// the largest that is wanted below them.
    pub(super) fn crown(&mut self, applications: &Applications, bounds: &[Bounds]) {
        let Some(tree) = applications.hierarchies().tree(Controller::Cpu).cloned() else { return };
        let mut crowns: Vec<(PathBuf, Bounds, String)> = Vec::new();
        for (application, bounds) in applications.list().iter().zip(bounds) {
            for group in application.groups(Controller::Cpu) {
                let below = group
                    .strip_prefix(&tree.mount)
                    .ok()
                    .map(|path| path.components().collect::<Vec<_>>());
                let Some([first, _, ..]) = below.as_deref() else { continue };
                let top = tree.mount.join(first);
                let bounds =
                    Bounds { weight: bounds.weight, idle: bounds.idle, ..Bounds::default() };
                match crowns.iter_mut().find(|(folder, ..)| *folder == top) {
                    Some((_, its, _)) => {
                        its.weight = its.weight.max(bounds.weight);
                        its.idle &= bounds.idle;
                    }
                    None => crowns.push((top, bounds, application.name.clone())),
                }
            }
        }
        for (folder, bounds, who) in crowns {
            let held = self.journal.values().any(|value| value.path.parent() == Some(&folder));
            if !held && bounds.are_none() {
                continue;
            }
            let ours =
                |pid| applications.list().iter().any(|one| one.pids.binary_search(&pid).is_ok());
            let members = cgroup::members_below(&folder);
            let bounds = if members.into_iter().all(ours) { bounds } else { Bounds::default() };
            self.weigh(&who, &folder, &bounds);
        }
    }

    /// Fewer CPUs, in groups and all groups below them: deepest first where CPUs are taken, and last where
    /// they are given back, as version 1 wants it.
    fn pack(&mut self, application: &Application, cpus: Option<&[u32]>) {
        let mut groups = Vec::new();
        for group in application.groups(Controller::Cpuset) {
            descend(&group, &mut groups);
        }
        if cpus.is_some() {
            groups.reverse();
        }
        let mut steps = Vec::new();
        for group in groups {
            match self.cpus(&group, cpus) {
                Ok(step) => steps.extend(step),
                Err(line) => {
                    return self.fail(
                        &application.name,
                        Lever::Packing,
                        Failure::Refused(line, None),
                    );
                }
            }
        }
        self.pull(&application.name, Lever::Packing, &steps);
    }

    fn cpus(&self, group: &Path, cpus: Option<&[u32]>) -> Result<Option<Step>, String> {
        let path = group.join("cpuset.cpus");
        let Some(wanted) = cpus else {
            let original = self.holds(&path).then(|| self.original(&path)).flatten();
            return Ok(original.map(|text| Step::new(path, Knob::List, text)));
        };
        let had = self.original(&path).and_then(|text| list(&text)).unwrap_or_default();
        // Version 2: nothing said is everything that the group above has.
        let effective = || self.journal.files().read(&group.join("cpuset.cpus.effective")).ok();
        let had = match had.as_slice() {
            [] => effective().and_then(|text| list(&text)).unwrap_or_default(),
            _ => had,
        };
        let left: Vec<u32> = had.iter().copied().filter(|cpu| wanted.contains(cpu)).collect();
        if left.is_empty() && !had.is_empty() {
            let (wanted, had) = (listed(wanted), listed(&had));
            return Err(format!("{} has the CPUs {had}, none of {wanted}", group.display()));
        }
        Ok((!left.is_empty()).then(|| Step::new(path, Knob::List, listed(&left))))
    }

    /// The quota of a group, with its period.
    fn ration(&self, group: &Path, bounds: &Bounds) -> Vec<Step> {
        let wanted = bounds.quota.map(|share| quota(share.get()));
        match version(group) {
            Version::V1 => {
                let (quota, period) =
                    (group.join("cpu.cfs_quota_us"), group.join("cpu.cfs_period_us"));
                let text = |path: &Path| self.original(path).unwrap_or_default().trim().to_owned();
                let had = share(&text(&quota), &text(&period));
                let plain = |path, wanted: String| Step::new(path, Knob::Plain, wanted);
                match wanted
                    .filter(|(us, period_us)| had.is_none_or(|had| ratio(*us, *period_us) < had))
                {
                    Some((us, period_us)) => {
                        vec![plain(period, period_us.to_string()), plain(quota, us.to_string())]
                    }
                    // The other way round: without a quota every period is taken.
                    None if self.holds(&quota) => {
                        let (us, period_us) = (text(&quota), text(&period));
                        vec![plain(quota, us), plain(period, period_us)]
                    }
                    None => Vec::new(),
                }
            }
            Version::V2 => {
                let path = group.join("cpu.max");
                let original = self.original(&path).unwrap_or_default();
                let had = original.split_once(' ').and_then(|(us, period)| share(us, period));
                let tighter = wanted
                    .filter(|(us, period_us)| had.is_none_or(|had| ratio(*us, *period_us) < had));
                let text = match tighter {
                    Some((us, period_us)) => format!("{us} {period_us}"),
                    None if self.holds(&path) => original,
                    None => return Vec::new(),
                };
                vec![Step::new(path, Knob::Plain, text)]
            }
        }
    }

    /// Memory above which a group is slowed down.
    fn slow(&mut self, who: &str, group: &Path, high_kib: Option<u64>) {
        let path = group.join("memory.high");
        let original = self.original(&path).unwrap_or_default();
        let bytes = high_kib.map(|kib| kib.saturating_mul(1024));
        let had: Option<u64> = original.trim().parse().ok();
        let wanted = match bytes.filter(|bytes| had.is_none_or(|had| *bytes < had)) {
            Some(bytes) => bytes.to_string(),
            None if self.holds(&path) => original,
            None => return,
        };
        self.pull(who, Lever::Memory, &[Step::new(path, Knob::Bytes, wanted)]);
    }
}

/// Only version 2 has this file, in every group.
pub(super) fn version(group: &Path) -> Version {
    let unified = group.join("cgroup.controllers").exists();
    if unified { Version::V2 } else { Version::V1 }
}

/// A weight of 1024 is version 2's 100.
pub(super) fn of_version_2(weight: u32) -> u32 {
    (weight * 100 / FULL_WEIGHT).max(1)
}

/// A group and all below it, from the top.
fn descend(group: &Path, all: &mut Vec<PathBuf>) {
    all.push(group.to_owned());
    cgroup::below(group).iter().for_each(|group| descend(group, all));
}

/// Quota and period for this many CPUs, µs.
fn quota(cpus: f64) -> (u32, u32) {
    let us = |period: u32| (cpus * f64::from(period)).round().min(1e9) as u32;
    match us(QUOTA_PERIOD_US) {
        us if us >= LEAST_QUOTA_US => (us, QUOTA_PERIOD_US),
        _ => {
            let period = QUOTA_PERIOD_US * STRETCH;
            (us(period).max(LEAST_QUOTA_US), period)
        }
    }
}

fn ratio(quota_us: u32, period_us: u32) -> f64 {
    f64::from(quota_us) / f64::from(period_us)
}

/// The CPUs that a quota gives; `None` without one.
fn share(quota: &str, period: &str) -> Option<f64> {
    let quota: u32 = quota.trim().parse().ok()?;
    let period: u32 = period.trim().parse().ok()?;
    (period > 0).then(|| ratio(quota, period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_never_below_what_the_kernel_takes() {
        assert_eq!(quota(0.5), (5000, 10_000));
        assert_eq!(quota(1.5), (15_000, 10_000));
        assert_eq!(quota(0.07), (1400, 20_000));
        assert_eq!(quota(0.01), (1000, 20_000));
        assert_eq!(share("-1\n", "100000\n"), None);
        assert_eq!(share("max", "100000\n"), None);
        assert_eq!(share("5000", "10000"), Some(0.5));
    }

    #[test]
    fn weights_of_the_two_versions_mean_the_same() {
        assert_eq!([2, 11, 512, 1024].map(of_version_2), [1, 1, 50, 100]);
    }
}
