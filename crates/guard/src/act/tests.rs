//! The levers on fake devices: each lever on each version, refusals, overruling, and restoring.

use model::share::Share;
use rustix::io::Errno;

use super::device::{Device, all, exists, group, levers, populate, process, refusal};
use crate::{
    bounds::{Bounds, Placement},
    decide::Lever,
    groups::Applications,
    journal::fake::{Fake, Spawned},
};

const CPU: &str = "/sys/fs/cgroup/cpu";
const OWN: &str = "/sys/fs/cgroup/cpu/headroom-guard.backup";

fn weight(weight: u32) -> Bounds {
    Bounds { weight, ..Bounds::default() }
}

#[test]
fn bounds_that_bound_nothing_write_nothing() {
    for fake in [Fake::v1(), Fake::v2(), Fake::hybrid(), Fake::none()] {
        let mut device = Device::on(fake);
        let changes = device.fake.changes();
        let outcome = device.bound(Bounds::default());
        assert_eq!((outcome.writes, outcome.refused.len()), (0, 0));
        assert_eq!(device.fake.changes(), changes);
        assert!(device.is_as_before().is_empty());
    }
}

#[test]
fn processes_get_a_group_of_guards_own_with_the_weight() {
    let mut device = Device::on(Fake::v1());
    assert_eq!(device.bound(weight(512)).writes, 1);
    assert_eq!(device.fake.text(&format!("{OWN}/cpu.shares")), "512\n");
    assert_eq!(device.fake.text(&format!("{OWN}/cgroup.procs")), "50\n51\n");
    assert_eq!(device.bound(weight(512)).writes, 0, "the same again");
    assert_eq!(device.bound(weight(256)).writes, 1);
    assert_eq!(device.levers.bounded().len(), 1);
    assert!(device.is_as_before().left.is_empty());
}

#[test]
fn anyone_who_starts_late_is_bounded_too() {
    let mut device = Device::on(Fake::v1());
    device.bound(weight(512));
    device.fake.spawn(52, Spawned { comm: "backup", ..Spawned::default() });
    device.before = device.fake.snapshot();
    device.bound(weight(512));
    assert_eq!(device.fake.text(&format!("{OWN}/cgroup.procs")), "50\n51\n52\n");
    device.levers.restore();
    assert_eq!(device.fake.text(&format!("{CPU}/cgroup.procs")), "12\n50\n51\n52\n80\n81\n");
}

#[test]
fn anyone_who_is_born_in_guards_group_goes_where_its_parent_was() {
    let mut device = Device::on(Fake::v1());
    device.bound(weight(512));
    device.fake.spawn(53, Spawned { comm: "child", parent: 50, ..Spawned::default() });
    device.fake.echo("53", &format!("{OWN}/cgroup.procs")).unwrap();
    let report = device.levers.restore();
    assert!(report.failed.is_empty(), "{report}");
    assert_eq!(device.fake.text(&format!("{CPU}/cgroup.procs")), "12\n50\n51\n53\n80\n81\n");
    assert!(!exists(&device.fake, OWN));
}

#[test]
fn every_lever_of_version_1_is_pulled_and_put_back() {
    let mut device = Device::on(Fake::v1());
    device.fake.echo("2048", &format!("{CPU}/apps/miner/cpu.shares")).unwrap();
    device.before = device.fake.snapshot();
    let outcome = device.decide(vec![all(), all()], Placement::default());
    assert_eq!(outcome.refused, []);
    let miner = |file: &str| device.fake.text(&format!("/sys/fs/cgroup/{file}"));
    assert_eq!(miner("cpu/apps/miner/cpu.shares"), "512\n");
    assert_eq!(miner("cpu/apps/miner/cpu.cfs_quota_us"), "5000\n");
    assert_eq!(miner("cpu/apps/miner/cpu.cfs_period_us"), "10000\n");
    assert_eq!(miner("cpuset/apps/miner/cpuset.cpus"), "2-3\n");
    assert_eq!(miner("cpuset/headroom-guard.backup/cgroup.procs"), "50\n51\n");
    assert_eq!(miner("cpuset/headroom-guard.backup/cpuset.cpus"), "2-3\n");
    device.decide(vec![Bounds { cpus: None, ..all() }, all()], Placement::default());
    assert_eq!(
        device.fake.text("/sys/fs/cgroup/cpuset/headroom-guard.backup/cpuset.cpus"),
        "0-3\n"
    );
    let idle = Bounds { idle: true, ..all() };
    assert_eq!(device.decide(vec![idle.clone(), idle], Placement::default()).refused, []);
    assert_eq!(device.fake.text(&format!("{CPU}/apps/miner/cpu.shares")), "3\n");
    // Awake again: the weight is what is wanted, not what the kernel makes of it.
    device.decide(vec![all(), all()], Placement::default());
    assert_eq!(device.fake.text(&format!("{CPU}/apps/miner/cpu.shares")), "512\n");
    assert!(device.is_as_before().left.is_empty());
}

