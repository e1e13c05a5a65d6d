//! A run's figures as CSV (RFC 4180), a line for each, for spreadsheets, pandas and R.

use std::fmt::Write;

use model::inert;

use super::Metric;
use crate::stats::Estimate;

const HEAD: &str = "figure,variant,cell,clients,unit,mean,low,high,values,absent\n";

/// The table. `low` and `high` are the ends of the 95 % interval; `values` are those of the trials or blocks, in their order,
/// with spaces between them. What is unknown is empty, with the reason in `absent`.
pub fn csv(table: &[Metric]) -> String {
    let mut text = HEAD.to_owned();
    for metric in table {
        let Metric { name, variant, point, clients, unit, values, estimate, absent, .. } = metric;
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let interval = estimate.and_then(|Estimate { interval, .. }| interval);
        let values: Vec<String> = values.iter().map(f64::to_string).collect();
        let fields = [
            name.clone(),
            variant.clone(),
            point.clone(),
            clients.map_or(String::new(), |clients| clients.to_string()),
            unit.symbol().to_owned(),
            number(estimate.map(|estimate| estimate.mean)),
            number(interval.map(|interval| interval.low)),
            number(interval.map(|interval| interval.high)),
            values.join(" "),
            absent.as_ref().map_or(String::new(), |absent| absent.words().to_owned()),
        ];
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", fields.map(|field| quoted(&field)).join(","));
    }
    text
}

/// A field as CSV has it. No control character of a name from outside gets into the file.
fn quoted(field: &str) -> String {
    let field = inert::line(field);
    match field.contains([',', '"']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use model::figure::Figure;

    use super::{super::Point, *};
    use crate::metrics::Absent;

    #[test]
    fn a_line_has_the_figure_its_interval_and_its_values_or_why_there_are_none() {
        let at = Point {
            name: "114 clients, \"ap\"".to_owned(),
            clients: Some(114),
            variant: "bulk".to_owned(),
            ..Point::default()
        };
        let known = Metric::of_values(&at, Figure::Cpu, vec![1.0, 2.0, 3.0]);
        let why = Absent::Fault("1 of 3 trials is not valid".to_owned());
        let absent = Metric::of_values(&at, Figure::Memory, vec![1.0]).unless(Some(why));
        let text = csv(&[known, absent]);
        let lines: Vec<&str> = text.lines().collect();
        let at = "bulk,\"114 clients, \"\"ap\"\"\",114";
        assert_eq!(format!("{}\n", lines[0]), HEAD);
        assert!(lines[1].starts_with(&format!("cpu,{at},us/s,2,-0.48")), "{text}");
        assert!(lines[1].ends_with(",1 2 3,"), "{text}");
        assert_eq!(lines[2], format!("memory,{at},KiB,,,,,1 of 3 trials is not valid"));
    }
}
