//! Reasons in plain words with figures.

use super::{Condition, Controller, Lever, signal::Source};

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A share as people read it.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 99.95 || percent == percent.round() {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

pub(super) fn unknown(span_ns: u64) -> String {
    let seconds = span_ns as f64 / 1e9;
    format!(
        "nothing is decided in the first tick and in one that the clock made long ({seconds:.1} s)"
    )
}

pub(super) fn points(difference: f64) -> String {
    format!("{:.1} points", difference * 100.0)
}

/// A time in seconds.
pub(super) fn seconds(ns: u64) -> String {
    format!("{:.0} s", ns as f64 / 1e9)
}

pub(super) fn lever(lever: Lever) -> &'static str {
    match lever {
        Lever::Weight => "the weight",
        Lever::Placement => "the nice value of Wi-Fi's threads",
        Lever::Packing => "packing on fewer CPUs",
        Lever::Idle => "the idle class",
        Lever::Quota => "the quota",
        Lever::Memory => "the memory bound",
        Lever::Cache => "the cache bound",
        Lever::Threaded => "threaded NAPI",
    }
}

impl Controller<'_> {
    /// How well off Wi-Fi is: the beginning of most reasons.
    pub(super) fn got(&self) -> String {
        let flow = &self.state.fast;
        let target = self.law.target;
        if let Some(rate) = self.law.rate {
            let megabits = |bits: f64| bits / 1e6;
            return format!(
                "Wi-Fi carries {:.1} Mb/s (target {:.1} Mb/s)",
                megabits(flow.bits),
                megabits(rate)
            );
        }
        let Some(kept) = flow.kept() else {
            return "Wi-Fi's work asked for no CPU time".to_owned();
        };
        let source = match self.signal.source {
            Source::Waiting => "",
            Source::Canary => ", measured by the canary",
            Source::Softnet => ", seen in dropped packets",
        };
        let (kept, target) = (percent(kept), percent(target));
        format!("Wi-Fi got {kept} of the CPU time that it asked for (target {target}{source})")
    }

    /// The same with the worst offender.
    pub(super) fn found(&self) -> String {
        let got = self.got();
        match self.offenders().first() {
            Some((worst, part)) => {
                format!("{got}; {} took {} of what it lost", self.name(*worst), percent(*part))
            }
            None => got,
        }
    }

    /// Why nothing is done where applications are not to blame.
    pub(super) fn not_theirs(&self, condition: Condition) -> String {
        match condition {
            Condition::LinkLimited if self.signal.air_full => {
                "the air is full: nothing that an application gives up would help".to_owned()
            }
            Condition::LinkLimited => {
                "a queue stands before the link though Wi-Fi's work has CPU time to \
                spare: the link is the limit, and nothing that an application gives up would help"
                    .to_owned()
            }
            Condition::StarvedByOthers if self.signal.stolen > self.signal.lost_to_others => {
                format!(
                    "the hypervisor took {} of a CPU where Wi-Fi's work waited, which guard cannot change",
                    percent(self.signal.stolen)
                )
            }
            Condition::StarvedByOthers => format!(
                "Wi-Fi's work lost {} of a CPU to programs that the policy does not name; an \
                 [[application]] for them would let guard bound them",
                percent(self.state.fast.lost_to_others)
            ),
            _ => self.got(),
        }
    }
}
