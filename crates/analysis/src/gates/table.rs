//! The figures of a run of clients as one table.
//!
//! A cell's figures rest on all of its planned trials: where one is missing or not valid, the row says which, and has
//! no value.

use model::{
    figure::Figure,
    plural::count,
    study::Variant,
    trial::{Purpose, TrialId},
};

use super::{CellId, Evidence, memory::Memory};
use crate::{
    Part,
    figures::TrialFigures,
    metrics::{Absent, Measure, Metric, Point},
    profiles::{CountFigures, ProfileFigures},
};

/// Every figure, variant by variant.
pub(super) fn of(evidence: &Evidence) -> Vec<Metric> {
    let variants = evidence.run.study.variants.iter();
    variants
        .flat_map(|variant| {
            let cpu = rows(evidence, variant, Purpose::Cpu, of_cpu);
            let stacks = rows(evidence, variant, Purpose::Stacks, of_stacks);
            let counts = rows(evidence, variant, Purpose::Counts, of_counts);
            cpu.into_iter().chain(over_counts(evidence, variant)).chain(stacks).chain(counts)
        })
        .collect()
}

struct Here<'a> {
    evidence: &'a Evidence<'a>,
    variant: &'a Variant,
    cell: CellId<'a>,
    at: Point,
    fault: Option<Absent>,
}

impl Here<'_> {
    /// A figure of each valid CPU trial.
    fn each(&self, figure: Figure, of: impl Fn(&TrialFigures) -> Option<f64>) -> Option<Metric> {
        let values = self.evidence.values(self.cell, of);
        let row = Metric::of_values(&self.at, figure, values).unless(self.fault.clone());
        (row.estimate.is_some() || row.absent.is_some()).then_some(row)
    }
}

/// The rows of a variant's trials for one purpose, at every planned client count.
fn rows(
    evidence: &Evidence,
    variant: &Variant,
    purpose: Purpose,
    of: impl Fn(&Here) -> Vec<Metric>,
) -> Vec<Metric> {
    let ids = evidence.planned(purpose, &variant.name);
    let at = |clients: u32| {
        let cell: Vec<&TrialId> = ids.iter().copied().filter(|id| id.clients == clients).collect();
        let name = count(clients, "client");
        let places = vec![name.clone()];
        of(&Here {
            evidence,
            variant,
            cell: CellId { variant: &variant.name, clients },
            at: Point { name, places, clients: Some(clients), variant: variant.name.to_string() },
            fault: evidence.fault(&cell).map(Absent::Fault),
        })
    };
    Evidence::counts(&ids).into_iter().flat_map(at).collect()
}

fn of_cpu(here: &Here) -> Vec<Metric> {
    let parts =
        [(Figure::Cpu, Part::Subject), (Figure::Load, Part::Load), (Figure::Sum, Part::Sum)];
    let cpu = parts.map(|(figure, part)| here.each(figure, |trial| trial.part(part)));
    let memory = Memory::of(here.evidence, here.cell.variant);
    let end = here.each(Figure::Memory, |trial| memory.end(trial));
    let growth = here.each(Figure::MemoryGrowth, |trial| memory.growth_a_minute(trial));
    let both = [end, growth].map(|row| row.map(|row| row.because(Some(memory.words()))));
    cpu.into_iter().chain(both).flatten().collect()
}

fn of_stacks(here: &Here) -> Vec<Metric> {
    let is_here = |one: &&ProfileFigures| {
        one.variant == here.cell.variant && one.clients == Some(here.cell.clients)
    };
    let profile = here.evidence.analysis.profiles.iter().find(is_here);
    let samples = profile.map(|profile| (profile.unknown.unknown, profile.unknown.samples));
    let absent = match samples {
        None => Some(Absent::Fault(format!("there is no profile of {}", here.cell))),
        Some((_, 0)) => Some(Absent::Nothing(format!(
            "{} used no CPU that a sample met, so there is nothing to explain",
            here.cell
        ))),
        Some(_) => None,
    };
    let share = samples.map(|(unknown, all)| unknown as f64 / all.max(1) as f64);
    let words = samples.map(|(unknown, all)| {
        let all = count(all as u32, "sample");
        format!("{unknown} of {all} are not explained to their root")
    });
    let row = Metric::exact(&here.at, Figure::UnknownFrames, share).because(words);
    vec![row.unless(here.fault.clone().or(absent))]
}

fn of_counts(here: &Here) -> Vec<Metric> {
    let study = &here.evidence.run.study;
    if !study.counts_in(here.variant) {
        return Vec::new();
    }
    let functions = study.count.iter().flat_map(|count| &count.functions);
    let row = |name: &str| {
        let is_here =
            |one: &&CountFigures| here.cell.is(&one.variant, one.clients) && one.name == name;
        let found = here.evidence.analysis.counts.iter().find(is_here);
        let none = || Absent::Fault(format!("`{name}` in {} was not counted", here.cell));
        let absent = here.fault.clone().or_else(|| found.is_none().then(none));
        let rate = found.map(|found| found.per_second);
        Metric::named(&here.at, name, Measure::Rate, rate).unless(absent)
    };
    functions.map(|function| row(&function.name)).collect()
}

/// What a variant has over all client counts: slopes, and the steps between neighbouring counts.
fn over_counts(evidence: &Evidence, variant: &Variant) -> Vec<Metric> {
    let ids = evidence.planned(Purpose::Cpu, &variant.name);
    if ids.is_empty() {
        return Vec::new();
    }
    let fault = evidence.fault(&ids).map(Absent::Fault);
    let at = Point { variant: variant.name.to_string(), ..Point::default() };
    let memory = Memory::of(evidence, &variant.name);
    let memory = match memory.slopes(&variant.name) {
        Ok(slopes) => {
            Metric::of_values(&at, Figure::MemoryPerClient, slopes).because(Some(memory.words()))
        }
        Err(why) => {
            Metric::over(&at, Figure::MemoryPerClient, None).unless(Some(Absent::Fault(why)))
        }
    };
    let mut rows = vec![memory];
    let curve = evidence.analysis.curves.iter().find(|curve| variant.name == curve.variant);
    if let Some(curve) = curve {
        let slope = curve.slope(Part::Subject);
        let row = Metric::over(&at, Figure::Slope, slope.as_ref().map(|one| one.per_client));
        let why = curve.why_none.as_deref().unwrap_or("there is no line");
        let none = || Absent::Fault(format!("`{}` has no slope: {why}", variant.name));
        rows.push(row.unless(slope.is_none().then(none)));
        for step in slope.iter().flat_map(|slope| &slope.segments) {
            let name = format!("{} to {}", step.from, count(step.to, "client"));
            let at = Point { name, ..at.clone() };
            rows.push(Metric::over(&at, Figure::Step, Some(step.per_client)));
        }
    }
    rows.into_iter().map(|row| row.unless(fault.clone())).collect()
}
