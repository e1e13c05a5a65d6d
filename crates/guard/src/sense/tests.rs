//! Whole readings of recorded trees, with a clock of our own.

use proptest::prelude::*;

use super::{
    tree::{Tree, kernel_stat, user_stat},
    *,
};
use crate::policy::{Policy, Protect};

const MS: u64 = 1_000_000;

fn policy(interfaces: &[&str], daemons: &[&str]) -> Policy {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let protect =
        Protect { interfaces: owned(interfaces), daemons: owned(daemons), ..Protect::default() };
    Policy { protect, ..toml::from_str("").unwrap() }
}

/// An OpenWrt-like device: version 2, two CPUs, neither PSI nor schedstat.
fn router() -> Tree {
    Tree::new(&[
        (
            "proc/stat",
            "cpu  0\ncpu0 100 0 100 9000 0 0 100 0\ncpu1 100 0 100 9000 0 0 100 0\nintr 1\n",
        ),
        (
            "proc/net/softnet_stat",
            "00000010 0 0 0 0 0 0 0 0 0 0 0 0\n00000010 0 0 0 0 0 0 0 0 0 0 0 1\n",
        ),
        ("proc/net/dev", " wlan0: 1000 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n"),
        ("sys/class/net/wlan0/phy80211/name", "phy0\n"),
        ("proc/1/stat", &user_stat(1, "procd", 1, 0)),
        ("proc/12/stat", &kernel_stat(12, "ksoftirqd/0", 0, 0)),
        ("proc/70/stat", &user_stat(70, "backup", 5, 0)),
        ("proc/70/task/70/stat", ""),
        ("sys/fs/cgroup/services/backup/cgroup.threads", "70\n"),
        (
            "sys/fs/cgroup/services/backup/cpu.stat",
            "usage_usec 50000\nuser_usec 1\nthrottled_usec 100\n",
        ),
        ("sys/fs/cgroup/services/backup/memory.current", "1048576\n"),
    ])
}

fn backup(tree: &Tree) -> Watched {
    let folders = vec![tree.path("sys/fs/cgroup/services/backup")];
    Watched { name: "backup".into(), folders, pids: vec![70] }
}

fn senses(tree: &Tree, policy: &Policy) -> Senses {
    let mut senses = Senses::open(policy, Sources::recorded(tree.root())).unwrap();
    senses.at_ns = 0;
    senses
}

#[test]
fn a_router_without_psi_and_schedstat_is_read_as_far_as_it_reports() {
    let tree = router();
    let mut senses = senses(&tree, &policy(&[], &[]));
    let watched = [backup(&tree)];
    assert_eq!(
        senses.read_at(1000 * MS, &watched).span_ns,
        0,
        "the first has nothing to compare with"
    );
    tree.write(
        "proc/stat",
        "cpu  0\ncpu0 110 0 100 9000 0 0 110 0\ncpu1 100 0 100 9020 0 0 100 0\n",
    );
    tree.write(
        "proc/net/softnet_stat",
        "00000110 0 2 0 0 0 0 0 0 0 0 5 0\n00000010 0 0 0 0 0 0 0 0 0 0 0 1\n",
    );
    tree.write("proc/net/dev", " wlan0: 9000 90 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n");
    tree.write("proc/70/stat", &user_stat(70, "backup", 25, 0));
    tree.write(
        "sys/fs/cgroup/services/backup/cpu.stat",
        "usage_usec 250000\nuser_usec 1\nthrottled_usec 300\n",
    );
    // A first look at what is looked at once a second was at 1000 ms.
    let reading = senses.read_at(1200 * MS, &watched);
    assert_eq!((reading.at_ns, reading.span_ns), (1200 * MS, 200 * MS));
    assert_eq!((reading.pressure_ns, reading.memory_pressure_ns), (None, None));
    let interface = &reading.interfaces[0];
    assert_eq!((interface.rx_bytes, interface.packets), (8000, 80));
    assert_eq!((interface.backlog_bytes, interface.link_limited), (None, None));
    assert_eq!((reading.cpus[0].softirq_ns, reading.cpus[0].squeezed), (100 * MS, 2));
    assert_eq!((reading.cpus[0].packets, reading.cpus[0].backlog), (256, Some(5)));
    let worker = &reading.workers[0];
    assert_eq!((worker.kind, worker.ran_ns, worker.waited_ns), (WorkerKind::Ksoftirqd, 0, None));
    let application = &reading.applications[0];
    assert!(application.runs);
    assert_eq!(application.charged_ns, 200 * MS);
    assert_eq!(application.ran_ns, 100 * MS, "it had CPU 0 for the whole tick, and its softirqs");
    assert_eq!(application.ran_by_cpu_ns, [100 * MS, 0]);
    assert_eq!(application.waited_ns, None);
    assert_eq!(application.throttled_ns, None, "nothing to compare with yet");
    assert_eq!(application.memory_kib, Some(1024));
    assert!(is_busy(&reading));
}

