//! What a variant is by itself; what it takes from its study is the study's to say.

use serde::{Deserialize, Serialize};

use super::{Mode, Subject, VariantLoad, VariantParity};
use crate::{card::Strategy, name::VariantName, traffic::Control};

/// One configuration of the measurement; compared with the others of its study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Variant {
    /// Short and unique; names files and curves.
    pub name: VariantName,
    /// One line for the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The variant's subject, in place of the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// The variant's load, in place of the study's; `load = "none"` is an idle access point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<VariantLoad>,
    /// A program that runs from the warm-up until the window has closed, as the world around the subject: it is in
    /// no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<String>,
    /// The image that a device runs it from, in place of what it runs; only with `--on`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageFile>,
    /// What is done about the application of its cells.
    #[serde(default, skip_serializing_if = "Control::is_none")]
    pub control: Control,
    /// How the driver of its cells' card waits for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Whether it is a candidate for the best fixed control: it is measured in the first `sweep` repetitions only, unless
    /// it is `reported` too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub candidate: bool,
    /// Whether it is the control that was reported from the field: it is shown in the four cases.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reported: bool,
    /// Client counts out of the study's at which it is measured; empty is every one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<u32>,
    /// The variant's mode, in place of the access point's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What else the host does while a trial runs.
    #[serde(default, skip_serializing_if = "HostLoad::is_anything")]
    pub host_load: HostLoad,
    /// Names of variants that this one is compared with; without any, the first of its kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<String>,
    /// Functions that this variant changes in comparison with its first base: where none of them is
    /// executed, no difference is a verdict on the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// The process that trials which pause stop in this variant, in place of the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<String>,
    /// How parity asks this variant, in place of the study's commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parity: Option<VariantParity>,
    /// What somebody else published of the same thing, to be shown alongside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
}

/// A device's image, as the study's author has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ImageFile {
    /// Its path, relative to the study file.
    pub file: String,
    /// A command on this machine that builds it, in the study file's folder; run once, before the first trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
}

/// A figure from elsewhere: shown alongside ours and never calculated with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Published {
    pub clients: u32,
    /// The subject's CPU as a share of one core, %.
    pub percent_of_core: f64,
    /// The same before the change that the variant makes, where that was published beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<f64>,
    /// Where it was measured and what is different there, one line.
    pub source: String,
}

/// A figure from elsewhere, shown with ours everywhere and never calculated with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedFigure {
    /// What it is, in words.
    pub what: String,
    /// Which of ours it stands with, as a limit names it: `busy: waiting at full`.
    pub ours: String,
    /// The value: `6.6%`, `2.2x`, or a number.
    pub value: String,
    /// As it was published, where that is more than the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// What the host does alongside a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostLoad {
    /// Whatever is quickest: trials run on all cores.
    #[default]
    Anything,
    /// The trial has the host for itself.
    Nothing,
    /// One other trial of the same variant runs at the same time.
    Trial,
    /// stress-ng oversubscribes the host: twice as many busy workers as it has cores.
    Stress,
}

impl HostLoad {
    /// Whether this is the default.
    pub fn is_anything(&self) -> bool {
        *self == HostLoad::Anything
    }
}

impl Variant {
    /// The study's subject under the study's load.
    pub fn named(name: VariantName) -> Self {
        Self {
            name,
            about: None,
            subject: None,
            load: None,
            background: None,
            image: None,
            control: Control::None,
            strategy: None,
            candidate: false,
            reported: false,
            clients: Vec::new(),
            mode: None,
            host_load: HostLoad::default(),
            against: Vec::new(),
            changes: Vec::new(),
            pause: None,
            parity: None,
            published: None,
        }
    }

    /// Whether it is measured at so many clients.
    pub fn is_at(&self, clients: u32) -> bool {
        self.clients.is_empty() || self.clients.contains(&clients)
    }

    /// Whether a list of variants means this one; an empty list means all.
    pub fn is_meant(&self, names: &[String]) -> bool {
        names.is_empty() || names.iter().any(|name| self.name == *name)
    }
}
