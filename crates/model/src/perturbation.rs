//! Perturbed states: what a comparison is repeated in, so that its conclusion is not about one machine alone.
//!
//! Names them and says what each changes. How a trial is put into one is the lab's; whether a conclusion holds in
//! all of them is the analysis's.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is different in a state, on both sides alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Perturbation {
    /// When a trial starts and when its window opens.
    Phase,
    /// What is drawn at random.
    Seed,
    /// Where programs lie in memory.
    Layout,
}

/// What the state is called that a comparison is measured in anyway.
pub const AS_IS: &str = "as is";

impl Perturbation {
    /// All, the cheap ones first.
    pub const ALL: [Self; 3] = [Self::Phase, Self::Seed, Self::Layout];

    /// The name that files, flags and output use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Phase => "phase",
            Self::Seed => "seed",
            Self::Layout => "layout",
        }
    }

    /// What is different.
    pub const fn changes(self) -> &'static str {
        match self {
            Self::Phase => {
                "trials start half a second later, and windows open within a round of the load"
            }
            Self::Seed => "other random numbers of the kernel",
            Self::Layout => {
                "an environment that is longer by 37 KiB, which moves the stacks of what is started"
            }
        }
    }
}

impl fmt::Display for Perturbation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name of a state, perturbed or not.
pub fn state_name(perturbed: Option<Perturbation>) -> &'static str {
    perturbed.map_or(AS_IS, Perturbation::name)
}
