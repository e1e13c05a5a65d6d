//! Plans of small studies, read as their order is.

use model::{contention::FullRate, experiment::Planned};

use super::*;
use crate::contention::study::parse;

const STUDY: &str = r#"question = "?"

[contention]
window = "5s"
warm-up = "2s"
blocks = 3

[caches]
l1i = { size = "32KiB", ways = 2, line = 64 }
l1d = { size = "32KiB", ways = 4, line = 64 }
l2 = { size = "1MiB", ways = 16, line = 64 }

[[place]]
name = "ap"
on = "vm"
road = "radio"

[[place]]
name = "here"
on = "host"
road = "veth"

[[traffic]]
name = "full"
flow = "udp"

[[traffic]]
name = "paced"
flow = "udp"
paced = "50%"
bytes = 1000
bursts = ["2s", "500ms"]

[[application]]
name = "stream"
stressor = "--stream"
workers = 4

[[control]]
name = "shares-512"
control = { weight = 512 }
reported = true

[[control]]
name = "shares-64"
control = { weight = 64 }

[[control]]
name = "guard-100"
control = { guard = "" }

[[cell]]
place = "ap"
traffic = "full"
application = "stream"
four-cases = true

[[cell]]
place = "here"
traffic = "paced"
application = "stream"
controls = ["guard-100"]
role = "paced"

[[cell]]
place = "ap"
application = "stream"
controls = ["guard-100"]
role = "no-harm"

[[cell]]
place = "ap"
traffic = "full"
controls = ["none", "shares-512", "guard-100"]
role = "no-harm"
"#;

fn study() -> Study {
    parse(STUDY).unwrap()
}

fn control(name: &str) -> Arm {
    Arm::Control(name.to_owned())
}

fn block(plan: &[PlannedTrial], cell: u32, block: u32) -> Vec<&PlannedTrial> {
    let of = |planned: &&PlannedTrial| {
        planned.cell == cell && planned.block == block && !planned.order.marks
    };
    plan.iter().filter(of).collect()
}

