//! Which processors there are: of the virtual access point, and of what programs are built for. What that means for QEMU,
//! for the image and for a device is the lab's to know.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::purpose::names;

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

names!(Architecture { X86_64 = "x86-64", Arm64 = "arm64" });

impl Architecture {
    /// What programs for it are built for.
    pub const fn processor(self) -> Processor {
        match self {
            Self::X86_64 => Processor::X86_64,
            Self::Arm64 => Processor::Arm64,
        }
    }

    /// Whether it is the one that this program was built for.
    pub fn is_own(self) -> bool {
        self.processor().is_own()
    }

    /// Whether it is the one that is meant where nothing is said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl FromStr for Architecture {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| format!("`{text}` is neither x86-64 nor arm64"))
    }
}

/// What a program is built for: the processor of a virtual access point, or one that only devices have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    X86_64,
    Arm64,
    /// 32-bit ARM with hardware floating point, as of older access points.
    Armv7,
}

names!(Processor { X86_64 = "x86-64", Arm64 = "arm64", Armv7 = "armv7" });

impl Processor {
    /// Rust's name of the target that programs are built for.
    pub const fn target(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Arm64 => "aarch64-unknown-linux-gnu",
            Self::Armv7 => "armv7-unknown-linux-gnueabihf",
        }
    }

    /// Whose programs a kernel runs that calls its machine so (`uname -m`); `None` where we build none for it. An
    /// arm64 kernel shows 32-bit programs `armv8l`.
    pub fn of_machine(machine: &str) -> Option<Self> {
        match machine {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Arm64),
            "armv7l" | "armv8l" => Some(Self::Armv7),
            _ => None,
        }
    }

    /// Whether it is the one that this program was built for.
    pub fn is_own(self) -> bool {
        self.target().starts_with(std::env::consts::ARCH)
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
        assert_eq!(Processor::of_machine("mips"), None);
        assert!("amd64".parse::<Architecture>().unwrap_err().contains("x86-64 nor arm64"));
    }
}
