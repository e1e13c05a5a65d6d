//! The variants that work, side by side at the largest client count: what each costs, in whom, and against
//! which other one.
//!
//! Gathers what cells and comparisons already hold, ready for one table and one picture; it estimates
//! nothing. Shown where a study compares many ways to do one thing.

use model::study::{Mode, Variant};
use serde::Serialize;

use crate::{
    cells::{Cell, Other, Parts},
    compare::Comparison,
    cures::{self, Cures},
    measured::Measured,
    stats::Estimate,
};

/// Up to so many working variants, a study is reported variant by variant.
const LISTED_ONE_BY_ONE: usize = 4;

/// The variants that work, at one client count.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stages {
    /// Whether the study is one of stages: many variants, or such that name their bases, bring a subject
    /// of their own, or have a published figure alongside them.
    pub asked: bool,
    /// The largest client count at which a working variant has a valid trial; 0 where there is none.
    pub clients: u32,
    /// One row a variant, in the study's order.
    pub rows: Vec<Stage>,
    /// The way from the first variant to what came of it.
    pub cures: Option<Cures>,
}

/// One variant at the largest client count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    pub variant: String,
    pub mode: Mode,
    pub subject: String,
    /// CPU, µs/s.
    pub cpu: Parts,
    /// Other processes, one by one, µs/s.
    pub others: Vec<Other>,
    pub against: Vec<Comparison>,
    /// What somebody else published of the same thing, where this run has the same client count.
    pub published: Option<Elsewhere>,
}

/// A published figure, and ours of the subject alone at the same count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Elsewhere {
    pub clients: u32,
    /// Share of a core that is not ours, %.
    pub percent_of_core: f64,
    /// The same before the variant's change, where that was published too, %.
    pub before: Option<f64>,
    /// Where it was measured and what is different there.
    pub source: String,
    /// The subject here at the same count, µs/s.
    pub here: Estimate,
}

impl Elsewhere {
    /// How much of the subject's CPU the change left there.
    pub fn left(&self) -> Option<f64> {
        self.before.filter(|before| *before > 0.0).map(|before| self.percent_of_core / before)
    }
}

impl Stages {
    /// The dearest and the cheapest variant by the sum, of those that have one.
    pub(crate) fn extremes(&self) -> Option<(&Stage, &Stage)> {
        let with_sum = || self.rows.iter().filter_map(|row| Some((row, row.cpu.sum?.mean)));
        let dearest = with_sum().max_by(|a, b| a.1.total_cmp(&b.1))?.0;
        let cheapest = with_sum().min_by(|a, b| a.1.total_cmp(&b.1))?.0;
        Some((dearest, cheapest))
    }
}

/// The stages of a run; a study of the lab itself has none to show.
pub(crate) fn of(
    measured: &Measured,
    cells: &[Cell],
    comparisons: &[Comparison],
    lab_asked: bool,
) -> Stages {
    let variants: Vec<_> =
        measured.variants().iter().filter(|variant| !measured.is_idle(variant)).collect();
    let works = |cell: &&Cell| !cell.idle && cell.valid > 0;
    let clients = cells.iter().filter(works).map(|cell| cell.clients).max().unwrap_or(0);
    let rows = variants.iter().map(|variant| stage(measured, cells, variant, clients));
    let mut rows: Vec<_> = rows.collect();
    for row in &mut rows {
        let of_row = |each: &&Comparison| each.variant == row.variant && each.clients == clients;
        row.against = comparisons.iter().filter(of_row).cloned().collect();
    }
    Stages {
        asked: !lab_asked
            && (variants.len() > LISTED_ONE_BY_ONE
                || variants.iter().any(|variant| is_stage(variant))),
        clients,
        rows,
        cures: cures::of(measured, cells, clients),
    }
}

fn is_stage(variant: &Variant) -> bool {
    !variant.against.is_empty() || variant.subject.is_some() || variant.published.is_some()
}

