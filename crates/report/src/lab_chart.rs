//! The lab's repeatability in one picture: spread and shift of every row, on a scale of decades.
//!
//! Decades, because counted and real-time trials lie four powers of ten apart, and that distance is the
//! point of the picture.

use analysis::{Analysis, Row, quantity};

use crate::svg::{Scale, escape};

const WIDTH: f64 = 1040.0;
const LEFT: f64 = 210.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 40.0;
const ROW: f64 = 34.0;
/// Smallest and largest decade of the scale, as powers of ten of a share: 0.0001 % to 100 %.
const DECADES: (i32, i32) = (-6, 0);

/// The picture; empty where the study does not ask about the lab.
pub(crate) fn draw(analysis: &Analysis) -> String {
    let lab = &analysis.lab;
    if !lab.asked || lab.rows.is_empty() {
        return String::new();
    }
    let height = TOP + ROW * lab.rows.len() as f64 + 26.0;
    let rows: String = lab.rows.iter().enumerate().map(|(at, row)| draw_row(at, row)).collect();
    format!(
        r#"<svg class="chart lab" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="lc-t lc-d"><title id="lc-t">Spread and shift of the CPU figure</title><desc id="lc-d">{}</desc>{}{rows}</svg>"#,
        escape(&description(&lab.rows)),
        grid(height - 26.0)
    )
}

fn description(rows: &[Row]) -> String {
    let row = |row: &Row| {
        let cv = row.sum.cv.map_or("unknown".to_owned(), quantity::percent);
        let shift =
            row.shift.map_or("none".to_owned(), |shift| quantity::signed_percent(shift.mean));
        format!("{}: spread {cv}, shift {shift}", row.variant)
    };
    rows.iter().map(row).collect::<Vec<_>>().join("; ")
}

/// The place of a share; below the scale is its left edge.
fn place(share: f64) -> f64 {
    let (low, high) = (f64::from(DECADES.0), f64::from(DECADES.1));
    let decade = share.abs().log10().clamp(low, high);
    Scale::new(low..high, LEFT..WIDTH - RIGHT).at(decade)
}

fn grid(bottom: f64) -> String {
    let line = |decade: i32| {
        let x = place(10f64.powi(decade));
        let percent = 10f64.powi(decade + 2);
        format!(
            r#"<line class="grid" x1="{x:.1}" x2="{x:.1}" y1="{:.1}" y2="{bottom}"/><text class="tick mid" x="{x:.1}" y="{:.1}">{percent} %</text>"#,
            TOP - 12.0,
            bottom + 16.0
        )
    };
    let lines: String = (DECADES.0..=DECADES.1).map(line).collect();
    let key = format!(
        r#"<g class="s0"><circle class="mark" cx="{:.1}" cy="12" r="4.5"/></g><text class="axis" x="{:.1}" y="16">spread (coefficient of variation)</text><g class="s1"><path class="mark" transform="translate({:.1} 12)" d="M0 -5.6L5 0L0 5.6L-5 0z"/></g><text class="axis" x="{:.1}" y="16">shift of the mean, either way</text>"#,
        LEFT,
        LEFT + 12.0,
        LEFT + 250.0,
        LEFT + 262.0
    );
    lines + &key
}

fn draw_row(at: usize, row: &Row) -> String {
    let y = TOP + ROW * (at as f64 + 0.5);
    let spread = row.sum.cv.map_or(String::new(), |cv| {
        format!(
            r#"<g class="s0"><title>spread {}</title><circle class="mark" cx="{:.1}" cy="{y:.1}" r="4.5"/></g>"#,
            quantity::percent(cv),
            place(cv)
        )
    });
    let shift = row.shift.map_or(String::new(), |shift| {
        format!(
            r#"<g class="s1"><title>shift {}</title><path class="mark" transform="translate({:.1} {y:.1})" d="M0 -5.6L5 0L0 5.6L-5 0z"/></g>"#,
            quantity::signed_percent(shift.mean),
            place(shift.mean)
        )
    });
    format!(
        r#"<line class="grid" x1="{LEFT}" x2="{:.1}" y1="{y:.1}" y2="{y:.1}"/><text class="name end" x="{:.1}" y="{:.1}">{}</text>{spread}{shift}{}"#,
        WIDTH - RIGHT,
        LEFT - 14.0,
        y + 4.0,
        escape(&row.variant),
        exact(row, y)
    )
}

fn exact(row: &Row, y: f64) -> String {
    if !row.bit_exact {
        return String::new();
    }
    format!(r#"<text class="figure" x="{:.1}" y="{:.1}">0: bit-exact</text>"#, LEFT + 10.0, y - 5.0)
}
