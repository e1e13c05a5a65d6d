//! A part of a whole as people write it in a study file: `0.1%`, `2 %`, `0.001`.
//!
//! Reads and prints the same text form everywhere. It may be above 1: 2 cores are `200%` of one.

use std::{fmt, str::FromStr};

use crate::span::as_text;

/// A share of something; 1 is all of it. Finite and not below 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(f64);

impl Share {
    /// So much of 1; what is not finite or is below 0 is 0.
    pub const fn of(share: f64) -> Self {
        Self(if share.is_finite() && share > 0.0 { share } else { 0.0 })
    }

    /// The share, 1 is all.
    pub const fn get(self) -> f64 {
        self.0
    }
}

as_text!(Share);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a share; write for instance 0.1%")]
pub struct NoShare(String);

impl FromStr for Share {
    type Err = NoShare;

    fn from_str(text: &str) -> Result<Self, NoShare> {
        let no_share = || NoShare(text.to_owned());
        let (number, whole) = match text.trim().strip_suffix('%') {
            Some(number) => (number.trim_end(), 100.0),
            None => (text.trim(), 1.0),
        };
        let value: f64 = number.parse().map_err(|_| no_share())?;
        let share = value / whole;
        if share.is_finite() && share >= 0.0 { Ok(Self(share)) } else { Err(no_share()) }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Twelve digits hide what the division by 100 does to the last bit.
        let percent = format!("{:.12}", self.0 * 100.0);
        write!(f, "{}%", percent.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_read_as_people_write_it() {
        for (text, share, printed) in
            [("0.1%", 0.001, "0.1%"), ("2 %", 0.02, "2%"), ("0.5", 0.5, "50%"), ("0", 0.0, "0%")]
        {
            let read: Share = text.parse().unwrap();
            assert!((read.get() - share).abs() < 1e-15, "{text}");
            assert_eq!(read.to_string(), printed);
        }
        for text in ["", "%", "-1%", "nan", "inf%", "a lot"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }
}
