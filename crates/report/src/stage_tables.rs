//! The tables of a study of many variants: side by side at the largest count, and against their bases.
//!
//! Reads [`analysis::Stages`], gives [`Table`]s.

use analysis::{
    Analysis, Comparison,
    quantity::{ABSENT, Unit},
};
use model::plural::count;

use crate::{
    table::Table,
    tables::{bracket, mean, other, unit_of},
};

/// Each variant at the largest count; without rows where the study is none of stages.
pub(crate) fn stages(analysis: &Analysis) -> Table {
    let stages = &analysis.stages;
    let unit = unit_of(analysis);
    let name = format!("{}/s", unit.name);
    let caption = format!("Side by side at {}", count(stages.clients, "client"));
    let rows = stages.rows.iter().filter(|row| stages.asked && row.cpu.subject.is_some());
    let mut rows = Table::of(&caption, rows)
        .head("variant", "", |row| row.variant.clone())
        .text("process", "the subject", |row| row.subject.clone())
        .number("subject", &name, |row| mean(unit, row.cpu.subject.as_ref()))
        .quiet("95 % interval", &name, |row| bracket(unit, row.cpu.subject.as_ref()))
        .number("load", &name, |row| mean(unit, row.cpu.load.as_ref()));
    for process in &analysis.others {
        rows = rows.number(process, &name, |row| other(unit, &row.others, process));
    }
    rows = rows
        .number("sum", &name, |row| mean(unit, row.cpu.sum.as_ref()))
        .quiet("95 % interval", &name, |row| bracket(unit, row.cpu.sum.as_ref()))
        .number("subject", "% of a core", |row| mean(Unit::CORE, row.cpu.subject.as_ref()))
        .number("sum", "% of a core", |row| mean(Unit::CORE, row.cpu.sum.as_ref()));
    if stages.rows.iter().any(|row| row.published.is_some()) {
        rows = rows.quiet("published", "% of another core", |row| {
            row.published.as_ref().map_or(ABSENT.to_owned(), |one| {
                format!("{} at {}", one.percent_of_core, count(one.clients, "client"))
            })
        });
    }
    rows.table()
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
    let sum = |each: &Comparison| each.sum.as_ref().and_then(|sum| sum.ratio);
    let rows = stages.rows.iter().filter(|_| stages.asked).flat_map(|row| &row.against);
    let mut rows = Table::of(&caption, rows).head("variant", "", |each| each.variant.clone()).text(
        "base",
        "",
        |each| each.base.clone(),
    );
    if whole {
        rows = rows.text("subjects", "", |each| processes(each));
    }
    rows.number("subject", "×", |each| mean(Unit::ONE, each.subject.ratio.as_ref()))
        .quiet("95 % interval", "", |each| bracket(Unit::ONE, each.subject.ratio.as_ref()))
        .number("sum", "×", |each| mean(Unit::ONE, sum(each).as_ref()))
        .quiet("95 % interval", "", |each| bracket(Unit::ONE, sum(each).as_ref()))
        .table()
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
