//! Processes that must run or rest: what is repaired, what is told, what is restored.

use model::{
    topology::{Correction, Must, TopologyOrder, WantedProcess},
    wire::{Frame, Order, TrialOrder},
};
use rustix::process::{Pid, Signal, kill_process};

use crate::dialogue::{Agent, Copied, Subject, eventually, measure, state};

fn stop(subject: &Subject) {
    kill_process(Pid::from_child(&subject.child), Signal::STOP).unwrap();
    eventually(|| (state(subject.pid()) == 'T').then_some(()));
}

/// A measurement in which a process must be so.
pub(crate) fn wanting(
    measure: TrialOrder,
    name: &str,
    must: Must,
    command: Option<String>,
) -> TrialOrder {
    let wanted = WantedProcess { name: name.to_owned(), must, command };
    let topology = TopologyOrder { interfaces: Vec::new(), processes: vec![wanted] };
    TrialOrder { topology: Some(topology), ..measure }
}

/// A short one of a process.
fn short(subject: &Subject) -> TrialOrder {
    measure(&subject.name, 2)
}

/// What had to be repaired; nothing where the first frame is the hello.
fn corrections(agent: &mut Agent) -> Vec<Correction> {
    match agent.frame() {
        Frame::Corrections(corrections) => {
            agent.hello();
            corrections
        }
        Frame::Hello { .. } => Vec::new(),
        other => panic!("unexpected {other:?}"),
    }
}

fn finish(agent: &mut Agent) {
    while agent.frame() != Frame::Done {}
}

fn correction(what: &str, was: &str, done: &str) -> Correction {
    Correction { what: what.to_owned(), was: was.to_owned(), done: done.to_owned() }
}

#[test]
fn a_stopped_process_that_must_run_is_resumed_and_reported() {
    let (subject, manager) = (Subject::idle(), Subject::idle());
    stop(&manager);
    let order = Order::trial(wanting(short(&subject), &manager.name, Must::Run, None));
    let mut agent = Agent::ordered(&order);
    let reported = corrections(&mut agent);
    assert_eq!(reported, [correction(&manager.name, "was stopped", "resumed")]);
    assert_ne!(state(manager.pid()), 'T');
    finish(&mut agent);
    // Once it is right there is nothing to tell.
    agent.order(&order);
    assert_eq!(corrections(&mut agent), []);
    finish(&mut agent);
}

#[test]
fn a_process_that_must_rest_is_stopped_for_the_trial_and_resumed_after_it() {
    let (subject, manager) = (Subject::idle(), Subject::idle());
    let mut agent = Agent::measuring(wanting(short(&subject), &manager.name, Must::Rest, None));
    let reported = corrections(&mut agent);
    assert_eq!(reported, [correction(&manager.name, "was running", "stopped for the trial")]);
    assert_eq!(state(manager.pid()), 'T');
    finish(&mut agent);
    assert_ne!(state(manager.pid()), 'T');
}

#[test]
fn a_process_that_is_absent_or_stopped_rests() {
    let (subject, manager) = (Subject::idle(), Subject::idle());
    stop(&manager);
    for name in [&manager.name, "no-such-manager"] {
        let mut agent = Agent::measuring(wanting(short(&subject), name, Must::Rest, None));
        assert_eq!(corrections(&mut agent), []);
        finish(&mut agent);
    }
    assert_eq!(state(manager.pid()), 'T', "it was not ours to resume");
}

#[test]
fn a_command_starts_and_ends_a_manager() {
    let subject = Subject::idle();
    let manager = Copied::of("sleep");
    let path = manager.path().to_str().unwrap().to_owned();
    let command = format!("{path} 60 &");
    let order = wanting(short(&subject), &manager.name, Must::Run, Some(command.clone()));
    let mut agent = Agent::measuring(order);
    let reported = corrections(&mut agent);
    let done = format!("started with `{command}`");
    assert_eq!(reported, [correction(&manager.name, "was not running", &done)]);
    finish(&mut agent);
    assert_eq!(manager.running(), 1, "what must run is left running");

    let pid = agent::subject::pids_of(&manager.name).unwrap()[0];
    let command = format!("kill {pid}");
    let order = wanting(short(&subject), &manager.name, Must::Rest, Some(command.clone()));
    agent.order(&Order::trial(order));
    let done = format!("ended with `{command}`");
    assert_eq!(corrections(&mut agent), [correction(&manager.name, "was running", &done)]);
    finish(&mut agent);
    assert_eq!(manager.running(), 0);
}

#[test]
fn what_cannot_be_repaired_is_refused() {
    let subject = Subject::idle();
    let mut agent = Agent::start().0;
    let mut refused = |order| {
        agent.order(&Order::trial(order));
        match agent.refused() {
            refusal if refusal.what.ends_with("and cannot be repaired") => refusal.to_string(),
            other => panic!("{other}"),
        }
    };
    let reported = refused(wanting(short(&subject), "no-such-manager", Must::Run, None));
    assert!(reported.starts_with("no-such-manager is not running, and cannot be "), "{reported}");
    assert!(reported.ends_with(": no `command` says how to start it"), "{reported}");
    let reported = refused(wanting(short(&subject), "headroom-agent", Must::Rest, None));
    assert!(reported.contains("headroom's own agent"), "{reported}");
    let interfaces =
        vec![model::topology::InterfaceOrder { name: "headroom-none".to_owned(), megahertz: None }];
    let topology = Some(TopologyOrder { interfaces, processes: Vec::new() });
    let reported = refused(TrialOrder { topology, ..measure(&subject.name, 2) });
    assert!(reported.starts_with("headroom-none is not there, and cannot be "), "{reported}");
}
