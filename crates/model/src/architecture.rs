//! Which processor the virtual access point has. What that means for QEMU and for the image is the lab's to know.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A processor's architecture, by the name that study files and the command line use.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Architecture {
    /// The host's in most labs, and what all published figures of ours were measured on.
    #[default]
    #[serde(rename = "x86-64")]
    X86_64,
    /// What most access points have.
    #[serde(rename = "arm64")]
    Arm64,
}

impl Architecture {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Arm64];

    /// The name that study files and reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86-64",
            Self::Arm64 => "arm64",
        }
    }

    /// Rust's name for it, and the kernel's: the first word of the target that programs are built for.
    pub const fn machine(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Arm64 => "aarch64",
        }
    }

    /// Whether it is the one that this program was built for.
    pub fn is_own(self) -> bool {
        self.machine() == std::env::consts::ARCH
    }

    /// Whether it is the one that is meant where nothing is said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Architecture {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| format!("`{text}` is neither x86-64 nor arm64"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for one in Architecture::ALL {
            assert_eq!(one.to_string().parse(), Ok(one));
            assert_eq!(serde_json::to_value(one).unwrap(), one.name());
        }
        assert!("amd64".parse::<Architecture>().unwrap_err().contains("x86-64 nor arm64"));
    }
}
