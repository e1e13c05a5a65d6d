//! Small stacked bars: subject, load and other processes of every cell, apart and summed, as a table with
//! pictures.
//!
//! A table, so that it is read aloud, copied and printed as one; the bar's length is against the largest
//! cell of the run.

use analysis::{Analysis, Cell, Estimate, quantity::Unit};
use askama::Template;

use crate::{marks, table::fill_numbers, tables};

pub(crate) struct Bar {
    clients: u32,
    /// Whether this row opens a new client count.
    first: bool,
    variant: String,
    class: String,
    shape: &'static str,
    /// Lengths in per cent of the largest.
    subject_percent: String,
    load_percent: String,
    /// Where the other processes' part begins and ends; `None` without one.
    others_percent: Option<[String; 2]>,
    subject: String,
    load: String,
    others: Vec<String>,
    sum: String,
    share: String,
}

#[derive(Template)]
#[template(path = "bars.html")]
pub(crate) struct Bars {
    unit: &'static str,
    /// Whose CPU is summed, as words.
    summed: String,
    others: Vec<String>,
    bars: Vec<Bar>,
}

impl Bars {
    /// One bar for each cell that has a figure, by clients and then by variant.
    pub(crate) fn of(analysis: &Analysis, unit: Unit) -> Self {
        let sums = analysis.cells.iter().filter_map(|cell| cell.cpu.sum);
        let largest = sums.map(|sum| sum.mean).fold(0.0, f64::max);
        let mut cells: Vec<_> = analysis.cells.iter().filter(|cell| cell.valid > 0).collect();
        cells.sort_by_key(|cell| cell.clients);
        let mut bars: Vec<_> =
            cells.iter().filter_map(|cell| bar(analysis, cell, unit, largest)).collect();
        fill_numbers(bars.iter_mut().map(|bar| &mut bar.subject).collect());
        fill_numbers(bars.iter_mut().map(|bar| &mut bar.load).collect());
        fill_numbers(bars.iter_mut().map(|bar| &mut bar.sum).collect());
        fill_numbers(bars.iter_mut().map(|bar| &mut bar.share).collect());
        let mut above = None;
        for bar in &mut bars {
            bar.first = above.replace(bar.clients) != Some(bar.clients);
        }
        for at in 0..analysis.others.len() {
            fill_numbers(bars.iter_mut().filter_map(|bar| bar.others.get_mut(at)).collect());
        }
        let others = analysis.others.clone();
        Self { unit: unit.name, summed: tables::summed(analysis), others, bars }
    }

    /// Whether there is nothing to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.bars.is_empty()
    }
}

fn bar(analysis: &Analysis, cell: &Cell, unit: Unit, largest: f64) -> Option<Bar> {
    let sum = cell.cpu.sum?;
    let style = analysis.curves.iter().position(|curve| curve.variant == cell.variant)?;
    let mean = |part: Option<Estimate>| part.map_or(0.0, |part| part.mean);
    let percent =
        |value: f64| format!("{:.2}", if largest > 0.0 { value / largest * 100.0 } else { 0.0 });
    let before_others = mean(cell.cpu.subject) + mean(cell.cpu.load);
    let others = |others: Estimate| [before_others, before_others + others.mean].map(percent);
    let figure = |part: Option<Estimate>| {
        part.map_or(analysis::quantity::ABSENT.to_owned(), |part| unit.mean(&part))
    };
    Some(Bar {
        clients: cell.clients,
        first: false,
        variant: cell.variant.clone(),
        class: marks::class(style),
        shape: marks::shape(style),
        subject_percent: percent(mean(cell.cpu.subject)),
        load_percent: percent(mean(cell.cpu.load)),
        others_percent: cell.cpu.others.map(others),
        subject: figure(cell.cpu.subject),
        load: figure(cell.cpu.load),
        others: analysis
            .others
            .iter()
            .map(|name| tables::other(unit, &cell.others, name))
            .collect(),
        sum: figure(cell.cpu.sum),
        share: analysis::quantity::percent_of_core(&sum),
    })
}
