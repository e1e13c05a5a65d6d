//! Plans of small studies: which trials, in which order, in which batches.

use model::{
    instrument::Instrument,
    name::CellName,
    share::Share,
    verdict::{Difference, Expect, Pairs},
};

use sha2::{Digest, Sha256};

use super::*;
use crate::study_file::parse;

fn study(trial: &str, variants: &[&str]) -> Study {
    let mut text = format!(
        "question = \"?\"\n[access-point]\nclients = [18, 60]\n[subject]\nprocess = \"hostapd\"\n[trial]\n{trial}\n"
    );
    variants.iter().for_each(|variant| text.push_str(&format!("[[variant]]\n{variant}\n")));
    parse(&text).unwrap()
}

fn sorted(plan: &[PlannedTrial]) -> Vec<String> {
    let mut names: Vec<String> = plan.iter().map(|trial| trial.id.to_string()).collect();
    names.sort();
    names
}

fn cpu(study: &Study) -> Vec<PlannedTrial> {
    figures(study, &[])
}

fn order_of<'a>(plan: &'a [PlannedTrial], variant: &str) -> &'a TrialOrder {
    &plan.iter().find(|trial| trial.id.variant == *variant).unwrap().order
}

#[test]
fn blocks_are_interleaved_and_their_orders_are_drawn() {
    let plan = cpu(&study("repetitions = 8", &["name = \"a\"", "name = \"b\"", "name = \"c\""]));
    let blocks: Vec<String> = plan.chunks(3).map(|block| block[0].block()).collect();
    assert_eq!(blocks[..4], ["60#1", "18#1", "60#2", "18#2"]);
    let mut orders: Vec<Vec<&str>> =
        plan.chunks(3).map(|block| block.iter().map(|one| &*one.id.variant).collect()).collect();
    orders.sort();
    orders.dedup();
    assert!(orders.len() > 3, "{orders:?}");
    assert_eq!(
        cpu(&study("repetitions = 8", &["name = \"a\"", "name = \"b\"", "name = \"c\""])),
        plan
    );
}

#[test]
fn both_sides_of_a_pair_have_one_state_and_their_order_is_thue_and_morses() {
    let study = study("", &["name = \"a\"", "name = \"b\""]);
    let versus = Versus {
        base: "a".to_owned(),
        variant: "b".to_owned(),
        cell: CellName::literal("18"),
        clients: 18,
        difference: Difference::Variants,
        expect: Expect::NoSlower,
        margin: Share::of(0.01),
        pairs: Pairs::Fixed(8),
        changes: Vec::new(),
    };
    let plan = shown(&study, Some(&versus));
    let order: String = plan.iter().map(|trial| trial.id.variant.as_str()).collect();
    assert_eq!(order, "abbabaabbaababba");
    let states: Vec<_> = plan.iter().map(|trial| trial.order.state.unwrap()).collect();
    assert!(states.chunks(2).all(|pair| pair[0] == pair[1]));
    assert!(states.chunks(2).zip(states.chunks(2).skip(1)).all(|(one, next)| one != next));
    assert!(plan.iter().all(|trial| trial.order.identify));
}

#[test]
fn a_variant_is_measured_at_its_own_counts_with_what_is_in_its_background() {
    let own = "name = \"b\"\nclients = [60]\nbackground = \"sleep 60\"";
    let plan = cpu(&study("repetitions = 1", &["name = \"a\"", own]));
    assert_eq!(sorted(&plan), ["a@18#1", "a@60#1", "b@60#1"]);
    let sleep = ["sleep", "60"].map(str::to_owned).to_vec();
    let background = |name| &order_of(&plan, name).background;
    assert_eq!((background("a"), background("b")), (&None, &Some(sleep)));
}

#[test]
fn one_batch_holds_all_that_may_run_together() {
    let plan = cpu(&study("", &["name = \"a\"", "name = \"b\""]));
    let batches = batches(plan.clone());
    assert_eq!(batches.len(), 1);
    assert_eq!(batches[0].trials, plan);
    assert_eq!(batches[0].at_once, None);
}

