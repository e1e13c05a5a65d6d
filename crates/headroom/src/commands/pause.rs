//! `headroom pause` and `headroom blame`: who causes the subject's CPU, by experiment.

use lab::{setup, study_file::StudyFile};
use model::{
    pause::Peer,
    span::Span,
    study::{Pause, Variant},
    trial::Purpose,
};

use super::{place, study::lab_for};
use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
};

/// Trials where neither the study nor the command line says how many.
const REPETITIONS: u32 = 6;

pub(crate) fn pause(options: &Options, flags: &flags::Pause) -> Result<Verdict, Failure> {
    let mut file = place::study_of(options, &flags.place, Purpose::Pause)?;
    let consumer = Some(flags.consumer.clone());
    let (process, group) = if flags.group { (None, consumer) } else { (consumer, None) };
    let shape = shape(&file, &flags.place, &flags.spans);
    file.study.pause = Some(Pause { process, group, ..shape });
    file.study.variants.iter_mut().for_each(|variant| variant.pause = None);
    file.study.question =
        format!("What share of the CPU of {} does {} cause?", file.study.process(), flags.consumer);
    file.overrides.push(format!("pause = {}", flags.consumer));
    place::carry_out(options, &flags.place, file)
}

pub(crate) fn blame(options: &Options, flags: &flags::Blame) -> Result<Verdict, Failure> {
    let mut file = place::study_of(options, &flags.place, Purpose::Pause)?;
    let [variant] = file.study.variants.as_slice() else {
        return Err(Failure::Usage(
            "blame looks at one variant; name it with --variant".to_owned(),
        ));
    };
    let variant = variant.clone();
    let peers = peers(options, &flags.place, &file, &variant)?;
    if peers.is_empty() {
        return Err(Failure::Unmeasured(format!(
            "no process talks to {} in `{}`, so there is nothing to pause",
            file.study.subject_of(&variant).process,
            variant.name
        )));
    }
    let shape = shape(&file, &flags.place, &flags.spans);
    // Each variant names its own.
    file.study.pause = Some(Pause { process: None, group: None, variants: Vec::new(), ..shape });
    let names = names(&peers);
    file.study.question = format!(
        "Who causes the CPU of {}, of those that talk to it?",
        file.study.subject_of(&variant).process
    );
    file.overrides.push(format!("blame = {}", names.join(", ")));
    file.study.variants = names.into_iter().map(|name| pausing(&variant, name)).collect();
    place::carry_out(options, &flags.place, file)
}

/// The names of those who talk, each once.
fn names(peers: &[Peer]) -> Vec<String> {
    let mut names: Vec<String> = peers.iter().map(|peer| peer.name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

fn pausing(variant: &Variant, process: String) -> Variant {
    Variant {
        name: variant.name.with(&format!(".{process}")),
        against: Vec::new(),
        pause: Some(process),
        ..variant.clone()
    }
}

fn peers(
    options: &Options,
    place: &flags::Place,
    file: &StudyFile,
    variant: &Variant,
) -> Result<Vec<Peer>, Failure> {
    let lab = lab_for(&options.at(&file.study.access_point), &place.on, &file.study)?;
    Ok(setup::peers(&lab, &place.on, file, variant)?)
}

/// How long and how often: as typed, else as the study says, else as usual.
fn shape(file: &StudyFile, place: &flags::Place, spans: &flags::Spans) -> Pause {
    let usual = Pause {
        process: None,
        group: None,
        variants: Vec::new(),
        clients: Vec::new(),
        repetitions: REPETITIONS,
        span: Span::from_secs(10),
        settle: Span::from_secs(2),
    };
    let own = file.study.pause.clone().unwrap_or(usual);
    Pause {
        variants: file.study.variants.iter().map(|variant| variant.name.to_string()).collect(),
        clients: place.clients.clone(),
        repetitions: place.repetitions.unwrap_or(own.repetitions),
        span: spans.span.unwrap_or(own.span),
        settle: spans.settle.unwrap_or(own.settle),
        ..own
    }
}

#[cfg(test)]
mod tests {
    use model::name::VariantName;

    use super::*;

    #[test]
    fn everybody_is_paused_once_under_a_name_that_a_file_can_have() {
        let peer = |name: &str, pid| Peer { name: name.to_owned(), pid, through: String::new() };
        assert_eq!(names(&[peer("b", 1), peer("a", 2), peer("b", 3)]), ["a", "b"]);
        let variant =
            pausing(&Variant::named(VariantName::literal("found")), "Station_Monitor".to_owned());
        assert_eq!(variant.name, "found.station-monitor");
        assert_eq!(variant.pause.as_deref(), Some("Station_Monitor"));
    }
}
