//! The facts that the rules judge: gathered from `/proc`, `/sys` and `/etc` below a root. Judges nothing.
//!
//! What cannot be read is absent; a device without control groups, radios or OpenWrt's files has none.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use linux::{cgroup::Mounts, load, proc};
use serde::{Deserialize, Serialize};

use crate::reading::WorkerKind;

/// How long packets are counted.
pub const SAMPLE: Duration = Duration::from_secs(1);

/// `SCHED_FIFO` and `SCHED_RR`.
const REAL_TIME: [u32; 2] = [1, 2];

/// Everything that the rules ask.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    pub openwrt: bool,
    /// What each online CPU did with packets while they were counted.
    pub cpus: Vec<Packets>,
    /// Kernel threads that carry packets.
    pub threads: Vec<PacketThread>,
    /// Receive queues and the CPUs that they are steered to (a mask in hexadecimal).
    pub steering: Vec<Steering>,
    /// `packet_steering` of `/etc/config/network`.
    pub packet_steering: Option<String>,
    /// Controllers that hierarchies of version 1 have.
    pub version_1: Vec<String>,
    /// The tree of version 2.
    pub unified: Option<Unified>,
    /// Whether the kernel has real-time groups (`CONFIG_RT_GROUP_SCHED`).
    pub real_time_groups: Option<bool>,
    /// Real-time threads that are in a group below the root.
    pub real_time: Vec<Task>,
    /// Children of procd outside of its services' groups, where it keeps such groups.
    pub strays: Vec<Task>,
    /// Whether the firewall's configuration asks for flows to be offloaded, or the kernel has offloaded some.
    pub offload: Option<String>,
    /// Interfaces whose NAPI can be threaded, and whether it is.
    pub threaded: Vec<(String, bool)>,
    /// The process id of irqbalance.
    pub irqbalance: Option<u32>,
    /// The frequency governor of each CPU that has one.
    pub governors: Vec<(u32, String)>,
    /// `net.core.netdev_max_backlog`, packets.
    pub max_backlog: Option<u64>,
    /// `net.core.netdev_budget`, packets.
    pub budget: Option<u64>,
    /// Whether pressure can be read.
    pub pressure: bool,
    /// Whether waiting times of threads can be read.
    pub schedstat: bool,
}

/// One CPU's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Packets {
    pub cpu: u32,
    /// Packets taken from queues.
    pub packets: u64,
    /// Packets that the backlog had no room for.
    pub dropped: u64,
    /// Times that work was cut short.
    pub squeezed: u64,
}

/// A kernel thread that carries packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketThread {
    pub pid: u32,
    pub name: String,
    pub kind: WorkerKind,
    /// The CPUs that it may use.
    pub cpus: Vec<u32>,
    /// The CPU that it ran on last.
    pub last: u32,
}

/// A receive queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steering {
    /// `eth0/rx-0`.
    pub queue: String,
    /// The mask of CPUs, as the kernel writes it.
    pub mask: String,
}

/// The tree of version 2.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unified {
    pub mount: PathBuf,
    /// Controllers that it has.
    pub available: Vec<String>,
    /// Controllers that the root's children have.
    pub enabled: Vec<String>,
}

/// A process or thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub pid: u32,
    pub name: String,
    /// Its group in version 2's tree.
    pub group: String,
}

/// Gathers, and counts packets for so long.
pub fn gather(root: &Path, sample: Duration) -> Facts {
    let device = Device { root: root.to_owned() };
    let before = device.packets();
    let mut facts = device.still();
    device.processes(&mut facts);
    std::thread::sleep(sample);
    facts.cpus = device.packets();
    for cpu in &mut facts.cpus {
        let old = before.iter().find(|old| old.cpu == cpu.cpu).copied().unwrap_or(*cpu);
        // The counters are of 32 bits and wrap.
        let since = |now: u64, before: u64| u64::from((now as u32).wrapping_sub(before as u32));
        cpu.packets = since(cpu.packets, old.packets);
        cpu.dropped = since(cpu.dropped, old.dropped);
        cpu.squeezed = since(cpu.squeezed, old.squeezed);
    }
    facts
}

struct Device {
    root: PathBuf,
}

