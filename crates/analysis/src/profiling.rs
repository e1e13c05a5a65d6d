//! Folded stacks and trials to the figures of [`crate::profiles`].
//!
//! Anyone who calls opens files and folds; here samples become costs. What the counters of a capture's own
//! window measured is shared out among its samples.

mod doubts;

use model::{
    instrument::{Instrument, Proof, Scope, StacksOrder},
    name::VariantName,
    reading::Stacks,
    run::Run,
    study::Variant,
    trial::{Purpose, Trial, TrialId},
};

use crate::{
    Analysis, answer,
    doubt::Doubt,
    figures::{self, Part},
    headline,
    profiles::{Capture, Difference, ProfileFigures, ProofFigures},
    stacks::{
        self, Costs, Functions, Side,
        fold::{Folded, FoldedCapture},
        happening::Head,
        profile::{Naming, Profile},
    },
};

/// The burner's captures must agree with its CPU time to this part, or to so many samples.
const PROOF_TOLERANCE: f64 = 0.1;
const PROOF_SAMPLES: f64 = 2.0;
/// Of the burner's samples at least this share must be in the burner.
const PROOF_ON_TOP: f64 = 0.9;
/// A part of the name of every function that burns.
const BURNER: &str = "burn";

/// The folded captures of one variant at one client count.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldedCell {
    pub variant: VariantName,
    pub clients: u32,
    pub folded: Folded,
    pub repetitions: Vec<u32>,
    /// The stacks of each capture's proof, where there is one.
    pub proofs: Vec<Option<Profile>>,
}

impl FoldedCell {
    pub fn of(id: &TrialId) -> Self {
        Self {
            variant: id.variant.clone(),
            clients: id.clients,
            folded: Folded::default(),
            repetitions: Vec::new(),
            proofs: Vec::new(),
        }
    }
}

/// Fills in profiles and differences, their doubts and their sentences. Captures whose trial is not valid
/// are left out by the caller: they have no CPU to share out here.
pub fn with_profiles(analysis: &mut Analysis, run: &Run, trials: &[Trial], cells: &[FoldedCell]) {
    let mut profiled: Vec<ProfiledCell> =
        cells.iter().map(|cell| ProfiledCell::of(cell, trials)).collect();
    let place = |name: &str| run.study.variants.iter().position(|variant| variant.name == name);
    profiled.sort_by_key(|one| (place(&one.cell.variant), one.cell.clients));
    for cell in &profiled {
        analysis.profiles.push(cell.figures());
    }
    analysis.differences = differences(run, &profiled);
    let found = analysis.profiles.iter().zip(&profiled);
    let mut doubts: Vec<Doubt> =
        found.flat_map(|(profile, cell)| doubts::of(profile, &cell.sources)).collect();
    analysis.doubts.append(&mut doubts);
    analysis.doubts.sort_by_key(|doubt| doubt.level);
    analysis.answer = answer::of(run, analysis);
    analysis.headline = headline::of(run, analysis);
}

/// A recording by itself, as `headroom profile FILE` shows it. Its CPU is known where the event counts
/// nanoseconds: then the periods' sum over the time from the first sample to the last.
pub fn of_recording(name: &str, head: &Head, folded: &Folded) -> ProfileFigures {
    let captures: Vec<Capture> = folded
        .captures
        .iter()
        .zip(&folded.profile.samples)
        .zip(1..)
        .map(|((capture, samples), repetition)| Capture {
            repetition,
            samples: *samples,
            lost: capture.summary.lost,
            throttled: capture.summary.throttled,
            cpu_us_per_s: capture.summary.cpu_us_per_s(&head.event),
            agent_us_per_s: None,
            proof: None,
        })
        .collect();
    let profile = &folded.profile;
    let costs = costs(profile, &captures);
    ProfileFigures {
        variant: name.to_owned(),
        event: head.event.clone(),
        frequency: head.frequency,
        stack_bytes: head.stack_bytes,
        scope: head.command.clone().unwrap_or_default(),
        captures,
        ..figures_of(profile, &costs)
    }
}

/// What a sample of each capture costs.
fn costs(profile: &Profile, captures: &[Capture]) -> Costs {
    let cpu: Vec<_> = captures.iter().map(|capture| capture.cpu_us_per_s).collect();
    Costs::of(&profile.samples, &cpu)
}

