//! Do the kernel, hostapd and the subject's data model count the clients that were planned?
//!
//! Looks at what every trial recorded, also where that made the trial invalid: clients that two parties
//! count differently are a finding here.

use model::plural::count;
use model::{
    reading::Reading,
    trial::{Purpose, TrialId},
    wire::Census,
};

use super::{Evidence, Part, nothing, together};
use crate::{quantity, verdicts::Gate};

const NAME: &str = "clients-agree";

pub(super) fn gate(evidence: &Evidence) -> Gate {
    let plan = &evidence.run.plan;
    let parts: Vec<Part> = plan.iter().map(|planned| part(evidence, &planned.id)).collect();
    if parts.is_empty() {
        return nothing(NAME, "the run has no trials");
    }
    let trials = parts.len() as u32;
    let mut gate = together(NAME, "trial", parts);
    if gate.verdict == model::verdict::Verdict::Pass {
        let subject = evidence.run.study.parity.as_ref().and_then(|parity| parity.clients.as_ref());
        let whose = if subject.is_some() {
            "the kernel, hostapd and the subject"
        } else {
            "the kernel and hostapd"
        };
        gate.sentence = format!(
            "In {} {whose} count as many clients as were planned, before and after.",
            quantity::count(trials, "trial")
        );
    }
    gate
}

fn part(evidence: &Evidence, id: &TrialId) -> Part {
    let Some(recording) = evidence.recording(id) else {
        let why = evidence.fault(&[id]).unwrap_or_else(|| format!("`{id}` recorded nothing"));
        return Part::invalid(why);
    };
    let sides = recording.census.iter().flatten().zip(["before the warm-up", "after the window"]);
    for (census, when) in sides {
        if let Err(part) = agrees(census, id.clients) {
            return part.after(&format!("in `{id}`, {when}, "));
        }
    }
    if id.purpose == Purpose::Parity {
        subject(evidence, id, recording)
    } else {
        Part::pass(String::new())
    }
}

/// Whether kernel and hostapd count so many clients, interface by interface.
pub(super) fn agrees(census: &Census, clients: u32) -> Result<(), Part> {
    let mut sum = 0_u32;
    for each in &census.interfaces {
        let name = &each.name;
        match (each.kernel, each.hostapd) {
            (Some(kernel), Some(hostapd)) if kernel == hostapd => sum = sum.saturating_add(kernel),
            (Some(kernel), Some(hostapd)) => {
                return Err(Part::fail(format!(
                    "the kernel counts {kernel} on {name}, hostapd {hostapd}",
                    kernel = count(kernel, "client")
                )));
            }
            (kernel, _) => {
                let who = if kernel.is_none() { "the kernel" } else { "hostapd" };
                return Err(Part::invalid(format!("{who} did not count the clients on {name}")));
            }
        }
    }
    if sum == clients {
        return Ok(());
    }
    Err(Part::fail(format!(
        "kernel and hostapd count {sum}, {clients} were expected",
        sum = count(sum, "client")
    )))
}

/// Whether the subject itself counts what was planned, where it is asked.
fn subject(evidence: &Evidence, id: &TrialId, recording: &Reading) -> Part {
    let study = &evidence.run.study;
    let variant = study.variants.iter().find(|variant| id.variant == variant.name);
    let parity = study.parity.as_ref().zip(variant).map(|(parity, variant)| parity.of(variant));
    if parity.is_none_or(|parity| parity.clients.is_none()) {
        return Part::pass(String::new());
    }
    let count = recording.parity.as_ref().and_then(|parity| parity.before.subject.as_ref());
    let in_trial = |part: Part| part.after(&format!("in `{id}` "));
    counts(count, id.clients).map_or_else(in_trial, |()| Part::pass(String::new()))
}

/// Whether the subject counts so many clients.
pub(super) fn counts(subject: Option<&Result<u32, String>>, clients: u32) -> Result<(), Part> {
    match subject {
        Some(Ok(own)) if *own == clients => Ok(()),
        Some(Ok(own)) => {
            let own = count(own, "client");
            Err(Part::fail(format!("the subject counts {own}, {clients} were expected")))
        }
        Some(Err(text)) => {
            Err(Part::invalid(format!("the subject's count is not a number: `{}`", text.trim())))
        }
        None => Err(Part::invalid("the subject was not asked for its clients".to_owned())),
    }
}
