//! Sentences of the analysis as HTML: code in backticks, intervals in brackets, numbers held to units.
//!
//! Everything is escaped; the only markup is what this file adds.

use analysis::{Estimate, quantity::Unit};

use crate::drawing::svg::escape;

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

/// A mean with its sign, without the unit's name: `−34.1`, `+0.20`.
pub(crate) fn signed(unit: Unit, estimate: &Estimate) -> String {
    let plus = if estimate.mean > 0.0 { "+" } else { "" };
    format!("{plus}{}", unit.mean(estimate))
}

/// The same with the unit and the interval: `−34.1 % [−34.3, −33.9]`.
pub(crate) fn signed_whole(unit: Unit, estimate: &Estimate) -> String {
    let plus = if estimate.mean > 0.0 { "+" } else { "" };
    format!("{plus}{}", unit.with_interval(estimate))
}

/// A remark below a table or a picture.
pub(crate) fn note(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(r#"<p class="note">{}</p>"#, html(text)) }
}

/// A picture with its caption; empty where there is none.
pub(crate) fn figure(picture: &str, caption: &str) -> String {
    if picture.is_empty() {
        return String::new();
    }
    let caption = html(caption);
    format!(r#"<figure class="plot">{picture}<figcaption>{caption}</figcaption></figure>"#)
}

/// What is folded away under its name; empty where it is.
pub(crate) fn folded(name: &str, inner: &str) -> String {
    if inner.is_empty() {
        return String::new();
    }
    format!("<details><summary>{}</summary>{inner}</details>", html(name))
}

pub(crate) fn list(sentences: impl IntoIterator<Item = String>) -> String {
    let each = sentences.into_iter().map(|sentence| format!("<li>{}</li>", html(&sentence)));
    format!(r#"<ul class="notes">{}</ul>"#, each.collect::<String>())
}

/// Each thing once, in the order in which they first come.
pub(crate) fn once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
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
