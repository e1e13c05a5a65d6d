//! Transmit completion: what waiting for a card's transmit command costs, as one trial of `txd measure`.
//!
//! The study that plans orders is [`Study`]; what they say of a card is in [`crate::card`].

use std::{collections::BTreeSet, time::Duration};

use serde::{Deserialize, Serialize};

pub use crate::card::{Command, Latency, Period, Strategy};

use crate::{
    architecture::Architecture,
    card::CardOrder,
    kind::Planned,
    limit::{Key, Known, Limits, Points, Side},
    order::TrialOrder,
    place::Machine,
    share::Share,
    span::Span,
    study::Mode,
    verdict::Expect,
};

/// A completion study: `studies/tx-completion.toml` in shape. The loader knows it by its table `[completion]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Study {
    /// The question that the page opens with.
    pub question: String,
    /// How long and how often.
    pub completion: Shape,
    /// Where trials are made.
    #[serde(rename = "place")]
    pub places: Vec<Place>,
    /// What is tried: every strategy of each load, at every place.
    #[serde(rename = "load")]
    pub loads: Vec<Load>,
    /// What the study asks of its figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<Limits>,
    /// What was published of the same things, to be shown alongside ours.
    #[serde(default, rename = "published", skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
}

/// A figure from elsewhere, shown alongside ours at every place and never calculated with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Published {
    /// What it is, in words.
    pub what: String,
    /// Which of ours it stands alongside, as a limit names it: `busy: waiting at full`.
    pub ours: String,
    /// The value: `6.6%`, `2.2x`, or a number.
    pub value: String,
    /// As it was published, where that is more than the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

impl Study {
    /// What limits of this study can speak of.
    pub fn known(&self) -> Known {
        let owned = |name: &str| name.to_owned();
        let rates: BTreeSet<u32> = self.loads.iter().flat_map(|load| load.rates.clone()).collect();
        let places = self.places.iter().map(|place| place.name.clone());
        let loads = self.loads.iter().map(|load| load.name.clone());
        Known {
            figures: FIGURES.iter().map(|(name, _)| owned(name)).collect(),
            variants: Strategy::ALL.iter().map(|strategy| owned(strategy.name())).collect(),
            points: Points::Places(
                places.chain(loads).chain(rates.iter().map(|rate| format!("{rate}/s"))).collect(),
            ),
            key: Some(Key { figure: "path", side: Side::AtMost }),
            ..Known::default()
        }
    }
}

/// The figures that limits can be put on, each with what it is.
pub const FIGURES: [(&str, &str); 13] = [
    ("path", "CPU of the transmit path, of one core"),
    ("waiting", "of it, in loops that wait"),
    (
        "waiting-error",
        "waiting, of rate × completion time, less 1; where all frames are carried and no task runs",
    ),
    ("path-ratio", "CPU of the transmit path, of the first strategy's"),
    ("task-ratio", "the task's time, as a share of that with the first strategy"),
    ("slowdown", "the task's time, of the task alone"),
    ("p50", "median latency of a frame"),
    ("p99", "99th percentile of it"),
    ("p50-ratio", "median latency, of the first strategy's"),
    ("full-rate", "frames a second at which waiting alone would fill the core"),
    ("saturation-error", "frames a second that come out at most, of 1 ÷ completion time, less 1"),
    ("faults", "frames lost, doubled, out of order, damaged or forgotten"),
    (
        "repeat-error",
        "the most that a figure of a counted trial differs when it is made again; of the whole run",
    ),
];

/// How long a trial is and how often each is repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Shape {
    /// The processor of its virtual access points.
    #[serde(skip_serializing_if = "Architecture::is_default")]
    pub arch: Architecture,
    /// Frames are sent this long before anything counts.
    pub warm_up: Span,
    pub window: Span,
    /// Blocks: each has every trial once, in an order of its own.
    pub blocks: u32,
    /// The seed of those orders.
    pub seed: u64,
    /// The strategies; the first one is what the others are compared with.
    pub strategies: Vec<Strategy>,
    /// How long the card takes to complete a transmit command.
    pub completes_in: Span,
    /// A real-time trial begins only where the machine was idle for this share of the second before.
    pub idle_gate: Share,
    /// Differences below this share of the base do not matter where strategies are compared; `None`: 1 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<Share>,
    /// What a comparison of two strategies is to show; `None`: that the one in question costs less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
    /// Where the study has nothing in it but one question: its sides. `headroom compare` writes it, and no study
    /// file has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versus: Option<Versus>,
}