#[test]
fn what_a_device_lacks_is_reported_in_words() {
    let tree = router();
    let absent = senses(&tree, &policy(&["eth7"], &[])).absent();
    let lines = [
        "no PSI: kernel built without it",
        "no waiting times: kernel built without schedstat (CONFIG_SCHED_INFO), or they are switched off; \
         boot with delayacct",
        "no queues in front of interfaces: netlink gives none",
        "no airtime: the kernel has no cfg80211",
        "no protected interface is there yet",
    ];
    assert_eq!(absent, lines);
}

#[test]
fn without_proc_there_are_no_senses() {
    let tree = Tree::new(&[]);
    let error = Senses::open(&policy(&[], &[]), Sources::recorded(tree.root())).unwrap_err();
    assert!(error.to_string().contains("proc/stat: mount /proc"), "{error}");
}

#[test]
fn everything_may_vanish_between_two_ticks() {
    let tree = router();
    let mut senses = senses(&tree, &policy(&[], &["procd"]));
    let watched = [backup(&tree), Watched::default()];
    senses.read_at(1000 * MS, &watched);
    let files = ["stat", "net/softnet_stat", "net/dev", "1/stat", "12/stat", "70/stat"];
    files.iter().for_each(|file| tree.write(&format!("proc/{file}"), ""));
    for file in ["cpu.stat", "memory.current", "cgroup.threads"] {
        tree.write(&format!("sys/fs/cgroup/services/backup/{file}"), "");
    }
    let empty = senses.read_at(9000 * MS, &watched);
    assert_eq!((empty.cpus.len(), empty.interfaces.len(), empty.workers.len()), (0, 0, 0));
    let application = &empty.applications[0];
    assert_eq!(
        (application.charged_ns, application.throttled_ns, application.memory_kib),
        (0, None, None)
    );
    assert!(!application.runs);
    tree.remove("proc");
    tree.remove("sys");
    assert_eq!(senses.read_at(9200 * MS, &watched).cpus, []);
}

#[test]
fn a_clock_that_jumps_back_gives_no_span() {
    let tree = router();
    let mut senses = senses(&tree, &policy(&[], &[]));
    senses.read_at(1000 * MS, &[]);
    assert_eq!(senses.read_at(900 * MS, &[]).span_ns, 0);
}

#[test]
fn a_queue_that_waits_next_to_a_resting_cpu_waits_for_its_link() {
    let cpu = |cpu, packets, idle_ns| Cpu { cpu, packets, idle_ns, user_ns: 80, ..Cpu::default() };
    assert!(carriers_rest(&[cpu(0, 100, 20), cpu(1, 2, 0)]), "CPU 1 hardly takes part");
    assert!(!carriers_rest(&[cpu(0, 100, 2), cpu(1, 0, 120)]));
    assert!(!carriers_rest(&[cpu(0, 0, 2), cpu(1, 0, 120)]), "nobody knows who carries");
    assert!(!carriers_rest(&[]));
    let interface = |backlog_bytes| Interface { backlog_bytes, ..Interface::default() };
    assert_eq!(limited(&interface(Some(9)), true), Some(true));
    assert_eq!(limited(&interface(Some(0)), true), Some(false));
    assert_eq!(limited(&interface(Some(9)), false), Some(false));
    assert_eq!(limited(&interface(None), true), None);
}

#[test]
fn waiting_ends_by_time_or_by_a_descriptor() {
    let mut senses = Senses::open(&policy(&["lo"], &[]), Sources::live()).unwrap();
    senses.read(&[]);
    assert_eq!(senses.wait(true, &[]).unwrap(), Woken::Time);
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    senses.read(&[]);
    drop(ours);
    use std::os::fd::AsFd;
    assert_eq!(senses.wait(true, &[theirs.as_fd()]).unwrap(), Woken::Descriptor(0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_kernel_that_says_anything_at_all_is_read_without_panic(
        texts in proptest::collection::vec("[-0-9 a-z_:/()\n]{0,60}|(cpu)?[0-9 \n]{0,80}", 20),
    ) {
        let tree = router();
        let mut senses = senses(&tree, &policy(&[], &["procd"]));
        let watched = [backup(&tree)];
        for texts in texts.chunks(10) {
            let files = ["proc/stat", "proc/net/softnet_stat", "proc/net/dev", "proc/12/stat", "proc/70/stat"];
            let group = ["cpu.stat", "memory.current", "cgroup.threads"];
            let group = group.map(|name| format!("sys/fs/cgroup/services/backup/{name}"));
            let all = files.into_iter().chain(group.iter().map(String::as_str));
            all.zip(texts).for_each(|(file, text)| tree.write(file, text));
            senses.read_at(senses.at_ns + 3000 * MS, &watched);
        }
    }
}
