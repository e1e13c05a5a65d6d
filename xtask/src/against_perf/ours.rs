//! The agent's recording, as `headroom profile` makes it and `headroom report` names it.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Function, Recording, WINDOW_S, subject::Subject};

/// What the agent takes in a window without a recording: its counters of every second. ns in a second.
pub(super) fn counters(subject: &Subject) -> Result<f64> {
    let run = subject.path("counters");
    let window = format!("{WINDOW_S}s");
    let verb = ["run", subject.study(), "--only", "cpu", "--repetitions", "1", "--window", &window];
    subject.on_study(&[&verb[..], &["--out", &run.to_string_lossy()]].concat())?;
    agent(&run).context("the trial without a recording has no counters of the agent")
}

/// One recording at a rate.
pub(super) fn record(subject: &Subject, rate: u32) -> Result<Recording> {
    let run = subject.path(&format!("ours-{rate}"));
    let (window, rate) = (format!("{WINDOW_S}s"), rate.to_string());
    let verb = ["profile", subject.study(), "--repetitions", "1", "--frequency", &rate];
    let where_to = ["--window", &window, "--out", &run.to_string_lossy()];
    subject.on_study(&[&verb[..], &where_to].concat())?;
    let report: Value =
        serde_json::from_str(&subject.report(&run)?).context("the report is no JSON")?;
    read(&report, &run).context("the report has no recording in it")
}

fn read(report: &Value, run: &Path) -> Option<Recording> {
    let profile = report.get("profiles")?.get(0)?;
    let capture = profile.get("captures")?.get(0)?;
    let functions = profile.get("functions")?.as_array()?.iter().filter_map(|one| {
        let is_named = one.get("naming")?.as_str()? == "named";
        let function = Function {
            names: vec![one.get("name")?.as_str()?.to_owned()],
            kernel: one.get("module")?.as_str()?.starts_with('['),
            share: one.get("share")?.as_f64()?,
        };
        is_named.then_some(function)
    });
    Some(Recording {
        cpu_ns_per_s: agent(run)?,
        samples: capture.get("samples")?.as_u64()?,
        lost: capture.get("lost")?.as_u64()?,
        functions: functions.collect(),
    })
}

/// CPU of the agent's threads from the first sample of a run's only trial to its last, ns in a second.
fn agent(run: &Path) -> Option<f64> {
    let trial = std::fs::read_dir(run.join("trials")).ok()?.flatten().next()?.path();
    let trial: Value = serde_json::from_slice(&std::fs::read(trial).ok()?).ok()?;
    let samples = trial.get("outcome")?.get("measured")?.get("samples")?.as_array()?;
    let of = |sample: &Value| {
        let tasks = sample.get("agent")?.get("tasks")?.as_array()?;
        let cpu: Option<u64> = tasks.iter().map(|task| task.get("run_ns")?.as_u64()).sum();
        Some((cpu?, sample.get("at_ns")?.as_u64()?))
    };
    let ((before, begin), (after, end)) = (of(samples.first()?)?, of(samples.last()?)?);
    Some((after - before) as f64 / ((end - begin) as f64 / 1e9))
}
