//! Loads that stay: one process through warm-up and window, and an end that is a part of the answer.

use model::{sample::Rounds, wire::Refusal};

use crate::dialogue::{Agent, Copied, Subject, folders_of, staying};

fn why(agent: &mut Agent) -> String {
    let Refusal { what, why } = agent.refused();
    assert!(what.ends_with("ended by itself"), "{what}");
    why
}

#[test]
fn it_runs_once_through_the_window_and_ends_after_it() {
    let subject = Subject::idle();
    let shell = Copied::of("sh");
    let script = format!("exec {} -c 'while :; do :; done'", shell.path().display());
    let mut agent = Agent::measuring(staying(&subject.name, 5, &[&script, &script]));
    let (facts, samples) = agent.window(6);
    assert_eq!(facts.programs.len(), 2, "{:?}", facts.programs);
    assert!(samples.iter().all(|sample| sample.rounds == Rounds::default()));
    let usage = |place: usize| samples[place].load.clone().unwrap().group;
    if let (Some(first), Some(last)) = (usage(0), usage(5)) {
        assert!(last.usage_ns > first.usage_ns + 20_000_000, "{first:?} {last:?}");
    }
    assert_eq!(shell.running(), 0);
    assert!(folders_of(agent.pid()).is_empty());
}

#[test]
fn one_that_ends_in_the_window_ends_the_measurement_in_its_own_words() {
    let subject = Subject::idle();
    let before = subject.groups();
    // Also where that is a good one.
    let script = "sleep 0.3; echo 'station 02:00 vanished' >&2";
    let mut agent = Agent::measuring(staying(&subject.name, 1000, &["sleep 600", script]));
    assert_eq!(why(&mut agent), "exit status: 0: station 02:00 vanished");
    assert_eq!(subject.groups(), before);
    assert!(folders_of(agent.pid()).is_empty());
}

#[test]
fn one_whose_own_checks_failed_makes_the_trial_invalid_at_its_end() {
    let subject = Subject::idle();
    let check = "trap 'echo 3 of 6 clients seen >&2; exit 1' TERM; while :; do sleep 0.01; done";
    let mut agent = Agent::measuring(staying(&subject.name, 3, &[check]));
    agent.begun();
    agent.samples(3);
    let why = why(&mut agent);
    // The shell may say of its `sleep` that it was terminated, too.
    assert!(why.starts_with("exit status: 1: ") && why.ends_with("3 of 6 clients seen"), "{why}");
}
