//! Why an event could not be had, and what a person can do about it.
//!
//! The kernel answers `perf_event_open` with a number that means another thing for each kind of event.
//! What it means is decided here, by a pure function; what is read of the machine for it is two small
//! files of `/proc/sys/kernel`.

use std::{fmt, io};

use rustix::io::Errno;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Sample,
    UserProbe,
    KernelProbe,
    /// The file system that probes are made in.
    Tracing,
    Group,
    Ring,
}

/// An event, or its ring, that could not be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}")]
pub struct Error {
    /// What was tried, as “sample cpu-clock in thread 7”.
    pub what: String,
    pub purpose: Purpose,
    #[source]
    pub source: io::Error,
}

impl Error {
    pub(super) fn new(purpose: Purpose, what: impl fmt::Display, source: io::Error) -> Self {
        Self { what: what.to_string(), purpose, source }
    }

    /// The kernel's words, and what to do.
    pub fn why(&self) -> String {
        match advice(self.errno(), self.purpose, &Limits::read()) {
            Some(advice) => format!("{}; {advice}", self.source),
            None => self.source.to_string(),
        }
    }

    /// The process or thread has ended meanwhile.
    pub(super) fn is_gone(&self) -> bool {
        self.errno() == Some(Errno::SRCH)
    }

    fn errno(&self) -> Option<Errno> {
        Errno::from_io_error(&self.source)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// `kernel.perf_event_paranoid`; `None`: the kernel has no performance events.
    pub paranoid: Option<i32>,
    /// `kernel.perf_event_max_sample_rate`, samples a second.
    pub rate: Option<u32>,
}

impl Limits {
    pub fn read() -> Self {
        Self { paranoid: number("perf_event_paranoid"), rate: number("perf_event_max_sample_rate") }
    }
}

fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok()
}

/// What can be done about a refusal; `None` where the kernel's words say it all.
pub fn advice(errno: Option<Errno>, purpose: Purpose, limits: &Limits) -> Option<String> {
    let text = match (errno?, purpose) {
        (Errno::NODEV, Purpose::Tracing) => {
            "this kernel is built without probes (CONFIG_UPROBE_EVENTS, CONFIG_KPROBE_EVENTS)".to_owned()
        }
        (Errno::PERM | Errno::ACCESS, Purpose::Tracing) => {
            "probes are made in tracefs: run the agent as root; a kernel that is locked down allows none"
                .to_owned()
        }
        (_, Purpose::Tracing) => {
            "probes are made in tracefs: `mount -t tracefs nodev /sys/kernel/tracing`".to_owned()
        }
        (Errno::NOSYS, _) => {
            "this kernel is built without performance events (CONFIG_PERF_EVENTS)".to_owned()
        }
        (Errno::MFILE | Errno::NFILE, _) => {
            "too many files are open, one for each thread, CPU and probe: raise the limit with \
             `ulimit -n`, or take a smaller scope"
                .to_owned()
        }
        (Errno::PERM | Errno::ACCESS, Purpose::Ring) => {
            "memory that may be locked is used up: run the agent as root, or raise \
             `sysctl kernel.perf_event_mlock_kb`"
                .to_owned()
        }
        (Errno::PERM | Errno::ACCESS, _) => forbidden(limits),
        (Errno::INVAL, Purpose::Sample) => match limits.rate {
            Some(rate) => format!(
                "at most {rate} samples a second are allowed here \
                 (`sysctl kernel.perf_event_max_sample_rate`)"
            ),
            None => return None,
        },
        (Errno::INVAL | Errno::NOTSUP | Errno::IO, Purpose::UserProbe) => {
            "the place is not an instruction that this kernel can probe, or the file lies on a file \
             system without executable pages"
                .to_owned()
        }
        (Errno::NODEV, Purpose::UserProbe) => {
            "this kernel is built without CONFIG_UPROBE_EVENTS".to_owned()
        }
        (Errno::NODEV, Purpose::KernelProbe) => {
            "this kernel is built without CONFIG_KPROBE_EVENTS".to_owned()
        }
        (Errno::NOENT, Purpose::UserProbe) => "the file is not there".to_owned(),
        (Errno::INVAL | Errno::NOENT | Errno::NOTSUP, Purpose::KernelProbe) => {
            "the kernel has no function of that name that may be probed: see \
             `grep NAME /proc/kallsyms` and /sys/kernel/debug/kprobes/blacklist"
                .to_owned()
        }
        (Errno::INVAL | Errno::NOENT | Errno::BADF, Purpose::Group) => {
            "this kernel counts no events by control group there: it needs CONFIG_CGROUP_PERF, and \
             the group must be in the hierarchy of `perf_event`"
                .to_owned()
        }
        _ => return None,
    };
    Some(text)
}

fn forbidden(limits: &Limits) -> String {
    let paranoid =
        limits.paranoid.map_or_else(|| "unreadable".to_owned(), |level| level.to_string());
    format!(
        "run the agent as root, or set `sysctl kernel.perf_event_paranoid=-1` (it is {paranoid}); in a \
         container add CAP_PERFMON and allow perf_event_open in its seccomp profile"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(errno: Errno, purpose: Purpose) -> String {
        let limits = Limits { paranoid: Some(3), rate: Some(50_000) };
        advice(Some(errno), purpose, &limits).unwrap_or_default()
    }

    #[test]
    fn every_bad_weather_says_what_to_do() {
        assert!(
            reported(Errno::ACCESS, Purpose::Sample).contains("perf_event_paranoid=-1` (it is 3)")
        );
        assert!(reported(Errno::PERM, Purpose::UserProbe).contains("container"));
        assert!(reported(Errno::PERM, Purpose::Ring).contains("perf_event_mlock_kb"));
        assert!(reported(Errno::NOSYS, Purpose::Sample).contains("CONFIG_PERF_EVENTS"));
        assert!(reported(Errno::MFILE, Purpose::UserProbe).contains("ulimit -n"));
        assert!(reported(Errno::INVAL, Purpose::Sample).contains("50000 samples a second"));
        assert!(reported(Errno::NOTSUP, Purpose::UserProbe).contains("not an instruction"));
        assert!(reported(Errno::NOENT, Purpose::KernelProbe).contains("kallsyms"));
        assert!(reported(Errno::NODEV, Purpose::KernelProbe).contains("CONFIG_KPROBE_EVENTS"));
        assert!(reported(Errno::NODEV, Purpose::Tracing).contains("without probes"));
        assert!(reported(Errno::PERM, Purpose::Tracing).contains("as root"));
        assert!(reported(Errno::NOSYS, Purpose::Tracing).contains("mount -t tracefs"));
        assert!(reported(Errno::INVAL, Purpose::Group).contains("CONFIG_CGROUP_PERF"));
        assert_eq!(reported(Errno::AGAIN, Purpose::Sample), "");
    }

    #[test]
    fn an_error_is_one_line_with_its_cause_and_its_cure() {
        let source = Errno::MFILE.into();
        let error = Error::new(Purpose::Sample, "sample cpu-clock in thread 7", source);
        assert_eq!(error.to_string(), "cannot sample cpu-clock in thread 7");
        let why = error.why();
        assert!(why.starts_with("Too many open files") && why.contains("ulimit"), "{why}");
    }
}