#[test]
fn exclusive_trials_are_alone_and_pairs_are_two() {
    let plan = cpu(&study(
        "repetitions = 2",
        &[
            "name = \"alone\"\nhost-load = \"nothing\"",
            "name = \"pair\"\nhost-load = \"trial\"",
            "name = \"loud\"\nhost-load = \"stress\"",
        ],
    ));
    let batches = batches(plan);
    let shape: Vec<_> = batches
        .iter()
        .map(|b| (b.trials[0].id.variant.as_str(), b.trials.len(), b.stress))
        .collect();
    assert_eq!(
        shape.iter().filter(|s| s.0 == "pair").collect::<Vec<_>>(),
        [&("pair", 2, false); 2]
    );
    assert!(shape.iter().all(
        |(name, n, stress)| (*n == 2) == (*name == "pair") && *stress == (*name == "loud")
    ));
    assert_eq!(shape.len(), 2 * 2 + 2 + 2 * 2);
}

#[test]
fn a_load_that_no_order_can_hold_is_refused_when_the_study_is_read() {
    let parsed = |kib: usize, words: &str| {
        let run = format!("true {words} {}", "x".repeat(kib << 10));
        let text = study("repetitions = 1", &["name = \"a\""]);
        let text = toml::to_string(&text).unwrap();
        parse(&format!("{text}\n[load]\nrun = \"{run}\"\n")).map_err(|fault| fault.why)
    };
    parsed(50, "").unwrap();
    let message = parsed(100, "").unwrap_err();
    assert!(message.contains("101 KiB") && message.contains("the most is 56 KiB"), "{message}");
    assert!(parsed(50, "{interface}").unwrap_err().contains("for all interfaces"));
}

#[test]
fn a_command_for_interfaces_runs_once_for_each() {
    let plan =
        cpu(&study("", &["name = \"a\"\nload = { run = \"iw dev {interface} station dump\" }"]));
    let load = plan[0].order.load.as_ref().unwrap();
    let Work::Rounds(round) = &load.work else { panic!("{load:?}") };
    assert_eq!(round.len(), 3);
    assert_eq!(round[2], ["iw", "dev", "wlan2", "station", "dump"]);
}

#[test]
fn a_load_that_stays_is_one_command_for_each_interface_too() {
    let run = "watch 'a b' {interface}";
    let load = format!("name = \"a\"\nload = {{ run = \"{run}\", long-running = true }}");
    let plan = cpu(&study("", &[&load]));
    let load = plan[0].order.load.as_ref().unwrap();
    let Work::LongRunning(commands) = &load.work else { panic!("{load:?}") };
    assert_eq!(commands.len(), 3);
    assert_eq!(commands[1], ["watch", "a b", "wlan1"]);
}

#[test]
fn a_variants_subject_is_started_by_its_own_words() {
    let subject = "{ process = \"d\", start = \"d --set 'a b'\", ready = \"/run/d\", others = [\"hostapd\", \"d\"] }";
    let own = format!("name = \"own\"\nsubject = {subject}");
    let plan = cpu(&study("", &["name = \"a\"", &own]));
    let subject = |name| order_of(&plan, name).subject.as_ref().unwrap();
    assert_eq!((subject("a").process.as_str(), &subject("a").start), ("hostapd", &None));
    let (started, start) = (order_of(&plan, "own"), subject("own").start.as_ref().unwrap());
    assert_eq!(start.command, ["d", "--set", "a b"]);
    assert_eq!(start.ready.as_deref(), Some("/run/d"));
    assert_eq!(started.others, ["hostapd"]);
}

#[test]
fn the_phase_differs_by_repetition_and_not_by_variant() {
    let plan = cpu(&study("", &["name = \"a\"", "name = \"b\""]));
    for one in &plan {
        for other in &plan {
            let same = one.id.repetition == other.id.repetition;
            assert_eq!(same, one.order.offset == other.order.offset);
        }
    }
    let still = cpu(&study("perturb = \"nothing\"", &["name = \"a\""]));
    assert!(still.iter().all(|trial| trial.order.offset == Span::default()));
}

#[test]
fn estimates_grow_with_work_and_shrink_with_cores() {
    let study = study("", &["name = \"a\"", "name = \"b\""]);
    let plan = cpu(&study);
    let (one, two) = (estimate(&study, &plan, 1), estimate(&study, &plan, 2));
    assert_eq!(one, two * 2);
    assert!(estimate(&study, &plan[..1], 2) < two);
}