fn stage(measured: &Measured, cells: &[Cell], variant: &Variant, clients: u32) -> Stage {
    let cell = |clients: u32| {
        cells.iter().find(|cell| cell.variant == variant.name && cell.clients == clients)
    };
    let here = cell(clients);
    Stage {
        variant: variant.name.to_string(),
        mode: measured.mode(variant),
        subject: measured.run.study.subject_of(variant).process.clone(),
        cpu: here.map(|cell| cell.cpu).unwrap_or_default(),
        others: here.map(|cell| cell.others.clone()).unwrap_or_default(),
        against: Vec::new(),
        // Figures of two client counts do not stand alongside each other.
        published: variant.published.as_ref().and_then(|published| {
            Some(Elsewhere {
                clients: published.clients,
                percent_of_core: published.percent_of_core,
                before: published.before,
                source: published.source.clone(),
                here: cell(published.clients)?.cpu.subject?,
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use crate::{analyse, fixture};

    #[test]
    fn a_study_of_stages_is_distinguished_from_one_of_two_loads() {
        let (stations, scale) = (fixture::stations(), fixture::run());
        let check = fixture::self_check();
        assert!(!analyse(&check, &fixture::trials(&check)).stages.asked);
        assert!(analyse(&stations, &fixture::trials(&stations)).stages.asked);
        assert!(!analyse(&scale, &fixture::trials(&scale)).stages.asked);
    }

    #[test]
    fn a_stage_holds_everybody_its_bases_and_what_was_published() {
        let run = fixture::stations();
        let stages = analyse(&run, &fixture::trials(&run)).stages;
        assert_eq!((stages.clients, stages.rows.len()), (114, 10));
        let row = |name: &str| stages.rows.iter().find(|row| row.variant == name).unwrap();
        let found = row("found");
        let [subject, load, others, sum] =
            [found.cpu.subject, found.cpu.load, found.cpu.others, found.cpu.sum]
                .map(|part| part.unwrap().mean);
        assert!((subject + load + others - sum).abs() < 1e-6);
        assert_eq!(Some(found.published.as_ref().unwrap().here), found.cpu.subject);
        let last = &row("slower-cadence").against;
        let bases: Vec<_> = last.iter().map(|each| each.base.as_str()).collect();
        assert_eq!(bases, ["bulk", "found", "floor"]);
        assert_eq!([&*last[2].variant_subject, &*last[2].base_subject], ["stationd", "floor"]);
        let (dearest, cheapest) = stages.extremes().unwrap();
        assert_eq!([&*dearest.variant, &*cheapest.variant], ["found", "floor"]);
    }

    #[test]
    fn what_was_published_is_of_the_same_client_count_and_may_say_what_a_change_left() {
        let mut run = fixture::stations();
        let mut published = run.study.variants.iter_mut().filter_map(|one| one.published.as_mut());
        published.next().unwrap().clients += 1;
        published.next().unwrap().before = Some(43.95);
        let stages = analyse(&run, &fixture::trials(&run)).stages;
        assert_eq!(stages.rows[0].published, None);
        let left = |row: usize| stages.rows[row].published.as_ref().unwrap().left();
        assert_eq!((left(2), left(3)), (Some(28.5 / 43.95), None));
    }

    #[test]
    fn a_variant_of_one_client_count_has_one_cell_and_no_doubt_about_others() {
        let mut run = fixture::stations();
        run.study.variants[0].clients = vec![114];
        run.plan.retain(|one| one.id.variant != "found" || one.id.clients == 114);
        let analysis = analyse(&run, &fixture::trials(&run));
        let cells = analysis.cells.iter().filter(|cell| cell.variant == "found");
        assert_eq!(cells.map(|cell| (cell.clients, cell.valid)).collect::<Vec<_>>(), [(114, 6)]);
    }

    #[test]
    fn a_run_without_trials_has_stages_without_figures() {
        let stages = analyse(&fixture::stations(), &[]).stages;
        assert_eq!((stages.clients, stages.rows.len(), stages.extremes()), (0, 10, None));
    }
}
