//! The rules of this repository: each a pure function of what was read.
//!
//! CONTRIBUTING.md has them in words; what stands there and can be checked is checked here.

mod budget;
mod dependencies;
mod device;
mod files;
mod layers;
mod paths;
mod studies;

use crate::{fault::Fault, workspace::Workspace};

/// Every breach, rule by rule.
pub(crate) fn faults(workspace: &Workspace) -> Vec<Fault> {
    let Workspace { packages, files, sources, studies, budget, .. } = workspace;
    let mut faults = Vec::new();
    faults.extend(packages.iter().flat_map(layers::faults));
    faults.extend(packages.iter().flat_map(device::faults));
    faults.extend(dependencies::faults(workspace));
    faults.extend(files.iter().filter_map(|path| files::name(path)));
    faults.extend(sources.iter().filter_map(files::header));
    faults.extend(sources.iter().filter_map(files::length));
    faults.extend(sources.iter().flat_map(paths::faults));
    let names = studies::names(studies);
    faults.extend(sources.iter().flat_map(|source| studies::faults(source, &names)));
    faults.extend(budget::faults(sources, budget));
    faults
}
