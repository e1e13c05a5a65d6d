//! The plan: which trials a study means, in which order, and how long they will take.
//!
//! Pure. The order is interleaved: every repetition goes once through all client counts and variants
//! before the next begins, and every second repetition goes through the variants backwards (ABBA), so
//! that a drift of the host falls on all of them alike. Trials with an instrument come behind those for
//! CPU figures, so that an interrupted run has its figures first.

mod first;
mod instruments;
mod pairs;
mod perturbed;
mod witness;

use std::time::Duration;

use model::{
    instrument::{Detail, Place, Probe},
    order::TrialOrder,
    perturbation::Perturbation,
    span::Span,
    study::{
        AccessPoint, Function, HostLoad, Load, Mode, Perturb, Study, Subject, Target, Variant,
    },
    topology::TopologyOrder,
    trial::{PlannedTrial, Purpose, TrialId},
    verdict::Versus,
    wire::{LoadOrder, StartOrder, State, SubjectOrder, Work, encode},
};

pub(crate) use self::{first::first, instruments::is_paused, pairs::is_turned, witness::rounds_in};
use crate::procedure::Batch;

/// The fraction of a turn that spreads any number of repetitions most evenly: the golden ratio's.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// What stands for each interface in a load.
const INTERFACE: &str = "{interface}";

/// The functions whose calls one variant's trials count, each with its place.
pub trait Probes {
    /// The probes of a variant; none where it has no such function.
    fn of(&self, variant: &Variant) -> Vec<Probe>;
}

/// Every function in every variant, at no place: for a plan that is only shown.
#[derive(Clone, Copy, Debug)]
pub struct Unlocated<'a>(pub &'a Study);

impl Probes for Unlocated<'_> {
    fn of(&self, _: &Variant) -> Vec<Probe> {
        let functions = self.0.count.iter().flat_map(|count| &count.functions);
        let probe = |function: &Function| Probe {
            name: function.name.clone(),
            place: Place::Kernel(String::new()),
            detail: Detail::Hits,
        };
        functions.map(probe).collect()
    }
}

/// All trials of a study, in the order in which they start.
pub fn trials(study: &Study, probes: &dyn Probes) -> Vec<PlannedTrial> {
    let mut trials = cpu(study);
    let perturbed = perturbed::judged(study, &trials);
    trials.extend(instruments::counts(study, probes));
    trials.extend(instruments::parity(study));
    trials.extend(instruments::pause(study));
    trials.extend(instruments::stacks(study));
    trials.extend(perturbed);
    trials
}

/// All trials of a comparison: those that count what the variant changes, then every pair, then the pairs in
/// perturbed states.
pub fn comparison(study: &Study, versus: &Versus, probes: &dyn Probes) -> Vec<PlannedTrial> {
    let pairs = pairs::all(study, versus);
    let perturbed = perturbed::all(study, &pairs);
    instruments::counts(study, probes).into_iter().chain(pairs).chain(perturbed).collect()
}

/// The one trial that sees who talks to a variant's subject, at the fewest clients.
pub fn peers(study: &Study, variant: &Variant) -> Option<PlannedTrial> {
    instruments::peers(study, variant)
}

/// The trials for CPU figures. The first repetition begins at the most clients: what a report opens with is known
/// first.
fn cpu(study: &Study) -> Vec<PlannedTrial> {
    let variants: Vec<&Variant> = study.variants.iter().collect();
    let mut clients = study.access_point.clients.clone();
    clients.sort_unstable_by_key(|clients| std::cmp::Reverse(*clients));
    let slots = slots(&variants, &clients, study.trial.repetitions);
    slots
        .into_iter()
        .flat_map(|(slot, clients, variant)| {
            repetitions_of(variant, slot)
                .map(move |repetition| planned(study, variant, clients, repetition))
        })
        .collect()
}

/// Every repetition of every variant at every count, back and forth.
fn slots<'a>(
    variants: &[&'a Variant],
    clients: &[u32],
    repetitions: u32,
) -> Vec<(u32, u32, &'a Variant)> {
    let all = (1..=repetitions).flat_map(|repetition| {
        let mut slots: Vec<(u32, u32, &Variant)> = clients
            .iter()
            .flat_map(|clients| {
                let here = variants.iter().filter(|variant| variant.is_at(*clients));
                here.map(move |variant| (repetition, *clients, *variant))
            })
            .collect();
        if repetition.is_multiple_of(2) {
            slots.reverse();
        }
        slots
    });
    all.collect()
}