/// The two sides of a comparison; each block is a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Versus {
    pub base: Strategy,
    /// The one in question; `None`: the base once more, to learn how often the lab calls the same thing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Strategy>,
}

impl Versus {
    /// Whether a trial is of the base, and not of the side in question. Two trials of one strategy take turns at being
    /// either, by the Thue–Morse sequence.
    pub fn is_base(&self, trial: &PlannedTrial) -> bool {
        match self.variant {
            Some(_) => trial.card().strategy == Some(self.base),
            None => trial.repeats.is_some() == (trial.block.count_ones() % 2 == 1),
        }
    }
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            arch: Architecture::default(),
            warm_up: Span::from_nanos(500_000_000),
            window: Span::from_secs(2),
            blocks: 3,
            seed: 1,
            strategies: Strategy::ALL.to_vec(),
            completes_in: Span::from_nanos(150_000),
            idle_gate: Share::of(0.9),
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
    /// Which machine: the virtual access point, or the one that headroom runs on.
    pub on: Machine,
    /// How its time passes; a host is always real-time.
    #[serde(default)]
    pub mode: Mode,
}

/// A load: frames at a rate, perhaps with a CPU task with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Load {
    /// Short and unique.
    pub name: String,
    /// Frames a second that are offered; each rate is a trial of its own.
    pub rates: Vec<u32>,
    /// Bytes of a frame, with its Ethernet header.
    pub bytes: u32,
    /// A CPU task with it, of so much work as takes this many milliseconds alone at the place (measured there
    /// first). Also tried without any frames. The window then ends with the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_ms: Option<u32>,
    /// How long the driver's CPU stands still for each word of 16 bits that goes to or from the card; without it,
    /// a word takes no more than its copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_word: Option<Span>,
}

/// A trial that is to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Its number in the run, from 1: the name of its file.
    pub number: u32,
    /// The number of the trial that it repeats, to prove that counted time repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
    /// Index of its place in the study.
    pub place: usize,
    /// Index of its load. The task alone has its load's index too.
    pub load: usize,
    /// The block, from 0.
    pub block: u32,
    /// The order. A task whose work is not known yet has no rounds.
    pub order: TrialOrder,
}

impl Planned<Study> for PlannedTrial {
    fn id(&self) -> String {
        format!("{:04}", self.number)
    }

    /// As `440/s busy of small at ap, block 2`; blocks count from 1 there.
    fn name(&self, study: &Study) -> String {
        let again = if self.repeats.is_some() { ", once more" } else { "" };
        format!("{}, block {}{again}", self.what(study), self.block + 1)
    }

    fn block(&self) -> String {
        format!("{}#{}", self.place, self.block)
    }

    fn passes(&self) -> Duration {
        Duration::from(self.order.warm_up) + Duration::from(self.order.window)
    }
}

impl PlannedTrial {
    /// What its card is ordered.
    pub fn card(&self) -> CardOrder {
        self.order.card.unwrap_or_default()
    }

    /// What is tried, as `440/s busy of small at ap`.
    pub fn what(&self, study: &Study) -> String {
        let load = study.loads.get(self.load).map_or("?", |load| &load.name);
        let place = study.places.get(self.place).map_or("?", |place| &place.name);
        match self.card().strategy {
            Some(strategy) => {
                format!("{}/s {} of {load} at {place}", self.card().rate, strategy.name())
            }
            None => format!("the task alone of {load} at {place}"),
        }
    }
}

pub type Run = crate::run::Run<Study, PlannedTrial>;

pub type Trial = crate::trial::Trial<PlannedTrial>;

/// What is known of tasks: the rounds of `txd`'s own loop that take the wanted time alone at a place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rounds(pub Vec<TaskWork>);

/// The work of one task at one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskWork {
    /// The place's name.
    pub place: String,
    /// How long it should take alone, ms.
    pub ms: u32,
    /// The rounds that do; `None`: they could not be found.
    pub rounds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Rounds {
    /// The rounds of a task.
    pub fn of(&self, place: &str, ms: u32) -> Option<u64> {
        self.0.iter().find(|work| work.place == place && work.ms == ms)?.rounds
    }
}
