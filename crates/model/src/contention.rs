//! Contention: Wi-Fi's traffic alongside an application, under a control, as one trial at one place.
//!
//! The study that plans orders is [`Study`]; what they say of traffic is in [`crate::traffic`].

mod known;
mod planned;

use serde::{Deserialize, Serialize};

pub use self::known::FIGURES;

use crate::{
    architecture::Architecture, cache::Geometry, limit::Limits, order::TrialOrder, share::Share,
    span::Span, study::Mode, trial::Outcome, verdict::Expect,
};

pub use crate::{
    place::Machine,
    traffic::{
        Application, Control, Counters, CpuTime, Endpoints, Flow, Guarding, Road, RoundTrip,
        Second, ThreadTime, Traffic, TrafficReading, Work,
    },
};

/// A contention study: `studies/app-contention.toml` in shape. The loader knows it by its table `[contention]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Study {
    /// The question that the page opens with.
    pub question: String,
    /// How long and how often.
    pub contention: Shape,
    /// The caches that the virtual access point's model has; without it none is attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<Geometry>,
    /// Where trials are made.
    #[serde(rename = "place")]
    pub places: Vec<Place>,
    #[serde(rename = "traffic")]
    pub traffics: Vec<NamedTraffic>,
    #[serde(rename = "application")]
    pub applications: Vec<NamedApplication>,
    /// Controls by name; `none` and `alone` need no entry.
    #[serde(rename = "control")]
    pub controls: Vec<NamedControl>,
    /// What is tried: traffic alongside an application at a place.
    #[serde(rename = "cell")]
    pub cells: Vec<Cell>,
    /// What the study asks of its figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<Limits>,
}

/// How long a trial is and how often each is repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Shape {
    /// The processor of its virtual access points.
    #[serde(skip_serializing_if = "Architecture::is_default")]
    pub arch: Architecture,
    /// Traffic and application run this long before the window opens.
    pub warm_up: Span,
    /// The measured span: whole seconds.
    pub window: Span,
    /// Blocks: each has every arm of its cell once, in an order of its own, and begins and ends alone.
    pub blocks: u32,
    /// The first so many blocks hold the oracle's candidates too (`fixed` controls but for the reported one);
    /// `None`: all blocks do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep_blocks: Option<u32>,
    /// The seed of those orders.
    pub seed: u64,
    /// A real-time trial begins only where the machine was idle for this share of the second before.
    pub idle_gate: Share,
    /// Differences below this share of the base do not matter where controls are compared; `None`: 1 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<Share>,
    /// What a comparison of two controls is to show; `None`: that the one in question keeps more Wi-Fi.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
    /// Where the study has nothing in it but one question: its sides. `headroom compare` writes it, and no study
    /// file has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versus: Option<Versus>,
}

/// Two controls; each block is a pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Versus {
    /// Compared with this one; `none` is a control too.
    pub base: String,
    pub variant: String,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            arch: Architecture::default(),
            warm_up: Span::from_secs(3),
            window: Span::from_secs(10),
            blocks: 8,
            sweep_blocks: None,
            seed: 1,
            idle_gate: Share::of(0.94),
            margin: None,
            expect: None,
            versus: None,
        }
    }
}

/// Where trials are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Place {
    /// Short and unique.
    pub name: String,
    pub on: Machine,
    /// How its time passes; a `host` is always real-time.
    #[serde(default)]
    pub mode: Mode,
    pub road: Road,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NamedTraffic {
    /// Short and unique.
    pub name: String,
    #[serde(flatten)]
    pub traffic: Traffic,
}

/// An application with its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NamedApplication {
    /// Short and unique.
    pub name: String,
    #[serde(flatten)]
    pub application: Application,
}

/// A control with its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NamedControl {
    /// Short and unique.
    pub name: String,
    pub control: Control,
    /// Whether it is a candidate of the oracle: the best fixed setting.
    #[serde(default)]
    pub fixed: bool,
    /// Whether it is the control that was reported from the field: it is tried in every block, and shown in the four
    /// cases.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reported: bool,
}

/// What is tried: traffic alongside an application at a place, under every control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cell {
    /// The place's name.
    pub place: String,
    /// The traffic's name; `None`: the application alone, as a control of guard.
    #[serde(default)]
    pub traffic: Option<String>,
    /// The application's name; `None`: traffic alone, as a control of guard.
    #[serde(default)]
    pub application: Option<String>,
    /// Names of the controls; empty is every one of the study.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<String>,
    /// The four cases are shown for this cell, with counters and modelled caches.
    #[serde(default)]
    pub four_cases: bool,
    /// What the cell is for.
    #[serde(default)]
    pub role: Role,
}

/// What a cell is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A candidate for harm: Gate 0 judges it.
    #[default]
    Harm,
    /// Paced traffic below capacity.
    Paced,
    /// Load that comes and goes.
    Changing,
    /// A negative control: nothing may be throttled, nothing lost.
    NoHarm,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Harm, Self::Paced, Self::Changing, Self::NoHarm];

    /// Its name in studies and limits.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Harm => "harm",
            Self::Paced => "paced",
            Self::Changing => "changing",
            Self::NoHarm => "no-harm",
        }
    }
}

/// A trial that is to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Its number in the run, from 1: the name of its file.
    pub number: u32,
    /// The cell's place in the study, from 0.
    pub cell: u32,
    pub arm: Arm,
    /// Its block, from 0.
    pub block: u32,
    /// Its turn in the block, from 0. Trials with modelled caches are behind all others of block 0.
    pub turn: u32,
    /// The order, with rates as they are.
    pub order: TrialOrder,
}

pub type Run = crate::run::Run<Study, PlannedTrial>;

pub type Trial = crate::trial::Trial<PlannedTrial>;

/// Full rates that paced traffic is ordered by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rates(pub Vec<FullRate>);

/// The full rate of traffic at a place, as it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FullRate {
    /// The place's name.
    pub place: String,
    /// The traffic's name.
    pub traffic: String,
    /// Bits of payload in a second that the paced traffic is ordered with; `None`: it could not be found.
    pub rate: Option<u64>,
    /// The trials that it was found in.
    pub outcomes: Vec<Outcome>,
}

impl Rates {
    /// What paced traffic is ordered with at a place.
    pub fn of(&self, place: &str, traffic: &str) -> Option<u64> {
        self.0.iter().find(|one| one.place == place && one.traffic == traffic)?.rate
    }
}

/// Under which arm a trial is made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// Traffic without the application: first and last in every block.
    Alone,
    /// The application without traffic.
    Application,
    /// Both, under the control of this name; `none` is no control.
    Control(String),
}

impl Arm {
    pub fn name(&self) -> &str {
        match self {
            Arm::Alone => "alone",
            Arm::Application => "application",
            Arm::Control(name) => name,
        }
    }
}
