//! Whatever was recorded, the analysis ends, and what it cannot know is absent: no panic, no NaN.

use analysis::{Analysis, analyse, fixture};
use model::{
    run::Run,
    sample::{Account, Group, Io, Memory, Other, Sample, Task},
    trial::{Outcome, Trial},
    wire::Census,
};
use proptest::prelude::*;

/// Counters of every size, small ones often: differences and overflows are both found.
fn counter() -> impl Strategy<Value = u64> {
    prop_oneof![0..4u64, 0..1_000_000_000_000u64, any::<u64>()]
}

fn task() -> impl Strategy<Value = Task> {
    (0..3u32, prop::option::of(counter()), counter(), counter(), counter()).prop_map(
        |(tid, run_ns, utime, stime, voluntary)| Task {
            pid: 1,
            tid,
            comm: "subject".to_owned(),
            run_ns,
            utime,
            stime,
            voluntary,
            ..Task::default()
        },
    )
}

fn account() -> impl Strategy<Value = Account> {
    let group = counter().prop_map(|usage_ns| Group { usage_ns, ..Group::default() });
    let io = counter().prop_map(|read_bytes| Io { read_bytes, ..Io::default() });
    let memory = counter().prop_map(|rss_kib| Memory { rss_kib, pss_kib: None });
    (
        prop::collection::vec(task(), 0..3),
        prop::option::of(group),
        prop::option::of(io),
        prop::option::of(memory),
    )
        .prop_map(|(tasks, group, io, memory)| Account { tasks, group, io, memory })
}

fn sample() -> impl Strategy<Value = Sample> {
    let other = account().prop_map(|account| Other { name: "hostapd".to_owned(), account });
    let others = prop::collection::vec(other, 0..2);
    (counter(), account(), prop::option::of(account()), others, account(), counter()).prop_map(
        |(at_ns, subject, load, others, agent, ended)| {
            let mut sample = Sample { at_ns, subject, load, others, agent, ..Sample::default() };
            sample.rounds.ended = ended;
            sample.rounds.skipped = ended / 2;
            sample.machine.busy = at_ns;
            sample
        },
    )
}

/// A trial of a fixture with other samples, most of them in the order of time.
fn trial(run: &Run) -> impl Strategy<Value = Trial> + use<> {
    let trials = fixture::trials(run);
    let samples = prop::collection::vec(sample(), 0..5);
    (prop::sample::select(trials), samples, any::<bool>(), any::<bool>()).prop_map(
        |(mut trial, mut samples, sorted, counted)| {
            if sorted {
                samples.sort_by_key(|sample| sample.at_ns);
            }
            if let Outcome::Measured(recording) = &mut trial.outcome {
                recording.samples = samples;
                if !counted {
                    recording.census = Some([Census::default(), Census::default()]);
                }
            }
            trial
        },
    )
}

fn ends_well(analysis: &Analysis) -> Result<(), TestCaseError> {
    prop_assert!(!analysis.answer.is_empty());
    // JSON would turn NaN into null, so the debug text is searched.
    let text = format!("{analysis:?}");
    prop_assert!(!text.contains("NaN") && !text.contains(": inf") && !text.contains("-inf"));
    Ok(())
}

proptest! {
    // A case is a whole run; 64 of them find what thousands do, in seconds.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_trials_end_in_an_analysis(
        trials in prop::collection::vec(trial(&fixture::run()), 0..24),
    ) {
        ends_well(&analyse(&fixture::run(), &trials))?;
    }

    #[test]
    fn any_trials_of_many_variants_end_in_an_analysis(
        trials in prop::collection::vec(trial(&fixture::stations()), 0..24),
    ) {
        ends_well(&analyse(&fixture::stations(), &trials))?;
    }

    #[test]
    fn any_part_of_a_run_can_be_analysed(kept in prop::collection::vec(any::<bool>(), 54)) {
        let run = fixture::run();
        let trials = fixture::trials(&run).into_iter().zip(kept);
        let trials: Vec<_> = trials.filter(|(_, kept)| *kept).map(|(trial, _)| trial).collect();
        let analysis = analyse(&run, &trials);
        prop_assert_eq!(analysis.valid as usize, trials.len());
        let mut reversed = trials;
        reversed.reverse();
        prop_assert_eq!(analyse(&run, &reversed), analysis, "the order of trials does not matter");
    }
}
