//! The status as metrics: OpenMetrics 1.0, and Prometheus' older text format for who does not ask for it.
//!
//! A value that this device does not tell has no sample. Names begin with `headroom_guard_`; CPU is told in seconds
//! of one CPU. How either format writes it is `listen`'s.

use std::io::Write;

pub use listen::Format;
use listen::openmetrics::{
    Family,
    Kind::{self, Counter, Gauge},
    end, quoted,
};

use super::{Application, Interface, Status};
use crate::decide::Condition;

pub fn text(status: &Status, format: Format) -> String {
    let mut page = Page { out: Vec::with_capacity(4096), format };
    page.family(&BUILD, "version", [(status.version.as_str(), 1.0)]);
    page.whole(&WHOLE, status);
    let conditions = CONDITIONS.map(|(one, name)| (name, is(one == status.condition)));
    page.family(&CONDITION, "condition", conditions);
    page.each(&INTERFACES, "device", status.interfaces.iter().map(|one| (one.name.as_str(), one)));
    let applications = status.applications.iter().map(|one| (one.name.as_str(), one));
    page.each(&APPLICATIONS, "application", applications);
    page.whole(&OWN, status);
    end(format, &mut page.out);
    String::from_utf8_lossy(&page.out).into_owned()
}

/// A family, and where its value is.
type Metric<T> = (Family, fn(&T) -> Option<f64>);

const fn family(name: &'static str, unit: &'static str, kind: Kind, help: &'static str) -> Family {
    Family { unit, ..Family::new(name, kind, help) }
}

/// 1 where it is so.
fn is(so: bool) -> f64 {
    f64::from(u8::from(so))
}

struct Page {
    out: Vec<u8>,
    format: Format,
}

impl Page {
    /// A family that says something of each of these; one without samples is left out.
    fn family<'a>(
        &mut self,
        family: &Family,
        label: &str,
        samples: impl IntoIterator<Item = (&'a str, f64)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_some() {
            family.head(self.format, &mut self.out);
        }
        for (name, value) in samples {
            let out = &mut self.out;
            family.sample(out);
            // Writing to a vector does not fail.
            if !label.is_empty() {
                let _ = write!(out, "{{{label}=");
                quoted(name, out);
                out.push(b'}');
            }
            let _ = writeln!(out, " {value}");
        }
    }

    fn each<'a, T: 'a>(
        &mut self,
        metrics: &[Metric<T>],
        label: &str,
        all: impl Iterator<Item = (&'a str, &'a T)> + Clone,
    ) {
        for (family, value) in metrics {
            let samples = all.clone().filter_map(|(name, one)| Some((name, value(one)?)));
            self.family(family, label, samples);
        }
    }

    fn whole(&mut self, metrics: &[Metric<Status>], status: &Status) {
        self.each(metrics, "", [("", status)].into_iter());
    }
}

const CONDITIONS: [(Condition, &str); 6] = [
    (Condition::Unknown, "unknown"),
    (Condition::Idle, "idle"),
    (Condition::Served, "served"),
    (Condition::LinkLimited, "link-limited"),
    (Condition::Starved, "starved"),
    (Condition::StarvedByOthers, "starved-by-others"),
];

const BUILD: Family =
    family("headroom_guard_build_info", "", Gauge, "Version of the guard that runs.");
const CONDITION: Family =
    family("headroom_guard_condition", "", Gauge, "1 for Wi-Fi's condition now, 0 for the others.");

#[rustfmt::skip]
const WHOLE: [Metric<Status>; 5] = [
    (family("headroom_guard_aggressiveness", "", Gauge, "How hard Wi-Fi is defended, 0 to 100."),
        |status| Some(f64::from(status.aggressiveness))),
    (family("headroom_guard_dry_run", "", Gauge, "1 where guard decides and writes nothing."),
        |status| Some(is(status.dry_run))),
    (family("headroom_guard_policy_refused", "", Gauge, "1 where the policy file as it is now is refused and the one before holds."),
        |status| Some(is(status.policy_refused.is_some()))),
    (family("headroom_guard_kept_ratio", "ratio", Gauge, "Share of Wi-Fi's work that was kept; absent without demand."),
        |status| status.kept),
    (family("headroom_guard_target_ratio", "ratio", Gauge, "Share of Wi-Fi's work that is wanted."),
        |status| Some(status.target)),
];

