//! The last-level cache, where the CPU has resctrl: one class of guard's own for all applications.
//!
//! Classes are few, so there is one, with the smallest share that any application is to have; other classes are
//! never touched, and a thread that is in one of them stays there. Removing the class gives its threads back.
//! <https://docs.kernel.org/filesystems/resctrl.html>

use std::path::Path;

use super::{Levers, Step};
use crate::{
    bounds::Bounds,
    decide::Lever,
    groups::Application,
    journal::{Failure, Knob, schema},
};

/// The class's folder in resctrl.
const CLASS: &str = "headroom-guard";

/// The caches that are shared by all CPUs, the last first.
const CACHES: [&str; 2] = ["L3", "L2"];

impl Levers {
    /// Has applications fill no more of the cache than they may.
    pub(super) fn share_cache(&mut self, applications: &[Application], bounds: &[Bounds]) {
        let root = self.hierarchies.root().join("sys/fs/resctrl");
        let class = root.join(CLASS);
        let shares = bounds.iter().filter_map(|bounds| bounds.cache).map(|share| share.get());
        let Some(share) = shares.reduce(f64::min) else {
            // The class stays, and takes nothing: giving its threads back one by one would be undone by each
            // that starts meanwhile.
            if self.holds(&class.join("schemata")) {
                let whole = self.original(&class.join("schemata")).unwrap_or_default();
                self.allot(&class, whole, WHO_ALL);
            }
            return;
        };
        let who = applications.iter().zip(bounds).filter(|(_, bounds)| bounds.cache.is_some());
        let mut first = None;
        for (application, _) in who {
            let name = first.get_or_insert(application.name.as_str());
            if self.was_refused(name, Lever::Cache) {
                return;
            }
            if let Err(failure) = self.classify(&root, &class, application) {
                return self.fail(&application.name, Lever::Cache, failure);
            }
        }
        match (first, masks(self, &root, share)) {
            (Some(who), Some(lines)) => self.allot(&class, lines, who),
            (Some(who), None) => {
                let line = format!("{} has no cache that can be shared out", root.display());
                self.fail(who, Lever::Cache, Failure::Refused(line, None));
            }
            (None, _) => {}
        }
    }

    fn allot(&mut self, class: &Path, lines: String, who: &str) {
        // Only what can be shared out is written; the kernel shows other resources, too.
        let caches = |line: &&str| CACHES.iter().any(|cache| line.trim().starts_with(cache));
        let lines: Vec<&str> = lines.lines().filter(caches).map(str::trim).collect();
        let step = Step::new(class.join("schemata"), Knob::Schemata, lines.join("\n"));
        self.pull(who, Lever::Cache, &[step]);
    }

    /// Has all threads of an application in the class that are in none yet.
    fn classify(
        &mut self,
        root: &Path,
        class: &Path,
        application: &Application,
    ) -> Result<(), Failure> {
        if !root.join("schemata").exists() {
            let line = "the CPU cannot share out its cache, or resctrl is not mounted".to_owned();
            return Err(Failure::Refused(line, None));
        }
        self.journal.make_group(class)?;
        let tasks = |folder: &Path| -> Vec<u32> {
            let text = self.journal.files().read(&folder.join("tasks")).unwrap_or_default();
            text.lines().filter_map(|line| line.parse().ok()).collect()
        };
        let (free, ours) = (tasks(root), tasks(class));
        let proc = self.hierarchies.proc("");
        let threads = application.pids.iter().flat_map(|pid| threads(&proc.join(pid.to_string())));
        let wanted: Vec<u32> =
            threads.filter(|tid| free.contains(tid) && !ours.contains(tid)).collect();
        wanted.into_iter().try_for_each(|tid| self.journal.enlist(tid, class))
    }
}

/// Who is named when the last bound is gone.
const WHO_ALL: &str = "all applications";

fn threads(process: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The lines of `schemata` that give so much of each cache, from its lowest part up: at least as many parts as the
/// kernel wants, in a row, as it wants them.
fn masks(levers: &Levers, root: &Path, share: f64) -> Option<String> {
    let files = levers.journal.files();
    let cache = CACHES.iter().find(|cache| root.join("info").join(cache).is_dir())?;
    let info = |name: &str| files.read(&root.join("info").join(cache).join(name)).ok();
    let whole = u64::from_str_radix(info("cbm_mask")?.trim(), 16).ok()?;
    let least: u32 = info("min_cbm_bits")?.trim().parse().ok()?;
    let bits = whole.count_ones();
    let wanted = ((share * f64::from(bits)).round() as u32).clamp(least.max(1), bits);
    let mask = whole & 1_u64.checked_shl(wanted).map_or(u64::MAX, |above| above - 1);
    let text = files.read(&root.join("schemata")).ok()?;
    let (name, caches) =
        text.lines().filter_map(schema).find(|(name, _)| name.starts_with(cache))?;
    let parts: Vec<String> = caches.iter().map(|(id, _)| format!("{id}={mask:x}")).collect();
    Some(format!("{name}:{}", parts.join(";")))
}
