//! Second by second: one small picture for each cell, all repetitions in it.
//!
//! Pictures of one client count share their scale, so that they can be compared by eye.

use analysis::{Analysis, Cell, Step};
use askama::Template;

use crate::{marks, svg::Scale};

const WIDTH: f64 = 220.0;
const HEIGHT: f64 = 54.0;

/// One small picture.
pub(crate) struct Spark {
    variant: String,
    clients: u32,
    class: String,
    /// Its lines, as SVG.
    lines: String,
    /// What is at the top of the scale.
    top: String,
    from_to: String,
}

#[derive(Template)]
#[template(path = "sparks.html")]
pub(crate) struct Sparks {
    sparks: Vec<Spark>,
}

impl Sparks {
    /// One picture for each cell that has a series.
    pub(crate) fn of(analysis: &Analysis) -> Self {
        let with_steps = |cell: &&Cell| steps(cell).any(|step| step.sum.is_some());
        let cells = analysis.cells.iter().filter(with_steps);
        Self { sparks: cells.filter_map(|cell| spark(analysis, cell)).collect() }
    }

    /// Whether there is nothing to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.sparks.is_empty()
    }
}

fn steps(cell: &Cell) -> impl Iterator<Item = &Step> {
    cell.series.iter().flat_map(|series| &series.steps)
}

fn spark(analysis: &Analysis, cell: &Cell) -> Option<Spark> {
    let style = analysis.curves.iter().position(|curve| curve.variant == cell.variant)?;
    let largest = steps(cell).filter_map(|step| step.sum).fold(0.0, f64::max);
    let smallest = steps(cell).filter_map(|step| step.sum).fold(largest, f64::min);
    let end = steps(cell).map(|step| step.at_s).fold(0.0, f64::max);
    let x = Scale::new(0.0..end, 0.0..WIDTH);
    let y = Scale::new(0.0..largest * 1.08, HEIGHT..0.0);
    let lines = cell.series.iter().map(|series| line(&series.steps, x, y)).collect();
    let unit = analysis::quantity::cpu_unit(largest);
    Some(Spark {
        variant: cell.variant.clone(),
        clients: cell.clients,
        class: marks::class(style),
        lines,
        top: format!("{} {}/s", unit.plain(largest), unit.name),
        from_to: format!("{}–{} {}/s", unit.plain(smallest), unit.plain(largest), unit.name),
    })
}

/// A step is constant from its start to its end, so the line is a staircase.
fn line(steps: &[Step], x: Scale, y: Scale) -> String {
    let mut path = String::new();
    for (step, sum) in steps.iter().filter_map(|step| Some((step, step.sum?))) {
        let (from, to) = (x.at(step.at_s - step.length_s), x.at(step.at_s));
        let verb = if path.is_empty() { 'M' } else { 'L' };
        let height = y.at(sum);
        path.push_str(&format!("{verb}{from:.1} {height:.1}L{to:.1} {height:.1}"));
    }
    format!(r#"<path class="step" d="{path}"/>"#)
}
