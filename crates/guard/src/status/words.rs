//! The status for people: what a terminal of 100 columns shows at a glance.

use std::fmt::{self, Display, Formatter};

use model::{plural::count, share::Share};

use super::{Interface, Status};
use crate::{
    bounds::{Bounds, FULL_WEIGHT, Placement},
    decide::Condition,
    policy::Policy,
};

/// A status as a person reads it.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a>(pub &'a Status);

impl Display for Words<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let status = self.0;
        head(f, status)?;
        condition(f, status)?;
        for interface in &status.interfaces {
            interface_line(f, interface)?;
        }
        applications(f, status)?;
        placement(f, &status.placement)?;
        for refused in &status.refused {
            writeln!(f, "refused    {refused}")?;
        }
        for line in &status.overruled {
            writeln!(f, "overruled  {line}")?;
        }
        for absent in &status.absent {
            writeln!(f, "absent     {absent}")?;
        }
        own(f, status)
    }
}

fn head(f: &mut Formatter<'_>, status: &Status) -> fmt::Result {
    write!(f, "guard      pid {}, for {}", status.pid, span(status.uptime_s))?;
    if status.dry_run {
        write!(f, ", dry run: nothing is written")?;
    }
    writeln!(f)?;
    writeln!(f, "policy     {}, aggressiveness {}", status.policy, status.aggressiveness)?;
    for floor in &status.floors {
        writeln!(f, "floor      {floor}")?;
    }
    if let Some(why) = &status.policy_refused {
        writeln!(f, "           the file as it is now is refused, the one before holds: {why}")?;
    }
    Ok(())
}

fn condition(f: &mut Formatter<'_>, status: &Status) -> fmt::Result {
    write!(f, "Wi-Fi      {}", condition_words(status.condition))?;
    if let Some(kept) = status.kept {
        write!(f, ", kept {} of its work, wanted {}", percent(kept), percent(status.target))?;
    }
    writeln!(f)?;
    if !status.now.is_empty() {
        writeln!(f, "now        {}", status.now)?;
    }
    if let (Some(reason), Some(age)) = (&status.reason, status.reason_age_s) {
        writeln!(f, "last step  {} ago: {reason}", span(age))?;
    }
    if !status.offenders.is_empty() {
        let blamed: Vec<_> = status
            .offenders
            .iter()
            .map(|(name, share)| format!("{name} {}", percent(*share)))
            .collect();
        writeln!(f, "blamed     {}", blamed.join(", "))?;
    }
    Ok(())
}

pub fn condition_words(condition: Condition) -> &'static str {
    match condition {
        Condition::Unknown => "not known yet",
        Condition::Idle => "idle",
        Condition::Served => "served as it comes",
        Condition::LinkLimited => "limited by its link",
        Condition::Starved => "starved by applications",
        Condition::StarvedByOthers => "starved, and by no application of the policy",
    }
}

fn interface_line(f: &mut Formatter<'_>, interface: &Interface) -> fmt::Result {
    write!(
        f,
        "interface  {}  {} in, {} out",
        interface.name,
        rate(interface.rx_bps),
        rate(interface.tx_bps)
    )?;
    if interface.drops > 0 {
        write!(f, ", {} dropped", interface.drops)?;
    }
    writeln!(f)
}

fn applications(f: &mut Formatter<'_>, status: &Status) -> fmt::Result {
    let applications = &status.applications;
    if applications.is_empty() {
        return Ok(());
    }
    let width = applications.iter().map(|one| one.name.chars().count()).max().unwrap_or(0).max(11);
    writeln!(f, "\n{:width$}  {:>6}  bounds", "application", "CPU")?;
    for one in applications {
        if !one.runs {
            writeln!(f, "{:width$}  {:>6}", one.name, "absent")?;
            continue;
        }
        let bounds = bounds_words(&one.bounds);
        write!(f, "{:width$}  {:>6}  {bounds}", one.name, percent(one.cpus))?;
        if let Some(since) = one.bounded_for_s {
            write!(f, ", for {}", span(since))?;
        }
        writeln!(f)?;
        // What the last step's line says already is not said again.
        if let Some(why) = one.why.as_ref().filter(|_| one.why != status.reason) {
            writeln!(f, "{:width$}  because {why}", "")?;
        }
    }
    writeln!(f)
}

/// What a policy says that applications keep at least, a line for each floor.
pub fn floors(policy: &Policy) -> Vec<String> {
    let all = policy.application_floor.map(|share| ("all applications together keep", share));
    let all = all.map(|(who, share)| format!("{who} at least {}", floor(share)));
    let each = policy
        .applications
        .iter()
        .filter_map(|rule| Some(format!("{} keeps at least {}", rule.name, floor(rule.floor?))));
    all.into_iter().chain(each).collect()
}

pub fn floor(share: Share) -> String {
    format!("{} of one CPU, whatever Wi-Fi wants", percent(share.get()))
}

