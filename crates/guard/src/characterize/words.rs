//! The curve as a table.

use std::fmt::{self, Display, Formatter};

use model::plural::count;

use super::curve::{Curve, Figure};
use crate::status::words::{percent, rate};

/// A curve as a person reads it.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a>(pub &'a Curve);

impl Display for Words<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let curve = self.0;
        let width = curve.points.iter().map(|point| point.name.len()).max().unwrap_or(0).max(15);
        writeln!(
            f,
            "  {:width$}  {:>18}  {:>10}  {:>19}",
            "setting", "Wi-Fi kept", "rate", "applications kept"
        )?;
        for point in &curve.points {
            let mark = match () {
                () if curve.knee.as_ref() == Some(&point.name) => '◆',
                () if point.on_front => '·',
                () => ' ',
            };
            writeln!(
                f,
                "{mark} {:width$}  {:>18}  {:>10}  {:>19}",
                point.name,
                figure(point.wifi_kept, point.blocks),
                rate(point.rate_bps.median),
                figure(point.application_kept, point.blocks)
            )?;
        }
        let knee = if curve.knee.is_some() { "◆ knee, " } else { "" };
        writeln!(
            f,
            "\n{knee}· nothing else keeps as much of both; median [least–most] of {}",
            count(curve.blocks, "block")
        )?;
        recommended(f, curve)?;
        for doubt in &curve.doubts {
            writeln!(f, "doubt: {doubt}")?;
        }
        Ok(())
    }
}

fn recommended(f: &mut Formatter<'_>, curve: &Curve) -> fmt::Result {
    if curve.recommended.is_empty() {
        return writeln!(
            f,
            "\nNo setting keeps more of Wi-Fi than nothing bounded does: there is nothing to win here, and the \
             knob keeps its own meaning."
        );
    }
    writeln!(
        f,
        "\n{:>14}  {:>6}  {:>6}  {:>12}  setting",
        "aggressiveness", "target", "Wi-Fi", "applications"
    )?;
    for one in &curve.recommended {
        writeln!(
            f,
            "{:>14}  {:>6}  {:>6}  {:>12}  {}",
            one.aggressiveness,
            percent(one.target),
            percent(one.wifi_kept),
            percent(one.application_kept),
            one.setting
        )?;
    }
    Ok(())
}

/// A figure with its range, which a single block does not have.
fn figure(figure: Figure, blocks: u32) -> String {
    if blocks < 2 {
        return format!("{} (one block)", percent(figure.median));
    }
    let whole = |share: f64| format!("{:.0}", share * 100.0);
    format!("{} [{}–{}]", percent(figure.median), whole(figure.low), whole(figure.high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bounds::Bounds,
        characterize::{
            blocks::{Setting, Turn},
            curve::{Sample, draw, tests::example},
        },
    };

    #[test]
    fn a_setting_that_one_block_alone_measured_has_no_spread() {
        let ladder = [Setting { name: "weight 512".to_owned(), bounds: Bounds::default() }];
        let sample = |block, turn| Sample {
            block,
            turn,
            wifi_kept: Some(0.5),
            rate_bps: 1e6,
            application_cpus: 1.0,
        };
        let mut samples: Vec<Sample> = (0..6).map(|nth| sample(nth / 2, Turn::Baseline)).collect();
        samples.push(sample(2, Turn::Setting(0)));
        let text = Words(&draw(&ladder, &samples).unwrap()).to_string();
        let line = |name: &str| text.lines().find(|line| line.contains(name)).unwrap().to_owned();
        assert!(line("nothing bounded").contains("[50–50]"), "{text}");
        let alone = line("weight 512");
        assert!(alone.contains("one block") && !alone.contains('['), "{text}");
    }

    #[test]
    fn a_person_sees_the_knee_and_what_each_aggressiveness_asks() {
        insta::assert_snapshot!(Words(&example()));
    }
}
