//! Whoever is measured fails in nothing that it does: forks, threads and programs under every instrument.

use std::process::Command;

use model::{
    instrument::{Counts, CountsOrder, Detail, Instrument, Scope, StacksOrder},
    wire::{Frame, Measure, Order, Refusal},
};

use crate::{
    counts::{Counting, ordered},
    dialogue::{Agent, measure},
};

const BREEDER: &str = include_str!("breeder.c");

/// One batch of [`BREEDER`]: 40 threads, 10 children, 5 lines of 3 generations, 10 programs, and 5 children
/// of threads.
const CALLS: u64 = 40 + 10 + 5 * 3 + 10 + 5;

/// Batches in a window.
const BATCHES: u64 = 4;

/// What it says of itself.
#[derive(Debug)]
struct Said {
    calls: u64,
    failed: String,
}

impl Said {
    fn by(program: &Counting) -> Self {
        let words = program.read();
        let said = Command::new(&words[0]).args(&words[1..]).output().unwrap().stdout;
        let said = String::from_utf8(said).unwrap();
        let (calls, failed) = said.trim_end().split_once(' ').unwrap();
        Self { calls: calls.parse().unwrap(), failed: failed.trim().to_owned() }
    }
}

/// What came of a window in which the program had its children.
struct Outcome {
    counts: Option<Counts>,
    calls: u64,
}

/// Lets the program have its children under an instrument; `None`, with the reason, where there is none.
fn under(program: &Counting, order: &Order) -> Option<Outcome> {
    let before = Said::by(program);
    assert_eq!(before.failed, "0", "without an instrument");
    let mut agent = Agent::ordered(order);
    let mut counts = None;
    loop {
        match agent.frame() {
            Frame::Sample(_) => break,
            Frame::Refused(refusal) => return skipped(&refusal),
            _ => {}
        }
    }
    let said = (0..BATCHES).map(|_| Said::by(program)).last().unwrap();
    loop {
        match agent.frame() {
            Frame::Counts(all) => counts = Some(*all),
            Frame::Refused(refusal) => panic!("{refusal}"),
            Frame::Done => break,
            _ => {}
        }
    }
    assert_eq!(said.failed, "0", "calls of the program failed");
    let calls = said.calls - before.calls;
    assert_eq!(calls, BATCHES * CALLS);
    Some(Outcome { counts, calls })
}

fn skipped<T>(refusal: &Refusal) -> Option<T> {
    let text = refusal.to_string();
    assert!(text.contains("without probes") || text.contains("run the agent as root"), "{text}");
    eprintln!("skipped: {text}");
    None
}

fn counting(program: &Counting, detail: Detail, scope: Scope) -> Order {
    let probes = vec![program.probe("calls", detail), program.probe("again", Detail::Hits)];
    ordered(CountsOrder { scope, probes, read: None }, measure(&program.name, 30))
}

fn instrumented(program: &Counting, instrument: Option<Instrument>) -> Order {
    let measure = Measure { instrument, identify: true, ..measure(&program.name, 30) };
    Order::measure(measure)
}

#[test]
fn children_threads_and_programs_live_and_are_counted_under_probes() {
    let Some(program) = Counting::of(BREEDER) else { return };
    let Some(seen) = under(&program, &counting(&program, Detail::Hits, Scope::Subject)) else {
        return;
    };
    let hits: Vec<u64> = seen.counts.unwrap().probes.iter().map(|counted| counted.hits).collect();
    assert_eq!(hits, [seen.calls; 2]);
}

#[test]
fn every_call_of_children_threads_and_programs_is_timed() {
    let Some(program) = Counting::of(BREEDER) else { return };
    let detail = Detail::Spans(Some(0));
    let Some(seen) = under(&program, &counting(&program, detail, Scope::Subject)) else { return };
    let counted = &seen.counts.unwrap().probes[0];
    assert_eq!((counted.hits, counted.lost, counted.unpaired), (seen.calls, 0, 0));
    assert_eq!(counted.spans.len() as u64, seen.calls);
}

#[test]
fn nobody_fails_where_the_whole_machine_is_counted() {
    let Some(program) = Counting::of(BREEDER) else { return };
    let Some(seen) = under(&program, &counting(&program, Detail::Hits, Scope::Machine)) else {
        return;
    };
    assert_eq!(seen.counts.unwrap().probes[0].hits, seen.calls);
}

#[test]
fn nobody_fails_under_counters_stacks_and_peers() {
    let Some(program) = Counting::of(BREEDER) else { return };
    let stacks =
        StacksOrder { scope: Scope::Subject, frequency: 499, stack_bytes: 32_768 };
    for instrument in [None, Some(Instrument::Stacks(stacks)), Some(Instrument::Peers)] {
        under(&program, &instrumented(&program, instrument));
    }
}
