//! Subjects that the agent starts: when they are ready, what is refused, and that nothing is left.

use std::path::PathBuf;

use model::wire::{Order, Refusal, TrialOrder};

use crate::{
    dialogue::{
        Agent, Copied, Subject, eventually, folders_of, measure, ready_at, sha256_of, starting,
    },
    run_ns,
};

/// A shell's copy with a script, as a subject to start.
fn scripted(shell: &Copied, intervals: u64, script: &str) -> TrialOrder {
    starting(&shell.name, intervals, &[shell.path().to_str().unwrap(), "-c", script])
}

fn why(agent: &mut Agent) -> String {
    match agent.refused() {
        Refusal::Start { why, .. } => why,
        refusal => panic!("{refusal:?}"),
    }
}

/// The subject has ended, and its group with it.
fn assert_nothing_left(agent: &Agent, subject: &Copied) {
    assert_eq!(subject.running(), 0);
    assert_eq!(folders_of(agent.pid()), Vec::<PathBuf>::new());
}

#[test]
fn it_is_counted_with_its_children_and_ended_after_the_window() {
    let shell = Copied::of("sh");
    // Children that end again and again: only the group counts them.
    let script = "while :; do /bin/true; done";
    let mut agent = Agent::measuring(scripted(&shell, 5, script));
    let (facts, samples) = agent.window(6);
    assert_eq!(facts.programs.len(), 1);
    assert_eq!((facts.programs[0].name.as_str(), shell.running()), (shell.name.as_str(), 0));
    assert_eq!(facts.programs[0].sha256, sha256_of(shell.path()));
    let own = run_ns(&samples[5]) - run_ns(&samples[0]);
    if let (Some(first), Some(last)) = (samples[0].subject.group, samples[5].subject.group) {
        let group = last.usage_ns - first.usage_ns;
        assert!(group > own + own / 4, "{group} ns in the group, {own} ns in the shell itself");
    }
    assert_nothing_left(&agent, &shell);
}

#[test]
fn it_is_not_measured_before_its_path_is_there_and_the_path_stays() {
    let shell = Copied::of("sh");
    let socket = shell.file("socket");
    let script = format!("sleep 0.7; : > {}; sleep 60", socket.display());
    let order = ready_at(&socket, scripted(&shell, 2, &script));
    let mut agent = Agent::start().0;
    let ordered = std::time::Instant::now();
    agent.order(&Order::trial(order));
    agent.hello();
    assert!(ordered.elapsed().as_millis() >= 700);
    agent.census();
    (0..3).for_each(|_| drop(agent.sample()));
    agent.census();
    assert_eq!(agent.frame(), model::wire::Frame::Done);
    assert!(socket.exists());
    assert_nothing_left(&agent, &shell);
}

#[test]
fn it_may_end_in_its_own_way() {
    let shell = Copied::of("sh");
    let farewell = shell.file("farewell");
    let trap = format!("trap ': > {}; exit 0' TERM", farewell.display());
    let script = format!("{trap}; while :; do sleep 0.01; done");
    Agent::measuring(scripted(&shell, 3, &script)).window(4);
    assert!(farewell.exists());
}

#[test]
fn one_that_ends_before_it_is_ready_is_refused_with_its_last_words() {
    let shell = Copied::of("sh");
    let order = scripted(&shell, 3, "echo starting; echo 'no such radio' >&2; exit 3");
    let mut agent = Agent::measuring(ready_at(&shell.file("never"), order));
    let why = why(&mut agent);
    assert!(why.contains("exit status: 3: ") && why.contains("no such radio"), "{why}");
    assert_nothing_left(&agent, &shell);
}

#[test]
fn one_that_cannot_be_started_is_refused_in_the_systems_words() {
    let mut agent = Agent::measuring(starting(
        "no-such-daemon",
        3,
        &["/no/such/no-such-daemon", "--set", "all"],
    ));
    let Refusal::Start { command, why } = agent.refused() else { panic!("it started") };
    assert_eq!(command, "/no/such/no-such-daemon --set all");
    assert!(why.contains("No such file"), "{why}");
    assert_eq!(folders_of(agent.pid()), Vec::<PathBuf>::new());
}

#[test]
fn one_of_another_name_is_refused_with_the_name_it_has() {
    let sleep = Copied::of("sleep");
    let mut agent =
        Agent::measuring(starting("another-name", 3, &[sleep.path().to_str().unwrap(), "60"]));
    let why = why(&mut agent);
    let reported =
        format!("none of its processes is named `another-name`; they are: {}", sleep.name);
    assert_eq!(why, reported);
    assert_nothing_left(&agent, &sleep);
}

#[test]
fn a_child_of_what_is_started_may_have_the_name() {
    let sleep = Copied::of("sleep");
    let script = format!("{} 60; true", sleep.path().display());
    let mut agent = Agent::measuring(starting(&sleep.name, 2, &["sh", "-c", &script]));
    let (_, samples) = agent.window(3);
    assert_eq!(samples[0].subject.tasks.len(), 1);
    assert_eq!(samples[0].subject.tasks[0].comm, sleep.name);
    assert_nothing_left(&agent, &sleep);
}

#[test]
fn a_name_that_runs_already_is_refused_and_left_alone() {
    let mut subject = Subject::idle();
    let mut agent = Agent::measuring(starting(&subject.name, 3, &["sleep", "60"]));
    let reported = format!("`{}` already runs as pid {}", subject.name, subject.pid());
    assert_eq!(why(&mut agent), reported);
    assert_eq!(subject.child.try_wait().unwrap(), None);
}

#[test]
fn its_death_in_the_window_ends_the_measurement() {
    let shell = Copied::of("sh");
    let mut agent = Agent::measuring(scripted(&shell, 1000, "sleep 0.5; exit 1"));
    let refusal = agent.refused();
    assert!(matches!(&refusal, Refusal::SubjectDied { name, .. } if *name == shell.name));
    assert_nothing_left(&agent, &shell);
}

#[test]
fn an_order_that_comes_before_it_is_ready_ends_it() {
    let shell = Copied::of("sh");
    let order = ready_at(&shell.file("never"), scripted(&shell, 3, "while :; do sleep 0.1; done"));
    let mut agent = Agent::measuring(order);
    eventually(|| (shell.running() > 0).then_some(()));
    agent.order(&Order::trial(measure("no-such-daemon", 3)));
    assert!(matches!(agent.refused(), Refusal::NoSubject { .. }));
    assert_nothing_left(&agent, &shell);
}
