//! Are the replies that the load is given inside the measured windows what the kernel says, and none too old?

use model::trial::Purpose;

use super::{Evidence, Part, capitalised, nothing, together};
use crate::{verdicts::Gate, witness};

const NAME: &str = "witness";

pub(super) fn gate(evidence: &Evidence) -> Gate {
    let ids: Vec<_> = evidence
        .working()
        .flat_map(|variant| evidence.planned(Purpose::Cpu, &variant.name))
        .filter(|id| id.clients > 0)
        .collect();
    let trials: Vec<_> = ids.iter().filter_map(|id| evidence.trials.get(*id).copied()).collect();
    let Some(found) = witness::of_trials(&trials) else {
        return nothing(NAME, "no round of any trial was checked");
    };
    // A reply that is not true fails, whatever else is missing.
    let fault = evidence.fault(&ids).filter(|_| found.verdict != model::verdict::Verdict::Fail);
    if let Some(fault) = fault {
        return together(NAME, "trial", vec![Part::invalid(fault)]);
    }
    let sentence = format!("{}.", capitalised(&found.sentence));
    Gate { name: NAME.to_owned(), verdict: found.verdict, sentence }
}
