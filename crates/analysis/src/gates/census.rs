//! Do the kernel, hostapd and the subject's data model count the clients that were planned?
//!
//! Looks at what every trial recorded, also where that made the trial invalid: clients that two parties
//! count differently are a finding here.

use model::{
    plural::count,
    reading::Reading,
    trial::{Purpose, TrialId},
    verdict::Verdict,
};

use super::{Evidence, nothing, together};
use crate::{
    census,
    verdicts::{Conclusion, Gate},
};

const NAME: &str = "clients-agree";

pub(super) fn gate(evidence: &Evidence) -> Gate {
    let plan = &evidence.run.plan;
    if plan.is_empty() {
        return nothing(NAME, "the run has no trials");
    }
    let parts = plan.iter().map(|planned| {
        let id = &planned.id;
        let counted = trial(evidence, id, evidence.recording(id)?);
        counted.map_err(|part| part.after(&format!("in `{id}`, "))).map(|()| String::new())
    });
    let mut gate = together(NAME, "trial", parts.collect());
    if gate.verdict == Verdict::Pass {
        let subject = evidence.run.study.parity.as_ref().and_then(|parity| parity.clients.as_ref());
        let whose = if subject.is_some() { ", hostapd and the subject" } else { " and hostapd" };
        gate.sentence = format!(
            "In {} the kernel{whose} count as many clients as were planned, before and after.",
            count(plan.len() as u32, "trial")
        );
    }
    gate
}

fn trial(evidence: &Evidence, id: &TrialId, recording: &Reading) -> Result<(), Conclusion> {
    let sides =
        recording.census.iter().flatten().zip(["before the warm-up, ", "after the window, "]);
    for (census, when) in sides {
        census::agrees(census, id.clients, true).map_err(|part| part.after(when))?;
    }
    if id.purpose == Purpose::Parity { subject(evidence, id, recording) } else { Ok(()) }
}

/// Whether the subject itself counts what was planned, where it is asked.
fn subject(evidence: &Evidence, id: &TrialId, recording: &Reading) -> Result<(), Conclusion> {
    let study = &evidence.run.study;
    let variant = study.variants.iter().find(|variant| id.variant == variant.name);
    let parity = study.parity.as_ref().zip(variant).map(|(parity, variant)| parity.of(variant));
    if parity.is_none_or(|parity| parity.clients.is_none()) {
        return Ok(());
    }
    let count = recording.parity.as_ref().and_then(|parity| parity.before.subject.as_ref());
    counts(count, id.clients)
}

/// Whether the subject counts so many clients.
pub(super) fn counts(
    subject: Option<&Result<u32, String>>,
    clients: u32,
) -> Result<(), Conclusion> {
    match subject {
        Some(Ok(own)) if *own == clients => Ok(()),
        Some(Ok(own)) => {
            let own = count(own, "client");
            Err(Conclusion::fail(format!("the subject counts {own}, {clients} were expected")))
        }
        Some(Err(text)) => {
            let why = format!("the subject's count is not a number: `{}`", text.trim());
            Err(Conclusion::invalid(why))
        }
        None => Err(Conclusion::invalid("the subject was not asked for its clients")),
    }
}
