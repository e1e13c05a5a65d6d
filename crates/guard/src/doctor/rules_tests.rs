//! Each rule: a device where it speaks, and one where it is silent.

use std::path::PathBuf;

use super::*;
use crate::doctor::facts::{Packets, Steering, Task, Unified};

/// A device without a fault: two CPUs that share the packets, version 2 with its controllers.
fn healthy() -> Facts {
    let cpu = |cpu| Packets { cpu, packets: 1000, ..Packets::default() };
    let all = || ["cpu", "cpuset", "memory"].map(str::to_owned).to_vec();
    Facts {
        cpus: vec![cpu(0), cpu(1)],
        unified: Some(Unified {
            mount: PathBuf::from("/sys/fs/cgroup"),
            available: all(),
            enabled: all(),
        }),
        pressure: true,
        schedstat: true,
        ..Facts::default()
    }
}

fn titles(facts: &Facts) -> Vec<String> {
    judge(facts).into_iter().map(|finding| finding.title).collect()
}

/// The only finding.
fn only(facts: &Facts) -> Finding {
    let mut findings = judge(facts);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.remove(0)
}

fn thread(pid: u32, name: &str, cpus: &[u32], last: u32) -> PacketThread {
    let kind = crate::sense::worker_kind(name).unwrap();
    PacketThread { pid, name: name.to_owned(), kind, cpus: cpus.to_vec(), last }
}

fn task(pid: u32, name: &str, group: &str) -> Task {
    Task { pid, name: name.to_owned(), group: group.to_owned() }
}

#[test]
fn a_healthy_device_has_no_finding() {
    assert_eq!(judge(&healthy()), []);
}

#[test]
fn receive_work_on_one_cpu_is_found_by_its_packets() {
    let mut facts = healthy();
    facts.cpus[1].packets = 20;
    let finding = only(&facts);
    assert_eq!(finding.found, "CPU 0 took 98 % of the packets of one second, of 2 CPUs");
    assert_eq!(finding.advice, "echo 3 > /sys/class/net/INTERFACE/queues/rx-0/rps_cpus");
    facts.openwrt = true;
    assert!(only(&facts).advice.starts_with("uci set network.globals.packet_steering=2"));
    facts.cpus[0].packets = 100;
    assert_eq!(titles(&facts), [""; 0], "too few to tell");
}

#[test]
fn threads_of_napi_that_share_a_cpu_are_found_without_traffic() {
    let threads = vec![thread(7, "napi/phy0-1", &[1], 1), thread(8, "napi/eth0-2", &[1], 1)];
    let facts = Facts {
        threads,
        cpus: vec![Packets::default(), Packets { cpu: 1, ..Packets::default() }],
        ..healthy()
    };
    let finding = only(&facts);
    assert_eq!(finding.found, "all 2 threads of NAPI may run on CPU 1 only");
    assert_eq!(finding.advice, "taskset -pc 0 7 && taskset -pc 1 8");
}

#[test]
fn a_transmit_thread_next_to_napi_is_found() {
    let mut facts = healthy();
    facts.threads = vec![thread(7, "napi/phy0-1", &[1], 1), thread(8, "mt76-tx phy0", &[0, 1], 1)];
    let finding = only(&facts);
    assert_eq!(finding.found, "mt76-tx phy0 (8) runs on CPU 1, where packets are received");
    assert_eq!(finding.advice, "taskset -pc 0 8");
    facts.threads[1].last = 0;
    assert_eq!(titles(&facts), [""; 0]);
}

#[test]
fn a_real_time_thread_in_a_child_group_is_named() {
    let mut facts = healthy();
    facts.unified.as_mut().unwrap().enabled = vec!["cpuset".into(), "memory".into()];
    facts.real_time = vec![task(33, "pipewire", "/services/audio")];
    facts.real_time_groups = Some(true);
    let findings = judge(&facts);
    assert_eq!(findings[0].severity, Severity::Fault);
    assert!(findings[0].found.contains("33 (pipewire) in /services/audio"), "{findings:#?}");
    assert_eq!(findings[1].title, "controllers are off");
    assert!(findings[1].advice.contains("'+cpu' > /sys/fs/cgroup/cgroup.subtree_control"));
    facts.real_time_groups = None;
    assert_eq!(judge(&facts)[0].severity, Severity::Advice, "nobody knows");
    facts.real_time_groups = Some(false);
    assert_eq!(titles(&facts), ["controllers are off"]);
}

#[test]
fn hierarchies_of_both_versions_one_version_or_none_are_reported() {
    let mut facts = Facts { version_1: vec!["cpu".into(), "memory".into()], ..healthy() };
    assert!(only(&facts).found.starts_with("version 1 has cpu, memory; version 2 is at /sys/fs"));
    facts.unified = None;
    assert_eq!(only(&facts).title, "control groups of version 1");
    facts.version_1.clear();
    assert_eq!(only(&facts).severity, Severity::Fault);
}

#[test]
fn drops_come_first_and_say_the_limit_to_set() {
    let mut facts = healthy();
    facts.cpus[1].dropped = 12;
    facts.cpus[0].squeezed = 30;
    facts.max_backlog = Some(1000);
    facts.budget = Some(300);
    let findings = judge(&facts);
    assert_eq!(findings[0].advice, "sysctl -w net.core.netdev_max_backlog=2000");
    assert_eq!(findings[1].advice, "sysctl -w net.core.netdev_budget=600");
}

#[test]
fn small_things_are_reported_too() {
    let with = |change: fn(&mut Facts)| {
        let mut facts = healthy();
        change(&mut facts);
        only(&facts).title
    };
    assert_eq!(with(|facts| facts.irqbalance = Some(9)), "irqbalance runs");
    assert_eq!(
        with(|facts| facts.governors = vec![(0, "ondemand".into())]),
        "CPUs are not at full clock"
    );
    assert_eq!(with(|facts| facts.threaded = vec![("eth0".into(), false)]), "threaded NAPI is off");
    assert_eq!(with(|facts| facts.offload = Some("x".into())), "flows are offloaded");
    assert_eq!(with(|facts| facts.pressure = false), "the kernel reports little about waiting");
    assert_eq!(with(|facts| facts.packet_steering = Some("0".into())), "packets are not steered");
    assert_eq!(
        with(|facts| facts.strays = vec![task(5, "dnsmasq", "/")]),
        "services outside of their groups"
    );
}

#[test]
fn small_things_that_are_in_order_are_not_reported() {
    let mut facts = healthy();
    facts.governors = vec![(0, "performance".into())];
    facts.threaded = vec![("eth0".into(), true)];
    facts.packet_steering = Some("1".into());
    facts.steering = vec![Steering { queue: "eth0/rx-0".into(), mask: "0".into() }];
    assert_eq!(titles(&facts), [""; 0], "unsteered packets that share the CPUs do no harm");
}

#[test]
fn a_device_that_reports_nothing_gives_no_false_alarm_but_for_its_groups() {
    assert_eq!(
        titles(&Facts::default()),
        ["no control groups", "the kernel reports little about waiting"]
    );
}
