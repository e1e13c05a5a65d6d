//! Processes beside subject and load: counted in the same window, each under its own name.

use model::wire::TrialOrder;

use crate::dialogue::{Agent, Subject, measure};

fn with_others(subject: &Subject, others: &[&str]) -> TrialOrder {
    let others = others.iter().map(|&name| name.to_owned()).collect();
    TrialOrder { others, ..measure(&subject.name, 5) }
}

#[test]
fn each_is_counted_apart_and_who_does_not_run_is_absent() {
    let (subject, busy, idle) = (Subject::idle(), Subject::busy(), Subject::idle());
    let before = (busy.groups(), idle.groups());
    let mut agent = Agent::measuring(with_others(
        &subject,
        &[&busy.name, "no-such-daemon", &subject.name, &busy.name, &idle.name],
    ));
    let (facts, samples) = agent.window(6);
    assert_eq!(facts.programs.len(), 3);
    let names = |place: usize| samples[place].others.iter().map(|other| other.name.clone());
    for place in 0..6 {
        assert!(names(place).eq([busy.name.clone(), idle.name.clone()]));
    }
    let run = |place: usize, other: usize| -> u64 {
        let account = &samples[place].others[other].account;
        account.tasks.iter().filter_map(|task| task.run_ns).sum()
    };
    assert!(run(5, 0) > run(0, 0) && run(5, 1) == run(0, 1));
    if let Some(group) = samples[5].others[0].account.group {
        assert!(group.usage_ns > samples[0].others[0].account.group.unwrap().usage_ns);
    }
    assert_eq!((busy.groups(), idle.groups()), before);
}

#[test]
fn the_end_of_one_does_not_end_the_window_and_its_counters_stay() {
    let (subject, mut other) = (Subject::idle(), Subject::busy());
    let mut agent = Agent::measuring(with_others(&subject, &[&other.name]));
    let first = agent.begun();
    other.child.kill().unwrap();
    other.child.wait().unwrap();
    let last = agent.samples(5);
    let run = |sample: &model::sample::Sample| sample.others[0].account.tasks[0].run_ns;
    assert!(run(&last) >= run(&first));
    agent.census();
    assert_eq!(agent.frame(), model::wire::Frame::Done);
}
