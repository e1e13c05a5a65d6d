//! The machine: names, clocks, ticks, memory pages, and what `/sys` says of its CPUs.
//!
//! Talks to `uname`, `sysconf`, the clocks and small files of `/sys` and `/proc/sys`. What a machine
//! lacks is `None`; nothing of it is changed and nothing is guessed.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustix::time::ClockId;

use crate::error::checked;

/// Keeps the memory of this process from everybody who does not have `CAP_SYS_PTRACE`, also of its own user (prctl(2),
/// `PR_SET_DUMPABLE`). A program that is executed in its place begins anew.
pub fn hide_memory() -> io::Result<()> {
    // SAFETY: `PR_SET_DUMPABLE` takes a number and touches no memory of ours.
    checked(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) }).map(drop)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uname {
    pub release: String,
    pub machine: String,
}

pub fn uname() -> Uname {
    let name = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    Uname { release: text(name.release()), machine: text(name.machine()) }
}

/// The monotonic clock, ns. It stands still while the machine sleeps.
pub fn monotonic_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

/// Since boot, sleep included, ns: the clock of the kernel's association times.
pub fn boottime_ns() -> u64 {
    clock_ns(ClockId::Boottime)
}

/// A clock that starts with the machine, or with the process or thread whose CPU time it is, ns.
pub fn clock_ns(clock: ClockId) -> u64 {
    let now = rustix::time::clock_gettime(clock);
    // Neither part is negative.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// The wall clock, ns since 1970. It jumps; what has to last is measured by another.
pub fn wall_ns() -> i64 {
    let now = rustix::time::clock_gettime(ClockId::Realtime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Clock ticks a second of the times in `/proc/PID/stat`.
pub fn ticks_per_second() -> u64 {
    sysconf(libc::_SC_CLK_TCK)
}

pub fn cpus_online() -> u64 {
    sysconf(libc::_SC_NPROCESSORS_ONLN)
}

/// The numbers of the CPUs that are online, ascending; CPU 0 where `/sys` does not say.
pub fn cpus() -> Vec<u32> {
    let online = line("/sys/devices/system/cpu/online").unwrap_or_default();
    crate::load::cpu_list(&online).filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| vec![0])
}

pub fn page_size() -> u64 {
    sysconf(libc::_SC_PAGESIZE)
}

/// A value that every Linux has; 0 would mean that the C library does not know the name.
fn sysconf(name: i32) -> u64 {
    // SAFETY: `sysconf` takes any number and touches no memory of ours.
    let value = unsafe { libc::sysconf(name) };
    u64::try_from(value).unwrap_or(0)
}

/// The clock source in use, as `tsc`.
pub fn clock_source() -> Option<String> {
    line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

pub fn governor() -> Option<String> {
    line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

/// Whether CPUs may clock above their base, where a driver says so.
pub fn turbo() -> Option<bool> {
    let (setting, [yes, _]) = crate::frequency::turbo()?;
    Some(setting.value().ok()? == yes)
}

/// What tells this boot from every other one.
pub fn boot() -> Option<String> {
    line("/proc/sys/kernel/random/boot_id")
}

/// The warmest thermal zone, thousandths of a degree Celsius.
pub fn warmest_mc() -> Option<i32> {
    let zones = folders("/sys/class/thermal", "thermal_zone");
    zones.iter().filter_map(|zone| line(zone.join("temp"))?.parse().ok()).max()
}

/// Whether the kernel holds processors back to cool them; `None` where nothing that cools is a processor.
pub fn is_held_back() -> Option<bool> {
    let devices = folders("/sys/class/thermal", "cooling_device");
    let is_processor = |device: &&PathBuf| {
        // As `thermal-cpufreq-0`, `cpufreq-cpu0`, or `Processor` where ACPI names it.
        let kind = line(device.join("type")).unwrap_or_default();
        kind.contains("cpufreq") || kind == "Processor"
    };
    let states =
        devices.iter().filter(is_processor).filter_map(|device| line(device.join("cur_state")));
    states.map(|state| state != "0").reduce(|one, other| one || other)
}

/// The folders in one whose names begin so, in the order of their names.
fn folders(folder: &str, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    let mut all: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    all.sort_unstable();
    all
}

/// `kernel.randomize_va_space`.
pub fn address_randomisation() -> Option<u32> {
    line("/proc/sys/kernel/randomize_va_space")?.parse().ok()
}

/// The only line of a small file, without the spaces around it; `None` where it is absent or empty.
fn line(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_name_a_tick_and_a_page() {
        assert!(!uname().release.is_empty());
        assert!(ticks_per_second() > 0);
        assert!(page_size().is_power_of_two());
        assert_eq!(cpus().len() as u64, cpus_online());
    }
}
