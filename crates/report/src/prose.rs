//! Sentences of the analysis as HTML: code in backticks, intervals in brackets, numbers held to units.
//!
//! Everything is escaped; the only markup is what this file adds.

use crate::svg::escape;

/// A unit must not stand alone on the next line.
const UNITS: [&str; 7] = ["%", "×", "ns", "µs", "ms", "clients", "KiB"];

pub(crate) fn html(sentence: &str) -> String {
    let mut html = String::new();
    for (at, part) in sentence.split('`').enumerate() {
        if at % 2 == 1 {
            html.push_str(&format!("<code>{}</code>", escape(part)));
        } else {
            html.push_str(&intervals(&bound(&escape(part))));
        }
    }
    html
}

/// A clause as a sentence: a capital letter and a full stop.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let Some(first) = letters.next() else { return String::new() };
    // A name in backticks or of a thread keeps its letters.
    let is_name = text.split(' ').next().is_some_and(|word| word.contains(['/', '`', '_', '-']));
    let first = if is_name { first.to_string() } else { first.to_uppercase().collect() };
    let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

/// Puts a no-break space before each unit that follows a digit.
fn bound(text: &str) -> String {
    let mut bound = String::with_capacity(text.len());
    for (at, word) in text.split(' ').enumerate() {
        let is_unit = UNITS.iter().any(|unit| word.starts_with(unit));
        if is_unit && bound.ends_with(|letter: char| letter.is_ascii_digit()) {
            bound.push('\u{a0}');
        } else if at > 0 {
            bound.push(' ');
        }
        bound.push_str(word);
    }
    bound
}

/// Sets intervals apart.
fn intervals(text: &str) -> String {
    text.replace('[', r#"<span class="ci">["#).replace(']', "]</span>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_intervals_and_units_are_set() {
        assert_eq!(
            html("`a<b` costs 2.3 % [2, 3] of it"),
            "<code>a&lt;b</code> costs 2.3\u{a0}% <span class=\"ci\">[2, 3]</span> of it"
        );
        assert_eq!(html("plain text"), "plain text");
    }

    #[test]
    fn a_clause_becomes_a_sentence_and_names_stay_as_they_are() {
        assert_eq!(sentence("no harm shown: 99 %"), "No harm shown: 99 %.");
        assert_eq!(sentence("ksoftirqd/0 waits."), "ksoftirqd/0 waits.");
        assert_eq!(sentence(""), "");
    }
}
