//! Numbers of things in sentences: the one place where a noun agrees with its number.
//!
//! Of English it knows no more than what headroom counts, all of which takes an `s`.

use std::fmt::Display;

/// How many: `1 trial`, `2 trials`, `0 trials`.
pub fn count(number: impl Display, noun: &str) -> String {
    let number = number.to_string();
    let ending = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_every_other_number_is_plural() {
        let words = [0, 1, 2, 11].map(|number| count(number, "trial"));
        assert_eq!(words, ["0 trials", "1 trial", "2 trials", "11 trials"]);
        assert_eq!(count("1", "valid trial"), "1 valid trial");
    }
}
