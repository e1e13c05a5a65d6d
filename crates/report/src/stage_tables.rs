//! The table of a study of many variants against their bases at the largest count, and what belongs to it.
//!
//! Reads [`analysis::Stages`], gives [`Table`]s.

use analysis::{
    Analysis, Comparison, Stage,
    quantity::{ABSENT, Unit},
};
use model::plural::count;

use crate::{prose::once, table::Table};

/// Each variant against each of its bases at the largest count. On a terminal [`whose`] has the names of processes.
pub(crate) fn bases(analysis: &Analysis, is_terminal: bool) -> Table {
    let stages = &analysis.stages;
    let caption = format!("Times what the base takes, at {}", count(stages.clients, "client"));
    let rows = stages.rows.iter().filter(|_| stages.asked).flat_map(|row| &row.against);
    let mut rows = Table::of(&caption, rows).head("variant", "", |each| each.variant.clone()).text(
        "base",
        "",
        |each| each.base.clone(),
    );
    if !is_terminal {
        rows = rows.text("subjects", "", |each| processes(each));
    }
    rows = rows.estimate(["subject", "×"], Unit::ONE, |each| each.subject.ratio);
    if stages.rows.iter().any(|row| left_elsewhere(row).is_some()) {
        rows = rows.quiet("published", "×", |each| {
            let left = stages.rows.iter().find_map(|row| left_by(row, each));
            left.map_or(ABSENT.to_owned(), |left| format!("{left:.3}"))
        });
    }
    rows.estimate(["sum", "×"], Unit::ONE, |each| each.sum.as_ref()?.ratio).table()
}

/// How much a change left elsewhere: it is of the variant and the stage before, which is its first base.
fn left_elsewhere(row: &Stage) -> Option<f64> {
    row.published.as_ref()?.left()
}

fn left_by(row: &Stage, each: &Comparison) -> Option<f64> {
    let is_first = row.against.first().is_some_and(|first| first == each);
    left_elsewhere(row).filter(|_| is_first)
}

fn processes(each: &Comparison) -> String {
    if each.same_subject() {
        return each.variant_subject.clone();
    }
    format!("{} against {}", each.variant_subject, each.base_subject)
}

/// Which process is the subject of which variants, as a sentence; `None` where it is the same in all.
pub(crate) fn whose(analysis: &Analysis) -> Option<String> {
    let mut subjects: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in &analysis.stages.rows {
        match subjects.iter_mut().find(|(subject, _)| *subject == row.subject) {
            Some((_, variants)) => variants.push(&row.variant),
            None => subjects.push((&row.subject, vec![&row.variant])),
        }
    }
    let each = subjects.iter().map(|(subject, of)| format!("{subject} in {}", of.join(", ")));
    (subjects.len() > 1).then(|| format!("The subject is {}.", each.collect::<Vec<_>>().join("; ")))
}

/// Where published figures come from, each source once; `None` where nothing was published.
pub(crate) fn sources(analysis: &Analysis) -> Option<String> {
    let published = analysis.stages.rows.iter().filter_map(|row| row.published.as_ref());
    let sources = once(published.map(|published| &*published.source));
    (!sources.is_empty()).then(|| sources.join("; "))
}

#[cfg(test)]
mod tests {
    use analysis::{analyse, fixture};

    use super::*;

    #[test]
    fn what_a_published_change_left_has_its_own_column_at_the_first_base_alone() {
        let mut run = fixture::stations();
        let trials = fixture::trials(&run);
        let columns = |run| bases(&analyse(run, &trials), false).columns.len();
        let without = columns(&run);
        run.study.variants[2].published.as_mut().unwrap().before = Some(43.95);
        let table = bases(&analyse(&run, &trials), false);
        assert_eq!(table.columns.len(), without + 1);
        let left = |base: &str| {
            let is = |cells: &&Vec<String>| cells[0] == "write-on-change" && cells[1] == base;
            table.rows.iter().map(|row| &row.cells).find(is).unwrap()[5].clone()
        };
        assert_eq!((left("trace-gate").as_str(), left("found").as_str()), ("0.648", ABSENT));
        let summary = crate::tables::summary(&analyse(&run, &trials), false).plain();
        assert!(summary.contains("43.95 → 28.5 at 114 clients"), "{summary}");
    }
}
