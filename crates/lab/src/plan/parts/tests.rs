//! Plans of cells with traffic, applications and cards.

use model::{calibration::Calibration, span::Span, study::Mode, target::Target};

use super::*;
use crate::{
    plan::{self, Known, Start, shown},
    study_file::parse,
};

const TRAFFIC: &str = include_str!("tests/traffic.toml");
const CARDS: &str = include_str!("tests/cards.toml");

fn names(plan: &[PlannedTrial], cell: &str, repetition: u32) -> Vec<String> {
    let here = |trial: &&PlannedTrial| trial.id.cell == *cell && trial.id.repetition == repetition;
    plan.iter().filter(here).map(|trial| trial.id.to_string()).collect()
}

#[test]
fn a_block_begins_and_ends_with_its_baseline_and_only_the_first_sweeps() {
    let plan = shown(&parse(TRAFFIC).unwrap(), None);
    let plain: Vec<_> = plan.iter().filter(|trial| trial.id.purpose.is_cpu()).cloned().collect();
    let first = names(&plain, "full+stream", 1);
    assert_eq!(
        (&*first[0], &**first.last().unwrap()),
        ("alone@full+stream#1", "alone@full+stream#1.last")
    );
    let mut between = first[1..first.len() - 1].to_vec();
    between.sort();
    let all = ["application", "guard-100", "none", "quota-20", "shares-512"];
    assert_eq!(between, all.map(|name| format!("{name}@full+stream#1")));
    let second = names(&plain, "full+stream", 2);
    assert!(
        second.len() == 6 && !second.iter().any(|name| name.starts_with("quota")),
        "{second:?}"
    );
    // Of traffic alone only guard has something to do: nothing.
    let alone = ["alone@full#1", "guard-100@full#1", "alone@full#1.last"];
    assert_eq!(names(&plain, "full", 1), alone);
    let orders: Vec<_> =
        (1..=3).map(|repetition| names(&plain, "full+stream", repetition)).collect();
    assert_eq!(shown(&parse(TRAFFIC).unwrap(), None), plan, "drawn alike every time: {orders:?}");
}

#[test]
fn counted_baselines_are_made_once_but_for_the_proof_of_each_cell() {
    let study = parse(TRAFFIC).unwrap();
    let plan = shown(&study, None);
    let copies = plan::copies(&plan);
    let of = |id: &str| {
        copies.iter().find(|(one, _)| one.to_string() == id).map(|(_, of)| of.to_string())
    };
    assert_eq!(of("alone@full+stream#1.last"), None, "the proof");
    assert_eq!(of("alone@full+stream#2.last").unwrap(), "alone@full+stream#2");
    assert_eq!(of("alone@full#1").unwrap(), "alone@full+stream#1", "the same traffic alone");
    assert!(copies.keys().all(|id| id.cell != "paced+stream+host"), "real time is never the same");
    assert!(plan::estimate(&study, &plan, 2) < plan::estimate(&study, &plan, 1));
}

#[test]
fn cases_are_modelled_once_on_a_counted_guest() {
    let plan = shown(&parse(TRAFFIC).unwrap(), None);
    let modelled: Vec<_> = plan.iter().filter(|trial| trial.order.marks).collect();
    let mut names: Vec<_> = modelled.iter().map(|trial| trial.id.to_string()).collect();
    names.sort();
    let shown = ["alone", "application", "guard-100", "none", "shares-512"];
    assert_eq!(names, shown.map(|name| format!("{name}@full+stream#1.caches")));
    assert!(
        modelled
            .iter()
            .all(|trial| Start::of(trial) == Start::of(&plan[0]) && Start::of(trial).wan)
    );
}

#[test]
fn an_order_has_what_its_cell_and_variant_say_and_what_was_measured_first() {
    let study = parse(TRAFFIC).unwrap();
    let what = Calibration::FullRate {
        on: Target::Host,
        mode: Mode::RealTime,
        traffic: "paced".to_owned(),
    };
    assert_eq!(plan::calibration::needs(&study), std::slice::from_ref(&what));
    let unknown = shown(&study, None);
    let lacking = unknown.iter().find(|trial| trial.id.cell == "paced+stream+host").unwrap();
    assert!(lacks(&study, lacking).unwrap().starts_with("its rate is unknown"));
    let outcomes = Vec::new();
    let calibrated = [Calibrated { what, value: Some(1_000), why: None, outcomes }];
    let known = Known { probes: &Default::default(), calibrated: &calibrated };
    let plan = plan::plan(&study, None, known);
    for trial in plan.iter().filter(|trial| trial.id.cell == "paced+stream+host") {
        let traffic = trial.order.traffic.as_ref();
        assert_eq!(traffic.is_none(), trial.id.variant == *APPLICATION);
        assert!(traffic.is_none_or(|one| (one.rate, one.paced) == (Some(1_000), None)));
        assert_eq!((trial.mode, trial.order.offset), (Mode::RealTime, Span::default()), "no phase");
        assert_eq!(lacks(&study, trial), None);
        assert_eq!(trial.order.application.is_none(), trial.id.variant == *ALONE);
    }
    let counted = plan.iter().filter(|trial| trial.id.repetition == 2 && trial.is_counted());
    assert!(
        counted.clone().count() > 0
            && counted.clone().all(|trial| trial.order.offset > Span::default())
    );
    assert!(
        plan.iter()
            .all(|trial| trial.order.subject.is_none()
                && trial.order.sample_every == Span::default())
    );
}

#[test]
fn every_strategy_comes_once_a_block_with_the_task_alone_and_one_counted_trial_again() {
    let study = parse(CARDS).unwrap();
    let plan = shown(&study, None);
    let mut first = names(&plan, "task-990", 1);
    let again = first.pop().unwrap();
    assert_eq!(again, format!("{}.again", first.last().unwrap()));
    first.sort();
    assert_eq!(first, ["busy", "event", "task-alone"].map(|name| format!("{name}@task-990#1")));
    assert_eq!(names(&plan, "task-990", 2).len(), 3);
    assert_eq!(names(&plan, "task-990+host", 1).len(), 3, "real time does not repeat");
    let alone = plan.iter().find(|trial| trial.id.variant == *TASK_ALONE).unwrap();
    let card = alone.order.card.unwrap();
    assert_eq!((card.strategy, card.rate, card.bytes, card.task_rounds), (None, 0, 66, None));
    assert!(lacks(&study, alone).unwrap().starts_with("its task's work is unknown"));
    let batches = plan::batches(plan);
    assert_eq!(batches[0].at_once, None, "counted trials come first, together");
    assert!(batches[1..].iter().all(|batch| batch.trials.len() == 1 && batch.at_once == Some(1)));
}
