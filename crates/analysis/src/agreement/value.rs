//! A value of a client, whoever says it, and what it may be where it was read between two other readings.

use std::fmt;

/// A value, in the unit of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Whole(i128),
    /// Yes or no.
    Flag(bool),
    Text(String),
    /// Its source has more to say than we understand: not to be compared.
    Unclear,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => write!(out, "{number}"),
            Self::Flag(flag) => write!(out, "{flag}"),
            Self::Text(text) => write!(out, "“{text}”"),
            Self::Unclear => out.write_str("unclear"),
        }
    }
}

/// What a source said before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bracket {
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
    /// From the first to the second, seconds, rounded up.
    pub(super) seconds: i128,
}

impl fmt::Display for Bracket {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |value: &Option<Value>| {
            value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string)
        };
        let (before, after) = (said(&self.before), said(&self.after));
        if before == after {
            return out.write_str(&before);
        }
        write!(out, "{before} before and {after} after")
    }
}

/// How a value may differ from what was read before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// It stays as long as the client is associated.
    Fixed,
    /// It stays, or lies between both: a level, a word.
    Level,
    /// It only rises, and begins again after this many bits.
    Counter(u32),
    /// It is a moment, which each source computes anew: values that differ by no more than this are the same.
    Moment(i128),
    /// Seconds that only grow, until they begin again; each source has its own clock, and is off by no more than this.
    Span(i128),
    /// Seconds since something that may have happened again.
    Since,
}

impl Rule {
    /// Whether it is a state, which only a client that joins or a reading in between makes another.
    pub(super) fn is_state(self) -> bool {
        matches!(self, Self::Fixed | Self::Level)
    }

    /// In words, for the table in the documentation.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Fixed => "equal, as long as the client stays",
            Self::Level => "equal, or between both readings",
            Self::Counter(_) => "between both readings, modulo its width",
            Self::Moment(_) => "as both readings, give or take a second",
            Self::Span(_) => "between both readings, give or take a second, or begun again",
            Self::Since => "as before and since, or begun again",
        }
    }

    /// Whether a value may have been read in between.
    pub(super) fn holds(self, value: &Value, bracket: &Bracket) -> bool {
        let Bracket { before, after, seconds } = bracket;
        match (value, before, after) {
            (Value::Whole(value), Some(Value::Whole(before)), Some(Value::Whole(after))) => {
                self.holds_number(*value, (*before, *after), *seconds)
            }
            (Value::Whole(value), None, Some(Value::Whole(after))) => {
                self.holds_of_newcomer(*value, *after, *seconds)
            }
            (Value::Whole(value), Some(Value::Whole(before)), None) => {
                self.holds_of_leaver(*value, *before, *seconds)
            }
            _ => before.iter().chain(after).any(|known| known == value),
        }
    }

    /// Of a client that came between both readings: it began from nothing, and was at this after it.
    fn holds_of_newcomer(self, value: i128, after: i128, seconds: i128) -> bool {
        match self {
            Self::Fixed | Self::Level => value == after,
            Self::Counter(_) => (0..=after).contains(&value),
            Self::Moment(tolerance) => (after - tolerance..=after + tolerance).contains(&value),
            Self::Span(tolerance) => (0..=after + tolerance).contains(&value),
            Self::Since => (0..=seconds).contains(&value),
        }
    }

    /// Of a client that left between both readings: it was at this before, and went on for a while.
    fn holds_of_leaver(self, value: i128, before: i128, seconds: i128) -> bool {
        match self {
            Self::Fixed | Self::Level => value == before,
            Self::Counter(bits) => value >= 0 && rise(before, value, bits).is_some(),
            Self::Moment(tolerance) => (before - tolerance..=before + tolerance).contains(&value),
            Self::Span(tolerance) => {
                (before - tolerance..=before + seconds + tolerance).contains(&value)
            }
            Self::Since => {
                (0..=seconds).contains(&value) || (before..=before + seconds).contains(&value)
            }
        }
    }

    fn holds_number(self, value: i128, ends: (i128, i128), seconds: i128) -> bool {
        let (before, after) = ends;
        let (low, high) = (before.min(after), before.max(after));
        match self {
            Self::Fixed | Self::Level => (low..=high).contains(&value),
            Self::Moment(tolerance) => (low - tolerance..=high + tolerance).contains(&value),
            Self::Span(tolerance) if before <= after => {
                (before - tolerance..=after + tolerance).contains(&value)
            }
            Self::Span(_) => {
                self.holds_of_newcomer(value, after, seconds)
                    || self.holds_of_leaver(value, before, seconds)
            }
            Self::Counter(bits) => match rise(before, after, bits) {
                // Of a value that has wrapped its reader may have kept count, or not.
                Some(most) => {
                    value >= 0 && rise(before, value, bits).is_some_and(|risen| risen <= most)
                }
                // The client has come back: it counts from nothing.
                None => self.holds_of_newcomer(value, after, seconds) || value >= before,
            },
            // It goes on from what it was, or has begun again since; after that, it may have once more.
            Self::Since => self.holds_of_leaver(value, before, seconds),
        }
    }
}

