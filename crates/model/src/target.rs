//! Where trials are made.

use serde::{Deserialize, Serialize};

use crate::traffic::Road;

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The virtual access point in QEMU.
    #[default]
    Vm,
    /// The machine that headroom runs on, in namespaces of its own.
    Host,
    /// An access point that is there already, by what the command line called it. No study file says this: the same
    /// study is carried out wherever `--on` points.
    Device(String),
}

impl Target {
    pub fn is_vm(&self) -> bool {
        *self == Self::Vm
    }

    /// What traffic crosses there: this machine has no radios.
    pub fn road(&self) -> Road {
        if *self == Self::Host { Road::Veth } else { Road::Radio }
    }
}
