//! Which programs the figures speak of: each executable once, with its hash, its part and its variants.

use std::collections::BTreeMap;

use model::{facts::Program, name::Sha256Hex, study::Variant, trial::Trial};
use serde::Serialize;

use crate::{figures::Part, measured::Measured, stacks::profile::file_name};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsedProgram {
    pub name: String,
    /// The executable's path on the access point.
    pub path: String,
    pub sha256: Sha256Hex,
    /// What it is to the variants that ran it, each once: subject, load or others.
    pub parts: Vec<Part>,
    /// Variants in whose valid trials it was seen, in the study's order.
    pub variants: Vec<String>,
}

/// The programs of all valid trials, by path, then by hash.
pub(crate) fn of(measured: &Measured) -> Vec<UsedProgram> {
    let mut programs: BTreeMap<(&str, &str), UsedProgram> = BTreeMap::new();
    for variant in measured.variants() {
        for program in seen_in(measured, variant) {
            let used = programs.entry((&program.path, &program.sha256)).or_insert_with(|| {
                let Program { name, path, sha256 } = program.clone();
                UsedProgram { name, path, sha256, parts: Vec::new(), variants: Vec::new() }
            });
            if used.variants.last().is_none_or(|last| variant.name != *last) {
                used.variants.push(variant.name.to_string());
            }
            used.parts.extend(part_of(measured, variant, program));
        }
    }
    let mut programs: Vec<_> = programs.into_values().collect();
    for program in &mut programs {
        program.parts.sort_unstable();
        program.parts.dedup();
    }
    programs
}

fn seen_in<'a>(measured: &Measured<'a>, variant: &Variant) -> Vec<&'a Program> {
    let of_variant = |trial: &&&'a Trial| trial.planned.id.variant == variant.name;
    let trials = measured.records.iter().filter(of_variant);
    trials.filter_map(|trial| trial.reading()).flat_map(|one| &one.facts.programs).collect()
}

/// By name: the facts do not say what a program was there for.
fn part_of(measured: &Measured, variant: &Variant, program: &Program) -> Option<Part> {
    let study = &measured.run.study;
    let subject = study.subject_of(variant);
    if program.name == subject.process {
        return Some(Part::Subject);
    }
    if subject.others.contains(&program.name) {
        return Some(Part::Others);
    }
    let command = study.load_of(variant)?.run.split_whitespace().next()?;
    (file_name(command) == file_name(&program.path)).then_some(Part::Load)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analyse, fixture};

    #[test]
    fn a_program_is_named_once_with_what_it_is_to_whom() {
        let run = fixture::stations();
        let programs = analyse(&run, &fixture::trials(&run)).programs;
        let of = |path: &str| programs.iter().find(|program| program.path == path).unwrap();
        assert_eq!(of("/usr/sbin/hostapd").parts, [Part::Subject, Part::Others]);
        assert_eq!(of("/usr/bin/station-monitor").parts, [Part::Load]);
        assert_eq!(of("/usr/bin/stationd").variants.len(), 6);
    }
}
