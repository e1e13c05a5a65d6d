//! The tables of a study of many variants: side by side at the largest count, and against their bases.
//!
//! Reads [`analysis::Stages`], gives [`Table`]s.

use analysis::{
    Analysis, Comparison, Estimate, Stage,
    quantity::{ABSENT, Unit},
};
use model::plural::count;

use crate::{
    table::{
        Kind::{Head, Number, Quiet, Text},
        Table,
    },
    tables::{bracket, mean, other, unit_of},
};

/// Each variant at the largest count; without rows where the study is none of stages.
pub(crate) fn stages(analysis: &Analysis) -> Table {
    let stages = &analysis.stages;
    let name = format!("{}/s", unit_of(analysis).name);
    let caption = format!("Side by side at {}", count(stages.clients, "client"));
    let published = stages.rows.iter().any(|row| row.published.is_some());
    let mut columns = vec![(Head, "variant", ""), (Text, "process", "the subject")];
    columns.extend([(Number, "subject", &*name), (Quiet, "95 % interval", &name)]);
    columns.push((Number, "load", &name));
    columns.extend(analysis.others.iter().map(|other| (Number, &**other, &*name)));
    columns.extend([(Number, "sum", &*name), (Quiet, "95 % interval", &name)]);
    columns.push((Number, "subject", "% of a core"));
    columns.push((Number, "sum", "% of a core"));
    columns.extend(published.then_some((Quiet, "published", "% of another core")));
    let mut table = Table::new(&caption, &columns);
    for row in stages.rows.iter().filter(|row| stages.asked && row.cpu.subject.is_some()) {
        table.push(stage_row(analysis, row, published));
    }
    table
}

fn stage_row(analysis: &Analysis, row: &Stage, published: bool) -> Vec<String> {
    let unit = unit_of(analysis);
    let (subject, sum) = (row.cpu.subject.as_ref(), row.cpu.sum.as_ref());
    let mut cells = vec![row.variant.clone(), row.subject.clone()];
    cells.extend([mean(unit, subject), bracket(unit, subject), mean(unit, row.cpu.load.as_ref())]);
    cells.extend(analysis.others.iter().map(|name| other(unit, &row.others, name)));
    cells.extend([mean(unit, sum), bracket(unit, sum)]);
    cells.extend([mean(Unit::CORE, subject), mean(Unit::CORE, sum)]);
    let elsewhere = row
        .published
        .as_ref()
        .map(|one| format!("{} at {}", one.percent_of_core, count(one.clients, "client")));
    cells.extend(published.then(|| elsewhere.unwrap_or(ABSENT.to_owned())));
    cells
}

/// Each variant against each of its bases at the largest count.
pub(crate) fn bases(analysis: &Analysis) -> Table {
    bases_of(analysis, true)
}

/// The same without names of processes, for a terminal; [`whose`] has them.
pub(crate) fn bases_short(analysis: &Analysis) -> Table {
    bases_of(analysis, false)
}

fn bases_of(analysis: &Analysis, whole: bool) -> Table {
    let stages = &analysis.stages;
    let caption = format!("Times what the base takes, at {}", count(stages.clients, "client"));
    let mut columns = vec![(Head, "variant", ""), (Text, "base", "")];
    columns.extend(whole.then_some((Text, "subjects", "")));
    columns.extend([(Number, "subject", "×"), (Quiet, "95 % interval", "")]);
    columns.extend([(Number, "sum", "×"), (Quiet, "95 % interval", "")]);
    let mut table = Table::new(&caption, &columns);
    let rows = stages.rows.iter().filter(|_| stages.asked);
    for each in rows.flat_map(|row| &row.against) {
        let mut cells = vec![each.variant.clone(), each.base.clone()];
        cells.extend(whole.then(|| processes(each)));
        let sum = each.sum.as_ref().and_then(|sum| sum.ratio.as_ref());
        cells.extend(times(each.subject.ratio.as_ref()));
        cells.extend(times(sum));
        table.push(cells);
    }
    table
}

fn times(ratio: Option<&Estimate>) -> [String; 2] {
    [mean(Unit::ONE, ratio), bracket(Unit::ONE, ratio)]
}

fn processes(each: &Comparison) -> String {
    if each.same_subject() {
        return each.variant_subject.clone();
    }
    format!("{} alongside {}", each.variant_subject, each.base_subject)
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
    let mut sources: Vec<&str> = Vec::new();
    for published in analysis.stages.rows.iter().filter_map(|row| row.published.as_ref()) {
        if !sources.contains(&&*published.source) {
            sources.push(&published.source);
        }
    }
    (!sources.is_empty()).then(|| sources.join("; "))
}
