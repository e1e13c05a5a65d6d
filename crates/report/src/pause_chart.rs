//! The picture of a pause: the subject's CPU over one window, with the spans in which somebody was stopped.
//!
//! Draws the series of [`PauseFigures`] as a staircase from 0; spans of the consumer are shaded, those of the
//! control striped, and both are named where there is room.

use analysis::{quantity, verdicts::PauseFigures};

use crate::svg::{Scale, escape, level, tick_label, ticks};

struct Frame {
    width: f64,
    height: f64,
    /// Labels of the left axis need so much.
    left: f64,
}

const WIDE: Frame = Frame { width: 1040.0, height: 220.0, left: 52.0 };
const NARROW: Frame = Frame { width: 344.0, height: 200.0, left: 40.0 };
const TOP: f64 = 36.0;
const BOTTOM: f64 = 34.0;
/// A span's name needs so many pixels.
const NAMED: f64 = 52.0;

/// Seconds of one state.
#[derive(Clone, Debug, PartialEq)]
struct Stretch<'a> {
    from: f64,
    to: f64,
    state: &'a str,
}

/// Both sizes of the picture; empty without a series.
pub(crate) fn draw(pause: &PauseFigures) -> String {
    if pause.series.is_empty() {
        return String::new();
    }
    chart(pause, &WIDE, "wide") + &chart(pause, &NARROW, "narrow")
}

fn chart(pause: &PauseFigures, frame: &Frame, class: &str) -> String {
    let most = pause.series.iter().map(|(_, cpu, _)| *cpu).fold(0.0, f64::max);
    let unit = quantity::cpu_unit(most);
    let levels = ticks(unit.scale(most), 4);
    let top = levels.last().copied().unwrap_or(1.0);
    let end = pause.series.iter().map(|(at, ..)| *at).fold(0.0, f64::max);
    let across = frame.left..frame.width - 8.0;
    let x = Scale::new(0.0..end, across.clone());
    let y = Scale::new(0.0..top, frame.height - BOTTOM..TOP);
    let step = levels.get(1).copied().unwrap_or(1.0);
    let line_at = |tick: &f64| level(y.at(*tick), &across, &tick_label(*tick, step), 6.0);
    let grid: String = levels.iter().map(line_at).collect();
    let spans: String = stretches(pause).iter().map(|stretch| shade(stretch, frame, x)).collect();
    let floor = frame.height - 12.0;
    format!(
        r#"<svg class="chart {class}" viewBox="0 0 {} {}" role="img" aria-label="{}">{spans}{grid}{}<text class="axis" x="0" y="12">{}/s of {}’s CPU</text><text class="axis" x="{}" y="{floor}">0 s</text><text class="axis end" x="{}" y="{floor}">{end:.0} s</text></svg>"#,
        frame.width,
        frame.height,
        escape(&description(pause)),
        line(pause, x, |cpu| y.at(unit.scale(cpu))),
        unit.name,
        escape(&pause.subject),
        frame.left,
        frame.width - 8.0,
    )
}

/// Neighbouring seconds of one state together. A second's figure stands at its end.
fn stretches(pause: &PauseFigures) -> Vec<Stretch<'_>> {
    let mut all: Vec<Stretch<'_>> = Vec::new();
    let mut from = 0.0;
    for (at, _, state) in &pause.series {
        match all.last_mut().filter(|last| last.state == state) {
            Some(last) => last.to = *at,
            None => all.push(Stretch { from, to: *at, state }),
        }
        from = *at;
    }
    all
}

fn shade(stretch: &Stretch<'_>, frame: &Frame, x: Scale) -> String {
    if stretch.state == "runs" {
        return String::new();
    }
    let (from, to) = (x.at(stretch.from), x.at(stretch.to));
    let class = if stretch.state == "sham" { "sham" } else { "stopped" };
    let height = frame.height - BOTTOM - TOP;
    let stripes = if class == "sham" {
        format!(
            r#"<path class="sham-stripes" stroke-width="{height}" d="M{from:.1} {:.1}H{to:.1}"/>"#,
            TOP + height / 2.0
        )
    } else {
        String::new()
    };
    let name = if to - from >= NAMED {
        let middle = (from + to) / 2.0;
        format!(
            r#"<text class="axis mid" x="{middle:.1}" y="{:.1}">{}</text>"#,
            TOP - 5.0,
            word(stretch.state)
        )
    } else {
        String::new()
    };
    format!(
        r#"<g><title>{} from {:.0} s to {:.0} s</title><rect class="span {class}" x="{from:.1}" y="{TOP}" width="{:.1}" height="{height}"/>{stripes}{name}</g>"#,
        word(stretch.state),
        stretch.from,
        stretch.to,
        to - from,
    )
}

/// A second is constant from its start to its end, so the line is a staircase.
fn line(pause: &PauseFigures, x: Scale, y: impl Fn(f64) -> f64) -> String {
    let mut path = String::new();
    let mut from = 0.0;
    for (at, cpu, _) in &pause.series {
        let verb = if path.is_empty() { 'M' } else { 'L' };
        let height = y(*cpu);
        path += &format!("{verb}{:.1} {height:.1}L{:.1} {height:.1}", x.at(from), x.at(*at));
        from = *at;
    }
    format!(r#"<path class="s1 line" d="{path}"/>"#)
}

/// The picture in words.
fn description(pause: &PauseFigures) -> String {
    let spans: Vec<_> = stretches(pause)
        .iter()
        .map(|stretch| format!("{} from {:.0} to {:.0} s", stretch.state, stretch.from, stretch.to))
        .collect();
    format!("CPU of {} over one window; {}: {}", pause.subject, pause.consumer, spans.join(", "))
}

/// What a stretch is called: a run names its control `sham`.
fn word(state: &str) -> String {
    escape(if state == "sham" { "control" } else { state })
}

#[cfg(test)]
mod tests {
    use analysis::Estimate;
    use model::verdict::Verdict;

    use super::*;

    fn pause(series: &[(f64, f64, &str)]) -> PauseFigures {
        let estimate = |mean: f64| Estimate::of(&[mean, mean]);
        PauseFigures {
            variant: "found".to_owned(),
            clients: 18,
            consumer: "monitor".to_owned(),
            subject: "stationd".to_owned(),
            trials: 1,
            running: estimate(10.0),
            stopped: estimate(1.0),
            sham: None,
            share: estimate(0.9),
            sham_share: None,
            series: series
                .iter()
                .map(|(at, cpu, state)| (*at, *cpu, (*state).to_owned()))
                .collect(),
            verdict: Verdict::Pass,
            sentence: String::new(),
        }
    }

    #[test]
    fn neighbouring_seconds_of_one_state_are_one_span() {
        let pause = pause(&[
            (1.0, 9.0, "runs"),
            (2.0, 1.0, "stopped"),
            (3.0, 1.0, "stopped"),
            (4.0, 9.0, "sham"),
        ]);
        let reported: Vec<_> = stretches(&pause).iter().map(|s| (s.from, s.to, s.state)).collect();
        assert_eq!(reported, [(0.0, 1.0, "runs"), (1.0, 3.0, "stopped"), (3.0, 4.0, "sham")]);
    }

    #[test]
    fn without_seconds_there_is_no_picture() {
        assert_eq!(draw(&pause(&[])), "");
    }
}
