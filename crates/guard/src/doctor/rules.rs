//! The rules: what is misplaced, given the facts. Pure.
//!
//! Each rule is one function that answers with a finding or with nothing. What is not known is no fault.

use super::{
    Finding, Severity,
    facts::{Facts, PacketThread},
};
use crate::reading::WorkerKind;

/// Packets in the sample from which on their places mean something.
const ENOUGH_PACKETS: u64 = 500;
/// A CPU with this share of the packets has them all.
const ALL: f64 = 0.9;
/// Times that work was cut short, in the sample, from which on it is the rule.
const OFTEN: u64 = 10;
/// The kernel's own default of `netdev_max_backlog`: packets of one burst of one radio.
const SMALL_BACKLOG: u64 = 1000;

type Rule = fn(&Facts) -> Option<Finding>;

const RULES: [Rule; 15] = [
    no_groups,
    drops,
    one_core,
    transmit_next_to_receive,
    real_time_groups,
    strays,
    irqbalance,
    squeezed,
    steering_off,
    threaded_off,
    governor,
    hybrid,
    controllers_off,
    offload,
    blind,
];

/// What is misplaced, worst first.
pub fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().filter_map(|rule| rule(facts)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

fn finding(severity: Severity, title: &str, found: String) -> Finding {
    Finding { title: title.to_owned(), found, why: String::new(), advice: String::new(), severity }
}

impl Finding {
    fn because(self, why: &str) -> Self {
        Self { why: why.to_owned(), ..self }
    }

    fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: advice.into(), ..self }
    }
}

/// The CPU that takes nearly all packets, and its share; `None` where there is one CPU only, or no traffic.
fn carrier(facts: &Facts) -> Option<(u32, f64)> {
    let sum: u64 = facts.cpus.iter().map(|cpu| cpu.packets).sum();
    let most = facts.cpus.iter().max_by_key(|cpu| cpu.packets)?;
    let share = most.packets as f64 / sum.max(1) as f64;
    (facts.cpus.len() > 1 && sum >= ENOUGH_PACKETS && share >= ALL).then_some((most.cpu, share))
}

/// The only CPU that all threads of NAPI may use.
fn napi_core(facts: &Facts) -> Option<u32> {
    let mut cpus = of_kind(facts, WorkerKind::Napi).map(|thread| thread.cpus.as_slice());
    let [only] = *cpus.next()? else { return None };
    (facts.cpus.len() > 1 && cpus.all(|cpus| cpus == [only])).then_some(only)
}

fn of_kind(facts: &Facts, kind: WorkerKind) -> impl Iterator<Item = &PacketThread> {
    facts.threads.iter().filter(move |thread| thread.kind == kind)
}

fn one_core(facts: &Facts) -> Option<Finding> {
    let threads = of_kind(facts, WorkerKind::Napi).count();
    let found = match (carrier(facts), napi_core(facts).filter(|_| threads > 1)) {
        (Some((cpu, share)), _) => {
            format!(
                "CPU {cpu} took {:.0} % of the packets of one second, of {} CPUs",
                share * 100.0,
                facts.cpus.len()
            )
        }
        (None, Some(cpu)) => format!("all {threads} threads of NAPI may run on CPU {cpu} only"),
        (None, None) => return None,
    };
    let advice = match (facts.openwrt, threads > 0) {
        (true, _) => "uci set network.globals.packet_steering=2 && uci commit network && service network reload".to_owned(),
        (false, true) => {
            let lines = of_kind(facts, WorkerKind::Napi).zip(facts.cpus.iter().cycle());
            let lines: Vec<String> =
                lines.map(|(thread, cpu)| format!("taskset -pc {} {}", cpu.cpu, thread.pid)).collect();
            lines.join(" && ")
        }
        (false, false) => format!("echo {:x} > /sys/class/net/INTERFACE/queues/rx-0/rps_cpus", mask(facts)),
    };
    let why = "one CPU is the limit of all traffic while the others rest; an application on that CPU takes from all of it";
    Some(
        finding(Severity::Advice, "one CPU does all receive work", found)
            .because(why)
            .advise(advice),
    )
}