impl Device {
    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// A small file without the spaces around it.
    fn text(&self, path: &str) -> Option<String> {
        let bytes = std::fs::read(self.path(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// The names in a folder, ascending.
    fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Packets since boot.
    fn packets(&self) -> Vec<Packets> {
        let online =
            self.text("/sys/devices/system/cpu/online").and_then(|list| load::cpu_list(&list));
        let online = online.unwrap_or_default();
        let text = self.text("/proc/net/softnet_stat").unwrap_or_default();
        let mut found = Vec::new();
        load::softnet(text.as_bytes(), |row| {
            let Some(cpu) = row.cpu.or_else(|| online.get(found.len()).copied()) else { return };
            found.push(Packets {
                cpu,
                packets: row.processed.into(),
                dropped: row.dropped.into(),
                squeezed: row.squeezed.into(),
            });
        });
        found
    }

    /// What does not move.
    fn still(&self) -> Facts {
        let mounts = self.text("/proc/self/mountinfo").unwrap_or_default();
        let pressure = self.text("/proc/pressure/cpu").unwrap_or_default();
        let schedstat = self.text("/proc/1/schedstat").unwrap_or_default();
        Facts {
            openwrt: self.path("/etc/openwrt_release").exists(),
            steering: self.steering(),
            packet_steering: self.option("/etc/config/network", "packet_steering"),
            version_1: version_1(&mounts),
            unified: self.unified(&mounts),
            real_time_groups: self.real_time_groups(&mounts),
            offload: self.offload(),
            threaded: self.threaded(),
            governors: self.governors(),
            max_backlog: self.number("/proc/sys/net/core/netdev_max_backlog"),
            budget: self.number("/proc/sys/net/core/netdev_budget"),
            pressure: load::pressure_us(pressure.as_bytes()).is_some(),
            schedstat: schedstat.split_whitespace().any(|word| word != "0"),
            ..Facts::default()
        }
    }

    /// The value of an option in a file of OpenWrt's configuration.
    fn option(&self, path: &str, name: &str) -> Option<String> {
        let text = self.text(path)?;
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let found = words.next()? == "option" && words.next()? == name;
            found.then(|| words.next())?.map(|value| value.trim_matches(['\'', '"']).to_owned())
        })
    }

    fn steering(&self) -> Vec<Steering> {
        let interfaces = self.names("/sys/class/net").into_iter().filter(|name| name != "lo");
        let queues = interfaces.flat_map(|name| {
            let queues = self.names(&format!("/sys/class/net/{name}/queues"));
            let receive = queues.into_iter().filter(|queue| queue.starts_with("rx-"));
            receive.map(move |queue| (name.clone(), queue)).collect::<Vec<_>>()
        });
        let masks = queues.filter_map(|(name, queue)| {
            let mask = self.text(&format!("/sys/class/net/{name}/queues/{queue}/rps_cpus"))?;
            Some(Steering { queue: format!("{name}/{queue}"), mask })
        });
        masks.collect()
    }

    fn unified(&self, mounts: &str) -> Option<Unified> {
        let mount = Mounts::parse(mounts).unified?.mount;
        let words = |file: &str| {
            let text = self.text(&mount.join(file).to_string_lossy()).unwrap_or_default();
            text.split_whitespace().map(str::to_owned).collect()
        };
        let (available, enabled) = (words("cgroup.controllers"), words("cgroup.subtree_control"));
        Some(Unified { mount, available, enabled })
    }

    /// From the kernel's configuration where a distribution keeps it as text, else from version 1's files.
    fn real_time_groups(&self, mounts: &str) -> Option<bool> {
        let release = self.text("/proc/sys/kernel/osrelease")?;
        if let Some(config) = self.text(&format!("/boot/config-{release}")) {
            return Some(config.lines().any(|line| line == "CONFIG_RT_GROUP_SCHED=y"));
        }
        let cpu = mounts.lines().find_map(|line| {
            let (before, after) = line.split_once(" - cgroup ")?;
            let has = after.split([' ', ',']).any(|word| word == "cpu");
            has.then(|| before.split(' ').nth(4))?
        })?;
        Some(self.path(cpu).join("cpu.rt_runtime_us").exists())
    }

    fn offload(&self) -> Option<String> {
        let on = |name| self.option("/etc/config/firewall", name).is_some_and(|value| value == "1");
        if on("flow_offloading_hw") {
            return Some("flow_offloading_hw '1' in /etc/config/firewall".to_owned());
        }
        if on("flow_offloading") {
            return Some("flow_offloading '1' in /etc/config/firewall".to_owned());
        }
        let flows = self.text("/proc/net/nf_conntrack")?;
        let offloaded = flows.lines().filter(|line| line.contains("OFFLOAD]")).count();
        (offloaded > 0).then(|| format!("{offloaded} offloaded flows in /proc/net/nf_conntrack"))
    }

    fn threaded(&self) -> Vec<(String, bool)> {
        let names = self.names("/sys/class/net").into_iter();
        let real =
            names.filter(|name| self.path(&format!("/sys/class/net/{name}/device")).exists());
        let all = real.filter_map(|name| {
            let value = self.text(&format!("/sys/class/net/{name}/threaded"))?;
            Some((name, value == "1" || value == "enabled"))
        });
        all.collect()
    }

    fn governors(&self) -> Vec<(u32, String)> {
        let names = self.names("/sys/devices/system/cpu").into_iter();
        let all = names.filter_map(|name| {
            let cpu = name.strip_prefix("cpu")?.parse().ok()?;
            let path = format!("/sys/devices/system/cpu/{name}/cpufreq/scaling_governor");
            Some((cpu, self.text(&path)?))
        });
        all.collect()
    }

    /// What only a look at every process tells.
    fn processes(&self, facts: &mut Facts) {
        let keeps_groups = self.path("/sys/fs/cgroup/services").is_dir();
        let mut pids: Vec<u32> =
            self.names("/proc").iter().filter_map(|name| name.parse().ok()).collect();
        pids.sort_unstable();
        for pid in pids {
            let Ok(bytes) = std::fs::read(self.path(&format!("/proc/{pid}/stat"))) else {
                continue;
            };
            let Some(stat) = proc::stat(&bytes) else { continue };
            let name = String::from_utf8_lossy(stat.comm).into_owned();
            if stat.kernel_thread {
                facts.threads.extend(self.packet_thread(pid, &name, &bytes));
                continue;
            }
            if name == "irqbalance" {
                facts.irqbalance = facts.irqbalance.or(Some(pid));
            }
            let group = self.group(pid);
            if keeps_groups && stat.parent == 1 && group.as_deref() == Some("/") {
                let group = "/".to_owned();
                facts.strays.push(Task { pid, name: name.clone(), group });
            }
            if let Some(group) = group.filter(|group| group != "/") {
                facts.real_time.extend(self.real_time(pid, &name, &group));
            }
        }
    }

    /// The group in version 2's tree.
    fn group(&self, pid: u32) -> Option<String> {
        let text = self.text(&format!("/proc/{pid}/cgroup"))?;
        text.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned)
    }