#[rustfmt::skip]
const INTERFACES: [Metric<Interface>; 3] = [
    (family("headroom_guard_interface_receive_bytes_per_second", "bytes_per_second", Gauge, "Received through a protected interface."),
        |one| Some(one.rx_bps / 8.0)),
    (family("headroom_guard_interface_transmit_bytes_per_second", "bytes_per_second", Gauge, "Sent through a protected interface."),
        |one| Some(one.tx_bps / 8.0)),
    (family("headroom_guard_interface_drops", "", Counter, "Packets that a protected interface or its queue dropped."),
        |one| Some(one.drops as f64)),
];

#[rustfmt::skip]
const APPLICATIONS: [Metric<Application>; 9] = [
    (family("headroom_guard_application_running", "", Gauge, "1 where an application has a process."),
        |one| Some(is(one.runs))),
    (family("headroom_guard_application_bounded", "", Gauge, "1 where an application is bounded."),
        |one| Some(is(!one.bounds.are_none()))),
    (family("headroom_guard_application_weight", "", Gauge, "Weight against 1024 of one unbounded."),
        |one| Some(f64::from(one.bounds.weight))),
    (family("headroom_guard_application_idle_class", "", Gauge, "1 where it runs in the idle class."),
        |one| Some(is(one.bounds.idle))),
    (family("headroom_guard_application_allowed_cpus", "cpus", Gauge, "CPUs that it is packed onto."),
        |one| one.bounds.cpus.as_ref().map(|cpus| cpus.len() as f64)),
    (family("headroom_guard_application_quota_cpus", "cpus", Gauge, "CPUs that its quota allows."),
        |one| one.bounds.quota.map(|quota| quota.get())),
    (family("headroom_guard_application_memory_high_bytes", "bytes", Gauge, "Memory that slows it down."),
        |one| one.bounds.memory_high_kib.map(|kib| kib as f64 * 1024.0)),
    (family("headroom_guard_application_used_cpus", "cpus", Gauge, "CPUs that it has now, itself."),
        |one| Some(one.cpus)),
    (family("headroom_guard_application_cpu_seconds", "seconds", Counter, "CPU time of its own."),
        |one| Some(one.cpu_s)),
];

#[rustfmt::skip]
const OWN: [Metric<Status>; 7] = [
    (family("headroom_guard_refused_levers", "", Gauge, "Levers that this device refused."),
        |status| Some(status.refused.len() as f64)),
    (family("headroom_guard_overruled_values", "", Gauge, "Values that another program wrote since."),
        |status| Some(status.overruled.len() as f64)),
    (family("headroom_guard_uptime_seconds", "seconds", Counter, "How long guard runs."),
        |status| Some(status.uptime_s)),
    (family("headroom_guard_own_cpu_seconds", "seconds", Counter, "CPU time of guard and its watchdog."),
        |status| Some(status.own.cpu_s)),
    (family("headroom_guard_own_memory_bytes", "bytes", Gauge, "Memory that guard holds."),
        |status| status.own.rss_kib.map(|kib| kib as f64 * 1024.0)),
    (family("headroom_guard_ticks", "", Counter, "Ticks since guard began."),
        |status| Some(status.own.ticks as f64)),
    (family("headroom_guard_writes", "", Counter, "Writes to the kernel since guard began."),
        |status| Some(status.own.writes as f64)),
];

#[cfg(test)]
mod tests {
    use listen::readers;

    use super::*;
    use crate::status::words::tests::example;

    #[test]
    fn the_page_is_what_scrapers_read() {
        insta::assert_snapshot!(text(&example(), Format::OpenMetrics));
    }

    #[test]
    fn promtool_has_nothing_to_say() {
        match readers::promtool(&text(&example(), Format::Prometheus)) {
            Ok(said) => assert!(said.is_empty(), "{said}"),
            Err(why) => skip::skip!("{why}"),
        }
    }

    #[test]
    fn the_strict_parser_takes_the_whole_page() {
        let page = text(&example(), Format::OpenMetrics);
        match readers::families(&page) {
            Ok(families) => {
                let written = page.lines().filter(|line| line.starts_with("# TYPE")).count();
                assert_eq!(families.len(), written);
            }
            Err(why) => skip::skip!("{why}"),
        }
    }

    #[test]
    fn a_name_cannot_break_a_line() {
        let mut status = Status::default();
        let name = "a\"b\\c\nd".to_owned();
        status.applications.push(Application { name, ..Application::default() });
        let page = text(&status, Format::OpenMetrics);
        assert!(page.contains(r#"application_running{application="a\"b\\c\nd"} 0"#), "{page}");
    }
}
