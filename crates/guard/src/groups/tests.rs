//! Rules against fake devices: who is found, who starts late, who is refused.

use super::{Application, Applications, Controller, Refusal};
use crate::{
    journal::fake::{Fake, Spawned},
    policy::{Policy, Rule},
};

fn rule(fill: impl FnOnce(&mut Rule)) -> Rule {
    let mut rule = Rule { name: "app".to_owned(), ..Rule::default() };
    fill(&mut rule);
    rule
}

fn find(fake: &Fake, rule: Rule) -> Result<Applications, Refusal> {
    let mut policy: Policy = toml::from_str("").unwrap();
    policy.protect.daemons = vec!["asterisk".to_owned()];
    policy.applications = vec![rule];
    Applications::find(&policy, &fake.hierarchies())
}

fn found(fake: &Fake, rule: Rule) -> Application {
    find(fake, rule).unwrap().list()[0].clone()
}

fn refused(fake: &Fake, rule: Rule) -> String {
    let line = find(fake, rule).unwrap_err().to_string();
    assert!(
        line.starts_with("application app is refused: ") && line.lines().count() == 1,
        "{line}"
    );
    line
}

fn process(name: &str) -> Rule {
    rule(|rule| rule.process = Some(name.to_owned()))
}

fn group(path: &str) -> Rule {
    rule(|rule| rule.group = Some(path.to_owned()))
}

/// A device of version 2 with a process in a group.
fn with(group: &str, pid: u32, comm: &'static str) -> Fake {
    let fake = Fake::v2();
    fake.spawn(pid, Spawned { comm, ..Spawned::default() });
    fake.group(&format!("/sys/fs/cgroup/{group}"));
    fake.echo(&pid.to_string(), &format!("/sys/fs/cgroup/{group}/cgroup.procs")).unwrap();
    fake
}

#[test]
fn processes_are_found_by_name_file_and_user() {
    let fake = Fake::v1();
    fake.spawn(50, Spawned { comm: "a-very-long-nam", user: 7, ..Spawned::default() });
    fake.spawn(51, Spawned { comm: "other", user: 8, ..Spawned::default() });
    fake.put("/etc/passwd", "root:x:0:0::/:\nbackup:x:8:8::/:\n");
    std::os::unix::fs::symlink("/usr/bin/other", fake.path("/proc/51/exe")).unwrap();
    let user = |name: &str| rule(|rule| rule.user = Some(name.to_owned()));
    assert_eq!(found(&fake, process("a-very-long-name-of-a-program")).pids, [50]);
    assert_eq!(found(&fake, process("/usr/bin/other")).pids, [51]);
    assert_eq!(found(&fake, user("7")).pids, [50]);
    assert_eq!(found(&fake, user("backup")).pids, [51]);
    assert_eq!(found(&fake, user("nobody")).pids, [0; 0]);
    let place = found(&fake, process("other"));
    let place = place.place(Controller::Cpu).unwrap();
    assert_eq!((&*place.strays, place.groups.len()), (&[51][..], 0));
    assert_eq!(place.own, fake.path("/sys/fs/cgroup/cpu/headroom-guard.app"));
}

#[test]
fn a_group_a_unit_and_a_container_are_bounded_where_they_are() {
    type Fill = fn(&mut Rule);
    let ways: [(&str, Fill); 5] = [
        ("apps/backup", |rule| rule.group = Some("/apps/backup".into())),
        ("system.slice/backup.service", |rule| rule.unit = Some("backup".into())),
        ("system.slice/docker-0123abcd4567.scope", |rule| rule.container = Some("0123abcd".into())),
        ("docker/0123abcd4567", |rule| rule.container = Some("0123abcd".into())),
        ("lxc.payload.web", |rule| rule.container = Some("web".into())),
    ];
    for (path, fill) in ways {
        let fake = with(path, 60, "worker");
        let application = found(&fake, rule(fill));
        let place = application.place(Controller::Cpu).unwrap();
        assert_eq!(application.pids, [60], "{path}");
        assert_eq!(place.groups, [fake.path(&format!("/sys/fs/cgroup/{path}"))]);
        assert!(place.strays.is_empty());
    }
    let fake = with("docker/0123abcd4567", 60, "worker");
    let other = rule(|rule| rule.container = Some("abcd".into()));
    assert!(found(&fake, other).is_absent(), "an id is named from its beginning");
    let fake = with("system.slice/my-web.service", 60, "worker");
    let web = rule(|rule| rule.container = Some("web".into()));
    assert!(found(&fake, web).is_absent(), "a service whose name ends so is no container");
}

#[test]
fn a_services_processes_leave_the_group_of_all_services() {
    let fake = with("services/backup/instance1", 60, "worker");
    let application = found(&fake, rule(|rule| rule.service = Some("backup".into())));
    let place = application.place(Controller::Cpu).unwrap();
    assert_eq!((&*place.strays, place.groups.len()), (&[60][..], 0));
}

