//! The way from what a study found to what came of it: each variant against the one before, the last against the
//! first.
//!
//! Follows the bases that variants name; it estimates nothing itself. The last is the variant that changes nothing of
//! the study's own subject and load, which is the subject as anyone gets it; where there is none, the cheapest.

use model::study::Variant;
use serde::Serialize;

use crate::{
    cells::Cell,
    compare::{self, Comparison},
    measured::Measured,
};

/// A chain of variants, the first of the study at its beginning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cures {
    /// The last against the first.
    pub whole: Comparison,
    /// Each against the one before, in their order.
    pub steps: Vec<Comparison>,
}

impl Cures {
    /// The step that takes most away; `None` where none takes anything.
    pub fn largest(&self) -> Option<&Comparison> {
        let gain = |step: &Comparison| -step.all().difference.mean;
        let gains = self.steps.iter().filter(|step| gain(step) > 0.0);
        gains.max_by(|one, other| gain(one).total_cmp(&gain(other)))
    }
}

/// The chain at this count; `None` where no variant leads back to the first, or one has no figure.
pub(crate) fn of(measured: &Measured, cells: &[Cell], clients: u32) -> Option<Cures> {
    let ways = || measured.variants().iter().filter_map(|last| way(measured, last));
    let usual = ways().find(|way| way.last().is_some_and(|last| is_usual(last)));
    let cost = |way: &Vec<&Variant>| {
        let name = &way.last()?.name;
        let cell = cells.iter().find(|cell| cell.variant == *name && cell.clients == clients)?;
        Some(cell.cpu.sum?.mean)
    };
    let cheapest = || {
        let priced = ways().filter_map(|way| Some((cost(&way)?, way)));
        priced.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, way)| way)
    };
    let way = usual.or_else(cheapest)?;
    let against = |base, variant| compare::comparison(measured, [base, variant], clients);
    let steps: Option<Vec<_>> = way.windows(2).map(|pair| against(pair[0], pair[1])).collect();
    Some(Cures { whole: against(*way.first()?, *way.last()?)?, steps: steps? })
}

/// Whether a variant is the study's own subject and load, unchanged.
fn is_usual(variant: &Variant) -> bool {
    variant.subject.is_none() && variant.load.is_none() && variant.background.is_none()
}

/// The variants from the study's first to this one; `None` where its bases do not lead there.
fn way<'a>(measured: &Measured<'a>, last: &'a Variant) -> Option<Vec<&'a Variant>> {
    let variants = measured.variants();
    let first = variants.first()?;
    let mut way = vec![last];
    while way.len() <= variants.len() {
        let variant = *way.last()?;
        if variant.name == first.name {
            way.reverse();
            return Some(way).filter(|way| way.len() > 1);
        }
        way.push(base_of(measured, variant)?);
    }
    None
}

/// The first base of a variant that runs the same process in the same mode.
fn base_of<'a>(measured: &Measured<'a>, variant: &Variant) -> Option<&'a Variant> {
    let process = |one| &measured.run.study.subject_of(one).process;
    let mut named = compare::named_pairs(measured).into_iter();
    named.find_map(|[base, one]| {
        (one.name == variant.name && process(base) == process(variant)).then_some(base)
    })
}

#[cfg(test)]
mod tests {
    use crate::{analyse, fixture};

    #[test]
    fn the_chain_goes_from_the_first_variant_to_the_cheapest_that_leads_back_to_it() {
        let run = fixture::stations();
        let cures = analyse(&run, &fixture::trials(&run)).stages.cures.unwrap();
        let steps: Vec<_> = cures.steps.iter().map(|step| step.variant.as_str()).collect();
        assert_eq!(steps, ["trace-gate", "write-on-change", "brief", "bulk", "slower-cadence"]);
        assert_eq!((&*cures.whole.base, &*cures.whole.variant), ("found", "slower-cadence"));
        let gained: f64 = cures.steps.iter().map(|step| step.all().difference.mean).sum();
        assert!((gained - cures.whole.all().difference.mean).abs() < 1e-6, "the steps add up");
        assert_eq!(cures.largest().unwrap().variant, "bulk");
    }

    #[test]
    fn a_variant_that_changes_nothing_of_the_studys_own_is_where_the_chain_ends() {
        let mut run = fixture::stations();
        let bulk = run.study.variants[4].clone();
        run.study.subject = bulk.subject;
        run.study.variants[4].subject = None;
        run.study.variants[4].load = None;
        let cures = analyse(&run, &fixture::trials(&run)).stages.cures.unwrap();
        assert_eq!((cures.whole.variant.as_str(), cures.steps.len()), ("bulk", 4));
    }

    #[test]
    fn bases_that_lead_in_a_circle_or_nowhere_are_no_chain() {
        let mut run = fixture::stations();
        for variant in &mut run.study.variants {
            variant.against = vec!["bulk".to_owned()];
        }
        run.study.variants[4].against = vec!["brief".to_owned()];
        assert_eq!(analyse(&run, &fixture::trials(&run)).stages.cures, None);
        let scale = fixture::run();
        assert_eq!(analyse(&scale, &fixture::trials(&scale)).stages.cures, None);
    }
}
