//! Plans of a small study, read as their order is.

use model::{completion::TaskWork, experiment::Planned};

use super::*;
use crate::completion::study::parse;

const STUDY: &str = r#"question = "?"

[completion]
window = "1s"
warm-up = "200ms"
blocks = 3

[[place]]
name = "ap"
on = "vm"

[[place]]
name = "here"
on = "host"

[[load]]
name = "small"
rates = [100, 440]
bytes = 66

[[load]]
name = "task"
rates = [990]
bytes = 66
task-ms = 1000
"#;

fn known() -> Rounds {
    let work = |place: &str, rounds| TaskWork {
        place: place.to_owned(),
        ms: 1000,
        rounds: Some(rounds),
        why: None,
    };
    Rounds(vec![work("ap", 5_000), work("here", 70_000)])
}

/// What a trial tries, without its block.
fn tried(trial: &PlannedTrial) -> (usize, usize, u32, Option<Strategy>) {
    (trial.place, trial.load, trial.card().rate, trial.card().strategy)
}

#[test]
fn every_block_has_every_trial_once_and_counted_loads_end_with_one_once_more() {
    let study = parse(STUDY).unwrap();
    let plan = trials(&study, &known());
    let firsts = |block: u32| {
        let ours = plan.iter().filter(move |one| one.block == block && one.repeats.is_none());
        let mut all: Vec<_> = ours.map(tried).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(firsts(0).len(), 2 * (2 * 4 + 4 + 1), "both rates, the task, the task alone");
    assert_eq!(firsts(0), firsts(1));
    let mut once = firsts(0);
    once.dedup();
    assert_eq!(once, firsts(0));
    let again: Vec<_> = plan.iter().filter(|one| one.repeats.is_some()).collect();
    assert_eq!(again.len(), 2, "of each load, at the counted place only");
    for one in again {
        let first = &plan[one.repeats.unwrap() as usize - 1];
        assert_eq!((one.block, one.place, &one.order), (0, 0, &first.order));
        assert_eq!(one.number, first.number + 1);
    }
    assert!(plan.iter().zip(1..).all(|(one, number)| one.number == number));
}

#[test]
fn orders_differ_from_block_to_block_and_are_the_same_every_time() {
    let study = parse(STUDY).unwrap();
    let order = |block: u32| -> Vec<_> {
        let plan = trials(&study, &known());
        plan.iter().filter(|one| one.block == block).map(tried).collect()
    };
    assert_ne!(order(1), order(2));
    assert_eq!(order(1), order(1));
}

#[test]
fn counted_blocks_have_their_phase_and_real_ones_have_none() {
    let study = parse(STUDY).unwrap();
    let plan = trials(&study, &known());
    let phases = |place: usize, block: u32| {
        let ours = plan.iter().filter(move |one| one.place == place && one.block == block);
        let mut phases: Vec<Span> = ours.map(|one| one.order.offset).collect();
        phases.dedup();
        phases
    };
    assert_eq!((phases(0, 0), phases(1, 2)), (vec![Span::default()], vec![Span::default()]));
    let [one, two] = [1, 2].map(|block| phases(0, block));
    assert!(
        one.len() == 1 && two.len() == 1 && one != two && one[0] > Span::default(),
        "{one:?} {two:?}"
    );
}

#[test]
fn a_task_has_the_work_of_its_place_or_is_reported_to_lack_it() {
    let study = parse(STUDY).unwrap();
    let rounds = |place: usize, rounds: &Rounds| {
        let plan = trials(&study, rounds);
        let mut all: Vec<_> = plan
            .iter()
            .filter(|one| one.place == place && one.load == 1)
            .map(|one| (one.card().task_rounds, lacks_rounds(&study, one)))
            .collect();
        all.dedup();
        all
    };
    assert_eq!(rounds(0, &known()), [(Some(5_000), false)]);
    assert_eq!(rounds(1, &known()), [(Some(70_000), false)]);
    assert_eq!(rounds(1, &Rounds::default()), [(None, true)]);
    assert_eq!(tasks(&study), [(0, 1000), (1, 1000)]);
}

/// A comparison at one rate of one load.
fn compared(variant: Option<Strategy>) -> Study {
    let mut study = parse(STUDY).unwrap();
    let base = Strategy::Event;
    study.completion.blocks = 4;
    study.completion.strategies = [Some(base), variant].into_iter().flatten().collect();
    study.completion.versus = Some(model::completion::Versus { base, variant });
    study.places.truncate(1);
    study.loads.remove(0);
    study
}

#[test]
fn the_pairs_of_a_comparison_are_turned_over_by_thue_and_morse_and_have_one_state_each() {
    let study = compared(Some(Strategy::Batch));
    let plan = trials(&study, &known());
    let pairs: Vec<_> = plan.iter().filter(|one| one.repeats.is_none()).collect();
    let order: String = pairs
        .iter()
        .map(|one| if one.card().strategy == Some(Strategy::Event) { 'a' } else { 'b' })
        .collect();
    assert_eq!(order, "abbabaab", "without the task alone");
    assert!(pairs.chunks(2).all(|pair| pair[0].order.offset == pair[1].order.offset));
    assert_eq!(plan.len(), 9, "one is made once more");
}

#[test]
fn the_same_strategy_twice_takes_turns_at_being_the_base() {
    let study = compared(None);
    let plan = trials(&study, &known());
    assert_eq!(plan.len(), 8);
    let versus = study.completion.versus.unwrap();
    let side = |one: &PlannedTrial| {
        if versus.is_base(one) { 'a' } else { 'b' }
    };
    assert_eq!(plan.iter().map(side).collect::<String>(), "abbabaab");
    assert!(plan.chunks(2).all(|pair| pair[0].order == pair[1].order));
}

#[test]
fn people_read_names() {
    let study = parse(STUDY).unwrap();
    let plan = trials(&study, &known());
    let names: Vec<String> = plan.iter().map(|one| one.name(&study)).collect();
    assert!(names.contains(&"440/s busy of small at ap, block 2".to_owned()));
    assert!(names.contains(&"the task alone of task at here, block 3".to_owned()));
    assert_eq!(names.iter().filter(|name| name.ends_with("block 1, once more")).count(), 2);
}

#[test]
fn real_time_is_added_up_and_counted_time_is_shared() {
    let study = parse(STUDY).unwrap();
    let plan = trials(&study, &known());
    let (one, two) = (estimate(&study, &plan, 1), estimate(&study, &plan, 2));
    let (alone, _): (Vec<_>, Vec<_>) = plan.iter().cloned().partition(|one| is_alone(&study, one));
    let real = estimate(&study, &alone, 8);
    assert_eq!((one - real) / 2, two - real);
}