/// What the burner's capture proves: as many samples as its CPU time should give, and in its function.
pub fn proof_figures(proof: &Proof, frequency: u32, profile: &Profile) -> ProofFigures {
    let samples: u64 = profile.samples.iter().sum();
    let expected = proof.cpu_ns as f64 * f64::from(frequency) / 1e9;
    // What the compiler put into the burner is the burner.
    let innermost = |frames: &[u32]| {
        let known = frames.iter().rev().filter_map(|frame| profile.frames.get(*frame as usize));
        let frame = known.into_iter().find(|frame| !frame.inlined)?;
        (frame.naming != Naming::Process).then_some(frame.name.as_str())
    };
    let burning = profile
        .stacks
        .iter()
        .filter(|stack| innermost(&stack.frames).is_some_and(|name| name.contains(BURNER)));
    let burning: u64 = burning.flat_map(|stack| &stack.samples).sum();
    let on_top = if samples > 0 { burning as f64 / samples as f64 } else { 0.0 };
    let off = (samples as f64 - expected).abs();
    ProofFigures {
        expected,
        samples,
        on_top,
        holds: samples > 0
            && off <= (PROOF_TOLERANCE * expected).max(PROOF_SAMPLES)
            && on_top >= PROOF_ON_TOP,
    }
}

/// A capture with its trial.
struct CaptureTrial<'a> {
    id: TrialId,
    trial: Option<&'a Trial>,
    folded: &'a FoldedCapture,
}

impl<'a> CaptureTrial<'a> {
    fn stacks(&self) -> Option<&'a Stacks> {
        self.trial?.reading()?.stacks.as_deref()
    }

    /// What was asked of the recorder.
    fn order(&self) -> Option<&'a StacksOrder> {
        match self.trial?.planned.order.instrument.as_ref()? {
            Instrument::Stacks(order) => Some(order),
            _ => None,
        }
    }

    /// The event that the recorder took.
    fn event(&self) -> &'a str {
        self.stacks().map_or("", |stacks| &stacks.recorder.event)
    }

    fn figures(&self, cell: &FoldedCell, at: usize) -> Capture {
        let figures = self.trial.and_then(|trial| figures::of(trial).ok());
        let (summary, order) = (&self.folded.summary, self.order());
        let recorded = self.stacks().map(|stacks| &stacks.recorded);
        let proof = |stacks: &Stacks| {
            let profile = cell.proofs.get(at)?.as_ref()?;
            Some(proof_figures(&stacks.recorder.proof, order?.frequency, profile))
        };
        // The counters know the subject alone; in other scopes the event itself must tell.
        let counted =
            figures.as_ref().filter(|_| order.is_some_and(|it| it.scope == Scope::Subject));
        let counted = counted.and_then(|figures| figures.part(Part::Subject));
        Capture {
            repetition: self.id.repetition,
            samples: cell.folded.profile.samples.get(at).copied().unwrap_or(0),
            // Both count the same losses: the kernel in the ring, and the recorder at its end.
            lost: summary.lost.max(recorded.map_or(0, |recorded| recorded.lost)),
            throttled: summary.throttled.max(recorded.map_or(0, |recorded| recorded.throttled)),
            cpu_us_per_s: counted.or_else(|| summary.cpu_us_per_s(self.event())),
            agent_us_per_s: figures.as_ref().and_then(|figures| figures.part(Part::Agent)),
            proof: self.stacks().and_then(proof),
        }
    }
}

/// A cell with everything that figures and differences need.
struct ProfiledCell<'a> {
    cell: &'a FoldedCell,
    sources: Vec<CaptureTrial<'a>>,
    captures: Vec<Capture>,
    costs: Costs,
}

impl<'a> ProfiledCell<'a> {
    fn of(cell: &'a FoldedCell, trials: &'a [Trial]) -> Self {
        let folded = cell.folded.captures.iter().zip(&cell.repetitions);
        let sources = folded.map(|(folded, repetition)| {
            let of_cpu = TrialId::at(cell.variant.clone(), cell.clients, *repetition);
            let id = TrialId { purpose: Purpose::Stacks, ..of_cpu };
            // Of two trials with one identity the later one counts, as everywhere.
            let trial = trials.iter().rev().find(|trial| trial.planned.id == id);
            CaptureTrial { id, trial, folded }
        });
        let sources: Vec<_> = sources.collect();
        let captures = sources.iter().enumerate();
        let captures: Vec<_> = captures.map(|(at, one)| one.figures(cell, at)).collect();
        let costs = costs(&cell.folded.profile, &captures);
        Self { cell, sources, captures, costs }
    }

    /// Whether a single sample was taken.
    fn is_seen(&self) -> bool {
        self.captures.iter().any(|capture| capture.samples > 0)
    }

    fn figures(&self) -> ProfileFigures {
        let order = |one: &CaptureTrial<'a>| Some((one.order()?, one.event()));
        let (order, event) = self.sources.iter().find_map(order).unzip();
        ProfileFigures {
            variant: self.cell.variant.to_string(),
            clients: Some(self.cell.clients),
            event: event.unwrap_or_default().to_owned(),
            frequency: order.map(|order| order.frequency),
            stack_bytes: order.map_or(0, |order| order.stack_bytes),
            scope: order.map(|order| order.scope.to_string()).unwrap_or_default(),
            captures: self.captures.clone(),
            ..figures_of(&self.cell.folded.profile, &self.costs)
        }
    }

