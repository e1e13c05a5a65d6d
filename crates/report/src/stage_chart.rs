//! Every variant at the largest client count as one bar: subject, load and other processes, stacked.
//!
//! The bar's parts differ in their filling, not only in colour: full, pale, striped. Alongside it stand its
//! figure, how many times its base that is, and what others published, which is of another core and
//! therefore no mark on our scale.

use std::ops::Range;

use analysis::{Analysis, Estimate, Stage, core_of, quantity};
use model::plural::count;
use model::run::Run;

use crate::{
    marks,
    svg::{Scale, escape},
    tables::summed,
};

/// Where things stand in one size of the picture, in its pixels.
struct Frame {
    width: f64,
    row: f64,
    /// Height above the rows.
    top: f64,
    /// The bars' left edge, and the right edge of the largest.
    bar: Range<f64>,
    /// From a row's top to its bar's.
    bar_top: f64,
    bar_height: f64,
}

const WIDE: Frame = Frame {
    width: 1040.0,
    row: 27.0,
    top: 48.0,
    bar: 150.0..560.0,
    bar_top: 5.0,
    bar_height: 15.0,
};
/// For a telephone: words stand above and below the bar instead of alongside it.
const NARROW: Frame =
    Frame { width: 344.0, row: 58.0, top: 30.0, bar: 0.0..344.0, bar_top: 19.0, bar_height: 12.0 };

/// Where the columns of the wide picture begin; the last one ends at the right edge.
const RATIO_AT: f64 = 742.0;

/// Both sizes of the picture; the style sheet shows the one that fits. Empty where the study is none of
/// stages, or has no figure.
pub(crate) fn draw(analysis: &Analysis) -> String {
    let stages = &analysis.stages;
    let rows: Vec<_> = stages.rows.iter().filter_map(|row| Some((row, row.cpu.sum?))).collect();
    let largest = rows.iter().map(|(_, sum)| sum.mean).fold(0.0, f64::max);
    if !stages.asked || largest <= 0.0 {
        return String::new();
    }
    let chart = |frame: Frame, size| {
        let x = Scale::new(0.0..largest, frame.bar.clone());
        Chart { analysis, x, frame, size }.draw(&rows)
    };
    chart(WIDE, "wide") + &chart(NARROW, "narrow")
}

struct Chart<'a> {
    analysis: &'a Analysis,
    frame: Frame,
    /// From µs/s to a place.
    x: Scale,
    size: &'static str,
}

impl Chart<'_> {
    fn is_narrow(&self) -> bool {
        self.frame.width < 600.0
    }

    fn draw(&self, rows: &[(&Stage, Estimate)]) -> String {
        let (width, size) = (self.frame.width, self.size);
        let height = self.frame.top + self.frame.row * rows.len() as f64 + 6.0;
        let drawn: String =
            rows.iter().enumerate().map(|(at, (row, sum))| self.row(at, row, sum)).collect();
        format!(
            r#"<svg class="chart {size}" viewBox="0 0 {width} {height}" role="img" aria-labelledby="st-t-{size} st-d-{size}"><title id="st-t-{size}">Every variant at {} clients</title><desc id="st-d-{size}">{}</desc>{}{drawn}</svg>"#,
            self.analysis.stages.clients,
            escape(&description(rows)),
            self.heads(rows),
        )
    }

    /// What the fillings mean, and what stands in the columns.
    fn heads(&self, rows: &[(&Stage, Estimate)]) -> String {
        let others = self.analysis.others.join(", ");
        let has_others = rows.iter().any(|(row, _)| row.cpu.others.is_some());
        let left = self.frame.bar.start;
        let mut keys = key(left, "subject", "subject") + &key(left + 74.0, "load", "load");
        if has_others {
            keys += &key(left + 126.0, "others", &others);
        }
        if self.is_narrow() {
            return keys;
        }
        let y = self.frame.top - 10.0;
        let published = rows.iter().any(|(row, _)| row.published.is_some());
        let published = if published {
            format!(
                r#"<text class="axis end" x="{0}" y="{1:.1}">published, of</text><text class="axis end" x="{0}" y="{y:.1}">another core</text>"#,
                self.frame.width,
                y - 15.0
            )
        } else {
            String::new()
        };
        format!(
            r#"{keys}<text class="axis" x="{RATIO_AT}" y="{y:.1}">all together, times the base</text>{published}"#
        )
    }

    fn row(&self, at: usize, row: &Stage, sum: &Estimate) -> String {
        let top = self.frame.top + self.frame.row * at as f64;
        let style = self.analysis.curves.iter().position(|curve| curve.variant == row.variant);
        let style = style.unwrap_or(at);
        let words = if self.is_narrow() {
            self.around(row, sum, top)
        } else {
            self.alongside(row, sum, top)
        };
        let glyph_x = if self.is_narrow() { 6.0 } else { self.frame.bar.start - 14.0 };
        let glyph_y = if self.is_narrow() { top + 9.0 } else { top + 12.0 };
        format!(
            r#"<g class="{}">{}{}{words}</g>"#,
            marks::class(style),
            marks::marker(style, glyph_x, glyph_y),
            self.bar(row, top),
        )
    }

    /// The stack, from the subject outwards.
    fn bar(&self, row: &Stage, top: f64) -> String {
        let (y, height) = (top + self.frame.bar_top, self.frame.bar_height);
        let mut from = 0.0;
        let mut drawn = String::new();
        let parts =
            [("subject", row.cpu.subject), ("load", row.cpu.load), ("others", row.cpu.others)];
        for (part, cpu) in parts {
            let to = from + cpu.map_or(0.0, |cpu| cpu.mean);
            drawn += &filled(part, self.x.at(from)..self.x.at(to), y, height);
            from = to;
        }
        let whisker = row.cpu.sum.and_then(|sum| sum.interval).map(|interval| {
            let (low, high) = (self.x.at(interval.low), self.x.at(interval.high));
            let middle = y + height / 2.0;
            format!(
                r#"<path class="whisker" d="M{low:.1} {:.1}v6m0 -3H{high:.1}m0 -3v6"/>"#,
                middle - 3.0
            )
        });
        drawn + &whisker.unwrap_or_default()
    }

    fn alongside(&self, row: &Stage, sum: &Estimate, top: f64) -> String {
        let y = top + 16.5;
        let published = published(row).map(|percent| {
            format!(
                r#"<text class="name end" x="{}" y="{y:.1}">{percent} %</text>"#,
                self.frame.width
            )
        });
        format!(
            r#"<text class="name end" x="{:.1}" y="{y:.1}">{}</text><text class="figure" x="{:.1}" y="{y:.1}">{}</text><text class="figure" x="{RATIO_AT}" y="{y:.1}">{}</text>{}"#,
            self.frame.bar.start - 26.0,
            escape(&row.variant),
            self.x.at(sum.mean) + 9.0,
            figure(sum),
            escape(&ratio(row).unwrap_or_default()),
            published.unwrap_or_default()
        )
    }

    fn around(&self, row: &Stage, sum: &Estimate, top: f64) -> String {
        let published = published(row).map(|percent| {
            format!(
                r#"<text class="figure end" x="{}" y="{:.1}">published {percent} %</text>"#,
                self.frame.width,
                top + 44.0
            )
        });
        format!(
            r#"<text class="name" x="16" y="{0:.1}">{1}</text><text class="figure end" x="{2}" y="{0:.1}">{3}</text><text class="figure" x="0" y="{4:.1}">{5}</text>{6}"#,
            top + 13.0,
            escape(&row.variant),
            self.frame.width,
            figure(sum),
            top + 44.0,
            escape(&ratio(row).unwrap_or_default()),
            published.unwrap_or_default()
        )
    }
}

