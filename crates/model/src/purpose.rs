//! What a trial is for; and how a plain enum has the names that files and output use.

use serde::{Deserialize, Serialize};

/// Gives a plain enum the list of all of it, and each the name that files and output have for it, as which it is shown.
macro_rules! names {
    ($type:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            /// All of them, in their order.
            pub const ALL: [Self; <[&str]>::len(&[$($name),+])] = [$(Self::$variant),+];

            /// The name that files and output use.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use names;

/// What a trial is for. An instrument moves the CPU figures, so each has trials of its own.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    #[default]
    Cpu,
    /// Calls of functions.
    Counts,
    /// Where the CPU goes.
    Stacks,
    /// Who causes it: a consumer is paused.
    Pause,
    /// Whether the job is still done.
    Parity,
    /// Who talks to the subject.
    Peers,
    /// Where accesses to memory miss, by a model of the caches.
    Caches,
}

impl Purpose {
    pub fn is_cpu(&self) -> bool {
        *self == Purpose::Cpu
    }
}

names!(Purpose {
    Cpu = "cpu",
    Counts = "counts",
    Stacks = "stacks",
    Pause = "pause",
    Parity = "parity",
    Peers = "peers",
    Caches = "caches",
});