    fn side(&self) -> Side<'_> {
        Side {
            profile: &self.cell.folded.profile,
            costs: &self.costs,
            repetitions: &self.cell.repetitions,
        }
    }
}

fn figures_of(profile: &Profile, costs: &Costs) -> ProfileFigures {
    let functions = Functions::of(profile);
    ProfileFigures {
        tree: stacks::tree(profile, costs),
        functions: stacks::function_costs(&functions, profile, costs),
        unknown: stacks::unknown(profile),
        waiting: stacks::named_waiting(&functions, profile, costs),
        ..ProfileFigures::default()
    }
}

/// Each variant against those it names, or against the first of its kind where it names none that is
/// profiled; only between the same process.
fn differences(run: &Run, cells: &[ProfiledCell]) -> Vec<Difference> {
    let variants = &run.study.variants;
    let named = variants.iter().any(|variant| !variant.against.is_empty());
    let mut found = Vec::new();
    for after in cells {
        let Some(variant) = variants.iter().find(|one| one.name == after.cell.variant) else {
            continue;
        };
        let bases: Vec<&str> = if named {
            variant.against.iter().map(String::as_str).collect()
        } else {
            variants.first().map(|first| first.name.as_str()).into_iter().collect()
        };
        for base in bases.into_iter().filter(|base| variant.name != *base) {
            let before = cells.iter().find(|before| {
                before.cell.variant == base && before.cell.clients == after.cell.clients
            });
            // Where one side was never seen running, all of the other is new, which is no finding.
            let before = before.filter(|before| before.is_seen() && after.is_seen());
            let before = before.filter(|_| same_subject(run, base, variant));
            found.extend(before.map(|before| difference(before, after)));
        }
    }
    found
}

fn same_subject(run: &Run, base: &str, variant: &Variant) -> bool {
    let base = run.study.variants.iter().find(|one| one.name == base);
    let process = |one: &Variant| run.study.subject_of(one).process.clone();
    base.is_some_and(|base| process(base) == process(variant))
}

fn difference(before: &ProfiledCell, after: &ProfiledCell) -> Difference {
    let (tree, functions) = stacks::difference(before.side(), after.side());
    Difference {
        before: before.cell.variant.to_string(),
        after: after.cell.variant.to_string(),
        clients: Some(after.cell.clients),
        cpu_measured: before.costs.known() && after.costs.known(),
        tree,
        functions,
    }
}

#[cfg(test)]
mod tests {
    use model::instrument::{MappedFile, Oddity};

    use super::*;
    use crate::{
        analyse, fixture,
        judge::test_data::recording,
        stacks::{perf_data::Summary, test_data},
    };

    fn proof(samples: &[(&str, &[u64])]) -> ProofFigures {
        let burnt = Proof { cpu_ns: 200_000_000, ..Proof::default() };
        proof_figures(&burnt, 500, &test_data::profile(samples))
    }

    #[test]
    fn a_proof_holds_where_the_burner_gave_what_it_burnt() {
        let found = proof(&[("agent;main;agent::burner::burn", &[95]), ("agent;main", &[4])]);
        assert_eq!((found.expected, found.samples, found.holds), (100.0, 99, true));
        assert!((found.on_top - 95.0 / 99.0).abs() < 1e-9);
        assert!(proof(&[("agent;burn", &[110])]).holds && proof(&[("agent;burn", &[90])]).holds);
    }

    #[test]
    fn a_proof_fails_with_too_few_samples_too_many_or_others() {
        assert!(!proof(&[("agent;burn", &[111])]).holds);
        assert!(!proof(&[("agent;burn", &[89])]).holds);
        assert!(!proof(&[("agent;burn", &[85]), ("agent;main", &[15])]).holds);
        assert!(!proof(&[]).holds);
        let short = Proof { cpu_ns: 6_000_000, ..Proof::default() };
        let few = test_data::profile(&[("agent;burn", &[5])]);
        assert!(proof_figures(&short, 500, &few).holds, "two samples more or less are nothing");
    }

    #[test]
    fn costs_are_the_counters_share_and_every_sample_has_its_part() {
        let (_, analysis) = fixture::profiled();
        for profile in &analysis.profiles {
            let root = profile.tree.nodes[0].us_per_s;
            let cpu: Vec<_> =
                profile.captures.iter().filter_map(|capture| capture.cpu_us_per_s).collect();
            let mean = cpu.iter().sum::<f64>() / cpu.len() as f64;
            assert!((root / mean - 1.0).abs() < 1e-9, "{root} of {mean}");
            assert!(profile.captures.iter().all(|capture| capture.agent_us_per_s.is_some()));
        }
    }

