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
        let number = |side: &Option<Value>| match side {
            Some(Value::Whole(number)) => Some(*number),
            _ => None,
        };
        let Bracket { before, after, seconds } = bracket;
        match (value, number(before), number(after)) {
            (Value::Whole(value), before, after) if before.or(after).is_some() => {
                self.holds_number(*value, [before, after], *seconds)
            }
            _ => before.iter().chain(after).any(|known| known == value),
        }
    }

    /// The same of a number. A client that came in between began from nothing, one that left went on for a while, and one
    /// whose number has fallen did both.
    fn holds_number(self, value: i128, ends: [Option<i128>; 2], seconds: i128) -> bool {
        let between = |least, most| (least..=most).contains(&value);
        let alone = |at| self.holds_number(value, at, seconds);
        match (self, ends) {
            (_, [None, None]) => false,
            (Self::Fixed | Self::Level, _) => Self::Moment(0).holds_number(value, ends, seconds),
            (Self::Moment(off), [before, after]) => {
                let known = || before.into_iter().chain(after);
                known()
                    .min()
                    .zip(known().max())
                    .is_some_and(|(low, high)| between(low - off, high + off))
            }
            (Self::Span(off), [Some(before), Some(after)]) if before <= after => {
                between(before - off, after + off)
            }
            (Self::Span(off), [None, Some(after)]) => between(0, after + off),
            (Self::Span(off), [Some(before), None]) => {
                between(before - off, before + seconds + off)
            }
            (Self::Counter(_), [None, Some(after)]) => between(0, after),
            // Of a value that has wrapped its reader may have kept count, or not.
            (Self::Counter(bits), [Some(before), after]) => {
                let most = after.map(|after| rise(before, after, bits));
                let risen = rise(before, value, bits).filter(|_| value >= 0);
                match most {
                    Some(None) => between(0, after.unwrap_or_default()) || value >= before,
                    None => risen.is_some(),
                    Some(Some(most)) => risen.is_some_and(|risen| risen <= most),
                }
            }
            // It goes on from what it was, or has begun again since; after that, it may have once more.
            (Self::Since, [before, _]) => {
                between(0, seconds)
                    || before.is_some_and(|before| between(before, before + seconds))
            }
            (Self::Span(_), [before, after]) => alone([before, None]) || alone([None, after]),
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

    #[test]
    fn a_value_lies_where_its_rule_allows_it_and_nowhere_else() {
        type Ends = [Option<i128>; 2];
        const MOST: i128 = u32::MAX as i128;
        let ends = |before, after| [Some(before), Some(after)];
        let (came, left): (Ends, Ends) = ([None, Some(7)], [Some(7), None]);
        let (counter, moment, span) = (Rule::Counter(32), Rule::Moment(1), Rule::Span(1));
        let cases: [(Rule, Ends, &[i128], &[i128]); 21] = [
            (counter, ends(10, 10), &[10], &[9, 11]),
            (counter, ends(10, 12), &[11, 12], &[9, 13, -1]),
            // It wraps, and a reader may or may not have counted the turns.
            (counter, ends(MOST - 1, 3), &[MOST, 0, 3, MOST + 3], &[4, MOST - 2]),
            // The client came back: it counts from nothing.
            (Rule::Counter(64), ends(1000, 3), &[0, 3, 1000, 1001], &[4, 999]),
            (counter, came, &[0, 7], &[8, -1]),
            (counter, left, &[7, 900], &[6]),
            (Rule::Level, ends(-30, -30), &[-30], &[-29]),
            (Rule::Level, ends(-30, -32), &[-31], &[-29]),
            (Rule::Level, came, &[7], &[6]),
            (Rule::Level, left, &[7], &[8]),
            (moment, ends(100, 100), &[99], &[98]),
            (moment, came, &[6, 8], &[5, 9]),
            (moment, left, &[6, 8], &[5, 9]),
            (span, ends(90, 92), &[89, 93], &[88, 94]),
            // The client came back: it had gone on for a while, or has begun again.
            (span, ends(24, 0), &[26, 27, 1], &[28, 2, 12]),
            (span, came, &[0, 8], &[9, -1]),
            (span, left, &[6, 10], &[5, 11]),
            (Rule::Since, ends(5, 7), &[5, 7], &[8, 4]),
            // A frame came in between: it is what it was, a little older, or has begun again.
            (Rule::Since, ends(300, 0), &[300, 302, 0], &[303, 150]),
            (Rule::Since, came, &[2], &[3]),
            (Rule::Since, left, &[0, 9], &[5]),
        ];
        for (rule, ends, allowed, refused) in cases {
            let [before, after] = ends.map(|value| value.map(Value::Whole));
            let bracket = Bracket { before, after, seconds: 2 };
            for value in allowed.iter().chain(refused) {
                let holds = rule.holds(&Value::Whole(*value), &bracket);
                assert_eq!(holds, allowed.contains(value), "{rule:?}: {value} at {bracket}");
            }
        }
    }

    #[test]
    fn a_word_is_one_of_both_and_what_came_is_shown_as_nothing_before() {
        let [before, after] = ["20MHz", "80MHz"].map(|word| Some(word.into()));
        let bracket = Bracket { before, after, seconds: 1 };
        assert!(Rule::Level.holds(&"80MHz".into(), &bracket));
        assert!(!Rule::Level.holds(&"40MHz".into(), &bracket));
        assert!(!Rule::Level.holds(&Value::Whole(20), &bracket));
        let bracket = Bracket { before: None, ..bracket };
        assert_eq!(bracket.to_string(), "nothing before and “80MHz” after");
    }
}
