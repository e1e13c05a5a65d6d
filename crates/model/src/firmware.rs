//! Firmware of somebody's own that a virtual access point is made from: which files, and what was in them.
//!
//! Paths are for those who named them. A run is known by the sums alone: no path in it is ever opened.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::name::Sha256Hex;

/// Something of each part. A part that is not there is Debian's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Parts<T> {
    /// The root file system, a tar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rootfs: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<T>,
    /// The kernel's modules, a folder, where the root has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modules: Option<T>,
}

/// The files, as a study or the command line names them.
pub type Files = Parts<PathBuf>;

/// SHA-256 of what was in the files, as they were given; of modules their names and contents.
pub type Sums = Parts<Sha256Hex>;

impl<T> Default for Parts<T> {
    fn default() -> Self {
        Self { rootfs: None, kernel: None, modules: None }
    }
}

impl<T> Parts<T> {
    /// Each part with the name of its key.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &T)> {
        let all = [("rootfs", &self.rootfs), ("kernel", &self.kernel), ("modules", &self.modules)];
        all.into_iter().filter_map(|(key, part)| Some((key, part.as_ref()?)))
    }

    pub fn is_empty(&self) -> bool {
        self.named().next().is_none()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firmware {
    pub sums: Sums,
    /// What was put beside it because it has none, as “iw of iw_5.19-1_amd64”; and what it lacks.
    pub notes: Vec<String>,
}
