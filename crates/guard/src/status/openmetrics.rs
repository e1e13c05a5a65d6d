//! The status as metrics: OpenMetrics 1.0, and Prometheus' older text format for who does not ask for it.
//!
//! <https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md>. A value that this device
//! does not tell has no sample. Names begin with `headroom_guard_`; CPU is told in seconds of one CPU.

use std::io::Write;

pub use listen::Format;
use listen::metrics::{self, Family, Kind, quoted};

use super::{Application, Status};
use crate::decide::Condition;

/// All metrics of a status.
pub fn text(status: &Status, format: Format) -> String {
    let mut page = Page { text: Vec::with_capacity(4096), format };
    whole(&mut page, status);
    interfaces(&mut page, status);
    applications(&mut page, &status.applications);
    own(&mut page, status);
    metrics::end(format, &mut page.text);
    // It was written by `str`s alone.
    String::from_utf8_lossy(&page.text).into_owned()
}

/// What every name begins with.
const PREFIX: &str = "headroom_guard_";

fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name}_{unit}") }
}

struct Page {
    text: Vec<u8>,
    format: Format,
}

impl Page {
    /// A family of metrics, and its samples: labels (with their braces, or none) and value.
    fn family(&mut self, (name, unit): (&str, &str), kind: Kind, help: &str) {
        let name = format!("{PREFIX}{}", with_unit(name, unit));
        Family { name: &name, unit, kind, help }.write(self.format, &mut self.text);
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let _ = write!(self.text, "{PREFIX}{name}");
        for (nth, (label, text)) in labels.iter().enumerate() {
            let _ = write!(self.text, "{}{label}=", if nth == 0 { '{' } else { ',' });
            quoted(text, &mut self.text);
        }
        let _ = writeln!(self.text, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    fn gauge(&mut self, (name, unit): (&str, &str), help: &str, value: Option<f64>) {
        let Some(value) = value else { return };
        self.family((name, unit), Kind::Gauge, help);
        self.sample(&with_unit(name, unit), &[], value);
    }

    fn counter(&mut self, (name, unit): (&str, &str), help: &str, value: f64) {
        self.family((name, unit), Kind::Counter, help);
        self.sample(&format!("{}_total", with_unit(name, unit)), &[], value);
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

fn whole(page: &mut Page, status: &Status) {
    page.family(("build_info", ""), Kind::Gauge, "Version of the guard that runs.");
    page.sample("build_info", &[("version", &status.version)], 1.0);
    page.gauge(
        ("aggressiveness", ""),
        "How hard Wi-Fi is defended, 0 to 100.",
        Some(f64::from(status.aggressiveness)),
    );
    page.gauge(
        ("dry_run", ""),
        "1 where guard decides and writes nothing.",
        Some(f64::from(u8::from(status.dry_run))),
    );
    page.gauge(
        ("policy_refused", ""),
        "1 where the policy file as it is now is refused and the one before holds.",
        Some(f64::from(u8::from(status.policy_refused.is_some()))),
    );
    page.gauge(
        ("kept", "ratio"),
        "Share of Wi-Fi's work that was kept; absent without demand.",
        status.kept,
    );
    page.gauge(("target", "ratio"), "Share of Wi-Fi's work that is wanted.", Some(status.target));
    page.family(("condition", ""), Kind::Gauge, "1 for Wi-Fi's condition now, 0 for the others.");
    for (condition, name) in CONDITIONS {
        let now = condition == status.condition;
        page.sample("condition", &[("condition", name)], f64::from(u8::from(now)));
    }
}

fn interfaces(page: &mut Page, status: &Status) {
    type Value = fn(&super::Interface) -> f64;
    let families: [((&str, &str), &str, Value); 2] = [
        (
            ("interface_receive", "bytes_per_second"),
            "Received through a protected interface.",
            |one| one.rx_bps / 8.0,
        ),
        (
            ("interface_transmit", "bytes_per_second"),
            "Sent through a protected interface.",
            |one| one.tx_bps / 8.0,
        ),
    ];
    if status.interfaces.is_empty() {
        return;
    }
    for (name, help, value) in families {
        page.family(name, Kind::Gauge, help);
        for one in &status.interfaces {
            let name = format!("{}_{}", name.0, name.1);
            page.sample(&name, &[("device", &one.name)], value(one));
        }
    }
    page.family(
        ("interface_drops", ""),
        Kind::Counter,
        "Packets that a protected interface or its queue dropped.",
    );
    for one in &status.interfaces {
        page.sample("interface_drops_total", &[("device", &one.name)], one.drops as f64);
    }
}

fn applications(page: &mut Page, applications: &[Application]) {
    type Value = fn(&Application) -> Option<f64>;
    let families: [((&str, &str), Kind, &str, Value); 10] = [
        (
            ("application_running", ""),
            Kind::Gauge,
            "1 where an application has a process.",
            |one| Some(f64::from(u8::from(one.runs))),
        ),
        (("application_bounded", ""), Kind::Gauge, "1 where an application is bounded.", |one| {
            Some(f64::from(u8::from(!one.bounds.are_none())))
        }),
        (("application_weight", ""), Kind::Gauge, "Weight against 1024 of one unbounded.", |one| {
            Some(f64::from(one.bounds.weight))
        }),
        (
            ("application_idle_class", ""),
            Kind::Gauge,
            "1 where it runs in the idle class.",
            |one| Some(f64::from(u8::from(one.bounds.idle))),
        ),
        (("application_allowed", "cpus"), Kind::Gauge, "CPUs that it is packed onto.", |one| {
            one.bounds.cpus.as_ref().map(|cpus| cpus.len() as f64)
        }),
        (("application_quota", "cpus"), Kind::Gauge, "CPUs that its quota allows.", |one| {
            one.bounds.quota.map(|quota| quota.get())
        }),
        (("application_memory_high", "bytes"), Kind::Gauge, "Memory that slows it down.", |one| {
            one.bounds.memory_high_kib.map(|kib| kib as f64 * 1024.0)
        }),
        (("application_used", "cpus"), Kind::Gauge, "CPUs that it has now, itself.", |one| {
            Some(one.cpus)
        }),
        (("application_fair", "cpus"), Kind::Gauge, "CPUs that it would have unbounded.", |one| {
            one.fair_cpus
        }),
        (("application_cpu", "seconds"), Kind::Counter, "CPU time of its own.", |one| {
            Some(one.cpu_s)
        }),
    ];
    for (name, kind, help, value) in families {
        let samples: Vec<_> =
            applications.iter().filter_map(|one| Some((&one.name, value(one)?))).collect();
        if samples.is_empty() {
            continue;
        }
        page.family(name, kind, help);
        let sample = with_unit(name.0, name.1) + kind.suffix();
        for (application, value) in samples {
            let labels = [("application", application.as_str())];
            page.sample(&sample, &labels, value);
        }
    }
}

fn own(page: &mut Page, status: &Status) {
    let own = &status.own;
    page.gauge(
        ("refused_levers", ""),
        "Levers that this device refused.",
        Some(status.refused.len() as f64),
    );
    page.gauge(
        ("overruled_values", ""),
        "Values that somebody else wrote since.",
        Some(status.overruled.len() as f64),
    );
    page.counter(("uptime", "seconds"), "How long guard runs.", status.uptime_s);
    page.counter(("own_cpu", "seconds"), "CPU time of guard and its watchdog.", own.cpu_s);
    page.gauge(
        ("own_memory", "bytes"),
        "Memory that guard holds.",
        own.rss_kib.map(|kib| kib as f64 * 1024.0),
    );
    page.counter(("ticks", ""), "Ticks since guard began.", own.ticks as f64);
    page.counter(("writes", ""), "Writes to the kernel since guard began.", own.writes as f64);
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        process::{Command, Stdio},
    };

    use super::*;
    use crate::status::words::tests::example;

    #[test]
    fn the_page_is_what_scrapers_read() {
        insta::assert_snapshot!(text(&example(), Format::OpenMetrics));
    }

    /// What a program says to a text on its standard input; `None` where there is no such program.
    fn fed(program: &str, words: &[&str], text: &str) -> Option<(bool, String)> {
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().ok()?;
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        Some((output.status.success(), String::from_utf8(said).unwrap()))
    }

    #[test]
    fn promtool_has_nothing_to_say() {
        let page = text(&example(), Format::Prometheus);
        let Some((fine, said)) = fed("promtool", &["check", "metrics"], &page) else {
            return skip::skip!("no promtool (Debian package prometheus)");
        };
        assert!(fine && said.is_empty(), "{said}");
    }

    const STRICT: &str = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
print(len(list(text_string_to_metric_families(sys.stdin.read()))))
";

    #[test]
    fn the_strict_parser_takes_the_whole_page() {
        // Debian's own Python has Debian's packages.
        let page = text(&example(), Format::OpenMetrics);
        let Some((fine, said)) = fed("/usr/bin/python3", &["-c", STRICT], &page) else {
            return skip::skip!("no python3");
        };
        if said.contains("No module named 'prometheus_client'") {
            return skip::skip!("no Debian package python3-prometheus-client");
        }
        let families = page.lines().filter(|line| line.starts_with("# TYPE")).count();
        assert!(fine && said.trim() == families.to_string(), "{said}");
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
