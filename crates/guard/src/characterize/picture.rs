//! The curve as a picture: SVG, one file, readable without anything else.
//!
//! Across is what applications keep, up is what Wi-Fi keeps. Bars show the range over the blocks; the line joins
//! the settings that nothing beats; the knee has a ring.

use std::fmt::Write;

use super::curve::{Curve, Point};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 520.0;
/// Room for names of settings stays at the right.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 70.0;

pub fn svg(curve: &Curve) -> String {
    let plane = Plane::of(curve);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <title>Wi-Fi kept against application work kept</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\" font-weight=\"600\">Wi-Fi kept against application \
         work kept</text>\n"
    );
    axes(&mut out, &plane);
    line(&mut out, &plane, curve);
    for point in &curve.points {
        mark(&mut out, &plane, point, curve.knee.as_ref() == Some(&point.name));
    }
    labels(&mut out, &plane, curve);
    out.push_str("</svg>\n");
    out
}

/// Where shares are on the picture.
struct Plane {
    /// Most of the applications' share, and least of Wi-Fi's.
    most_work: f64,
    least_wifi: f64,
}

impl Plane {
    fn of(curve: &Curve) -> Self {
        let work = curve.points.iter().map(|point| point.application_kept.high);
        let wifi = curve.points.iter().map(|point| point.wifi_kept.low);
        let tenth = |value: f64| value / 10.0;
        Self {
            most_work: tenth((work.fold(1.0, f64::max) * 10.0).ceil()),
            least_wifi: tenth((wifi.fold(0.9, f64::min) * 10.0).floor()).max(0.0),
        }
    }

    fn x(&self, work: f64) -> f64 {
        LEFT + work / self.most_work * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, wifi: f64) -> f64 {
        let up = (wifi - self.least_wifi) / (1.0 - self.least_wifi);
        HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)
    }
}

fn axes(out: &mut String, plane: &Plane) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let tenths = |from: f64, to: f64| (from * 10.0).round() as u32..=(to * 10.0).round() as u32;
    for tenth in tenths(0.0, plane.most_work).filter(|tenth| tenth % 2 == 0) {
        let x = plane.x(f64::from(tenth) / 10.0);
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#e5e5e5\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{} %</text>",
            bottom + 18.0,
            tenth * 10
        );
    }
    for tenth in tenths(plane.least_wifi, 1.0) {
        let y = plane.y(f64::from(tenth) / 10.0);
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#e5e5e5\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{} %</text>",
            LEFT - 8.0,
            y + 4.0,
            tenth * 10
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">application work kept, of unbounded</text>\n\
         <text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">Wi-Fi's work \
         kept</text>",
        f64::midpoint(LEFT, right),
        HEIGHT - 24.0,
        f64::midpoint(TOP, bottom)
    );
}

/// The front, from the most of applications to the most of Wi-Fi.
fn line(out: &mut String, plane: &Plane, curve: &Curve) {
    let mut front: Vec<&Point> = curve.points.iter().filter(|point| point.on_front).collect();
    front.sort_by(|a, b| a.wifi_kept.median.total_cmp(&b.wifi_kept.median));
    let path: Vec<String> = front
        .iter()
        .map(|point| {
            let (x, y) = (plane.x(point.application_kept.median), plane.y(point.wifi_kept.median));
            format!("{x:.1} {y:.1}")
        })
        .collect();
    let _ = writeln!(
        out,
        "<path d=\"M{}\" fill=\"none\" stroke=\"#1a66b3\" stroke-width=\"1.5\"/>",
        path.join("L")
    );
}

fn mark(out: &mut String, plane: &Plane, point: &Point, is_knee: bool) {
    let (work, wifi) = (&point.application_kept, &point.wifi_kept);
    let (x, y) = (plane.x(work.median), plane.y(wifi.median));
    let colour = if point.on_front { "#1a66b3" } else { "#999" };
    let _ = write!(
        out,
        "<path d=\"M{:.1} {y:.1}H{:.1}M{x:.1} {:.1}V{:.1}\" stroke=\"{colour}\" opacity=\"0.5\"/>\
         <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>",
        plane.x(work.low),
        plane.x(work.high),
        plane.y(wifi.low),
        plane.y(wifi.high)
    );
    if is_knee {
        let _ = write!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"9\" fill=\"none\" stroke=\"#c2410c\" stroke-width=\"2\"/>"
        );
    }
    out.push('\n');
}

/// The height of a line of names.
const LINE: f64 = 14.0;

/// Names of settings, beside their points and apart from each other: those that would touch move down.
fn labels(out: &mut String, plane: &Plane, curve: &Curve) {
    let mut placed: Vec<(f64, f64)> = Vec::new();
    for point in &curve.points {
        let (x, mut y) =
            (plane.x(point.application_kept.median), plane.y(point.wifi_kept.median) - 7.0);
        let near = |(other_x, other_y): &(f64, f64), y: f64| {
            (other_x - x).abs() < 110.0 && (other_y - y).abs() < LINE
        };
        while placed.iter().any(|place| near(place, y)) {
            y += LINE;
        }
        placed.push((x, y));
        // What is near the right edge is named on its left.
        let (anchor, shift) =
            if x > WIDTH - RIGHT - 110.0 { ("end", -8.0) } else { ("start", 8.0) };
        let knee = if curve.knee.as_ref() == Some(&point.name) { " (knee)" } else { "" };
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{}\">{}{knee}</text>",
            x + shift,
            if point.on_front { "#111" } else { "#777" },
            escaped(&point.name)
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::characterize::curve::tests::example;

    #[test]
    fn every_setting_is_drawn_within_the_picture() {
        let curve = example();
        let svg = svg(&curve);
        for point in &curve.points {
            assert!(svg.contains(&point.name), "{}", point.name);
        }
        assert_eq!(svg.matches("r=\"9\"").count(), 1);
        let inside = |attribute: &str, most: f64| {
            svg.split(attribute)
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap().parse::<f64>().unwrap())
                .all(|value| (0.0..=most).contains(&value))
        };
        assert!(inside(" cx=\"", WIDTH) && inside(" cy=\"", HEIGHT));
        assert!(inside("<text x=\"", WIDTH) && inside("\" y=\"", HEIGHT));
    }

    #[test]
    fn a_name_is_text_and_not_markup() {
        let mut curve = example();
        curve.points[0].name = "<b>&".to_owned();
        assert!(svg(&curve).contains("&lt;b>&amp;"));
    }
}