/// Bounds in words: `weight 128, cpus 1, quota 20%`.
pub fn bounds_words(bounds: &Bounds) -> String {
    let mut parts = Vec::new();
    if bounds.weight != FULL_WEIGHT {
        parts.push(format!("weight {} of {FULL_WEIGHT}", bounds.weight));
    }
    if bounds.idle {
        parts.push("idle class".to_owned());
    }
    if let Some(cpus) = &bounds.cpus {
        let cpus: Vec<_> = cpus.iter().map(u32::to_string).collect();
        parts.push(format!("CPU {}", cpus.join(",")));
    }
    if let Some(quota) = bounds.quota {
        parts.push(format!("quota {quota}"));
    }
    if let Some(memory) = bounds.memory_high_kib {
        parts.push(format!("memory {} MiB", memory / 1024));
    }
    if let Some(cache) = bounds.cache {
        parts.push(format!("cache {cache}"));
    }
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

fn placement(f: &mut Formatter<'_>, placement: &Placement) -> fmt::Result {
    if *placement == Placement::default() {
        return Ok(());
    }
    writeln!(f, "placement  {}", placement_words(placement))
}

/// Placement of Wi-Fi's own work in words: `threads at nice -5, threaded NAPI`.
pub fn placement_words(placement: &Placement) -> String {
    let mut parts = Vec::new();
    if let Some(nice) = placement.nice {
        parts.push(format!("threads at nice {nice}"));
    }
    if placement.accounted {
        parts.push("in a group of their own".to_owned());
    }
    if placement.threaded == Some(true) {
        parts.push("threaded NAPI".to_owned());
    }
    if parts.is_empty() { "as it was".to_owned() } else { parts.join(", ") }
}

fn own(f: &mut Formatter<'_>, status: &Status) -> fmt::Result {
    let own = &status.own;
    write!(f, "costs      {:.2} % of one CPU", own.cpu_share * 100.0)?;
    if let Some(rss) = own.rss_kib {
        write!(f, ", {:.1} MiB", rss as f64 / 1024.0)?;
    }
    let lately = count(own.writes_last_minute, "write");
    writeln!(f, ", {lately} in the last minute, {} in all", own.writes)
}

/// A share as people read it: `93 %`, and one decimal below ten.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent >= 9.95 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// Bits in a second as people read them.
pub fn rate(bps: f64) -> String {
    match bps {
        bps if bps >= 1e9 => format!("{:.2} Gb/s", bps / 1e9),
        bps if bps >= 1e6 => format!("{:.1} Mb/s", bps / 1e6),
        bps if bps >= 1e3 => format!("{:.0} kb/s", bps / 1e3),
        bps => format!("{bps:.0} b/s"),
    }
}

/// Seconds as people read them.
pub fn span(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match whole {
        0 => format!("{:.1} s", seconds.max(0.0)),
        1..=119 => format!("{whole} s"),
        120..=7199 => format!("{} min", whole / 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::status::{Application, Own};

    pub(in crate::status) fn example() -> Status {
        Status {
            version: "0.1.0".to_owned(),
            pid: 812,
            uptime_s: 754.0,
            policy: "/etc/headroom/guard.toml".to_owned(),
            aggressiveness: 80,
            floors: vec!["backup keeps at least 10 % of one CPU, whatever Wi-Fi wants".to_owned()],
            condition: Condition::Starved,
            kept: Some(0.962),
            target: 0.95,
            reason: Some("backup had 84 % of what Wi-Fi lost: its weight goes to 256".to_owned()),
            reason_age_s: Some(41.2),
            now: "Wi-Fi keeps 96 % and wants 95 %: as it is".to_owned(),
            interfaces: vec![Interface {
                name: "wlan0".to_owned(),
                rx_bps: 3.1e6,
                tx_bps: 412.4e6,
                drops: 12,
                link_limited: Some(false),
            }],
            applications: vec![
                Application {
                    name: "backup".to_owned(),
                    runs: true,
                    bounds: Bounds { weight: 256, cpus: Some(vec![1]), ..Bounds::default() },
                    bounded_for_s: Some(41.2),
                    why: Some("backup had 84 % of what Wi-Fi lost".to_owned()),
                    cpus: 0.41,
                    cpu_s: 300.5,
                    memory_kib: Some(20_480),
                },
                Application {
                    name: "dns".to_owned(),
                    runs: true,
                    cpus: 0.004,
                    ..Application::default()
                },
                Application { name: "torrent".to_owned(), ..Application::default() },
            ],
            placement: Placement { nice: Some(-5), accounted: true, threaded: None },
            offenders: vec![("backup".to_owned(), 0.84)],
            refused: vec!["backup: quota: cpu.cfs_quota_us is not there".to_owned()],
            overruled: vec![
                "/sys/fs/cgroup/cpu/dns/cpu.shares reads 700 where guard left 512".to_owned(),
            ],
            absent: vec!["PSI: this kernel has none".to_owned()],
            own: Own {
                cpu_s: 1.9,
                cpu_share: 0.0026,
                rss_kib: Some(2304),
                ticks: 3770,
                writes: 9,
                writes_last_minute: 2,
            },
            ..Status::default()
        }
    }

    #[test]
    fn a_person_sees_who_is_bounded_and_why() {
        insta::assert_snapshot!(Words(&example()));
    }

    #[test]
    fn every_bound_has_its_words() {
        let bounds = Bounds {
            weight: 2,
            idle: true,
            cpus: Some(vec![0, 3]),
            quota: Some(Share::of(0.2)),
            memory_high_kib: Some(65_536),
            cache: Some(Share::of(0.25)),
        };
        assert_eq!(
            bounds_words(&bounds),
            "weight 2 of 1024, idle class, CPU 0,3, quota 20%, memory 64 MiB, cache 25%"
        );
        assert_eq!(bounds_words(&Bounds::default()), "none");
    }

    #[test]
    fn figures_have_as_many_digits_as_help() {
        assert_eq!(percent(0.0123), "1.2 %");
        assert_eq!(percent(0.0999), "10 %");
        assert_eq!(rate(2.33e9), "2.33 Gb/s");
        assert_eq!(rate(800.0), "800 b/s");
        assert_eq!(span(0.34), "0.3 s");
        assert_eq!(span(7300.0), "2 h 1 min");
    }
}
