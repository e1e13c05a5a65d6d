//! Applications of recorded trees: both versions, no group at all, many threads.

use super::*;
use crate::sense::{
    source::buffer,
    tree::{Tree, user_stat},
};

const MS: u64 = 1_000_000;

fn read(
    applications: &mut Applications,
    watched: &[Watched],
    at_ms: u64,
) -> Vec<(Application, Charged)> {
    let mut buffer = buffer();
    let mut tick = Tick {
        at_ns: at_ms * MS,
        span_ns: 200 * MS,
        tick_ns: 10 * MS,
        only_cpu: None,
        buffer: &mut buffer,
    };
    applications.read(watched, &mut tick)
}

fn watched(folders: Vec<PathBuf>, pids: &[u32]) -> [Watched; 1] {
    [Watched { name: "app".into(), folders, pids: pids.to_vec() }]
}

#[test]
fn version_one_distinguishes_cpus() {
    let tree = Tree::new(&[
        ("cpuacct/app/cpuacct.usage_percpu", "1000 2000 \n"),
        ("cpuacct/app/tasks", ""),
        ("cpu/app/cpu.stat", "nr_periods 0\nthrottled_time 5\n"),
    ]);
    let watched = watched(vec![tree.path("cpu/app"), tree.path("cpuacct/app")], &[]);
    let mut applications = Applications::new(tree.root(), true);
    let first = &read(&mut applications, &watched, 0)[0];
    assert_eq!((first.0.charged_ns, first.0.throttled_ns), (0, None), "nothing to compare with");
    tree.write("cpuacct/app/cpuacct.usage_percpu", "1500 2700 \n");
    tree.write("cpu/app/cpu.stat", "nr_periods 0\nthrottled_time 100000005\n");
    let (application, charged) = &read(&mut applications, &watched, 1000)[0];
    assert_eq!(application.charged_ns, 1200);
    // Looked at once a second: 100 ms of it are 20 ms of a tick.
    assert_eq!(application.throttled_ns, Some(20 * MS));
    assert_eq!(charged.by_cpu, [500, 700]);
    assert!(application.runs);
    tree.write("cpuacct/app/cpuacct.usage_percpu", "3 2700 \n");
    let (application, _) = &read(&mut applications, &watched, 1200)[0];
    assert_eq!(application.charged_ns, 0, "a group that was made anew");
}

#[test]
fn a_hybrid_machine_is_counted_once() {
    let tree = Tree::new(&[
        ("cpuacct/app/cpuacct.usage", "1000\n"),
        ("unified/app/cpu.stat", "usage_usec 1\n"),
    ]);
    let folders = vec![tree.path("unified/app"), tree.path("cpuacct/app")];
    let watched = watched(folders, &[]);
    let mut applications = Applications::new(tree.root(), true);
    read(&mut applications, &watched, 0);
    tree.write("cpuacct/app/cpuacct.usage", "1400\n");
    tree.write("unified/app/cpu.stat", "usage_usec 2\n");
    assert_eq!(read(&mut applications, &watched, 200)[0].0.charged_ns, 400);
}

fn thread(tree: &Tree, tid: u32, schedstat: &str, cpu: u32) {
    tree.write(&format!("proc/9/task/{tid}/stat"), "");
    tree.write(&format!("proc/{tid}/stat"), &user_stat(tid, "app", 0, cpu));
    tree.write(&format!("proc/{tid}/schedstat"), schedstat);
}

#[test]
fn an_application_without_a_group_is_known_by_its_threads() {
    let tree = Tree::new(&[]);
    thread(&tree, 9, "0 0 1", 0);
    thread(&tree, 10, "0 0 1", 1);
    let watched = watched(Vec::new(), &[9]);
    let mut applications = Applications::new(tree.root(), true);
    let first = &read(&mut applications, &watched, 1000)[0].0;
    assert_eq!((first.runs, first.charged_ns, first.waited_ns), (true, 0, Some(0)));
    thread(&tree, 9, "70000000 20000000 1", 0);
    thread(&tree, 10, "30000000 10000000 1", 1);
    let (application, charged) = &read(&mut applications, &watched, 1200)[0];
    assert_eq!((application.charged_ns, application.waited_ns), (100 * MS, Some(30 * MS)));
    assert_eq!(charged.by_cpu, [70 * MS, 30 * MS]);
}

#[test]
fn of_many_threads_each_is_read_in_its_turn_and_its_rate_stands_for_the_rest() {
    let tree = Tree::new(&[]);
    let all = 9..9 + 2 * BUDGET as u32;
    all.clone().for_each(|tid| thread(&tree, tid, "0 0 1", 0));
    let watched = watched(Vec::new(), &[9]);
    let mut applications = Applications::new(tree.root(), true);
    read(&mut applications, &watched, 1000);
    read(&mut applications, &watched, 1200);
    all.clone().for_each(|tid| thread(&tree, tid, "4000000 2000000 1", 0));
    read(&mut applications, &watched, 1400);
    let half = read(&mut applications, &watched, 1600)[0].0.waited_ns.unwrap();
    // Each waited 2 ms in the 400 ms since it was read, so 1 ms in a tick of 200 ms.
    assert_eq!(half, u64::from(all.end - all.start) * MS);
}

#[test]
fn threads_that_end_are_forgotten_and_groups_below_are_looked_into() {
    let tree = Tree::new(&[("cg/app/tasks", "9\n"), ("cg/app/below/tasks", "10\n")]);
    thread(&tree, 9, "1 1 1", 0);
    thread(&tree, 10, "1 1 1", 0);
    let watched = watched(vec![tree.path("cg/app")], &[]);
    let mut applications = Applications::new(tree.root(), true);
    assert!(read(&mut applications, &watched, 0)[0].0.runs);
    assert_eq!(applications.states[0].threads.len(), 2);
    tree.write("cg/app/tasks", "");
    tree.write("cg/app/below/tasks", "");
    thread(&tree, 9, "", 0);
    thread(&tree, 10, "", 0);
    read(&mut applications, &watched, 200);
    assert!(!read(&mut applications, &watched, 400)[0].0.runs);
}
