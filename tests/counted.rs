//! How far a counted figure can be trusted: the same trial over and over, on an idle and on a loaded
//! host. The limits are exact, because nothing of the host is in a counted figure.

use model::reading::Reading;
use serde_json::Value;

use crate::harness::{Place, Study, number};

const TRIALS: u32 = 3;
/// Coefficient of variation of the CPU figure over restored trials.
const VARIATION: f64 = 1e-4;
/// How far a loaded host may move the mean.
const MOVE: f64 = 2e-4;
/// The agent's own CPU, as a share of the core.
const AGENT: f64 = 0.01;

/// CPU of subject and load in each trial of a variant, ns.
fn spent(analysis: &Value, variant: &str) -> Vec<f64> {
    let trials = analysis["trials"].as_array().unwrap();
    let ours = trials.iter().filter(|trial| trial["id"]["variant"] == variant);
    ours.map(|trial| number(trial, "/sum/spent_ns")).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt() / mean
}

#[test]
fn a_counted_figure_repeats_and_does_not_feel_the_host() {
    let place = Place::with_guests();
    let load = "load = { run = \"iw dev {interface} station dump\" }";
    let study = Study::small()
        .repetitions(TRIALS)
        .window("5s")
        .unperturbed()
        .variant("alone", &format!("{load}\nhost-load = \"nothing\""))
        .variant("loaded", &format!("{load}\nhost-load = \"stress\""));
    let analysis = place.run_study(&study).words("--json").run().code(0).last_json();

    let (alone, loaded) = (spent(&analysis, "alone"), spent(&analysis, "loaded"));
    let trials = usize::try_from(TRIALS).unwrap();
    assert_eq!((alone.len(), loaded.len()), (trials, trials));
    let moved = (mean(&loaded) / mean(&alone) - 1.0).abs();
    assert!(variation(&alone) <= VARIATION, "{alone:?}");
    assert!(variation(&loaded) <= VARIATION, "{loaded:?}");
    assert!(moved <= MOVE, "{alone:?} {loaded:?}");
    // One trial of fifty may be an instruction off. While orders came at a moment of the host's time, every second was.
    let recordings = place.run().recordings();
    let like =
        |one: &Reading| recordings.iter().filter(|other| other.samples == one.samples).count();
    let alike = recordings.iter().map(like).max();
    assert!(
        alike >= Some(2 * trials - 1),
        "{alike:?} of {} trials agree in every counter",
        2 * trials
    );
    for trial in analysis["trials"].as_array().unwrap() {
        let agent = number(trial, "/agent/share_of_core");
        assert!(agent <= AGENT, "the agent took {agent} of the core");
    }
}
