//! What became of the last decision: what was refused is not tried again soon, what a person changed is left.

use std::path::Path;

use super::{Controller, Lever, Outcome, state::Spent};
use crate::bounds::{Bounds, Placement};

/// The name of Wi-Fi's own work in outcomes.
pub(super) const WIFI: &str = "wifi";
/// A refused lever is tried again after this, ns: a controller may have been enabled meanwhile.
const REFUSED_NS: u64 = 600_000_000_000;

impl Controller<'_> {
    /// Takes the last decision's outcome in.
    pub(super) fn heed(&mut self, outcome: &Outcome) {
        let now = self.now;
        self.state.spent.retain(|spent| spent.until_ns > now);
        for (who, lever, _) in &outcome.refused {
            self.give_up(who, *lever);
        }
        for path in &outcome.overruled {
            if let Some((who, lever)) = self.whose(path) {
                self.give_up(&who, lever);
            }
        }
    }

    /// Leaves a lever of somebody alone: it is as it was found, and is not tried for a while.
    fn give_up(&mut self, who: &str, lever: Lever) {
        self.state.spend(Spent {
            who: who.to_owned(),
            lever,
            until_ns: self.now.saturating_add(REFUSED_NS),
            refused: true,
        });
        if who == WIFI {
            unplace(&mut self.state.placement, lever);
        } else if let Some(held) = self.state.held.iter_mut().find(|held| held.name == who) {
            unbound(&mut held.bounds, lever);
        }
        let is_tried = self.state.trial.as_ref().is_some_and(|trial| trial.lever == Some(lever));
        if is_tried {
            self.state.trial = None;
        }
    }

    /// Whose value a file of the kernel is, as far as its path tells.
    fn whose(&self, path: &str) -> Option<(String, Lever)> {
        let path = Path::new(path);
        let lever = match path.file_name()?.to_str()? {
            "cpu.shares" | "cpu.weight" => Lever::Weight,
            "cpu.idle" => Lever::Idle,
            "cpuset.cpus" => Lever::Packing,
            "cpu.max" | "cpu.cfs_quota_us" | "cpu.cfs_period_us" => Lever::Quota,
            "memory.high" | "memory.soft_limit_in_bytes" | "memory.limit_in_bytes" => Lever::Memory,
            "schemata" => Lever::Cache,
            _ => return None,
        };
        let names: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
        let held = self.state.held.iter().find(|held| names.contains(&held.name.as_str()))?;
        Some((held.name.clone(), lever))
    }
}

/// Takes one lever out of bounds.
pub(super) fn unbound(bounds: &mut Bounds, lever: Lever) {
    let none = Bounds::default();
    match lever {
        Lever::Weight => bounds.weight = none.weight,
        Lever::Packing => bounds.cpus = None,
        Lever::Idle => bounds.idle = false,
        Lever::Quota => bounds.quota = None,
        Lever::Memory => bounds.memory_high_kib = None,
        Lever::Cache => bounds.cache = None,
        Lever::Placement | Lever::Threaded => {}
    }
}

/// The same for Wi-Fi's own work.
pub(super) fn unplace(placement: &mut Placement, lever: Lever) {
    match lever {
        Lever::Placement => (placement.nice, placement.accounted) = (None, false),
        Lever::Threaded => placement.threaded = None,
        _ => {}
    }
}