/// The mask of all CPUs.
fn mask(facts: &Facts) -> u64 {
    facts.cpus.iter().filter_map(|cpu| 1_u64.checked_shl(cpu.cpu)).fold(0, |mask, bit| mask | bit)
}

fn transmit_next_to_receive(facts: &Facts) -> Option<Finding> {
    let receive = napi_core(facts).or_else(|| carrier(facts).map(|(cpu, _)| cpu))?;
    let mut transmit =
        of_kind(facts, WorkerKind::Driver).filter(|thread| thread.name.contains("-tx"));
    let thread = transmit.find(|thread| thread.cpus == [receive] || thread.last == receive)?;
    let other = facts.cpus.iter().map(|cpu| cpu.cpu).find(|&cpu| cpu != receive)?;
    let found = format!(
        "{} ({}) runs on CPU {receive}, where packets are received",
        thread.name, thread.pid
    );
    let why = "sending and receiving share a CPU while another rests; apart, an access point reported 1.45 → 2.09 Gb/s \
               (openwrt/openwrt #24697)";
    let advice = format!("taskset -pc {other} {}", thread.pid);
    Some(
        finding(Severity::Advice, "the transmit thread is on the receive CPU", found)
            .because(why)
            .advise(advice),
    )
}

fn steering_off(facts: &Facts) -> Option<Finding> {
    let none = |mask: &str| mask.chars().all(|digit| matches!(digit, '0' | ','));
    let off = !facts.steering.is_empty() && facts.steering.iter().all(|queue| none(&queue.mask));
    let threads = of_kind(facts, WorkerKind::Napi).count();
    // A configuration that says nothing has OpenWrt's default, which is on.
    let configured = facts.packet_steering.as_deref() == Some("0");
    if !(configured || off && threads == 0 && facts.cpus.len() > 1 && carrier(facts).is_some()) {
        return None;
    }
    let found = match configured {
        true => "packet_steering '0' in /etc/config/network".to_owned(),
        false => format!("rps_cpus is 0 on all {} receive queues", facts.steering.len()),
    };
    let why = "packets stay on the CPU whose interrupt they came with";
    let advice = match facts.openwrt {
        true => "uci set network.globals.packet_steering=1 && uci commit network && service network reload".to_owned(),
        false => format!("echo {:x} > /sys/class/net/INTERFACE/queues/rx-0/rps_cpus", mask(facts)),
    };
    Some(finding(Severity::Note, "packets are not steered", found).because(why).advise(advice))
}

fn real_time_groups(facts: &Facts) -> Option<Finding> {
    let unified = facts.unified.as_ref()?;
    let has = |list: &[String]| list.iter().any(|name| name == "cpu");
    let first = facts.real_time.first()?;
    if !has(&unified.available) || has(&unified.enabled) || facts.real_time_groups == Some(false) {
        return None;
    }
    let severity = match facts.real_time_groups {
        Some(_) => Severity::Fault,
        None => Severity::Advice,
    };
    let all: Vec<String> = facts
        .real_time
        .iter()
        .map(|task| format!("{} ({}) in {}", task.pid, task.name, task.group))
        .collect();
    let found = format!("real-time threads below the root: {}", all.join(", "));
    let why = "a kernel with CONFIG_RT_GROUP_SCHED refuses (EINVAL) to enable the cpu controller while one is there: no weights";
    let advice = format!(
        "chrt -o -p 0 {}, or move it to the root: echo {} > {}/cgroup.procs",
        first.pid,
        first.pid,
        unified.mount.display()
    );
    Some(
        finding(severity, "real-time threads keep the cpu controller off", found)
            .because(why)
            .advise(advice),
    )
}