#[test]
fn a_weight_above_the_default_survives_the_idle_class() {
    for (fake, file, text) in [
        (Fake::v1(), "/sys/fs/cgroup/cpu/apps/miner/cpu.shares", "4000"),
        (Fake::hybrid(), "/sys/fs/cgroup/cpu,cpuacct/apps/miner/cpu.shares", "77"),
    ] {
        populate(&fake);
        fake.echo(text, file).unwrap();
        let mut device = Device::with(fake, vec![group("miner", "/apps/miner")]);
        device.bound(Bounds { idle: true, ..Bounds::default() });
        assert_eq!(device.fake.text(file), "3\n");
        assert!(device.is_as_before().left.is_empty());
    }
}

#[test]
fn every_lever_of_version_2_is_pulled_and_put_back() {
    let mut device = Device::on(Fake::v2().with_resctrl(12));
    let bounds = Bounds { memory_high_kib: Some(1000), cache: Some(Share::of(0.25)), ..all() };
    let outcome = device.decide(vec![bounds.clone(), bounds], Placement::default());
    assert_eq!(outcome.refused, []);
    let text = |file: &str| device.fake.text(&format!("/sys/fs/cgroup/{file}"));
    assert_eq!(text("cgroup.subtree_control"), "cpuset cpu memory\n");
    for group in ["headroom-guard.backup", "apps/miner"] {
        assert_eq!(text(&format!("{group}/cpu.weight")), "50\n");
        assert_eq!(text(&format!("{group}/cpu.max")), "5000 10000\n");
        assert_eq!(text(&format!("{group}/cpuset.cpus")), "2-3\n");
        assert_eq!(text(&format!("{group}/memory.high")), "1024000\n");
    }
    assert_eq!(text("others/cpu.weight"), "400\n", "as one thread on each of four CPUs");
    assert_eq!(text("apps/cpu.weight"), "50\n", "nobody but the application is below it");
    assert_eq!(
        device.fake.text("/sys/fs/resctrl/headroom-guard/schemata"),
        "    MB:0=100\n    L3:0=7\n"
    );
    assert_eq!(device.fake.text("/sys/fs/resctrl/headroom-guard/tasks"), "50\n51\n60\n");
    assert!(device.is_as_before().left.is_empty());
}

#[test]
fn a_group_with_processes_that_had_no_cpus_of_its_own_gets_all_back() {
    let fake = Fake::v2();
    populate(&fake);
    let mut device = Device::with(fake, vec![group("miner", "/apps/miner")]);
    let cpus = "/sys/fs/cgroup/apps/miner/cpuset.cpus";
    let packed = Bounds { cpus: Some(vec![3]), ..Bounds::default() };
    assert_eq!(device.bound(packed.clone()).refused, []);
    assert_eq!(device.fake.text(cpus), "3\n");
    assert_eq!(device.bound(Bounds::default()).refused, []);
    assert_eq!(device.fake.text(cpus), "0-3\n");
    // It is no one's task to give it back once more.
    assert_eq!(device.bound(Bounds::default()).writes, 0);
    assert_eq!(device.bound(packed).refused, []);
    assert!(device.is_as_before().left.is_empty());
}

