//! The studies that headroom brings, so that an installed one needs no file: which there are, and which one a word means.
//!
//! The build finds them in `studies/` and puts their texts in here. What they mean is `lab`'s.

use std::path::Path;

use lab::study_file::StudyText;
use model::nearest;

use crate::failure::Failure;

#[derive(Debug)]
pub(crate) struct Shipped {
    /// What people call it: the file's name without its ending.
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// All of them, in the order of their names.
pub(crate) static ALL: &[Shipped] = &include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

pub(crate) fn named(name: &str) -> Option<&'static Shipped> {
    ALL.iter().find(|study| study.name == name)
}

/// The text of the study that a word means: the name of one of these, or a file's path.
pub(crate) fn text_of(what: &Path) -> Result<StudyText, Failure> {
    if let Some(study) = what.to_str().and_then(named) {
        return Ok(StudyText::named(study.name, study.text));
    }
    StudyText::read(what).map_err(|error| not_there(what).unwrap_or_else(|| error.into()))
}

/// A better message than that there is no such file, if there is one.
fn not_there(what: &Path) -> Option<Failure> {
    let names: Vec<&str> = ALL.iter().map(|study| study.name).collect();
    // The study that a misspelt name, or a path in a place without the file, means.
    let meant = what.file_stem().and_then(|name| nearest::nearest(name.to_str()?, &names));
    let why = match meant {
        _ if what.exists() => return None,
        Some(name) => {
            let what = what.display();
            format!("there is no study {what}; did you mean `{name}`, which headroom brings?")
        }
        None if is_path(what) => return None,
        None => unknown(&what.to_string_lossy()),
    };
    Some(Failure::Usage(why))
}

pub(crate) fn unknown(name: &str) -> String {
    let names: Vec<&str> = ALL.iter().map(|study| study.name).collect();
    let meant = nearest::or_all(name, &names, "headroom brings");
    format!("there is no study `{name}`; {meant}")
}

/// Whether a word is a path, and no name.
pub(crate) fn is_path(what: &Path) -> bool {
    what.components().count() > 1 || what.extension().is_some_and(|ending| ending == "toml")
}

/// Whether a word names a study, and no process. A process has no folder in its name, and a file that happens to have a
/// process's name is not meant. A thread of the kernel's, as `ksoftirqd/0`, looks like a path; it is one where there is such a file.
pub(crate) fn is_study(what: &str) -> bool {
    let path = Path::new(what);
    let is_file = path.has_root() || what.starts_with('.') || path.extension().is_some();
    named(what).is_some() || is_path(path) && (is_file || path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_the_kernel_is_no_study() {
        for process in ["hostapd", "ksoftirqd/0", "mt76-tx phy0", "napi/phy0-7", "kworker/u8:1-ev"]
        {
            assert!(!is_study(process), "{process}");
        }
        let studies =
            ["client-scale", "own.toml", "studies/own.toml", "./own", "/tmp/own", "src/main.rs"];
        for study in studies {
            assert!(is_study(study), "{study}");
        }
    }
}
