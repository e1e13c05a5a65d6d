//! Small pictures of a figure second by second: every series is a staircase, all drawn over each other.

use super::svg::{Scale, escape};

const WIDTH: f64 = 220.0;
const HEIGHT: f64 = 54.0;

pub(crate) struct Steps {
    /// Its colour.
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) note: String,
    /// From when to when, s, and the value in between.
    pub(crate) series: Vec<Vec<(f64, f64, f64)>>,
    /// The value of a line across.
    pub(crate) level: f64,
    /// The most that the scale holds.
    pub(crate) top: f64,
    /// What stands below: the scale.
    pub(crate) range: String,
}

/// The pictures side by side; empty where there is none.
pub(crate) fn draw(all: &[Steps]) -> String {
    let pictures: String = all.iter().map(one).collect();
    if all.is_empty() { pictures } else { format!(r#"<div class="sparks">{pictures}</div>"#) }
}

fn one(steps: &Steps) -> String {
    let all = || steps.series.iter().flatten();
    let end = all().map(|step| step.1).fold(0.0, f64::max);
    let x = Scale::new(0.0..end, 0.0..WIDTH);
    let y = Scale::new(0.0..steps.top * 1.08, HEIGHT..0.0);
    let path = |steps_of: &Vec<(f64, f64, f64)>| {
        let mut path = String::new();
        for (from, to, value) in steps_of {
            let (verb, y) = (if path.is_empty() { 'M' } else { 'L' }, y.at(value.min(steps.top)));
            path += &format!("{verb}{:.1} {y:.1}L{:.1} {y:.1}", x.at(*from), x.at(*to));
        }
        format!(r#"<path class="step" d="{path}"/>"#)
    };
    let lines: String = steps.series.iter().map(path).collect();
    let level = y.at(steps.level);
    let [name, note, range] = [&steps.name, &steps.note, &steps.range].map(|text| escape(text));
    format!(
        r#"<figure class="{}"><figcaption><b>{name}</b> <span>{note}</span></figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img"><title>{name}, {note}, second by second: {range}</title><path class="grid" d="M0 {HEIGHT}H{WIDTH}M0 {level:.1}H{WIDTH}"/>{lines}</svg><p class="range">{range}</p></figure>"#,
        steps.class
    )
}
