//! Which machine trials of contention and completion are made on.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Machine {
    /// The virtual access point.
    Vm,
    /// The machine that headroom runs on, in namespaces of its own.
    Host,
}
