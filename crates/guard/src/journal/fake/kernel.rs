//! What the kernel makes of a write to each of the files that guard writes: its rules, its rounding, its refusals.
//!
//! As Linux 6.18 does on version 1, tried by hand; version 2 as
//! <https://docs.kernel.org/admin-guide/cgroup-v2.html> has it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustix::io::Errno;

use super::tree;
use crate::journal::{Knob, list, listed, schema};

/// Pages of the fake, bytes.
const PAGE: u64 = 4096;

/// Writes `text` to a file, if the kernel would take it.
pub(super) fn write(path: &Path, text: &str, root: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // What is not there cannot be opened.
    let now = fs::read_to_string(path)?;
    let text = text.trim();
    let sibling = |name: &str| path.with_file_name(name);
    let kept = match &*name {
        "cgroup.procs" | "tasks" => return enter(path, text, root),
        "cgroup.subtree_control" => return switch(path, text, root),
        "schemata" => merge(&now, text)?,
        "cpu.shares" => {
            stays_awake(path)?;
            number(text)?.clamp(2, 262_144).to_string()
        }
        "cpu.weight" => {
            stays_awake(path)?;
            within(number(text)?, 1, 10_000)?
        }
        "cpu.idle" => {
            let idle = within(number(text)?, 0, 1)?;
            if idle != now.trim() {
                for (weight, _, text) in Knob::Idle.effects(path, &now, &idle) {
                    if weight.exists() {
                        fs::write(weight, format!("{text}\n"))?;
                    }
                }
            }
            idle
        }
        "cpu.cfs_quota_us" if text == "-1" => text.to_owned(),
        "cpu.cfs_quota_us" => within(number(text)?, 1000, u64::MAX)?,
        "cpu.cfs_period_us" => within(number(text)?, 1000, 1_000_000)?,
        "cpu.max" => maximum(text)?,
        "cpuset.cpus" | "cpuset.mems" => set(path, text)?,
        "memory.high" if text == "max" => text.to_owned(),
        "memory.high" => (number(text)? / PAGE * PAGE).to_string(),
        "threaded" => within(number(text)?, 0, 1)?,
        _ => text.to_owned(),
    };
    let kept = kept.trim_end();
    fs::write(sibling(&name), format!("{kept}\n"))
}

fn number(text: &str) -> io::Result<u64> {
    text.parse().map_err(|_| Errno::INVAL.into())
}

fn within(number: u64, least: u64, most: u64) -> io::Result<String> {
    if (least..=most).contains(&number) { Ok(number.to_string()) } else { Err(Errno::INVAL.into()) }
}

/// A group of the idle class takes no weight.
fn stays_awake(path: &Path) -> io::Result<()> {
    let idle = fs::read_to_string(path.with_file_name("cpu.idle")).unwrap_or_default();
    if idle.trim() == "1" { Err(Errno::INVAL.into()) } else { Ok(()) }
}

fn maximum(text: &str) -> io::Result<String> {
    let mut words = text.split_whitespace();
    let quota = match words.next() {
        Some("max") => "max".to_owned(),
        Some(quota) => within(number(quota)?, 1000, u64::MAX)?,
        None => return Err(Errno::INVAL.into()),
    };
    let period = within(number(words.next().unwrap_or("100000"))?, 1000, 1_000_000)?;
    Ok(format!("{quota} {period}"))
}

/// Version 1: a group has no more than the one above it and no less than those below it.
fn set(path: &Path, text: &str) -> io::Result<String> {
    let wanted = list(text).ok_or(Errno::INVAL)?;
    let folder = path.parent().ok_or(Errno::NOENT)?;
    let name = path.file_name().ok_or(Errno::NOENT)?;
    let read =
        |folder: &Path| -> Option<Vec<u32>> { list(&fs::read_to_string(folder.join(name)).ok()?) };
    // Both versions: the one that has CPUs of its own keeps some while processes are in it.
    let members = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    let had = read(folder).unwrap_or_default();
    if wanted.is_empty() && !had.is_empty() && !members.trim().is_empty() {
        return Err(Errno::NOSPC.into());
    }
    if folder.join("cgroup.controllers").exists() {
        return Ok(listed(&wanted));
    }
    let above = folder.parent().and_then(read).unwrap_or_default();
    if !wanted.iter().all(|one| above.contains(one)) {
        return Err(Errno::ACCESS.into());
    }
    let below = children(folder).into_iter().filter_map(|child| read(&child)).flatten();
    if below.into_iter().any(|one| !wanted.contains(&one)) {
        return Err(Errno::BUSY.into());
    }
    Ok(listed(&wanted))
}

