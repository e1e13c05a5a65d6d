//! Groups of guard's own for processes that have none, and controllers for groups of version 2.
//!
//! Both are journalled before the lever that needs them is pulled, and undone after it.

use std::path::{Path, PathBuf};

use linux::cgroup::{self, Version};

use super::Levers;
use crate::{
    groups::{Application, Controller, Place, Tree, controllers, enabled, is_realtime_stat},
    journal::{Failure, Knob},
};

/// The most that version 2 takes as a weight.
const HEAVIEST: usize = 10_000;

impl Levers {
    /// Sees to it that all of an application is in groups that have a controller.
    pub(super) fn house(
        &mut self,
        application: &Application,
        controller: Controller,
    ) -> Result<(), Failure> {
        let Some(place) = application.place(controller) else {
            let line = format!("this device has no control groups with {}", controller.name());
            return Err(Failure::Refused(line, None));
        };
        let tree = self.hierarchies.tree(controller).cloned();
        let Some(tree) = tree.filter(|tree| !tree.read_only) else {
            let line = format!("{} is mounted read-only; mount it writable", place.mount.display());
            return Err(Failure::Refused(line, None));
        };
        if !place.strays.is_empty() {
            self.shelter(place, &tree)?;
        }
        if place.version == Version::V2 {
            for group in application.groups(controller) {
                self.enable(&group, &tree, controller)?;
            }
        }
        Ok(())
    }

    /// Moves processes without a group into one of guard's.
    fn shelter(&mut self, place: &Place, tree: &Tree) -> Result<(), Failure> {
        self.found(&place.own)?;
        for &pid in &place.strays {
            self.move_into(pid, &place.own, tree)?;
        }
        Ok(())
    }

    /// Makes a group right below the root; in version 1's `cpuset` it gets all that the root has, without which
    /// no one could enter it.
    pub(super) fn found(&mut self, folder: &Path) -> Result<(), Failure> {
        self.journal.make_group(folder)?;
        for name in ["cpuset.cpus", "cpuset.mems"] {
            let (path, above) = (folder.join(name), folder.with_file_name(name));
            let files = self.journal.files();
            let empty = files.read(&path).is_ok_and(|text| text.trim().is_empty());
            if let Ok(all) = files.read(&above)
                && empty
            {
                self.journal.furnish(&path, &all)?;
            }
        }
        Ok(())
    }

    /// Moves one process, unless it is there already or has ended.
    pub(super) fn move_into(&mut self, pid: u32, group: &Path, tree: &Tree) -> Result<(), Failure> {
        let file = self.hierarchies.proc(&format!("{pid}/cgroup"));
        let Ok(memberships) = self.journal.files().read(&file) else { return Ok(()) };
        match tree.folder_of(&memberships) {
            Some(from) if from != group => self.journal.move_process(pid, &from, group).map(drop),
            _ => Ok(()),
        }
    }

    /// Has a controller enabled for a group: from the root down, since each level passes on what it has.
    fn enable(&mut self, group: &Path, tree: &Tree, controller: Controller) -> Result<(), Failure> {
        let above: Vec<PathBuf> = group
            .ancestors()
            .skip(1)
            .take_while(|folder| folder.starts_with(&tree.mount))
            .map(Path::to_owned)
            .collect();
        for folder in above.iter().rev() {
            let has = |names: Vec<String>| names.iter().any(|name| name == controller.name());
            if has(enabled(folder)) {
                continue;
            }
            if !has(controllers(folder)) {
                let (name, folder) = (controller.name(), folder.display());
                let line =
                    format!("{folder} does not have the controller {name}, so its groups cannot");
                return Err(Failure::Refused(line, None));
            }
            self.enable_at(folder, controller)?;
            if *folder == tree.mount && controller == Controller::Cpu {
                self.keep_neutral(folder)?;
            }
        }
        Ok(())
    }

    fn enable_at(&mut self, folder: &Path, controller: Controller) -> Result<(), Failure> {
        let path = folder.join("cgroup.subtree_control");
        let wanted = format!("{} {}", enabled(folder).join(" "), controller.name());
        let set = self.journal.set(&path, Knob::Controllers, wanted.trim());
        match set {
            Err(Failure::Refused(line, errno))
                if errno == Some(rustix::io::Errno::INVAL.raw_os_error())
                    && controller == Controller::Cpu =>
            {
                Err(Failure::Refused(format!("{line}{}", self.realtime_in(folder)), errno))
            }
            other => other.map(drop),
        }
    }

    /// With `RT_GROUP_SCHED` the kernel refuses the CPU controller while a real-time process is in a child group:
    /// <https://docs.kernel.org/admin-guide/cgroup-v2.html>, controllers, CPU.
    fn realtime_in(&self, folder: &Path) -> String {
        let is_realtime = |pid: &u32| {
            let stat = self.hierarchies.proc(&format!("{pid}/stat"));
            std::fs::read(stat).is_ok_and(|stat| is_realtime_stat(&stat))
        };
        let members =
            cgroup::below(folder).into_iter().flat_map(|group| cgroup::members_below(&group));
        let mut found = members.filter(is_realtime);
        found.next().map_or_else(String::new, |pid| {
            format!("; pid {pid} is real-time and in a group, move it to the root group (RT_GROUP_SCHED)")
        })
    }

    /// Once the root shares its CPUs out by group, a group weighs on all CPUs together what one thread of the
    /// root weighs on one. Groups of others get as much as one thread on each CPU, so that they lose nothing.
    fn keep_neutral(&mut self, root: &Path) -> Result<(), Failure> {
        let online = self.hierarchies.root().join("sys/devices/system/cpu/online");
        let text = self.journal.files().read(&online).unwrap_or_default();
        let cpus = crate::journal::list(&text).map_or(1, |cpus| cpus.len().max(1));
        let weight = (100 * cpus).min(HEAVIEST).to_string();
        for group in cgroup::below(root) {
            let name = group.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with(crate::groups::OWN_WIFI) && group.join("cpu.weight").exists() {
                self.journal.set(&group.join("cpu.weight"), Knob::Weight, &weight)?;
            }
        }
        Ok(())
    }
}