    fn folded_cell(id: &TrialId, stacks: &[(&str, &[u64])], capture: FoldedCapture) -> FoldedCell {
        let profile = test_data::profile(stacks);
        FoldedCell {
            folded: Folded { profile, captures: vec![capture] },
            repetitions: vec![id.repetition],
            proofs: vec![None],
            ..FoldedCell::of(id)
        }
    }

    #[test]
    fn a_side_without_a_sample_makes_no_difference() {
        let differences = |samples: &[(&str, &[u64])]| {
            let (run, _) = fixture::profiled();
            let cell = |variant: &str, samples| {
                let is = |id: &TrialId| id.purpose == Purpose::Stacks && id.variant == *variant;
                let id = run.plan.iter().map(|one| one.id.clone()).find(is).unwrap();
                folded_cell(&id, samples, FoldedCapture::default())
            };
            let cells =
                [cell("found", samples), cell("write-on-change", &[("stationd;main", &[9])])];
            let trials = fixture::trials(&run);
            let mut analysis = analyse(&run, &[]);
            with_profiles(&mut analysis, &run, &trials, &cells);
            analysis.differences.len()
        };
        assert_eq!(differences(&[("stationd;main", &[4])]), 1);
        assert_eq!(differences(&[]), 0);
    }

    /// The doubts of one cell with one capture.
    fn doubts_of(folded: FoldedCapture, samples: u64, change: impl Fn(&mut Stacks)) -> Vec<String> {
        let (run, _) = fixture::profiled();
        let id = |trial: &&model::trial::PlannedTrial| trial.id.purpose == Purpose::Stacks;
        let planned = run.plan.iter().find(id).unwrap().clone();
        let mut trial =
            fixture::trials(&run).into_iter().find(|one| one.planned == planned).unwrap();
        let mut stacks = Stacks::default();
        change(&mut stacks);
        recording(&mut trial).stacks = Some(Box::new(stacks));
        let cell = folded_cell(&planned.id, &[("stationd;main", &[samples])], folded);
        let trials = [trial];
        let mut analysis = analyse(&run, &[]);
        let before = analysis.doubts.clone();
        with_profiles(&mut analysis, &run, &trials, &[cell]);
        let new = analysis.doubts.iter().filter(|doubt| !before.contains(doubt));
        new.map(Doubt::to_string).collect()
    }

    #[test]
    fn what_was_lost_throttled_faulty_replaced_or_absent_is_doubted_and_a_clean_capture_is_not() {
        assert_eq!(doubts_of(FoldedCapture::default(), 90, |_| ()), [""; 0]);
        let absent = doubts_of(FoldedCapture::default(), 0, |_| ());
        let words =
            "The subject worked, and no sample of it was taken, in 1 trial (found@18#1.stacks).";
        assert_eq!(absent, [words]);
        let summary = Summary { lost: 3, throttled: 1, ..Summary::default() };
        let folded = FoldedCapture { summary, faults: vec!["it breaks off".to_owned()] };
        let said = doubts_of(folded, 90, |stacks| {
            stacks.recorded.lost = 5;
            stacks.recorded.files.push(MappedFile {
                path: "/usr/bin/stationd".to_owned(),
                oddity: Some(Oddity::Deleted),
                ..MappedFile::default()
            });
        });
        assert_eq!(
            said,
            [
                "The kernel lost 5 records and kept 90 samples, in 1 trial (found@18#1.stacks).",
                "The kernel throttled the sampling in 1 trial (found@18#1.stacks).",
                "Stacks are not whole in 1 trial (found@18#1.stacks): it breaks off.",
                "Code in found@18 is from files that were replaced, deleted or cannot be read: \
                 /usr/bin/stationd.",
            ]
        );
    }

    #[test]
    fn a_recording_by_itself_costs_what_its_clock_says() {
        let profile = test_data::profile(&[("d;f", &[3]), ("d;g", &[1])]);
        let summary = Summary {
            samples: 4,
            span_ns: Some((0, 1_000_000_000)),
            period: 8_000_000,
            ..Summary::default()
        };
        let folded =
            Folded { profile, captures: vec![FoldedCapture { summary, faults: Vec::new() }] };
        let head = Head { event: "cpu-clock".to_owned(), ..Head::default() };
        let found = of_recording("perf.data", &head, &folded);
        assert_eq!(found.functions[0].inclusive.unwrap().mean, 6_000.0);
        let head = Head { event: "cycles".to_owned(), ..Head::default() };
        let found = of_recording("perf.data", &head, &folded);
        assert_eq!((found.functions[0].inclusive, found.tree.nodes[0].us_per_s), (None, 4.0));
        assert_eq!((found.cpu_us_per_s(), found.functions[0].own_share), (None, 0.75));
    }
}