#[test]
fn late_starters_are_found_and_what_has_ended_is_forgotten() {
    let fake = Fake::v1();
    let mut applications = find(&fake, process("backup")).unwrap();
    assert_eq!(applications.unmatched(), ["app"]);
    assert!(applications.list()[0].notes[0].contains("process backup has no process"));
    fake.spawn(50, Spawned { comm: "backup", ..Spawned::default() });
    applications.refresh();
    assert_eq!(applications.list()[0].pids, [50]);
    assert!(applications.unmatched().is_empty());
    fake.ends(50);
    applications.refresh();
    assert!(applications.list()[0].is_absent());
    fake.spawn(51, Spawned { comm: "backup", ..Spawned::default() });
    applications.refresh();
    assert_eq!(applications.list()[0].pids, [51]);
}

#[test]
fn a_process_is_the_first_applications_that_matches_it() {
    let fake = with("apps/x", 60, "worker");
    let mut policy: Policy = toml::from_str("").unwrap();
    policy.applications = vec![group("/apps/x"), process("worker")];
    let applications = Applications::find(&policy, &fake.hierarchies()).unwrap();
    assert_eq!(applications.list()[0].pids, [60]);
    assert_eq!(applications.list()[1].pids, [0; 0]);
}

#[test]
fn a_number_that_another_process_has_now_is_not_the_application() {
    let fake = Fake::v1();
    fake.spawn(50, Spawned { comm: "backup", ..Spawned::default() });
    let mut applications = find(&fake, process("backup")).unwrap();
    (0..3).for_each(|_| applications.refresh());
    fake.spawn(50, Spawned { comm: "hostapd", born: 999, ..Spawned::default() });
    applications.refresh();
    applications.refresh();
    assert!(!applications.list()[0].pids.contains(&50), "{:?}", applications.list());
}

#[test]
fn what_keeps_the_device_alive_is_refused() {
    for comm in ["hostapd", "wpa_supplicant", "netifd", "dnsmasq", "dropbear", "sshd", "asterisk"] {
        let fake = Fake::v1();
        fake.spawn(50, Spawned { comm, ..Spawned::default() });
        assert!(refused(&fake, process(comm)).contains(&format!("pid 50 ({comm})")));
    }
    let fake = Fake::v1();
    fake.spawn(1, Spawned { comm: "preinit", parent: 0, user: 0, ..Spawned::default() });
    assert!(refused(&fake, process("preinit")).contains("pid 1"));
    fake.spawn(30, Spawned { comm: "kswapd0", kernel: true, ..Spawned::default() });
    assert!(refused(&fake, process("kswapd0")).contains("a thread of the kernel"));
}

#[test]
fn guard_and_who_started_it_are_refused() {
    let fake = Fake::v1();
    let own = std::process::id();
    fake.spawn(own, Spawned { comm: "guard", parent: 77, ..Spawned::default() });
    fake.spawn(77, Spawned { comm: "shell", ..Spawned::default() });
    assert!(refused(&fake, process("guard")).contains("guard itself"));
    assert!(refused(&fake, process("shell")).contains("which started guard"));
}

#[test]
fn a_group_above_somebody_protected_is_refused() {
    let fake = with("system.slice/net/hostapd.service", 60, "hostapd");
    assert!(refused(&fake, group("system.slice")).contains("pid 60 (hostapd)"));
    for path in ["/", "", "///"] {
        assert!(refused(&fake, group(path)).contains("the whole device"), "{path}");
    }
    assert!(refused(&fake, group("/a/../..")).contains("not a path below the root"));
}

#[test]
fn who_comes_to_be_protected_is_left_out_with_the_reason() {
    let fake = with("apps/x", 60, "worker");
    let mut applications = find(&fake, group("/apps/x")).unwrap();
    fake.spawn(61, Spawned { comm: "sshd", ..Spawned::default() });
    fake.echo("61", "/sys/fs/cgroup/apps/x/cgroup.procs").unwrap();
    applications.refresh();
    let application = &applications.list()[0];
    assert!(application.pids.is_empty() && application.places.is_empty());
    assert!(application.notes[0].contains("pid 61 (sshd)"));
}

#[test]
fn real_time_processes_are_left_out_with_a_note() {
    let fake = Fake::v1();
    fake.spawn(50, Spawned { comm: "audio", policy: 2, ..Spawned::default() });
    fake.spawn(51, Spawned { comm: "audio", ..Spawned::default() });
    let application = found(&fake, process("audio"));
    assert_eq!(application.pids, [51]);
    assert!(application.notes[0].contains("pid 50"), "{:?}", application.notes);
}