#[test]
fn a_block_has_every_arm_once_between_two_baselines() {
    let plan = trials(&study(), &Rates::default());
    for number in 0..3 {
        let block = block(&plan, 0, number);
        let mut arms: Vec<Arm> = block.iter().map(|planned| planned.arm.clone()).collect();
        assert_eq!((arms.remove(0), arms.pop()), (Arm::Alone, Some(Arm::Alone)));
        arms.sort();
        let every = ["guard-100", "none", "shares-512", "shares-64"].map(control);
        assert_eq!(arms[0], Arm::Application);
        assert_eq!(arms[1..], every);
        let turns: Vec<u32> = block.iter().map(|planned| planned.turn).collect();
        assert_eq!(turns, [0, 1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn orders_differ_from_block_to_block_and_not_from_plan_to_plan() {
    let arms = |plan: &[PlannedTrial], number| -> Vec<Arm> {
        block(plan, 0, number).iter().map(|planned| planned.arm.clone()).collect()
    };
    let plan = trials(&study(), &Rates::default());
    assert!(arms(&plan, 0) != arms(&plan, 1) || arms(&plan, 1) != arms(&plan, 2));
    assert_eq!(plan, trials(&study(), &Rates::default()));
    let mut other = study();
    other.contention.seed = 2;
    let other = trials(&other, &Rates::default());
    assert!((0..3).any(|number| arms(&plan, number) != arms(&other, number)));
}

#[test]
fn every_trial_of_a_block_has_its_phase_and_time_that_is_real_has_none() {
    let plan = trials(&study(), &Rates::default());
    for number in 0..3 {
        let phases: Vec<Span> =
            block(&plan, 0, number).iter().map(|one| one.order.offset).collect();
        assert_eq!(phases, [phase(number); 7]);
    }
    assert_ne!(phase(1), phase(2));
    assert!(block(&plan, 1, 2).iter().all(|one| one.order.offset == Span::default()));
}

#[test]
fn an_arm_has_what_its_name_says() {
    let plan = trials(&study(), &Rates::default());
    for planned in block(&plan, 0, 0) {
        let TrialOrder { traffic, application, control: given, .. } = &planned.order;
        assert_eq!(traffic.is_some(), planned.arm != Arm::Application, "{:?}", planned.arm);
        assert_eq!(application.is_some(), planned.arm != Arm::Alone, "{:?}", planned.arm);
        let expected = match &planned.arm {
            Arm::Control(name) if name == "shares-512" => Control::Weight(512),
            Arm::Control(name) if name == "shares-64" => Control::Weight(64),
            Arm::Control(name) if name == "guard-100" => Control::Guard(String::new()),
            _ => Control::None,
        };
        assert_eq!(*given, expected);
    }
}

#[test]
fn of_one_alone_the_baseline_is_itself() {
    let plan = trials(&study(), &Rates::default());
    let arms = |cell| -> Vec<Arm> {
        block(&plan, cell, 0).iter().map(|planned| planned.arm.clone()).collect()
    };
    assert_eq!(arms(2), [Arm::Application, control("guard-100"), Arm::Application]);
    assert_eq!(arms(3), [Arm::Alone, control("guard-100"), Arm::Alone]);
    assert!(block(&plan, 2, 0).iter().all(|one| one.order.traffic.is_none()));
    assert!(block(&plan, 3, 0).iter().all(|one| one.order.application.is_none()));
}

#[test]
fn caches_are_modelled_in_trials_of_their_own_behind_all_others() {
    let mut study = study();
    let plan = trials(&study, &Rates::default());
    let (plain, modelled): (Vec<_>, Vec<_>) = plan.iter().partition(|one| !one.order.marks);
    assert_eq!(plain.last().unwrap().number + 1, modelled[0].number);
    let arms: Vec<&Arm> = modelled.iter().map(|one| &one.arm).collect();
    let expected = [
        Arm::Alone,
        Arm::Application,
        control("none"),
        control("shares-512"),
        control("guard-100"),
    ];
    assert_eq!(arms, expected.iter().collect::<Vec<_>>());
    assert!(modelled.iter().all(|one| one.cell == 0 && one.block == 0 && one.turn >= 7));
    // Of several settings of guard's the first.
    let mut more = study.controls[2].clone();
    more.name = "guard-50".to_owned();
    study.controls.push(more);
    let plan = trials(&study, &Rates::default());
    assert_eq!(plan.iter().filter(|one| one.order.marks).count(), expected.len());
    study.caches = None;
    assert!(trials(&study, &Rates::default()).iter().all(|one| !one.order.marks));
}

#[test]
fn numbers_go_from_one_without_a_gap() {
    let plan = trials(&study(), &Rates::default());
    assert!((1..).zip(&plan).all(|(number, planned)| planned.number == number));
    assert_eq!(plan.len(), 3 * (7 + 5 + 3 + 3) + 5);
    assert_eq!(plan[0].name(&study()), "cell 1 alone, block 1");
}

#[test]
fn a_rate_is_looked_for_once_a_place_and_ordered_as_a_rate() {
    let study = study();
    let pacings = pacings(&study);
    assert_eq!(pacings.len(), 1);
    let full = pacings[0].order.traffic.clone().unwrap();
    assert_eq!((full.rate, full.paced, full.bursts), (None, None, None));
    assert_eq!((pacings[0].times, pacings[0].place.as_str()), (3, "here"));
    let rates = Rates(vec![FullRate {
        place: "here".to_owned(),
        traffic: "paced".to_owned(),
        rate: Some(7),
        outcomes: Vec::new(),
    }]);
    let paced = |rates: &Rates| {
        let plan = trials(&study, rates);
        let traffic = block(&plan, 1, 0)[0].order.traffic.clone().unwrap();
        (traffic.rate, traffic.paced)
    };
    assert_eq!(paced(&rates), (Some(7), None));
    assert_eq!(paced(&Rates::default()), (None, Some(Share::of(0.5))));
}

#[test]
fn a_paced_rate_is_of_the_payload() {
    let pacing = &pacings(&study())[0];
    // 1000 datagrams of 1000 bytes in a second, each with 42 bytes of headers; half of them.
    assert_eq!(paced_rate(pacing, 1_042_000.0), Some(4_000_000));
    assert_eq!(paced_rate(pacing, 0.0), None);
}

#[test]
fn candidates_of_the_oracle_are_in_the_first_blocks_only() {
    let mut study = study();
    study.contention.sweep_blocks = Some(1);
    study.controls.iter_mut().for_each(|control| control.fixed = true);
    let plan = trials(&study, &Rates::default());
    let has =
        |number, name: &str| block(&plan, 0, number).iter().any(|one| one.arm == control(name));
    assert!(has(0, "shares-64") && !has(1, "shares-64") && !has(2, "shares-64"));
    assert!((0..3).all(|number| has(number, "shares-512") && has(number, "none")));
}

#[test]
fn a_counted_order_is_given_once_and_one_in_real_time_every_time() {
    let study = study();
    let plan = trials(&study, &Rates::default());
    let repeats = repeats(&study, &plan);
    for (again, first) in &repeats {
        assert!(first.number < again.number);
        assert_eq!(again.order, first.order);
        assert_ne!(again.cell, 1, "time is real there");
    }
    let is_made = |one: &&PlannedTrial| !repeats.iter().any(|(again, _)| again == one);
    let made = |cell, number| block(&plan, cell, number).into_iter().filter(is_made).count();
    // The first block has its last baseline made again; in the others it is the first one's.
    assert_eq!((made(0, 0), made(0, 1)), (7, 6));
    // The baselines of the last cell are those of the first but for the proof.
    assert_eq!((made(3, 0), made(3, 1)), (2, 1));
}

#[test]
fn counted_trials_share_the_cores_and_real_time_has_them_alone() {
    let study = study();
    let plan = trials(&study, &Rates::default());
    assert!(plan.iter().all(|planned| is_alone(&study, planned) == (planned.cell == 1)));
    let (one, two) = (estimate(&study, &plan, 1), estimate(&study, &plan, 2));
    let alone: Vec<_> = plan.iter().filter(|planned| planned.cell == 1).cloned().collect();
    let alone = estimate(&study, &alone, 2);
    let close = (one - alone).as_secs_f64() / 2.0 - (two - alone).as_secs_f64();
    assert!(close.abs() < 1e-6, "{one:?} {two:?} {alone:?}");
}

#[test]
fn a_block_of_a_comparison_is_its_two_controls() {
    let mut study = study();
    study.cells.truncate(1);
    study.contention.versus = Some(model::contention::Versus {
        base: "none".to_owned(),
        variant: "guard-100".to_owned(),
    });
    let plan = trials(&study, &Rates::default());
    let arms = |number| -> Vec<Arm> {
        block(&plan, 0, number).iter().map(|planned| planned.arm.clone()).collect()
    };
    let order = ["none", "guard-100"].map(control);
    assert_eq!(arms(0), order);
    assert_eq!(arms(1), [order[1].clone(), order[0].clone()], "Thue–Morse");
    assert_eq!(plan.len(), 2 * study.contention.blocks as usize);
    let offset =
        |number| block(&plan, 0, number).iter().map(|one| one.order.offset).collect::<Vec<_>>();
    assert_eq!(offset(1)[0], offset(1)[1], "both sides of a pair have one phase");
}