#[test]
fn trials_with_an_instrument_come_last_and_at_the_largest_count() {
    let keys = "repetitions = 1\n[profile]\nrepetitions = 2\n[[count.function]]\nname = \"f\"\nsymbol = \"f\"";
    let study = study(keys, &["name = \"a\"", "name = \"b\"\nhost-load = \"nothing\""]);
    let plan = shown(&study, None);
    assert_eq!(sorted(&plan[..4]), ["a@18#1", "a@60#1", "b@18#1", "b@60#1"]);
    let more: Vec<String> = plan[4..].iter().map(|trial| trial.id.to_string()).collect();
    assert_eq!(more, ["a@60#1.counts", "a@60#2.counts", "a@60#1.stacks", "a@60#2.stacks"]);
    assert!(plan[..4].iter().all(|trial| trial.order.instrument.is_none()));
    assert!(matches!(plan[7].order.instrument, Some(Instrument::Stacks(_))));
    let none = Study { count: None, ..study };
    assert!(!shown(&none, None).iter().any(|t| t.id.purpose == Purpose::Counts));
}

#[test]
fn a_parity_trial_is_as_long_as_the_load_needs_to_ask_once() {
    let slow = "name = \"slow\"\nload = { run = \"monitor\", every = \"5s\", long-running = true }";
    let quick =
        "name = \"quick\"\nload = { run = \"monitor\", every = \"500ms\", long-running = true }";
    let parity = "warm-up = \"2s\"\nwindow = \"20s\"\n[parity]\nleave = true";
    let study = study(parity, &[slow, quick, "name = \"idle\""]);
    let plan = shown(&study, None);
    let asked = plan.iter().filter(|trial| trial.id.purpose == Purpose::Parity);
    let mut windows: Vec<(&str, Span)> =
        asked.map(|trial| (trial.id.variant.as_str(), trial.order.window)).collect();
    windows.sort();
    // The monitor may have asked right before the window opened.
    let windows_s = [("idle", 3), ("quick", 3), ("slow", 6)];
    assert_eq!(windows, windows_s.map(|(variant, s)| (variant, Span::from_secs(s))));
}

#[test]
fn every_trial_comes_once() {
    let plan = cpu(&study("", &["name = \"a\"", "name = \"p\"\nhost-load = \"trial\""]));
    let mut seen = sorted(&plan);
    seen.dedup();
    assert_eq!((seen.len(), plan.len()), (2 * 2 * 6, 2 * 2 * 6));
    let batched: usize = batches(plan.iter().cloned()).iter().map(|b| b.trials.len()).sum();
    assert_eq!(batched, plan.len());
}

#[test]
fn a_cell_with_traffic_has_the_subject_and_its_load_in_every_trial_and_stacks_once() {
    let study = parse(include_str!("../../../../studies/poll-under-load.toml")).unwrap();
    let plan = shown(&study, None);
    let of_subject = |order: &TrialOrder| {
        order.subject.is_some() && order.load.is_some() && order.road.is_some()
    };
    assert!(plan.iter().all(|trial| of_subject(&trial.order)));
    let both = order_of(&plan, "none");
    assert!(both.traffic.is_some() && both.application.is_some());
    let is_stacks = |trial: &&PlannedTrial| trial.id.purpose == Purpose::Stacks;
    let stacks: Vec<PlannedTrial> = plan.iter().filter(is_stacks).cloned().collect();
    let names = ["alone", "application", "none", "shares-64"];
    assert_eq!(sorted(&stacks), names.map(|name| format!("{name}@threaded+stream+18#1.stacks")));
}

/// Every trial of the shipped studies and its whole order. What changes here moves figures: say why in
/// docs/design/study-files.md.
#[test]
fn the_orders_of_shipped_studies_are_what_they_were() {
    let studies = [
        ("app-contention", include_str!("../../../../studies/app-contention.toml")),
        ("client-scale", include_str!("../../../../studies/client-scale.toml")),
        ("poll-under-load", include_str!("../../../../studies/poll-under-load.toml")),
        ("self-check", include_str!("../../../../studies/self-check.toml")),
        ("station-scale", include_str!("../../../../studies/station-scale.toml")),
        ("station-stats", include_str!("../../../../studies/station-stats.toml")),
        ("tx-completion", include_str!("../../../../studies/tx-completion.toml")),
    ];
    let rows = studies.map(|(name, text)| {
        let plan = shown(&parse(text).unwrap(), None);
        let mut sum = Sha256::new();
        for trial in &plan {
            sum.update(trial.id.to_string());
            sum.update(encode(&trial.order).unwrap());
        }
        let sum: String = sum.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{name}: {} trials, {sum}", plan.len())
    });
    insta::assert_snapshot!(rows.join("\n"));
}