fn enter(path: &Path, text: &str, root: &Path) -> io::Result<()> {
    let pid: u32 = text.parse().map_err(|_| Errno::INVAL)?;
    let stat = fs::read(root.join(format!("proc/{pid}/stat"))).map_err(|_| Errno::SRCH)?;
    let group = path.parent().ok_or(Errno::NOENT)?;
    if group.join("schemata").exists() {
        let above = group.with_file_name("tasks");
        let tasks = fs::read_to_string(&above)?;
        let left = tasks.lines().filter(|line| *line != text).map(|line| format!("{line}\n"));
        fs::write(&above, left.collect::<String>())?;
        let tasks = fs::read_to_string(path)?;
        return fs::write(path, tree::in_order(&format!("{tasks}{pid}\n")));
    }
    if linux::proc::stat(&stat).is_some_and(|stat| stat.comm.starts_with(b"ksoftirqd")) {
        return Err(Errno::INVAL.into());
    }
    for name in ["cpuset.cpus", "cpuset.mems"] {
        let v1 = !group.join("cgroup.controllers").exists();
        if v1 && fs::read_to_string(group.join(name)).is_ok_and(|text| text.trim().is_empty()) {
            return Err(Errno::NOSPC.into());
        }
    }
    // No internal processes: version 2 has them in groups whose children have no controller.
    let enabled = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
    let top = group.parent().is_none_or(|above| !above.join("cgroup.procs").exists());
    if !enabled.trim().is_empty() && !top {
        return Err(Errno::BUSY.into());
    }
    tree::enter(group, pid, root)
}

/// `+cpu -memory`, all or nothing.
fn switch(path: &Path, text: &str, root: &Path) -> io::Result<()> {
    let folder = path.parent().ok_or(Errno::NOENT)?;
    let words = |file: PathBuf| -> Vec<String> {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    };
    let available = words(folder.join("cgroup.controllers"));
    let mut enabled = words(path.to_owned());
    let top = !folder.parent().is_some_and(|above| above.join("cgroup.procs").exists());
    let members = words(folder.join("cgroup.procs"));
    for change in text.split_whitespace() {
        let (sign, name) = change.split_at(1);
        match sign {
            "+" if !available.iter().any(|one| one == name) => return Err(Errno::NOENT.into()),
            "+" if !top && !members.is_empty() => return Err(Errno::BUSY.into()),
            "+" if name == "cpu" && realtime_below(folder, root) => return Err(Errno::INVAL.into()),
            "+" => {
                enabled.push(name.to_owned());
                children(folder).iter().for_each(|child| tree::grant(child, name));
            }
            "-" => {
                let child_has = |child: &PathBuf| {
                    words(child.join("cgroup.subtree_control")).iter().any(|one| one == name)
                };
                if children(folder).iter().any(child_has) {
                    return Err(Errno::BUSY.into());
                }
                enabled.retain(|one| one != name);
                children(folder).iter().for_each(|child| tree::withdraw(child, name));
            }
            _ => return Err(Errno::INVAL.into()),
        }
    }
    let order = |one: &String| available.iter().position(|other| other == one);
    enabled.sort_by_key(order);
    enabled.dedup();
    let text = format!("{}\n", enabled.join(" "));
    for child in children(folder) {
        fs::write(child.join("cgroup.controllers"), &text)?;
    }
    fs::write(path, text)
}

/// `RT_GROUP_SCHED`: the CPU controller is not enabled while a real-time process is in a child group.
fn realtime_below(folder: &Path, root: &Path) -> bool {
    let is_realtime = |pid: &str| {
        let stat = fs::read_to_string(root.join(format!("proc/{pid}/stat"))).unwrap_or_default();
        stat.split_whitespace().nth(40).is_some_and(|policy| matches!(policy, "1" | "2"))
    };
    children(folder).iter().any(|child| {
        let members = fs::read_to_string(child.join("cgroup.procs")).unwrap_or_default();
        members.lines().any(is_realtime) || realtime_below(child, root)
    })
}

/// The lines of `schemata` with one of them anew.
fn merge(now: &str, text: &str) -> io::Result<String> {
    let mut lines: Vec<String> = now.lines().map(str::to_owned).collect();
    for wanted in text.lines() {
        let (resource, _) = schema(wanted).ok_or(Errno::INVAL)?;
        let its = |line: &&mut String| schema(line).is_some_and(|(name, _)| name == resource);
        let line = lines.iter_mut().find(its).ok_or(Errno::INVAL)?;
        *line = format!("    {}", wanted.trim());
    }
    Ok(lines.join("\n"))
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir()).collect()
}