fn no_groups(facts: &Facts) -> Option<Finding> {
    if facts.unified.is_some() || !facts.version_1.is_empty() {
        return None;
    }
    let found = "no control groups are mounted".to_owned();
    let why = "guard bounds applications by their groups: without any it can only watch";
    let advice = "mount -t cgroup2 none /sys/fs/cgroup; a kernel without CONFIG_CGROUPS (OpenWrt's SMALL_FLASH) has none to mount";
    Some(finding(Severity::Fault, "no control groups", found).because(why).advise(advice))
}

fn hybrid(facts: &Facts) -> Option<Finding> {
    if facts.version_1.is_empty() {
        return None;
    }
    let list = facts.version_1.join(", ");
    let (title, found) = match &facts.unified {
        Some(unified) => {
            let found = format!(
                "version 1 has {list}; version 2 is at {} as well",
                unified.mount.display()
            );
            ("control groups of both versions", found)
        }
        None => (
            "control groups of version 1",
            format!("version 1 has {list}; version 2 is not mounted"),
        ),
    };
    let why = "a service has a group in each hierarchy, and its manager may keep only one of them up to date";
    let advice = match facts.openwrt {
        true => "guard works with both; for procd's own tree: opkg remove cgroupfs-mount && reboot",
        false => "nothing has to be done: guard works with both",
    };
    Some(finding(Severity::Note, title, found).because(why).advise(advice))
}

fn controllers_off(facts: &Facts) -> Option<Finding> {
    let unified = facts.unified.as_ref()?;
    let wanted = ["cpu", "cpuset", "memory"].into_iter();
    let off: Vec<&str> = wanted
        .filter(|name| unified.available.iter().any(|one| one == name))
        .filter(|name| !unified.enabled.iter().any(|one| one == name))
        .collect();
    if off.is_empty() {
        return None;
    }
    let found = format!("{} of {} are off below the root", off.join(", "), unified.mount.display());
    let why = "groups have no weights, CPUs or memory of their own until their parent enables the controller";
    let enable: Vec<String> = off.iter().map(|name| format!("+{name}")).collect();
    let advice = format!(
        "guard enables them while it runs; for good: echo '{}' > {}/cgroup.subtree_control",
        enable.join(" "),
        unified.mount.display()
    );
    Some(finding(Severity::Note, "controllers are off", found).because(why).advise(advice))
}

fn strays(facts: &Facts) -> Option<Finding> {
    let first = facts.strays.first()?;
    let all: Vec<String> =
        facts.strays.iter().map(|task| format!("{} ({})", task.name, task.pid)).collect();
    let found = format!("children of procd in the root group: {}", all.join(", "));
    let why = "a service that was restarted may fall back to the root group (openwrt/procd #31), where no weight reaches it and \
               it competes with Wi-Fi's own threads";
    let advice = format!("service {} restart; guard finds it by `process` as well", first.name);
    Some(
        finding(Severity::Advice, "services outside of their groups", found)
            .because(why)
            .advise(advice),
    )
}

fn offload(facts: &Facts) -> Option<Finding> {
    let found = facts.offload.clone()?;
    let why = "offloaded flows pass by the CPU, or by most of its work: nothing that guard does changes them, and their load is not seen";
    let advice = "nothing has to be done; judge guard by traffic that is not offloaded";
    Some(finding(Severity::Note, "flows are offloaded", found).because(why).advise(advice))
}

fn threaded_off(facts: &Facts) -> Option<Finding> {
    let off: Vec<&str> =
        facts.threaded.iter().filter(|(_, on)| !on).map(|(name, _)| name.as_str()).collect();
    let first = *off.first()?;
    if facts.cpus.len() < 2 || of_kind(facts, WorkerKind::Napi).next().is_some() {
        return None;
    }
    let found = format!("NAPI runs in softirqs on {}", off.join(", "));
    let why = "threads of NAPI are scheduled and placed like others, so that weights protect them; radios whose driver has an \
               interface of its own for NAPI (mt76, ath11k) are not switched by this";
    let advice = format!(
        "echo 1 > /sys/class/net/{first}/threaded, or threaded-napi = true below [allow] in the policy"
    );
    Some(finding(Severity::Note, "threaded NAPI is off", found).because(why).advise(advice))
}

