//! What somebody meant who mistyped a name: the one place where a name is held against those that there are.
//!
//! Which names there are, and what the sentence around them says, is the caller's.

/// No one mistypes more letters than this, nor more than half of a name.
const LETTERS: usize = 3;

/// No one mistypes a longer name, bytes; a distance costs the product of both lengths.
const LONGEST: usize = 64;

/// The nearest of these names, where one is near.
pub fn nearest<'a>(wrong: &str, known: &[&'a str]) -> Option<&'a str> {
    let known = if wrong.len() > LONGEST { &[] } else { known };
    let distances =
        known.iter().map(|candidate| (strsim::damerau_levenshtein(wrong, candidate), *candidate));
    let near = LETTERS.min(wrong.chars().count() / 2);
    distances.min().filter(|(distance, _)| *distance <= near).map(|(_, nearest)| nearest)
}

/// ``did you mean `x`?``, or where no name is near, all of them behind `listed`, as `known are`.
pub fn or_all(wrong: &str, known: &[&str], listed: &str) -> String {
    match nearest(wrong, known) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("{listed} {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_names_what_was_meant_and_a_strange_word_all_there_is() {
        let known = ["found", "bulk", "slower-cadence"];
        assert_eq!(or_all("bluk", &known, "known are"), "did you mean `bulk`?");
        assert_eq!(nearest("slower-cadance", &known), Some("slower-cadence"));
        assert_eq!(or_all("sum", &known, "known are"), "known are found, bulk, slower-cadence");
    }

    #[test]
    fn half_of_a_short_name_is_no_slip_and_a_long_one_is_not_held_against_any() {
        assert_eq!(nearest("rn", &["up", "run"]), Some("run"));
        assert_eq!(nearest("x", &["up"]), None);
        assert_eq!(nearest(&"x".repeat(65), &[&"x".repeat(64)]), None);
    }
}
