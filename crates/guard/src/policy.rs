//! The policy: what is protected, what may be bounded, how far. The file that a person writes.
//!
//! Reading it refuses what could never work, with one line: what, where, what to do. Which processes an
//! application is on this device is `groups`' question.

mod rules;
mod text;

use std::{
    io,
    path::{Path, PathBuf},
};

use model::share::Share;
use serde::Deserialize;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Policy {
    /// How hard Wi-Fi is defended, 0 to 100. 0 gives way early and only by weights; 100 defends it with
    /// every lever that is allowed.
    #[serde(default = "eighty")]
    pub aggressiveness: u8,
    #[serde(default)]
    pub protect: Protect,
    /// What all applications together keep at least, of one CPU, whatever Wi-Fi wants.
    #[serde(default)]
    pub application_floor: Option<Share>,
    /// What guard may use beyond weights.
    #[serde(default)]
    pub allow: Allow,
    #[serde(default, rename = "application")]
    pub applications: Vec<Rule>,
}

fn eighty() -> u8 {
    80
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Protect {
    /// Interfaces by name, `*` at the end for the rest: `wlan*`. Empty: every wireless one.
    pub interfaces: Vec<String>,
    /// Daemons that are never bounded and whose waiting counts: process names.
    pub daemons: Vec<String>,
    /// The target: `95%` of the CPU time that Wi-Fi's work asks for, or a rate as `400 Mb/s` (kept while there is
    /// demand for it). Without one, aggressiveness gives it.
    pub target: Option<Target>,
}

/// A target in Wi-Fi's terms.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum Target {
    /// A share of what Wi-Fi would have alone.
    Part(Share),
    /// Bits in a second, received and sent, over all protected interfaces.
    Rate(u64),
}

impl TryFrom<String> for Target {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let no_target = || format!("`{text}` is not a target; write 95% or 400 Mb/s");
        let trimmed = text.trim();
        let Some(number) = trimmed.strip_suffix("b/s") else {
            return trimmed.parse().map(Target::Part).map_err(|_| no_target());
        };
        let (number, scale) = match number.chars().last() {
            Some('G') => (&number[..number.len() - 1], 1e9),
            Some('M') => (&number[..number.len() - 1], 1e6),
            Some('k') => (&number[..number.len() - 1], 1e3),
            _ => (number, 1.0),
        };
        let bits: f64 = number.trim().parse().map_err(|_| no_target())?;
        if bits.is_finite() && bits > 0.0 {
            Ok(Target::Rate((bits * scale) as u64))
        } else {
            Err(no_target())
        }
    }
}

/// What guard may use beyond weights; everything else is never touched.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Allow {
    pub idle: bool,
    pub packing: bool,
    /// Duty cycles by quota.
    pub quota: bool,
    /// `memory.high` of applications.
    pub memory: bool,
    pub cache: bool,
    /// Nice values of Wi-Fi's own threads, and a group of their own.
    pub placement: bool,
    /// Switching NAPI to threads. It changes how the driver works, so it is asked for.
    pub threaded_napi: bool,
}

impl Default for Allow {
    fn default() -> Self {
        Self {
            idle: true,
            packing: true,
            quota: true,
            memory: true,
            cache: true,
            placement: true,
            threaded_napi: false,
        }
    }
}

/// An application: exactly one of the ways to find it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Rule {
    /// Its name in every line about it.
    pub name: String,
    /// A procd service (`/etc/init.d/NAME`).
    pub service: Option<String>,
    pub unit: Option<String>,
    /// A control group, below the hierarchy's root: `/apps/backup`.
    pub group: Option<String>,
    /// An executable: a name as in `/proc/PID/comm`, or a path.
    pub process: Option<String>,
    /// A user, by name or number, but not root: most of what keeps the device alive is root's.
    pub user: Option<String>,
    /// A container: its id, or the beginning of it, as the group's name has it.
    pub container: Option<String>,
    /// What it keeps at least, of one CPU.
    pub floor: Option<Share>,
}

impl Policy {
    /// Reads and checks a policy file, with what stands in the folder beside it: for `guard.toml` the files
    /// `guard.d/*.toml` in the order of their names. Their applications are added; whatever else they set stands
    /// in place of what was set before.
    /// Fails with [`Error`]: which file, which line, what is wrong, and what to do.
    pub fn read(path: &Path) -> Result<Self, Error> {
        text::read(path)
    }

    /// Checks what the types cannot say; for a policy that was not read from a file.
    pub fn check(&self) -> Result<(), String> {
        rules::check(self).map_err(|wrong| wrong.why)
    }
}

/// Reads and checks a policy from text; `name` is what errors call it.
pub fn parse(text: &str, name: &str) -> Result<Policy, Error> {
    text::parse(text, name)
}

/// A policy that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read the policy {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{file}:{line}: {why}")]
    Wrong {
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what to do.
        why: String,
    },
}

impl From<Error> for String {
    fn from(error: Error) -> Self {
        error.to_string()
    }
}

#[cfg(test)]
mod tests;