#[test]
fn a_guard_that_was_overtaken_leaves_no_group_packed_that_had_no_cpus_of_its_own() {
    let fake = Fake::v2();
    populate(&fake);
    for folder in ["", "/apps"] {
        let path = format!("/sys/fs/cgroup{folder}/cgroup.subtree_control");
        fake.echo("+cpuset", &path).unwrap();
    }
    let mut device = Device::with(fake, vec![group("miner", "/apps/miner")]);
    let cpus = "/sys/fs/cgroup/apps/miner/cpuset.cpus";
    assert_eq!(device.fake.text(cpus), "\n");
    device.fake.overtake_at("miner/cpuset.cpus");
    device.bound(Bounds { cpus: Some(vec![3]), ..Bounds::default() });
    // Its journal is gone: no one would ever give these CPUs back.
    assert_eq!(device.fake.text(cpus), "0-3\n");
}

#[test]
fn version_1_has_no_bound_for_memory_that_slows() {
    let mut device = Device::on(Fake::v1());
    let outcome = device.bound(Bounds { memory_high_kib: Some(1000), ..Bounds::default() });
    assert_eq!(refusal(&outcome).0, Lever::Memory);
    assert!(device.is_as_before().is_empty());
}

#[test]
fn a_bound_never_loosens_what_a_person_had_set() {
    let fake = Fake::v1();
    populate(&fake);
    fake.echo("100", &format!("{CPU}/apps/miner/cpu.shares")).unwrap();
    fake.echo("1000", &format!("{CPU}/apps/miner/cpu.cfs_quota_us")).unwrap();
    fake.echo("3", "/sys/fs/cgroup/cpuset/apps/miner/cpuset.cpus").unwrap();
    let mut device = Device::with(fake, vec![group("miner", "/apps/miner")]);
    // A group with a group above it in which no one else is: that one is weighed, too.
    assert_eq!(device.bound(all()).writes, 1);
    assert_eq!(device.fake.text(&format!("{CPU}/apps/cpu.shares")), "512\n");
    assert_eq!(device.fake.text(&format!("{CPU}/apps/miner/cpu.shares")), "100\n");
    assert_eq!(device.is_as_before().restored.len(), 1);
}

#[test]
fn a_release_is_as_before() {
    for fake in [Fake::v1(), Fake::v2(), Fake::hybrid()] {
        let mut device = Device::with(
            {
                populate(&fake);
                fake
            },
            vec![group("miner", "/apps/miner")],
        );
        device.bound(all());
        device.bound(Bounds::default());
        assert!(device.levers.bounded().iter().all(|(path, ..)| !path.contains("miner")));
        assert!(device.is_as_before().left.is_empty());
    }
}

#[test]
fn a_device_without_groups_refuses_in_a_line() {
    let mut device = Device::on(Fake::none());
    let outcome = device.bound(weight(512));
    assert_eq!(refusal(&outcome), (Lever::Weight, "this device has no control groups with cpu"));
    assert_eq!(device.bound(weight(512)).refused.len(), 1, "told again, not tried again");
    assert!(device.is_as_before().is_empty());
}

#[test]
fn what_the_kernel_refuses_is_one_line_and_nothing_is_half() {
    for errno in [Errno::INVAL, Errno::BUSY, Errno::NOENT, Errno::ROFS, Errno::ACCESS] {
        let mut device = Device::on(Fake::v1());
        device.fake.refuse("cpu.cfs_quota_us", errno);
        let quota = Bounds { quota: Some(Share::of(0.5)), ..Bounds::default() };
        let outcome = device.decide(vec![Bounds::default(), quota], Placement::default());
        let (lever, why) = refusal(&outcome);
        assert_eq!(lever, Lever::Quota);
        assert!(why.contains("cannot write 5000 to") && why.lines().count() == 1, "{why}");
        let period = format!("{CPU}/apps/miner/cpu.cfs_period_us");
        assert_eq!(device.fake.text(&period), "100000\n", "the period without its quota");
        device.fake.allow_all();
        device.is_as_before();
    }
}

#[test]
fn a_journal_that_takes_no_line_changes_nothing() {
    let mut device = Device::on(Fake::v1());
    device.fake.refuse("guard/journal", Errno::NOSPC);
    let outcome = device.bound(weight(512));
    assert!(refusal(&outcome).1.contains("No space left"), "{outcome:?}");
    assert_eq!(device.fake.snapshot(), device.before);
    // Full only once guard has begun: putting back does not wait for room.
    device.fake.allow_all();
    let mut device = Device::on(Fake::v1());
    device.bound(weight(512));
    device.fake.refuse("guard/journal", Errno::NOSPC);
    device.levers.restore();
    assert_eq!(device.fake.snapshot(), device.before);
}