/// How far a counter of so many bits has risen, modulo its width; `None` from half of it on, where it has gone back.
fn rise(from: i128, to: i128, bits: u32) -> Option<i128> {
    let range = 1_i128 << bits.min(64);
    Some((to - from).rem_euclid(range)).filter(|risen| *risen < range / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(rule: Rule, value: i128, before: i128, after: i128) -> bool {
        let [before, after] = [before, after].map(|value| Some(Value::Whole(value)));
        rule.holds(&Value::Whole(value), &Bracket { before, after, seconds: 2 })
    }

    #[test]
    fn a_counter_lies_between_what_was_read_before_and_after() {
        let counter = |value, before, after| holds(Rule::Counter(32), value, before, after);
        assert!(counter(10, 10, 10) && counter(11, 10, 12) && counter(12, 10, 12));
        assert!(!counter(9, 10, 12) && !counter(13, 10, 12) && !counter(-1, 10, 12));
    }

    #[test]
    fn a_counter_that_wraps_is_followed_whether_its_reader_kept_count_or_not() {
        let counter = |value, before, after| holds(Rule::Counter(32), value, before, after);
        let most = i128::from(u32::MAX);
        assert!(counter(most, most - 1, 3) && counter(0, most - 1, 3) && counter(3, most - 1, 3));
        assert!(counter(most + 1 + 2, most - 1, 3), "a reader that kept count");
        assert!(!counter(4, most - 1, 3) && !counter(most - 2, most - 1, 3));
    }

    #[test]
    fn a_client_that_came_back_counts_from_nothing() {
        let counter = |value| holds(Rule::Counter(64), value, 1000, 3);
        assert!(counter(0) && counter(3) && counter(1000) && counter(1001));
        assert!(!counter(4) && !counter(999));
    }

    #[test]
    fn a_level_stays_or_lies_between() {
        let level = |value, before, after| holds(Rule::Level, value, before, after);
        assert!(level(-30, -30, -30) && level(-31, -30, -32) && !level(-29, -30, -32));
        let word = |text: &str| Value::from(text);
        let bracket =
            Bracket { before: Some(word("20MHz")), after: Some(word("80MHz")), seconds: 1 };
        assert!(Rule::Level.holds(&word("80MHz"), &bracket));
        assert!(!Rule::Level.holds(&word("40MHz"), &bracket));
        assert!(!Rule::Level.holds(&Value::Whole(20), &bracket));
    }

    #[test]
    fn a_client_that_came_or_left_in_between_has_one_reading() {
        let came = |rule: Rule, value| {
            let after = Some(Value::Whole(7));
            rule.holds(&Value::Whole(value), &Bracket { before: None, after, seconds: 2 })
        };
        let left = |rule: Rule, value| {
            let before = Some(Value::Whole(7));
            rule.holds(&Value::Whole(value), &Bracket { before, after: None, seconds: 2 })
        };
        let counter = Rule::Counter(32);
        assert!(came(counter, 0) && came(counter, 7) && !came(counter, 8) && !came(counter, -1));
        assert!(left(counter, 7) && left(counter, 900) && !left(counter, 6));
        let moment = Rule::Moment(1);
        assert!(came(moment, 6) && came(moment, 8) && !came(moment, 5) && !came(moment, 9));
        assert!(left(moment, 6) && left(moment, 8) && !left(moment, 5) && !left(moment, 9));
        let span = Rule::Span(1);
        assert!(came(span, 0) && came(span, 8) && !came(span, 9) && !came(span, -1));
        assert!(left(span, 6) && left(span, 10) && !left(span, 5) && !left(span, 11));
        assert!(came(Rule::Since, 2) && !came(Rule::Since, 3));
        assert!(left(Rule::Since, 0) && left(Rule::Since, 9) && !left(Rule::Since, 5));
        assert!(came(Rule::Level, 7) && !came(Rule::Level, 6) && !left(Rule::Level, 8));
    }

    #[test]
    fn moments_and_spans_have_their_slack_and_no_more() {
        assert!(holds(Rule::Moment(1), 99, 100, 100) && !holds(Rule::Moment(1), 98, 100, 100));
        let span = |value, before, after| holds(Rule::Span(1), value, before, after);
        assert!(span(89, 90, 92) && span(93, 90, 92) && !span(88, 90, 92) && !span(94, 90, 92));
        // It came back: it had gone on for a while, or has begun again.
        assert!(span(26, 24, 0) && span(27, 24, 0) && span(1, 24, 0));
        assert!(!span(28, 24, 0) && !span(2, 24, 0) && !span(12, 24, 0));
        let since = |value, before, after| holds(Rule::Since, value, before, after);
        assert!(since(5, 5, 7) && since(7, 5, 7) && !since(8, 5, 7) && !since(4, 5, 7));
        // A frame came in between: it is what it was, a little older, or has begun again.
        assert!(since(300, 300, 0) && since(302, 300, 0) && since(0, 300, 0));
        assert!(!since(303, 300, 0) && !since(150, 300, 0));
    }

    #[test]
    fn what_came_or_went_meanwhile_is_what_was_known() {
        let bracket = Bracket { before: None, after: Some(Value::Whole(3)), seconds: 1 };
        assert!(Rule::Level.holds(&Value::Whole(3), &bracket));
        assert!(!Rule::Level.holds(&Value::Whole(2), &bracket));
        assert_eq!(bracket.to_string(), "nothing before and 3 after");
    }
}
