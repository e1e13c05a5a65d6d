//! The subject's own counters: two texts, read as the window opened and as it closed.
//!
//! The format is Prometheus' and OpenMetrics' text: `name{label="value"} 12.5`, comments begin with `#`
//! (github.com/prometheus/docs, “Exposition formats”). What is declared a gauge is no counter, and what
//! falls is none either.

use std::collections::{BTreeMap, BTreeSet};

/// Counters that rose in some repetition and fell in none: by how much in each.
pub(super) fn risen(reads: &[&[String; 2]]) -> Vec<(String, Vec<f64>)> {
    let texts: Vec<_> =
        reads.iter().map(|[opened, closed]| [opened, closed].map(|text| parse(text))).collect();
    let names: BTreeSet<&str> =
        texts.iter().flat_map(|[_, closed]| closed.keys().copied()).collect();
    let of = |name: &str| {
        let rise = |[opened, closed]: &[BTreeMap<&str, f64>; 2]| {
            // A label that is new within the window counts from 0: that is when it appeared.
            Some(*closed.get(name)? - opened.get(name).copied().unwrap_or(0.0))
        };
        let rose: Vec<f64> = texts.iter().map(rise).collect::<Option<_>>()?;
        let counts = rose.iter().all(|rise| *rise >= 0.0) && rose.iter().any(|rise| *rise > 0.0);
        counts.then(|| (name.to_owned(), rose))
    };
    names.into_iter().filter_map(of).collect()
}

/// Finite values by name and labels, but for gauges.
fn parse(text: &str) -> BTreeMap<&str, f64> {
    let gauge = |line: &'_ str| -> Option<String> {
        let mut words = line.strip_prefix('#')?.split_whitespace();
        let is = words.next() == Some("TYPE");
        let name = words.next().filter(|_| is)?;
        (words.next() == Some("gauge")).then(|| name.to_owned())
    };
    let gauges: BTreeSet<String> = text.lines().filter_map(gauge).collect();
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    lines
        .filter_map(sample)
        .filter(|(name, value)| {
            let plain = name.split('{').next().unwrap_or(name);
            value.is_finite() && !gauges.contains(plain)
        })
        .collect()
}

/// Name with labels, and value; what follows the value is a time or an exemplar.
fn sample(line: &str) -> Option<(&str, f64)> {
    let (name, rest) = line.split_at(end_of_name(line)?);
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some((name.trim_end(), value))
}

/// Behind the labels, or the first white space where there are none. A label's value may hold anything.
fn end_of_name(line: &str) -> Option<usize> {
    let plain = line.find(|letter: char| letter == '{' || letter.is_whitespace())?;
    if !line[plain..].starts_with('{') {
        return Some(plain);
    }
    let (mut quoted, mut escaped) = (false, false);
    for (at, letter) in line.char_indices().skip_while(|(at, _)| *at <= plain) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = quoted,
            '"' => quoted = !quoted,
            '}' if !quoted => return Some(at + 1),
            _ => (),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rises(pairs: &[[&str; 2]]) -> Vec<(String, Vec<f64>)> {
        let reads: Vec<[String; 2]> =
            pairs.iter().map(|pair| pair.map(|text| text.replace(';', "\n"))).collect();
        risen(&reads.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_counter_is_reported_by_how_much_it_rose_in_each_repetition() {
        let found =
            rises(&[["polls_total 3", "polls_total 23"], ["polls_total 5", "polls_total 26"]]);
        assert_eq!(found, [("polls_total".to_owned(), vec![20.0, 21.0])]);
    }

    #[test]
    fn labels_are_part_of_the_name_whatever_they_hold() {
        let opened = r#"polls{ap="a }\" b",n="1"} 1 1700000000"#;
        let closed = r#"polls{ap="a }\" b",n="1"} 4.5e1 # {trace="x"} 0.5"#;
        assert_eq!(
            rises(&[[opened, closed]]),
            [(r#"polls{ap="a }\" b",n="1"}"#.to_owned(), vec![44.0])]
        );
    }

    #[test]
    fn gauges_and_what_falls_or_stands_still_are_left_out() {
        let opened = "# TYPE memory gauge;memory 1;still 2;falls 9;ok 1";
        let closed = "# TYPE memory gauge;memory 5;still 2;falls 3;ok 2;fresh{a=\"b\"} 7";
        let names: Vec<_> = rises(&[[opened, closed]]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["fresh{a=\"b\"}", "ok"]);
    }

    #[test]
    fn text_of_another_kind_holds_no_counter() {
        assert_eq!(rises(&[["{\"a\": 1", "x{a=\"} 5;novalue;;  ;n NaN;m +Inf"]]), []);
    }
}
