//! What an agent that is killed leaves of its control groups, and who gives it back.

use crate::dialogue::{Agent, Subject, folders_of, measure};

/// An agent that measures a subject until it is ended, from its first sample on; none where it makes no groups.
fn measuring(subject: &Subject) -> Option<Agent> {
    let mut agent = Agent::measuring(measure(&subject.name, 1000));
    agent.begun();
    if folders_of(agent.pid()).is_empty() {
        skip::skip!("the agent can make no control group here");
        return None;
    }
    Some(agent)
}

fn measure_shortly(subject: &Subject) {
    Agent::measuring(measure(&subject.name, 2)).window(3);
}

#[test]
fn whom_a_killed_agent_moved_goes_home_with_the_next_one() {
    let (subject, another) = (Subject::idle(), Subject::idle());
    let home = subject.groups();
    let Some(mut agent) = measuring(&subject) else { return };
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    // It is still there, unless the agent of another test has come by.
    measure_shortly(&another);
    assert_eq!(subject.groups(), home);
    assert!(folders_of(agent.pid()).is_empty());
}

#[test]
fn a_running_agent_keeps_its_groups() {
    let (subject, another) = (Subject::idle(), Subject::idle());
    let home = subject.groups();
    let Some(mut agent) = measuring(&subject) else { return };
    let ours = subject.groups();
    assert_ne!(ours, home);
    measure_shortly(&another);
    assert_eq!(subject.groups(), ours);
    agent.orders = None;
    agent.ended();
    assert_eq!(subject.groups(), home);
}