/// The repetitions that one slot holds: paired trials come two at a time, in the odd slots.
fn repetitions_of(variant: &Variant, slot: u32) -> impl Iterator<Item = u32> + use<> {
    let paired = variant.host_load == HostLoad::Trial;
    let first = (!paired || !slot.is_multiple_of(2)).then_some(slot);
    first.into_iter().chain((paired && !slot.is_multiple_of(2)).then_some(slot + 1))
}

fn planned(study: &Study, variant: &Variant, clients: u32, repetition: u32) -> PlannedTrial {
    let (shape, subject) = (&study.trial, study.subject_of(variant));
    PlannedTrial {
        id: TrialId {
            variant: variant.name.clone(),
            clients,
            repetition,
            purpose: Purpose::Cpu,
            perturbed: None,
        },
        mode: study.mode_of(variant),
        host_load: variant.host_load,
        order: TrialOrder {
            subject: Some(subject_order(subject)),
            others: others(subject),
            load: study.load_of(variant).map(|load| load_order(load, &study.access_point)),
            background: variant.background.as_deref().and_then(shlex::split),
            offset: offset(shape.perturb, repetition),
            warm_up: shape.warm_up,
            window: shape.window,
            sample_every: shape.sample_every,
            topology: topology(study),
            // Every repetition starts from one snapshot; hashing all files each time would cost more than
            // the windows do. A comparison asks every time.
            identify: repetition == 1,
            state: state(shape.perturb, repetition),
            witness: study
                .load_of(variant)
                .and_then(|load| witness::order(study, load, repetition)),
            ..TrialOrder::default()
        },
    }
}

/// The phase of a repetition: spread over one second, the period of the slowest timer that the
/// access point has many of. A function of the repetition alone, so variants stay comparable.
fn offset(perturb: Perturb, repetition: u32) -> Span {
    match perturb {
        Perturb::Nothing => Span::default(),
        Perturb::Start => phase(repetition - 1),
    }
}

/// The phase of the repetition after so many others.
pub(crate) fn phase(before: u32) -> Span {
    let turn = (f64::from(before) * GOLDEN).fract();
    Span::from_nanos((turn * 1e6) as u64 * 1_000)
}

/// The state of a repetition: a function of the repetition alone, as its phase is.
fn state(perturb: Perturb, repetition: u32) -> Option<State> {
    /// The golden ratio's part of 2^64, odd: neighbouring repetitions get seeds that have nothing in common.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    /// A prime, so that padding goes through all residues of a page's alignments.
    const STRIDE: u32 = 617;
    /// One page: beyond it layouts repeat.
    const PAGE: u32 = 4096;
    match perturb {
        Perturb::Nothing => None,
        Perturb::Start => Some(State {
            seed: u64::from(repetition).wrapping_mul(SPREAD),
            padding: repetition.wrapping_mul(STRIDE) % PAGE,
        }),
    }
}

/// How the access point must look. No one repairs a device that was not asked for: there, only what the study
/// names is asserted.
fn topology(study: &Study) -> Option<TopologyOrder> {
    let place = &study.access_point;
    let named = !place.interfaces.is_empty() || !place.processes.is_empty();
    (named || place.kind == Target::Vm).then(|| TopologyOrder {
        interfaces: place.interfaces.clone(),
        processes: place.processes.clone(),
    })
}

/// The subject's words; how it is started, where the study says so.
fn subject_order(subject: &Subject) -> SubjectOrder {
    let start = subject.start.as_ref().map(|command| StartOrder {
        command: shlex::split(command).unwrap_or_default(),
        ready: subject.ready.clone(),
    });
    SubjectOrder { process: subject.process.clone(), start }
}

/// The other processes to count; the subject itself is never an other.
fn others(subject: &Subject) -> Vec<String> {
    let others = subject.others.iter().filter(|name| **name != subject.process);
    others.cloned().collect()
}

/// The load's commands: one for each interface where the command names it, else one.
fn load_order(load: &Load, place: &AccessPoint) -> LoadOrder {
    let words = shlex::split(&load.run).unwrap_or_default();
    let commands = if load.run.contains(INTERFACE) {
        let interfaces = place.interface_names();
        interfaces
            .iter()
            .map(|interface| words.iter().map(|word| word.replace(INTERFACE, interface)).collect())
            .collect()
    } else {
        vec![words]
    };
    let work = if load.long_running { Work::LongRunning(commands) } else { Work::Rounds(commands) };
    LoadOrder { work, every: load.every }
}

/// How long the load's part of an order is, bytes.
pub(crate) fn load_bytes(load: &Load, place: &AccessPoint) -> usize {
    encode(&load_order(load, place)).map_or(usize::MAX, |bytes| bytes.len())
}

