//! Gathers what the machine says of itself, once for each `Hello`.
//!
//! Talks to `/proc`, `/sys`, `perf_event_open` and nl80211 through `linux`. What is absent stays absent.

use linux::{cgroup::Mounts, mounts, perf, perf::tracing::Tracing, proc, system};
use model::facts::{Cgroup, Facts, Room, Warmth};

use crate::{census, programs};

/// Every fact but the programs, which belong to the order.
pub(crate) fn gather() -> Facts {
    let uname = system::uname();
    let events = perf::events();
    Facts {
        kernel: uname.release,
        machine: uname.machine,
        cpus: u32::try_from(system::cpus_online()).unwrap_or(u32::MAX),
        clk_tck: system::ticks_per_second(),
        clock: system::clock_source(),
        page_size: system::page_size(),
        memory_kib: own("/proc/meminfo", proc::memory_kib).unwrap_or(0),
        pmu_events: texts(&events.present),
        pmu_absent: texts(&events.absent),
        cpu_clock: events.cpu_clock,
        tracefs: tracefs(),
        cgroup: kind(&Mounts::find().unwrap_or_default()),
        schedstat: own("/proc/self/schedstat", proc::schedstat).is_some(),
        task_io: own("/proc/self/io", proc::io).is_some(),
        governor: system::governor(),
        turbo: system::turbo(),
        address_randomisation: system::address_randomisation(),
        interfaces: census::names(),
        programs: Vec::new(),
        boot: system::boot(),
        kernel_notes: programs::digest("/sys/kernel/notes".as_ref()).ok(),
        system: programs::digest("/etc/os-release".as_ref()).ok(),
        warmth: warmth(),
        room: room(),
    }
}

/// How warm it is; `None` where there is no thermal zone and nothing that cools.
fn warmth() -> Option<Warmth> {
    let (warmest_mc, is_held_back) = (system::warmest_mc(), system::is_held_back());
    let is_known = warmest_mc.is_some() || is_held_back.is_some();
    is_known.then(|| Warmth { warmest_mc, is_held_back: is_held_back.unwrap_or(false) })
}

/// Where what carried us here put us: the folder above our own.
fn room() -> Option<Room> {
    let own = std::env::current_exe().ok()?;
    let folder = own.parent()?.parent()?;
    let room = rustix::fs::statvfs(folder).ok()?;
    let free_kib = room.f_bavail.saturating_mul(room.f_frsize) >> 10;
    Some(Room { folder: folder.to_string_lossy().into_owned(), free_kib })
}

fn kind(mounts: &Mounts) -> Cgroup {
    match (mounts.any_v1, mounts.unified.is_some()) {
        (false, false) => Cgroup::Absent,
        (true, false) => Cgroup::V1,
        (false, true) => Cgroup::V2,
        (true, true) => Cgroup::Hybrid,
    }
}

fn own<T>(path: &str, parse: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    parse(&proc::read(path).ok()?)
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Where it is mounted; where it is not, whether the agent can have it for itself.
fn tracefs() -> Option<String> {
    let mounted = mounts::first_of("tracefs").map(|at| at.to_string_lossy().into_owned());
    mounted.or_else(|| Tracing::open().is_ok().then(|| "tracefs, not mounted".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_groups_are_called_by_what_is_mounted() {
        let v1 = "1 1 0:1 / /a rw - cgroup c rw,cpuacct\n";
        let v2 = "2 1 0:2 / /b rw - cgroup2 c rw\n";
        let named = "3 1 0:3 / /c rw - cgroup c rw,name=systemd\n";
        let cases = [
            (String::new(), Cgroup::Absent),
            (v1.to_owned(), Cgroup::V1),
            (v2.to_owned(), Cgroup::V2),
            (format!("{v1}{v2}"), Cgroup::Hybrid),
            (format!("{named}{v2}"), Cgroup::V2),
        ];
        for (text, expected) in cases {
            assert_eq!(kind(&Mounts::of(&mounts::parse(text.as_bytes()))), expected, "{text}");
        }
    }
}