    fn packet_thread(&self, pid: u32, name: &str, stat: &[u8]) -> Option<PacketThread> {
        let kind = crate::sense::worker_kind(name)?;
        let status = self.text(&format!("/proc/{pid}/status"))?;
        let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        let (cpus, last) = (load::cpu_list(cpus)?, load::placed(stat)?.cpu);
        Some(PacketThread { pid, name: name.to_owned(), kind, cpus, last })
    }

    /// The first real-time thread of a process.
    fn real_time(&self, pid: u32, name: &str, group: &str) -> Option<Task> {
        let tids = self.names(&format!("/proc/{pid}/task"));
        let real_time = tids.iter().find(|tid| {
            let stat = std::fs::read(self.path(&format!("/proc/{pid}/task/{tid}/stat")));
            let placed = stat.ok().and_then(|stat| load::placed(&stat));
            placed.is_some_and(|placed| REAL_TIME.contains(&placed.policy))
        })?;
        let pid = real_time.parse().ok()?;
        Some(Task { pid, name: name.to_owned(), group: group.to_owned() })
    }
}

/// The controllers that mounted hierarchies of version 1 have, from `mountinfo`.
fn version_1(mounts: &str) -> Vec<String> {
    const CONTROLLERS: [&str; 5] = ["cpu", "cpuacct", "cpuset", "memory", "freezer"];
    let lines = mounts.lines().filter_map(|line| Some(line.split_once(" - cgroup ")?.1));
    let mut found: Vec<String> = lines
        .flat_map(|options| options.split([' ', ',']))
        .filter(|word| CONTROLLERS.contains(word))
        .map(str::to_owned)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod tests;
