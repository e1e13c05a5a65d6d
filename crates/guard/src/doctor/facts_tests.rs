//! Facts of recorded devices.

use super::*;
use crate::sense::tree::{Tree, kernel_stat, user_stat};

/// An OpenWrt-like access point with most of what the rules look for.
fn router() -> Tree {
    let mut real_time = user_stat(90, "audio", 0, 0);
    // Field 41 is the policy.
    real_time = real_time.replace(" 17 0 0 0 ", " 17 0 5 1 ");
    Tree::new(&[
        ("etc/openwrt_release", "DISTRIB_ID='OpenWrt'\n"),
        ("etc/config/network", "config globals 'globals'\n\toption packet_steering '0'\n"),
        ("etc/config/firewall", "config defaults\n\toption flow_offloading '1'\n"),
        ("proc/self/mountinfo", "24 1 0:22 / /sys/fs/cgroup rw - cgroup2 none rw,nsdelegate\n"),
        ("proc/sys/kernel/osrelease", "6.6.1\n"),
        ("boot/config-6.6.1", "CONFIG_X=y\nCONFIG_RT_GROUP_SCHED=y\n"),
        ("proc/sys/net/core/netdev_max_backlog", "1000\n"),
        (
            "proc/net/softnet_stat",
            "00000010 1 2 0 0 0 0 0 0 0 0 0 0\n00000020 0 0 0 0 0 0 0 0 0 0 0 1\n",
        ),
        ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n"),
        ("sys/fs/cgroup/cgroup.subtree_control", "memory\n"),
        ("sys/fs/cgroup/services/audio/cgroup.procs", "90\n"),
        ("sys/class/net/eth0/queues/rx-0/rps_cpus", "0\n"),
        ("sys/class/net/eth0/queues/tx-0/xps_cpus", "0\n"),
        ("sys/class/net/eth0/threaded", "0\n"),
        ("sys/class/net/eth0/device/vendor", "1\n"),
        ("sys/class/net/br0/threaded", "0\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "ondemand\n"),
        ("proc/1/stat", &user_stat(1, "procd", 0, 0)),
        ("proc/60/stat", &kernel_stat(60, "napi/phy0-1", 0, 1)),
        ("proc/60/status", "Name:\tnapi\nCpus_allowed_list:\t0-1\n"),
        ("proc/80/stat", &user_stat(80, "dnsmasq", 0, 0)),
        ("proc/80/cgroup", "0::/\n"),
        ("proc/85/stat", &user_stat(85, "irqbalance", 0, 0)),
        ("proc/85/cgroup", "0::/services/irqbalance\n"),
        ("proc/90/stat", &user_stat(90, "audio", 0, 0)),
        ("proc/90/cgroup", "0::/services/audio\n"),
        ("proc/90/task/90/stat", &real_time),
    ])
}

#[test]
fn a_routers_facts_are_gathered() {
    let tree = router();
    let facts = gather(tree.root(), Duration::ZERO);
    assert!(facts.openwrt);
    let packets = |cpu| Packets { cpu, ..Packets::default() };
    assert_eq!(facts.cpus, [packets(0), packets(1)], "nothing came meanwhile");
    assert_eq!(facts.packet_steering.as_deref(), Some("0"));
    assert_eq!(facts.offload.as_deref(), Some("flow_offloading '1' in /etc/config/firewall"));
    assert_eq!(facts.real_time_groups, Some(true));
    let unified = facts.unified.unwrap();
    assert_eq!((unified.available.len(), unified.enabled), (3, vec!["memory".to_owned()]));
    assert_eq!(facts.threaded, [("eth0".to_owned(), false)], "a bridge has no NAPI of its own");
    assert_eq!(facts.steering, [Steering { queue: "eth0/rx-0".into(), mask: "0".into() }]);
    assert_eq!(facts.governors, [(0, "ondemand".to_owned())]);
    assert_eq!((facts.max_backlog, facts.budget, facts.irqbalance), (Some(1000), None, Some(85)));
    assert_eq!((facts.threads[0].cpus.as_slice(), facts.threads[0].last), (&[0, 1][..], 1));
    assert_eq!(facts.strays, [Task { pid: 80, name: "dnsmasq".into(), group: "/".into() }]);
    let audio = Task { pid: 90, name: "audio".into(), group: "/services/audio".into() };
    assert_eq!(facts.real_time, [audio]);
    assert!(!facts.pressure && !facts.schedstat);
}

#[test]
fn a_hybrid_machine_has_controllers_of_version_one_and_its_tree() {
    let mounts = "\
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:4 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";
    let tree = Tree::new(&[
        ("proc/self/mountinfo", mounts),
        ("proc/sys/kernel/osrelease", "6.6.1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us", "950000\n"),
    ]);
    let facts = gather(tree.root(), Duration::ZERO);
    assert_eq!(facts.version_1, ["cpu", "cpuacct"]);
    assert_eq!(facts.unified.map(|unified| unified.mount), Some("/sys/fs/cgroup/unified".into()));
    assert_eq!(facts.real_time_groups, Some(true));
}

#[test]
fn an_empty_device_has_no_facts() {
    let tree = Tree::new(&[]);
    assert_eq!(gather(tree.root(), Duration::ZERO), Facts::default());
}

#[test]
fn facts_are_kept_as_json_and_judged_again() {
    let tree = router();
    let facts = gather(tree.root(), Duration::ZERO);
    let kept = serde_json::to_string(&facts).unwrap();
    let again: Facts = serde_json::from_str(&kept).unwrap();
    assert_eq!(again, facts);
    assert!(crate::doctor::rules::judge(&again).len() >= 7);
}