fn key(x: f64, part: &str, name: &str) -> String {
    format!(
        r#"<g class="plain">{}</g><text class="axis" x="{:.1}" y="13">{}</text>"#,
        filled(part, x..x + 12.0, 3.0, 11.0),
        x + 18.0,
        escape(name)
    )
}

/// A part of a stack: full, pale, or pale with stripes.
fn filled(part: &str, across: Range<f64>, y: f64, height: f64) -> String {
    let Range { start: left, end: right } = across;
    let width = right - left;
    if width <= 0.0 {
        return String::new();
    }
    let stripes = if part == "others" {
        let middle = y + height / 2.0;
        format!(
            r#"<path class="stripes" stroke-width="{height}" d="M{left:.2} {middle:.1}H{right:.2}"/>"#
        )
    } else {
        String::new()
    };
    format!(
        r#"<rect class="part {part}" x="{left:.2}" y="{y:.1}" width="{width:.2}" height="{height}"/>{stripes}"#
    )
}

fn figure(sum: &Estimate) -> String {
    format!("{}/s, {} %", quantity::cpu(sum), quantity::Unit::CORE.plain(sum.mean))
}

/// The sum against the first base: what the bars show.
fn ratio(row: &Stage) -> Option<String> {
    let each = row.against.first()?;
    let ratio = each.sum.as_ref()?.ratio.as_ref()?;
    Some(format!("{} × {}", quantity::Unit::ONE.plain(ratio.mean), each.base))
}

fn published(row: &Stage) -> Option<String> {
    let published = row.published.as_ref()?;
    let before = published.before.map(|before| format!("{before} → ")).unwrap_or_default();
    Some(format!("{before}{}", published.percent_of_core))
}

/// The picture in words, for those who do not see it.
fn description(rows: &[(&Stage, Estimate)]) -> String {
    let row = |(row, sum): &(&Stage, Estimate)| {
        let ratio = ratio(row).map_or(String::new(), |ratio| format!(", {ratio}"));
        format!("{} {}{ratio}", row.variant, figure(sum))
    };
    rows.iter().map(row).collect::<Vec<_>>().join("; ")
}

/// What stands under the picture.
pub(crate) fn caption(run: &Run, analysis: &Analysis) -> String {
    let stages = &analysis.stages;
    let core = stages.rows.first().map_or(String::new(), |row| core_of(run, row.mode));
    format!(
        "CPU of {} at {}, means; per cent are of {core}. The whisker at a bar’s end is the 95 % \
         interval of the sum.",
        summed(analysis),
        count(stages.clients, "client")
    )
}
