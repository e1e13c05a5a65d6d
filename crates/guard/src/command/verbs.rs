//! The verbs that are short: each asks another module, and makes text of the answer.

use std::fmt::Write;

use linux::error::chain;
use model::{plural::count, share::Share};
use serde::Serialize;

use crate::{
    control::ask,
    failure::{ENVIRONMENT, Failure, INVALID, Output},
    flags,
    groups::{Application, Applications, Hierarchies},
    journal::{self, Report},
    output::json,
    policy::Policy,
    status::{
        Status, openmetrics,
        words::{self, Words},
    },
};

/// What a policy would bound here, as JSON.
#[derive(Debug, Serialize)]
struct Checked<'a> {
    policy: String,
    aggressiveness: u8,
    /// What all applications together keep at least, of one CPU.
    application_floor: Option<f64>,
    applications: Vec<CheckedApplication<'a>>,
}

#[derive(Debug, Serialize)]
struct CheckedApplication<'a> {
    name: &'a str,
    /// What it keeps at least, of one CPU.
    floor: Option<f64>,
    pids: &'a [u32],
    groups: Vec<String>,
    notes: &'a [String],
}

/// `guard check`.
pub fn check(flags: &flags::Check) -> Output {
    let policy = Policy::read(&flags.policy).map_err(|error| Failure::usage(error.to_string()))?;
    let hierarchies = Hierarchies::find();
    let found = Applications::find(&policy, &hierarchies).map_err(|refusal| {
        Failure::usage(format!("{}: {}", flags.policy.display(), chain(&refusal)))
    })?;
    if flags.json {
        let applications = found.list().iter().map(|one| CheckedApplication {
            name: &one.name,
            floor: floor_of(&policy, &one.name).map(Share::get),
            pids: &one.pids,
            groups: groups(one),
            notes: &one.notes,
        });
        return Ok(json(&Checked {
            policy: flags.policy.display().to_string(),
            aggressiveness: policy.aggressiveness,
            application_floor: policy.application_floor.map(Share::get),
            applications: applications.collect(),
        }));
    }
    let mut out = format!(
        "{} is a policy that can be kept here, aggressiveness {}\n",
        flags.policy.display(),
        policy.aggressiveness
    );
    if let Some(floor) = policy.application_floor {
        // Writing to a string does not fail.
        let _ = writeln!(out, "all applications together keep at least {}", words::floor(floor));
    }
    for one in found.list() {
        application(&mut out, one, floor_of(&policy, &one.name));
    }
    Ok(out)
}

/// What a policy says that an application keeps.
fn floor_of(policy: &Policy, name: &str) -> Option<Share> {
    policy.applications.iter().find(|rule| rule.name == name)?.floor
}

/// Groups of an application, each once.
fn groups(application: &Application) -> Vec<String> {
    let folders = application.places.iter().flat_map(|place| &place.groups);
    let mut groups: Vec<String> = folders.map(|folder| folder.display().to_string()).collect();
    groups.sort();
    groups.dedup();
    groups
}

/// Processes that are named in a line; a person who wants all of them takes `--json`.
const MOST_NAMED: usize = 12;

fn application(out: &mut String, application: &Application, floor: Option<Share>) {
    let mut pids: Vec<String> =
        application.pids.iter().take(MOST_NAMED).map(u32::to_string).collect();
    if application.pids.len() > MOST_NAMED {
        pids.push(format!("and {} more", application.pids.len() - MOST_NAMED));
    }
    let pids = if pids.is_empty() { "no process now".to_owned() } else { pids.join(" ") };
    // Writing to a string does not fail.
    let _ = writeln!(out, "\n{}\n  processes  {pids}", application.name);
    if let Some(floor) = floor {
        let _ = writeln!(out, "  floor      at least {}", words::floor(floor));
    }
    for group in groups(application) {
        let _ = writeln!(out, "  group      {group}");
    }
    for note in &application.notes {
        let _ = writeln!(out, "  note       {note}");
    }
}

/// `guard status`.
pub fn status(flags: &flags::Status) -> Output {
    let text = ask(&flags.place.state, "status")?;
    let status: Status = serde_json::from_str(&text).map_err(|error| Failure {
        code: ENVIRONMENT,
        line: format!(
            "the guard that runs is of another version: its status is not read ({error})"
        ),
    })?;
    Ok(if flags.json {
        json(&status)
    } else if flags.openmetrics {
        openmetrics::text(&status, openmetrics::Format::OpenMetrics)
    } else {
        Words(&status).to_string()
    })
}

/// `guard set`.
pub fn set(flags: &flags::Set) -> Output {
    ask(&flags.place.state, &format!("set {}", flags.aggressiveness))
}

/// `guard reload`.
/// Fails where no guard answers, or the policy is refused.
pub fn reload(place: &flags::Place) -> Output {
    ask(&place.state, "reload").map_err(|failure| match failure.code {
        // What is refused is the policy.
        INVALID => Failure::usage(failure.line),
        _ => failure,
    })
}

/// `guard restore`.
/// Fails where a guard runs, or something cannot be put back.
pub fn restore(place: &flags::Place) -> Output {
    let report = journal::restore(&place.state).map_err(|error| Failure::environment(&error))?;
    if !report.failed.is_empty() {
        return Err(Failure {
            code: INVALID,
            line: format!(
                "{} cannot be put back; the rest is. The journal is left for another try\n{report}",
                count(report.failed.len(), "value")
            ),
        });
    }
    if !report.refused.is_empty() {
        let rest = Report { refused: Vec::new(), ..report.clone() };
        let line = format!(
            "part of the journal is dropped, because guard never changes it or the line is damaged: {}\n{rest}",
            report.refused.join("; ")
        );
        return Err(Failure { code: INVALID, line: line.trim_end().to_owned() });
    }
    if report.is_empty() {
        return Ok(format!("nothing to restore: no journal in {}\n", place.state.display()));
    }
    Ok(report.to_string())
}
