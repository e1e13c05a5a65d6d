//! A shard: a part of a run's plan, for one of several machines.
//!
//! Only which part of how many, and the whole that it is of; which trials it has is decided in the crate `lab`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{span::as_text, trial::PlannedTrial};

/// No run has more shards.
pub const MOST: u32 = 4096;

/// Which of so many, as `3/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    number: u32,
    of: u32,
}

as_text!(Shard);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no shard; write for instance 3/8, which is the third of eight (at most {MOST})")]
pub struct NoShard(String);

impl Shard {
    /// All of so many, in order; none of more than [`MOST`].
    pub fn all(of: u32) -> impl Iterator<Item = Self> {
        (1..=of).filter(move |_| of <= MOST).map(move |number| Self { number, of })
    }

    /// From 1.
    pub const fn number(self) -> u32 {
        self.number
    }

    pub const fn of(self) -> u32 {
        self.of
    }
}

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        let numbers = text.split_once('/').and_then(|(number, of)| {
            let (number, of) = (number.parse().ok()?, of.parse().ok()?);
            Some(Self { number, of })
        });
        let is_one = |shard: &Self| (1..=shard.of).contains(&shard.number) && shard.of <= MOST;
        numbers.filter(is_one).ok_or_else(|| NoShard(text.to_owned()))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// What a run is a part of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub shard: Shard,
    /// The plan of all shards together.
    pub whole: Vec<PlannedTrial>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_a_number_of_how_many() {
        let shard: Shard = "3/8".parse().unwrap();
        assert_eq!((shard.number(), shard.of(), shard.to_string().as_str()), (3, 8, "3/8"));
        assert_eq!(Shard::all(8).nth(2), Some(shard));
        for wrong in ["", "3", "0/8", "9/8", "1/0", "-1/8", "1/5000", "a/b", "1/8/9"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
