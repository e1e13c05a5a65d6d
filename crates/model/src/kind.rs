//! Which kinds of experiment there are, and what planned trials of every kind say of themselves.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// What associated clients cost a subject.
    Clients,
    /// What applications take from Wi-Fi, and what each control gives back.
    Contention,
    /// What waiting for a card's transmit command costs.
    Completion,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Clients, Self::Contention, Self::Completion];

    /// Its name in study files, runs and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clients => "clients",
            Self::Contention => "contention",
            Self::Completion => "completion",
        }
    }

    /// The table that every study of the kind has, and no other.
    pub const fn table(self) -> &'static str {
        match self {
            Self::Clients => "access-point",
            Self::Contention => "contention",
            Self::Completion => "completion",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What every planned trial says of itself.
pub trait Planned<S> {
    /// The stem of its file's name, unique in its run; no part of a path.
    fn id(&self) -> String;

    fn name(&self, study: &S) -> String;

    /// Its block: trials that are made on one machine, whichever that is.
    fn block(&self) -> String;

    /// What passes on the access point: its warm-up and its window.
    fn passes(&self) -> Duration;
}