#[test]
fn a_real_time_process_in_a_group_is_named_where_version_2_refuses_the_cpu() {
    let fake = Fake::v2();
    populate(&fake);
    fake.spawn(90, Spawned { comm: "audio", policy: 1, ..Spawned::default() });
    fake.echo("90", "/sys/fs/cgroup/others/cgroup.procs").unwrap();
    let mut device = Device::with(fake, vec![process("backup")]);
    let outcome = device.bound(weight(512));
    let (lever, why) = refusal(&outcome);
    assert_eq!(lever, Lever::Weight);
    assert!(why.contains("pid 90 is real-time") && why.contains("RT_GROUP_SCHED"), "{why}");
    device.is_as_before();
}

#[test]
fn what_a_person_changes_is_left_and_reported_until_it_is_put_back() {
    let mut device = Device::on(Fake::v1());
    device.bound(weight(512));
    let file = format!("{OWN}/cpu.shares");
    device.fake.echo("700", &file).unwrap();
    let outcome = device.again(&weight(512));
    assert_eq!(outcome.overruled.len(), 1);
    assert!(outcome.overruled[0].contains("reads 700 where guard left 512"), "{outcome:?}");
    assert_eq!(device.bound(weight(256)).writes, 0, "a person's word stands");
    assert_eq!(device.fake.text(&file), "700\n");
    device.fake.echo("512", &file).unwrap();
    let outcome = device.bound(weight(128));
    assert_eq!((outcome.writes, outcome.overruled.len()), (1, 0));
}

#[test]
fn what_a_person_has_changed_is_left_by_restoring_and_reported() {
    let mut device = Device::on(Fake::v1());
    device.decide(vec![Bounds::default(), all()], Placement::default());
    let file = format!("{CPU}/apps/miner/cpu.shares");
    device.fake.echo("700", &file).unwrap();
    let report = device.levers.restore();
    assert_eq!(report.left.len(), 1);
    assert!(report.left[0].contains("reads 700; guard left 512, before guard 1024"), "{report}");
    assert_eq!(device.fake.text(&file), "700\n");
    assert_eq!(device.fake.text(&format!("{CPU}/apps/miner/cpu.cfs_quota_us")), "-1\n");
    assert!(!device.fake.state().join("journal").exists());
}

#[test]
fn a_group_that_vanishes_takes_its_bounds_with_it() {
    let mut device = Device::on(Fake::v1());
    let bounds = vec![Bounds::default(), all()];
    device.decide(bounds.clone(), Placement::default());
    device.fake.vanishes(&format!("{CPU}/apps"));
    let outcome = device.decide(bounds, Placement::default());
    assert_eq!(outcome.overruled, Vec::<String>::new());
    let report = device.levers.restore();
    assert!(report.failed.is_empty() && !report.vanished.is_empty(), "{report}");
    assert!(!device.fake.state().join("journal").exists());
}

#[test]
fn wifis_threads_are_placed_and_put_back() {
    for fake in [Fake::v1(), Fake::v2(), Fake::hybrid()] {
        let mut device = Device::on(fake);
        let placement = Placement { nice: Some(-10), accounted: true, threaded: Some(true) };
        let outcome = device.decide(vec![Bounds::default(); 2], placement);
        assert_eq!(outcome.refused, []);
        let nice = [12, 80, 81].map(|tid| device.fake.nice_value(tid));
        assert_eq!(nice, [-10, -10, 0], "a worker of the kernel's pools works for everybody");
        assert_eq!(device.fake.text("/sys/class/net/wlan0/threaded"), "1\n");
        let tree =
            device.fake.hierarchies().tree(crate::groups::Controller::Cpuacct).unwrap().clone();
        let members = std::fs::read_to_string(tree.mount.join("headroom-guard/cgroup.procs"));
        assert_eq!(members.unwrap(), "80\n");
        device.decide(vec![Bounds::default(); 2], Placement::default());
        assert_eq!(device.fake.nice_value(80), 0);
        assert!(device.is_as_before().left.is_empty());
    }
}