fn irqbalance(facts: &Facts) -> Option<Finding> {
    let pid = facts.irqbalance?;
    let why = "it moves interrupts, and with them the receive work, from CPU to CPU while others decide by where they are; some \
               radios do not survive it (Irqbalance/irqbalance #258)";
    let advice = match facts.openwrt {
        true => "service irqbalance stop && service irqbalance disable",
        false => "systemctl disable --now irqbalance",
    };
    Some(
        finding(Severity::Advice, "irqbalance runs", format!("process {pid}"))
            .because(why)
            .advise(advice),
    )
}

fn governor(facts: &Facts) -> Option<Finding> {
    let slow: Vec<&(u32, String)> =
        facts.governors.iter().filter(|(_, name)| name != "performance").collect();
    let (_, name) = slow.first()?;
    let severity = if name == "powersave" { Severity::Advice } else { Severity::Note };
    let found = format!("{name} on {} of {} CPUs", slow.len(), facts.governors.len());
    let why = "the clock rises after the load: bursts of packets meet a slow CPU, and measurements differ from run to run";
    let advice = "for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo performance > $f; done";
    Some(finding(severity, "CPUs are not at full clock", found).because(why).advise(advice))
}

fn drops(facts: &Facts) -> Option<Finding> {
    let dropped: u64 = facts.cpus.iter().map(|cpu| cpu.dropped).sum();
    if dropped == 0 {
        return None;
    }
    let limit = facts.max_backlog.unwrap_or(SMALL_BACKLOG);
    let found = format!("{dropped} packets in one second found no room in the backlog of {limit}");
    let why = "packets that were received already are thrown away before anybody reads them";
    let advice = format!(
        "sysctl -w net.core.netdev_max_backlog={}",
        limit.max(SMALL_BACKLOG).saturating_mul(2)
    );
    Some(
        finding(Severity::Fault, "the receive backlog overflows", found)
            .because(why)
            .advise(advice),
    )
}

fn squeezed(facts: &Facts) -> Option<Finding> {
    let squeezed: u64 = facts.cpus.iter().map(|cpu| cpu.squeezed).sum();
    if squeezed < OFTEN {
        return None;
    }
    let budget = facts.budget.unwrap_or(300);
    let found =
        format!("receive work was cut short {squeezed} times in one second (budget {budget})");
    let why = "what is left over goes to ksoftirqd, which waits its turn like the applications";
    let advice = format!("sysctl -w net.core.netdev_budget={}", budget.saturating_mul(2));
    Some(finding(Severity::Advice, "receive work is cut short", found).because(why).advise(advice))
}

fn blind(facts: &Facts) -> Option<Finding> {
    let found = match (facts.pressure, facts.schedstat) {
        (true, true) => return None,
        (false, true) => "the kernel does not report pressure (PSI)",
        (true, false) => "the kernel does not report how long threads wait (schedstat)",
        (false, false) => {
            "the kernel reports neither pressure (PSI) nor how long threads wait (schedstat)"
        }
    };
    let why = match facts.schedstat {
        true => "guard wakes later when applications begin to crowd the CPU",
        false => {
            "guard cannot see how long Wi-Fi's threads wait; a canary on each CPU stands in for it"
        }
    };
    let advice = "build the kernel with CONFIG_PSI and CONFIG_TASK_DELAY_ACCT (OpenWrt: KERNEL_PSI, KERNEL_TASK_DELAY_ACCT); \
                  where they are built in and off, boot with psi=1 delayacct";
    Some(
        finding(Severity::Note, "the kernel reports little about waiting", found.to_owned())
            .because(why)
            .advise(advice),
    )
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
