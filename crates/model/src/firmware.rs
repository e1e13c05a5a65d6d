//! Firmware of somebody's own that a virtual access point is made from: which files, and what was in them.
//!
//! Paths are for those who named them. A run is known by the sums alone: no path in it is ever opened.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::name::Sha256Hex;

/// The files, as a study or the command line names them. What is not named is Debian's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Files {
    /// A tar of the root file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rootfs: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<PathBuf>,
    /// A folder with the kernel's modules, where the root has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modules: Option<PathBuf>,
}

impl Files {
    /// Each file with the name of its key.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &PathBuf)> {
        let all = [("rootfs", &self.rootfs), ("kernel", &self.kernel), ("modules", &self.modules)];
        all.into_iter().filter_map(|(key, path)| Some((key, path.as_ref()?)))
    }

    pub fn is_empty(&self) -> bool {
        self.named().next().is_none()
    }
}

/// What was in the files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// SHA-256 of the root's tar, as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rootfs: Option<Sha256Hex>,
    /// SHA-256 of the kernel, as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Sha256Hex>,
    /// SHA-256 of the modules' names and contents, where they were given apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modules: Option<Sha256Hex>,
}

impl Sums {
    /// Each sum with the name of its key.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &Sha256Hex)> {
        let all = [("rootfs", &self.rootfs), ("kernel", &self.kernel), ("modules", &self.modules)];
        all.into_iter().filter_map(|(key, sum)| Some((key, sum.as_ref()?)))
    }
}

/// The firmware of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firmware {
    /// What was in the files.
    pub sums: Sums,
    /// What was put beside it because it has none, as “iw of iw_5.19-1_amd64”; and what it lacks.
    pub notes: Vec<String>,
}