#[test]
fn no_more_writes_than_allowed_and_the_rest_later() {
    let fake = Fake::v1();
    populate(&fake);
    let mut device = Device::with(fake, vec![group("miner", "/apps/miner")]);
    device.levers.limiter = super::Limiter::of(1);
    let first = device.bound(all());
    assert!(first.writes < 5, "{first:?}");
    let writes: u32 = (0..40)
        .map(|tick| {
            // The fake's clock goes with changes; these are somebody else's.
            device.fake.renice(70, tick);
            let _ = crate::journal::Files::set_nice(&mut device.fake.clone(), 70, 0);
            device.bound(all()).writes
        })
        .sum();
    assert_eq!(first.writes + writes, 5, "shares of two groups, period, quota, cpus");
    assert!(device.is_as_before().left.is_empty());
}

#[test]
fn the_journal_of_another_boot_is_inert() {
    let mut device = Device::on(Fake::v1());
    device.bound(all());
    device.fake.die_after(0, 0);
    drop(device.levers);
    device.fake.revive();
    device.fake.reboot();
    let bounded = device.fake.snapshot();
    let (_hands, report) = levers(&device.fake);
    assert!(report.foreign_boot && report.restored.is_empty(), "{report}");
    assert_eq!(device.fake.snapshot(), bounded);
    assert!(!device.fake.state().join("journal").exists());
}

#[test]
fn a_damaged_byte_in_any_line_of_the_journal_loses_no_other_line() {
    let lines = |device: &Device| {
        let journal = device.fake.state().join("journal");
        std::fs::read_to_string(journal).unwrap().lines().count()
    };
    let dead = || {
        let mut device = Device::on(Fake::v1());
        device.bound(all());
        device.fake.die_after(0, 0);
        device
    };
    for damaged in 0..lines(&dead()) {
        let device = dead();
        drop(device.levers);
        device.fake.revive();
        let journal = device.fake.state().join("journal");
        let text = std::fs::read_to_string(&journal).unwrap();
        let spoilt = |(at, line): (usize, &str)| match line.split_at(20) {
            (start, end) if at == damaged => format!("{start}~{}\n", &end[1..]),
            _ => format!("{line}\n"),
        };
        std::fs::write(&journal, text.lines().enumerate().map(spoilt).collect::<String>()).unwrap();
        let (_levers, report) = levers(&device.fake);
        assert!(!report.foreign_boot && !report.restored.is_empty(), "{damaged}: {report}");
        assert_eq!(report.refused, ["a damaged line"], "{damaged}");
        assert!(!journal.exists(), "{damaged}: {report}");
        if damaged == 0 {
            super::device::assert_same(&device.before, &device.fake.snapshot());
        }
    }
}

#[test]
fn what_a_journal_of_two_boots_says_of_this_one_is_put_back() {
    let mut device = Device::on(Fake::v1());
    device.bound(weight(512));
    device.fake.die_after(0, 0);
    drop(device.levers);
    device.fake.revive();
    let journal = device.fake.state().join("journal");
    let of_this = std::fs::read_to_string(&journal).unwrap();
    let foreign = crate::journal::Record::Begin { version: 1, boot: "before".to_owned() };
    std::fs::write(&journal, format!("{}{of_this}", foreign.line().unwrap())).unwrap();
    let (_levers, report) = levers(&device.fake);
    assert!(report.foreign_boot && !report.restored.is_empty(), "{report}");
    super::device::assert_same(&device.before, &device.fake.snapshot());
}

#[test]
fn a_watchdog_that_took_over_has_the_last_word() {
    let mut device = Device::on(Fake::v1());
    device.bound(weight(512));
    crate::journal::take_over(Box::new(device.fake.clone()), &device.fake.state()).unwrap();
    super::device::assert_same(&device.before, &device.fake.snapshot());
    device.bound(weight(128));
    super::device::assert_same(&device.before, &device.fake.snapshot());
    assert!(device.levers.restore().is_empty());
    assert!(
        Applications::find(&super::device::policy(Vec::new()), &device.fake.hierarchies()).is_ok()
    );
}
