//! Small stacked bars: subject and load of every cell, apart and summed, as a table with pictures.
//!
//! A table, so that it is read aloud, copied and printed as one; the bar's length is against the largest
//! cell of the run.

use analysis::{Analysis, Cell, Estimate, quantity::Unit};
use askama::Template;

use crate::{marks, table::fill_numbers};

/// One bar.
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
    subject: String,
    load: String,
    sum: String,
    share: String,
}

/// The table.
#[derive(Template)]
#[template(path = "bars.html")]
pub(crate) struct Bars {
    unit: &'static str,
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
            cells.iter().filter_map(|cell| bar(analysis, cell, (unit, largest))).collect();
        fill_numbers(bars.iter_mut().map(|bar| &mut bar.subject).collect());
        fill_numbers(bars.iter_mut().map(|bar| &mut bar.load).collect());
        fill_numbers(bars.iter_mut().map(|bar| &mut bar.sum).collect());
        fill_numbers(bars.iter_mut().map(|bar| &mut bar.share).collect());
        let mut above = None;
        for bar in &mut bars {
            bar.first = above.replace(bar.clients) != Some(bar.clients);
        }
        Self { unit: unit.name, bars }
    }

    /// Whether there is nothing to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.bars.is_empty()
    }
}

fn bar(analysis: &Analysis, cell: &Cell, (unit, largest): (Unit, f64)) -> Option<Bar> {
    let sum = cell.cpu.sum?;
    let style = analysis.curves.iter().position(|curve| curve.variant == cell.variant)?;
    let length = |part: Option<Estimate>| {
        let mean = part.map_or(0.0, |part| part.mean);
        format!("{:.2}", if largest > 0.0 { mean / largest * 100.0 } else { 0.0 })
    };
    let figure = |part: Option<Estimate>| {
        part.map_or(analysis::quantity::ABSENT.to_owned(), |part| unit.mean(&part))
    };
    Some(Bar {
        clients: cell.clients,
        first: false,
        variant: cell.variant.clone(),
        class: marks::class(style),
        shape: marks::shape(style),
        subject_percent: length(cell.cpu.subject),
        load_percent: length(cell.cpu.load),
        subject: figure(cell.cpu.subject),
        load: figure(cell.cpu.load),
        sum: figure(cell.cpu.sum),
        share: analysis::quantity::percent_of_core(&sum),
    })
}
