//! Perturbed states: what a comparison is repeated in, so that its conclusion is not about one machine alone.
//!
//! Names them and says what each changes. How a trial is put into one is the lab's; whether a conclusion holds in
//! all of them is the analysis's.

use serde::{Deserialize, Serialize};

use crate::purpose::names;

/// What is different in a state, on both sides alike; the cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Perturbation {
    /// When a trial starts and when its window opens.
    Phase,
    /// What is drawn at random, from the boot on.
    Seed,
    /// Where programs lie in memory.
    Layout,
    Cpu,
}

/// What the state is called that a comparison is measured in anyway.
pub const AS_IS: &str = "as is";

names!(Perturbation { Phase = "phase", Seed = "seed", Layout = "layout", Cpu = "cpu" });

impl Perturbation {
    /// Whether the virtual access point is another one from its boot on, and so has a snapshot of its own.
    pub const fn has_own_snapshot(self) -> bool {
        !matches!(self, Self::Phase)
    }

    /// Whether it can be brought about on a device, which has the CPU that it has.
    pub const fn is_for_devices(self) -> bool {
        matches!(self, Self::Phase | Self::Seed | Self::Layout)
    }

    pub const fn changes(self) -> &'static str {
        match self {
            Self::Phase => "trials start 0.5 s later, and windows open within a round of the load",
            Self::Seed => "other random numbers; in a guest other clients in another order",
            Self::Layout => "a longer environment; in a guest every program at its own addresses",
            Self::Cpu => "another CPU model",
        }
    }
}

/// The name of a state, perturbed or not.
pub fn state_name(perturbed: Option<Perturbation>) -> &'static str {
    perturbed.map_or(AS_IS, Perturbation::name)
}
