//! What a comparison is to decide, fixed before its first trial; and the words of every verdict.

use serde::{Deserialize, Serialize};

use crate::{
    name::{CellName, Sha256Hex},
    purpose::names,
    share::Share,
};

/// How a question was decided. The later of two outweighs the other: see [`Verdict::of_all`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing was asked that could pass or fail, and everything was measured.
    Measured,
    /// What was asked for is shown.
    Pass,
    /// It could not be measured, or not closely enough. Never a failure, and never a pass.
    Invalid,
    /// The contrary is shown.
    Fail,
}

names!(Verdict { Measured = "measured", Pass = "pass", Invalid = "invalid", Fail = "fail" });

impl Verdict {
    /// The verdict on several: one that fails is shown to fail, whatever else could not be measured; only where
    /// all pass is everything shown; and where there is none, nothing was asked.
    pub fn of_all(each: impl IntoIterator<Item = Verdict>) -> Verdict {
        each.into_iter().max().unwrap_or(Verdict::Measured)
    }
}

/// Two sides, and what is to be decided between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Versus {
    /// The variant that is compared with.
    pub base: String,
    /// The variant in question. In an A/A run it is the base once more.
    pub variant: String,
    /// In this cell.
    pub cell: CellName,
    /// At so many clients.
    pub clients: u32,
    /// What may differ between the sides; everything else must be the same.
    pub difference: Difference,
    /// What is to be shown.
    pub expect: Expect,
    /// Differences below this share of the base do not matter.
    pub margin: Share,
    pub pairs: Pairs,
    /// Functions that the variant changes: none executed, no verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
}

/// What may differ between two sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    /// Nothing: the same twice, to learn how often the lab cries wolf.
    Nothing,
    /// What the study's variants say: words of subject and load.
    Variants,
    /// One program, put on the access point for both sides.
    Program {
        name: String,
        /// Of the base's file.
        base: Sha256Hex,
        /// Of the variant's file.
        variant: Sha256Hex,
    },
    /// The image, and with it every program.
    Image {
        /// The base's.
        base: String,
        /// The variant's.
        variant: String,
    },
}

/// What is to be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expect {
    /// The variant costs no more than the base and the margin.
    #[default]
    NoSlower,
    Faster,
    /// It costs the same, within the margin.
    Same,
}

names!(Expect { NoSlower = "no-slower", Faster = "faster", Same = "same" });

/// How many pairs are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// So many.
    Fixed(u32),
    /// Until the question is decided, at most so many; looked at after each of [`Pairs::looks`].
    UpTo(u32),
}

/// No fewer pairs: the exact two-sided p of 5 cannot reach 0.05.
pub const FEWEST_PAIRS: u32 = 6;

impl Pairs {
    /// The most pairs that are measured.
    pub const fn most(self) -> u32 {
        match self {
            Pairs::Fixed(pairs) | Pairs::UpTo(pairs) => pairs,
        }
    }

    /// The numbers of pairs after which it is looked, the last one the most: 6, 8, 12, 16, 24, 32, 48 …
    /// Each look has the same part of the error that is allowed in all (Bonferroni), so that looking costs
    /// certainty and never honesty.
    pub fn looks(self) -> Vec<u32> {
        let most = self.most();
        let Pairs::UpTo(_) = self else { return vec![most] };
        let steps = (0..).flat_map(|doubling: u32| [6_u32, 8].map(|step| step << doubling));
        let mut looks: Vec<u32> = steps.take_while(|look| *look < most).collect();
        looks.push(most);
        looks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_fails_fails_and_only_all_that_pass_pass() {
        use Verdict::{Fail, Invalid, Pass};
        assert_eq!(Verdict::of_all([Pass, Fail, Pass]), Fail);
        assert_eq!(Verdict::of_all([Fail, Invalid, Pass]), Fail);
        assert_eq!(Verdict::of_all([Pass, Invalid]), Invalid);
        assert_eq!(Verdict::of_all([Verdict::Measured, Pass]), Pass);
        assert_eq!(Verdict::of_all([]), Verdict::Measured);
    }

    #[test]
    fn looks_come_ever_more_seldom() {
        assert_eq!(Pairs::Fixed(6).looks(), [6]);
        assert_eq!(Pairs::UpTo(40).looks(), [6, 8, 12, 16, 24, 32, 40]);
        assert_eq!(Pairs::UpTo(6).looks(), [6]);
    }
}