/// The batches of a plan, in order. Trials that may run alongside anything share one batch as long as
/// they follow each other.
pub fn batches(plan: impl IntoIterator<Item = PlannedTrial>) -> Vec<Batch<PlannedTrial>> {
    let mut batches: Vec<Batch<PlannedTrial>> = Vec::new();
    for trial in plan {
        match batches.last_mut() {
            Some(batch) if takes(batch, &trial) => batch.trials.push(trial),
            _ => batches.push(batch_of(trial)),
        }
    }
    batches
}

fn batch_of(trial: PlannedTrial) -> Batch<PlannedTrial> {
    let at_once = match trial.host_load {
        HostLoad::Anything if trial.mode == Mode::Counted => None,
        HostLoad::Trial => Some(2),
        // Real time feels its neighbours, so it never has any that the study did not ask for.
        HostLoad::Anything | HostLoad::Nothing | HostLoad::Stress => Some(1),
    };
    let stress = trial.host_load == HostLoad::Stress;
    Batch { trials: vec![trial], at_once, stress }
}

fn takes(batch: &Batch<PlannedTrial>, trial: &PlannedTrial) -> bool {
    let same_kind = batch_of(trial.clone());
    let last = &batch.trials[batch.trials.len() - 1];
    match batch.at_once {
        None => same_kind.at_once.is_none(),
        Some(2) => batch.trials.len() == 1 && partners(last, trial),
        Some(_) => false,
    }
}

fn partners(one: &PlannedTrial, other: &PlannedTrial) -> bool {
    other.host_load == HostLoad::Trial
        && one.id.variant == other.id.variant
        && one.id.clients == other.id.clients
}

/// What is known about the wall time of a trial, for estimates.
pub trait Pace {
    /// Wall time of one trial that runs alone on a core.
    fn of(&self, trial: &PlannedTrial) -> Duration;
}

/// The wall time that a plan will take on so many cores.
pub fn estimate(plan: &[PlannedTrial], cores: usize, pace: &dyn Pace) -> Duration {
    let batch_time = |batch: Batch<PlannedTrial>| {
        let workers = batch.at_once.unwrap_or(cores).min(batch.trials.len()).max(1);
        let work: Duration = batch.trials.iter().map(|trial| pace.of(trial)).sum();
        // Twice as many busy processes as cores leave each about a third of its core.
        let slowed = if batch.stress { work * 3 } else { work };
        slowed / workers as u32
    };
    batches(plan.iter().cloned()).into_iter().map(batch_time).sum()
}

/// A first guess at the wall time of a trial, rounded up from runs of `client-scale` on a 2-core
/// machine without KVM, where 54 trials took 77 s and this says 2 minutes.
#[derive(Clone, Copy, Debug)]
pub struct FirstGuess;

impl Pace for FirstGuess {
    fn of(&self, trial: &PlannedTrial) -> Duration {
        let measure = &trial.order;
        let guest = (measure.warm_up.as_nanos() + measure.window.as_nanos()) as f64 / 1e9;
        let share = match trial.mode {
            Mode::RealTime => 1.0,
            Mode::Counted => 0.05 + 0.0012 * f64::from(trial.id.clients),
        };
        Duration::from_secs_f64(0.8 + guest * share)
    }
}

/// A first guess at the wall time until an access point with so many clients is up and its snapshot made, without KVM.
pub fn raising(clients: u32) -> Duration {
    /// Without clients, and for each: measured 17 s at 1 client, 24 s at 60, 28 s at 114, 85 to 94 s at 500.
    const BOOT: Duration = Duration::from_secs(17);
    const CLIENT: Duration = Duration::from_millis(150);
    BOOT + CLIENT * clients
}

/// What trials start from that can start from one snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Clients of the access point.
    pub clients: u32,
    pub mode: Mode,
    /// The perturbed state, where that is another access point from its boot on.
    pub perturbed: Option<Perturbation>,
}

impl Start {
    /// What this trial starts from.
    pub fn of(trial: &PlannedTrial) -> Self {
        let perturbed = trial.id.perturbed.filter(|state| state.has_own_snapshot());
        Self { clients: trial.id.clients, mode: trial.mode, perturbed }
    }
}

