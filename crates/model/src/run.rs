//! One run: a study executed, as a folder holds it.
//!
//! ```text
//! RUN/
//!   run.json            Run: what was asked, with what, on what, and the plan
//!   study.toml          the study file as it was given
//!   calibration.json    what was measured before the trials could be planned, where a study needs that
//!   trials/ID.json      Trial: one file each, written whole
//!   stacks/ID.perf.data the records of a trial for stacks, as perf itself reads them
//!   objects/SHA256      files of the access point that explain them
//!   consoles/ID.log     the access point's console
//!   events.jsonl        what happened, in order
//!   report.html         made from the above, at any time
//! ```

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{
    facts::Facts,
    firmware::Firmware,
    name::{RelativePath, Sha256Hex},
    plural::count,
    shard::Part,
    study::Study,
    trial::PlannedTrial,
    verdict::Versus,
};

/// The version of the folder's files.
pub const FORMAT: u32 = 10;

/// What a run is, fixed when it begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub format: u32,
    pub headroom: String,
    /// When it began, seconds since 1970 on the host.
    pub began_unix: u64,
    /// The study that was carried out, with every default filled in.
    pub study: Study,
    /// What the command line changed in the study file, as `clients = 18, 60`.
    #[serde(default)]
    pub overrides: Vec<String>,
    /// The study file's name, without folders.
    pub study_name: String,
    /// SHA-256 of the study file as given, hexadecimal.
    pub study_sha256: String,
    /// The trials, in the order in which they start; empty until what they need is measured.
    pub plan: Vec<PlannedTrial>,
    pub lab: LabIdentity,
    pub host: Host,
    /// What it is a part of, where other machines make the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// What was to be decided, where the run is a comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versus: Option<Versus>,
    /// What is not known to be as it was on the device once the run had ended, each in a sentence's part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

impl Run {
    /// Whether the command line chose some of the study's client counts, variants or cells, and left the others out.
    pub fn is_part(&self) -> bool {
        let chosen = ["clients = ", "variants = ", "cell = "];
        self.overrides.iter().any(|change| chosen.iter().any(|key| change.starts_with(key)))
    }
}

/// What the virtual access point was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabIdentity {
    /// SHA-256 of kernel and root together, hexadecimal; empty where no virtual access point was raised.
    pub image: String,
    pub kernel: String,
    /// The packages in the image, as `name_version_architecture`.
    pub packages: Vec<String>,
    pub agent: String,
    /// What QEMU's program for the access point's architecture says of its version, first line.
    pub qemu: String,
    /// QEMU's arguments in counted mode, without paths.
    pub counted_arguments: Vec<String>,
    /// What it was made from in place of Debian's packages, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<Firmware>,
    /// The programs that the study brings, by their names on the access point: SHA-256 without symbols.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<RelativePath, Sha256Hex>,
    /// What accelerates real-time mode: `kvm` or `tcg`; `None` where no trial uses that mode.
    pub accelerator: Option<String>,
    /// What is different in the access points of perturbed states, by the state's name: arguments, words of the
    /// kernel's command line, the image's SHA-256.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub perturbed: BTreeMap<String, String>,
    /// Which device it was, where the access point was there already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceIdentity>,
}

/// Which device a run was made on, by content: a name can be given to another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// `uname -m`.
    pub machine: String,
    /// The kernel: SHA-256 of its notes.
    pub kernel: Option<Sha256Hex>,
    /// The system: SHA-256 of what its build says of itself.
    pub system: Option<Sha256Hex>,
    /// The boot in which the run began.
    pub boot: Option<String>,
}

impl From<&Facts> for DeviceIdentity {
    fn from(facts: &Facts) -> Self {
        Self {
            machine: facts.machine.clone(),
            kernel: facts.kernel_notes.clone(),
            system: facts.system.clone(),
            boot: facts.boot.clone(),
        }
    }
}

impl LabIdentity {
    /// SHA-256 of the image; `None` where no virtual access point was raised.
    pub fn image(&self) -> Option<&str> {
        Some(self.image.as_str()).filter(|image| !image.is_empty())
    }

    /// What counted, by its name: where one of these is another, one and the same image has other figures.
    pub fn counted_by(&self) -> BTreeMap<&'static str, String> {
        [
            ("agent", self.agent.clone()),
            ("QEMU", self.qemu.clone()),
            ("QEMU's arguments", self.counted_arguments.join(" ")),
            ("accelerator", self.accelerator.clone().unwrap_or_default()),
        ]
        .into()
    }
}

/// The machine that ran the lab. None of it moves a counted figure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Operating system, as in `/etc/os-release`.
    pub system: String,
    /// `uname -r`.
    pub kernel: String,
    pub cpu: String,
    /// Cores that headroom may use.
    pub cores: u32,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { system, kernel, cpu, cores } = self;
        write!(f, "{system}, Linux {kernel}, {cpu}, {}", count(*cores, "CPU"))
    }
}
