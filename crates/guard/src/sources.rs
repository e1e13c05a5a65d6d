//! Policy and curve from their files, and the policy that comes of both.
//!
//! A guard that runs reads them again when asked to; nothing of the device is looked at here.

use std::path::{Path, PathBuf};

use linux::file;

use crate::{
    characterize::curve::{Curve, VERSION},
    failure::Failure,
    policy::Policy,
};

#[derive(Clone, Debug, PartialEq)]
pub struct Sources {
    /// The policy as it is written.
    pub written: Policy,
    /// The curve's file, where one is used, and what it says.
    pub curve: Option<(PathBuf, Curve)>,
}

impl Sources {
    /// Reads a policy, and the curve that is named, or that the policy names.
    ///
    /// # Errors
    ///
    /// One line that says which file is wrong, where, and what to do.
    pub fn read(path: &Path, curve: Option<&Path>) -> Result<Self, Failure> {
        let written = policy(path)?;
        let named = curve.map(Path::to_owned);
        let curve = named.map(|path| Ok((path.clone(), read_curve(&path)?))).transpose()?;
        Ok(Self { written, curve })
    }

    /// The policy that holds with this aggressiveness in place of the written one.
    pub fn policy(&self, aggressiveness: Option<u8>) -> Policy {
        let mut policy = self.written.clone();
        policy.aggressiveness = aggressiveness.unwrap_or(policy.aggressiveness);
        match &self.curve {
            Some((_, curve)) => curve.applied_to(&policy),
            None => policy,
        }
    }
}

/// Reads a policy alone.
pub fn policy(path: &Path) -> Result<Policy, Failure> {
    Policy::read(path).map_err(|error| Failure::usage(error.to_string()))
}

fn read_curve(path: &Path) -> Result<Curve, Failure> {
    let text =
        file::text(path, file::GENERATED).map_err(|error| Failure::unreadable(path, &error))?;
    let wrong = |why: &str| {
        Failure::usage(format!(
            "{} is not a curve of this guard ({why}): draw it again with `guard characterize`",
            path.display()
        ))
    };
    let curve: Curve = serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()))?;
    if curve.version != VERSION {
        return Err(wrong(&format!("its version is {}, and {VERSION} is known", curve.version)));
    }
    Ok(curve)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::failure::USAGE;

    #[test]
    fn a_file_that_is_wrong_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("guard.toml");
        let none = Sources::read(&path, None).unwrap_err();
        assert!(none.code == USAGE && none.line.contains("guard.toml"), "{none}");
        fs::write(&path, "aggresiveness = 3\n").unwrap();
        let wrong = Sources::read(&path, None).unwrap_err();
        assert!(wrong.code == USAGE && wrong.line.contains("aggresiveness"), "{wrong}");
        assert_eq!(wrong.line.lines().count(), 1);
    }

    #[test]
    fn a_curve_of_another_version_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (path, curve) = (folder.path().join("guard.toml"), folder.path().join("curve.json"));
        fs::write(&path, "").unwrap();
        for (text, why) in [("{}", "version"), ("[", "EOF")] {
            fs::write(&curve, text).unwrap();
            let refused = Sources::read(&path, Some(&curve)).unwrap_err();
            assert!(
                refused.line.contains(why) && refused.line.contains("characterize"),
                "{refused}"
            );
        }
    }

    #[test]
    fn aggressiveness_that_was_set_stands_over_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("guard.toml");
        fs::write(&path, "aggressiveness = 30\n").unwrap();
        let sources = Sources::read(&path, None).unwrap();
        assert_eq!(sources.policy(None).aggressiveness, 30);
        assert_eq!(sources.policy(Some(90)).aggressiveness, 90);
    }
}