/// Every start that a plan needs a snapshot of, first use first.
pub fn snapshots(plan: &[PlannedTrial]) -> Vec<Start> {
    let mut needed = Vec::new();
    for start in plan.iter().map(Start::of) {
        if !needed.contains(&start) {
            needed.push(start);
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use model::instrument::Instrument;

    use super::*;
    use crate::study_file::parse;

    fn study(trial: &str, variants: &[&str]) -> Study {
        let mut text = format!(
            "question = \"?\"\n[access-point]\nclients = [18, 60]\n[subject]\nprocess = \"hostapd\"\n[trial]\n{trial}\n"
        );
        variants.iter().for_each(|variant| text.push_str(&format!("[[variant]]\n{variant}\n")));
        parse(&text).unwrap()
    }

    fn names(plan: &[PlannedTrial]) -> Vec<String> {
        plan.iter().map(|trial| trial.id.to_string()).collect()
    }

    #[test]
    fn repetitions_are_interleaved_and_go_back_and_forth() {
        let plan = cpu(&study("repetitions = 2", &["name = \"a\"", "name = \"b\""]));
        assert_eq!(
            names(&plan),
            ["a@60#1", "b@60#1", "a@18#1", "b@18#1", "b@18#2", "a@18#2", "b@60#2", "a@60#2"]
        );
    }

    #[test]
    fn a_variant_is_measured_at_its_own_counts_with_what_is_in_its_background() {
        let own = "name = \"b\"\nclients = [60]\nbackground = \"sleep 60\"";
        let plan = cpu(&study("repetitions = 1", &["name = \"a\"", own]));
        assert_eq!(names(&plan), ["a@60#1", "b@60#1", "a@18#1"]);
        let sleep = ["sleep", "60"].map(str::to_owned).to_vec();
        assert_eq!((&plan[0].order.background, &plan[1].order.background), (&None, &Some(sleep)));
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
        let plan = cpu(&study(
            "",
            &["name = \"a\"\nload = { run = \"iw dev {interface} station dump\" }"],
        ));
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
        let (found, started) = (&plan[0].order, &plan[1].order);
        let start = |order: &TrialOrder| order.subject.as_ref().unwrap().start.clone();
        assert_eq!((found.process(), start(found)), (Some("hostapd"), None));
        let start = start(started).unwrap();
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
        let plan = cpu(&study("", &["name = \"a\"", "name = \"b\""]));
        let (one, two) = (estimate(&plan, 1, &FirstGuess), estimate(&plan, 2, &FirstGuess));
        assert_eq!(one, two * 2);
        assert!(estimate(&plan[..1], 2, &FirstGuess) < two);
    }

    #[test]
    fn trials_with_an_instrument_come_last_and_at_the_largest_count() {
        let keys = "repetitions = 1\n[profile]\nrepetitions = 2\n[[count.function]]\nname = \"f\"\nsymbol = \"f\"";
        let study = study(keys, &["name = \"a\"", "name = \"b\"\nhost-load = \"nothing\""]);
        let plan = trials(&study, &Unlocated(&study));
        assert_eq!(
            names(&plan),
            [
                "a@60#1",
                "b@60#1",
                "a@18#1",
                "b@18#1",
                "a@60#1.counts",
                "a@60#2.counts",
                "a@60#1.stacks",
                "a@60#2.stacks"
            ]
        );
        assert!(plan[..4].iter().all(|trial| trial.order.instrument.is_none()));
        assert!(matches!(plan[7].order.instrument, Some(Instrument::Stacks(_))));
        let none = Study { count: None, ..study };
        assert!(!trials(&none, &Unlocated(&none)).iter().any(|t| t.id.purpose == Purpose::Counts));
    }

    #[test]
    fn a_parity_trial_is_as_long_as_the_load_needs_to_ask_once() {
        let slow =
            "name = \"slow\"\nload = { run = \"monitor\", every = \"5s\", long-running = true }";
        let quick = "name = \"quick\"\nload = { run = \"monitor\", every = \"500ms\", long-running = true }";
        let parity = "warm-up = \"2s\"\nwindow = \"20s\"\n[parity]\nleave = true";
        let study = study(parity, &[slow, quick, "name = \"idle\""]);
        let plan = trials(&study, &Unlocated(&study));
        let asked = plan.iter().filter(|trial| trial.id.purpose == Purpose::Parity);
        let windows: Vec<(&str, Span)> =
            asked.map(|trial| (trial.id.variant.as_str(), trial.order.window)).collect();
        // The monitor may have asked right before the window opened.
        let windows_s = [("slow", 6), ("quick", 3), ("idle", 3)];
        assert_eq!(windows, windows_s.map(|(variant, s)| (variant, Span::from_secs(s))));
    }

    #[test]
    fn every_trial_comes_once() {
        let plan = cpu(&study("", &["name = \"a\"", "name = \"p\"\nhost-load = \"trial\""]));
        let mut seen = names(&plan);
        seen.sort();
        seen.dedup();
        assert_eq!((seen.len(), plan.len()), (2 * 2 * 6, 2 * 2 * 6));
        let batched: usize = batches(plan.iter().cloned()).iter().map(|b| b.trials.len()).sum();
        assert_eq!(batched, plan.len());
    }
}
