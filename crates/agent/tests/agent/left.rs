//! Control groups: which processes are moved there, and that they are given back.

use linux::cgroup::{self, Mounts};
use model::wire::TrialOrder;

use crate::dialogue::{Agent, Copied, Subject, eventually, folders_of, loaded, measure};

/// An agent that measures until it is ended, from its first sample on; none where it makes no groups.
fn measuring(order: TrialOrder) -> Option<Agent> {
    let mut agent = Agent::measuring(order);
    agent.begun();
    if folders_of(agent.pid()).is_empty() {
        skip::skip!("the agent can make no control group here");
        return None;
    }
    Some(agent)
}

#[test]
fn what_a_load_leaves_running_is_ended() {
    let (subject, load) = (Subject::idle(), Copied::of("sleep"));
    let script = format!("{} 600 & :", load.path().display());
    let Some(mut agent) = measuring(loaded(&subject.name, 1000, &["sh", "-c", &script])) else {
        return;
    };
    eventually(|| (load.running() > 0).then_some(()));
    agent.orders = None;
    agent.ended();
    assert_eq!(load.running(), 0);
}

#[test]
fn a_running_agent_keeps_its_groups() {
    let (subject, another) = (Subject::idle(), Subject::idle());
    let home = subject.groups();
    let Some(mut agent) = measuring(measure(&subject.name, 1000)) else { return };
    let ours = subject.groups();
    assert_ne!(ours, home);
    Agent::measuring(measure(&another.name, 2)).window(3);
    assert_eq!(subject.groups(), ours);
    agent.orders = None;
    agent.ended();
    assert_eq!(subject.groups(), home);
}

#[test]
fn a_subject_that_is_alone_in_a_group_stays_there() {
    let subject = Subject::idle();
    let tree = Mounts::find().unwrap().counting();
    let group = tree.map(|tree| tree.mount.join(format!("headroom-test.{}", subject.pid())));
    let Some(group) = group.filter(|group| cgroup::create(group).is_ok()) else {
        return skip::skip!("no control group can be made here");
    };
    cgroup::enter(&group, subject.pid()).unwrap();
    let home = subject.groups();
    let mut agent = Agent::measuring(measure(&subject.name, 2));
    let sample = agent.begun();
    assert_eq!((subject.groups(), folders_of(agent.pid()).len()), (home.clone(), 0));
    assert!(sample.subject.group.is_some());
    agent.orders = None;
    agent.ended();
    assert_eq!(subject.groups(), home);
    drop(subject);
    eventually(|| cgroup::remove(&group).ok());
}
