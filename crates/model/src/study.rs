//! The study: cells × variants × repetitions, the question, and everything that is done to answer it.
//!
//! This is the shape of a study file. Reading the file, its defaults for the person and its error
//! lines are in `lab::study_file`; this file is only the meaning of the keys.

mod instruments;
mod known;
mod variant;
mod variant_load;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use self::{
    instruments::{Count, Function, ParityShape, Pause, Profile, VariantParity, WitnessShape},
    variant::{HostLoad, ImageFile, Published, PublishedFigure, Variant},
    variant_load::VariantLoad,
};
use crate::{
    architecture::Architecture,
    cache::Geometry,
    cell::{CardEntry, Cell, CellEntry},
    firmware, limit,
    name::{CellName, PackageName},
    perturbation::Perturbation,
    purpose::{Purpose, names},
    share::Share,
    span::Span,
    topology::{InterfaceOrder, WantedProcess},
    traffic::{Application, Traffic},
    verdict::{Expect, Pairs},
};

pub use crate::target::Target;

/// A study file, read and checked for shape.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Study {
    /// The question that the report opens with.
    pub question: String,
    /// What every cell shares.
    #[serde(default)]
    pub access_point: AccessPoint,
    /// Whose CPU is the question; none in a study of traffic or of a card alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// What makes the subject work, for variants that do not say otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// What the cards of cells have where they do not say otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<CardEntry>,
    #[serde(default, rename = "traffic", skip_serializing_if = "Vec::is_empty")]
    pub traffics: Vec<Traffic>,
    #[serde(default, rename = "application", skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<Application>,
    /// The cells as they are written; without any there is one for each client count.
    #[serde(default, rename = "cell", skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<CellEntry>,
    /// Of these cells only the named ones; empty is all. The command line writes it.
    #[serde(default, rename = "cells", skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<CellName>,
    #[serde(default)]
    pub trial: TrialShape,
    /// Where the CPU goes: trials that record stacks.
    #[serde(default)]
    pub profile: Profile,
    /// How often functions are called: trials that count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// Who causes it: trials in which a consumer is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// Whether every variant still does its job: one trial of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parity: Option<ParityShape>,
    /// What is checked inside the windows whose CPU is the figure, and how long put-off work is still counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<WitnessShape>,
    /// How close a comparison must look.
    #[serde(default)]
    pub compare: Compare,
    /// Limits that a run must keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<Gates>,
    /// What is compared; never empty.
    #[serde(rename = "variant")]
    pub variants: Vec<Variant>,
    /// What was published of the same things, to be shown with ours.
    #[serde(default, rename = "published", skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedFigure>,
}

/// The access point of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AccessPoint {
    /// What cells are measured on that are made on the virtual access point: another one with `--on`.
    pub kind: Target,
    #[serde(skip_serializing_if = "Architecture::is_default")]
    pub arch: Architecture,
    /// Firmware of one's own that the virtual access point is made from, in place of Debian's packages. A path is
    /// one from the study file's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<firmware::Files>,
    /// Its radios; the clients are spread evenly over them.
    pub radios: u32,
    /// The client counts of the curve, each at least 0. Where `--on` points at a device they are those that it
    /// has, and none need be said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<u32>,
    /// Debian packages that the virtual access point has beyond its own: the subject's, for instance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<PackageName>,
    /// Programs of one's own that it has beside them, below `/run/headroom/put` and called as their files are; a path
    /// is one from the study file's folder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<PathBuf>,
    /// How its time passes, for cells and variants that do not say otherwise.
    pub mode: Mode,
    /// The caches that its model has where `cases` are shown; without it none is attached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caches: Option<Geometry>,
    /// Interfaces that must be there before every trial, on these channels; empty: those that there are.
    #[serde(rename = "interface", skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceOrder>,
    /// Processes that must run, or must not, before every trial.
    #[serde(rename = "process", skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<WantedProcess>,
    /// The interfaces of a device, in the kernel's order, as it names them itself; those of the virtual access point are
    /// `wlan0` and so on, one a radio. No study file says this.
    #[serde(skip)]
    pub names: Vec<String>,
}

impl AccessPoint {
    /// What `{interface}` stands for in a load, one after the other.
    pub fn interface_names(&self) -> Vec<String> {
        match &self.kind {
            Target::Device(_) => self.names.clone(),
            _ => (0..self.radios).map(|radio| format!("wlan{radio}")).collect(),
        }
    }
}

impl Default for AccessPoint {
    fn default() -> Self {
        Self {
            kind: Target::default(),
            arch: Architecture::default(),
            firmware: None,
            radios: 3,
            clients: Vec::new(),
            packages: Vec::new(),
            programs: Vec::new(),
            mode: Mode::default(),
            caches: None,
            interfaces: Vec::new(),
            processes: Vec::new(),
            names: Vec::new(),
        }
    }
}

/// How the virtual access point's time passes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// CPU time is a count of executed instructions: one takes 2 ns, so the core is a 500-MIPS one.
    /// No caches, memory latency or branch cost are in it, and the host's load is not either.
    #[default]
    Counted,
    /// CPU time is the host's time: KVM where a probe succeeded, else multi-threaded emulation.
    RealTime,
}

names!(Mode { Counted = "counted", RealTime = "real-time" });

/// Whose CPU is the question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Subject {
    /// The process's name, as in `/proc/PID/comm`; every process of that name counts.
    pub process: String,
    /// The command line that starts it for a trial and is ended after it; without one it runs already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// A started subject is ready once this path exists; without one, once it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Names of other processes that it makes work: counted in the same window, shown apart, summed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
}

/// What makes the subject work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Load {
    /// The command line. `{interface}` makes it run once for every access-point interface: one after
    /// the other, or side by side where it is long-running.
    pub run: String,
    /// From one start to the next; for a long-running program, the period at which it works.
    #[serde(default = "Span::seconds::<1>")]
    pub every: Span,
    /// The program is started once, before the warm-up, and runs until the window has closed. It must
    /// not end by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub long_running: bool,
}

/// `N`, as a key's default.
pub(crate) fn number<const N: u32>() -> u32 {
    N
}

/// How long a trial is and how often it is repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TrialShape {
    /// The load runs this long before the window opens.
    pub warm_up: Span,
    pub window: Span,
    /// Trials of every variant at every client count.
    pub repetitions: u32,
    pub sample_every: Span,
    /// What is varied from one repetition to the next.
    pub perturb: Perturb,
    /// Only the first so many repetitions have variants that are `candidate`s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<u32>,
    /// The seed of the order in which a repetition's variants are measured.
    pub seed: u64,
    /// A trial in real time on a machine that others use begins when it was idle for this share of a second, or when
    /// that was waited for in vain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_gate: Option<Share>,
}

impl Default for TrialShape {
    fn default() -> Self {
        Self {
            warm_up: Span::from_secs(5),
            window: Span::from_secs(20),
            repetitions: 6,
            sample_every: Span::from_secs(1),
            perturb: Perturb::default(),
            sweep: None,
            seed: 1,
            idle_gate: None,
        }
    }
}

/// The most pairs of a comparison where nothing else is said.
const MOST_PAIRS: u32 = 48;

/// How close a comparison must look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Compare {
    /// Differences below this share of the base do not matter; see [`Study::margin`] for what holds where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<Share>,
    /// What is to be shown; see [`Study::expect`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
    /// So many pairs of trials, at least [`crate::verdict::FEWEST_PAIRS`], in place of as many as decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<u32>,
    /// The most pairs until it is decided; at least [`crate::verdict::FEWEST_PAIRS`].
    pub up_to: u32,
    /// The perturbed states in which each comparison is repeated, with as many pairs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub perturb: Vec<Perturbation>,
}

impl Default for Compare {
    fn default() -> Self {
        Self { margin: None, expect: None, pairs: None, up_to: MOST_PAIRS, perturb: Vec::new() }
    }
}

impl Compare {
    pub fn decided_by(&self) -> Pairs {
        self.pairs.map_or(Pairs::UpTo(self.up_to), Pairs::Fixed)
    }
}

/// Limits that a run must keep; each that is not set is not asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Gates {
    /// The variants whose CPU, stacks and memory are judged; empty is every one. Rivals that are shown alongside
    /// them need not keep these limits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// The CPU of every variant with a load rises with the clients: an ordered-alternative test.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub monotonic: bool,
    /// The most samples that are not explained to their root, in any profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_frames: Option<Share>,
    /// The kernel, hostapd and the subject's data model count the same clients.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub clients_agree: bool,
    /// The machine is what figures need: counted clock, or governor and turbo pinned; CLK_TCK as recorded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub machine: bool,
    /// The most memory that a client may cost the subject, KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_per_client_kib: Option<f64>,
    /// The most that the subject's memory may grow, KiB in a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_growth_kib: Option<f64>,
    /// Every variant holds its clients, gives the same values, and forgets who left.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub parity: bool,
    /// Replies of checked rounds are what the kernel says, and none is too old.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub witness: bool,
    /// More limits, as people say them: `bulk: cpu at 114 clients <= 2%`, `slope <= 60us`,
    /// `no slower than baseline.json by 1%`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

impl Gates {
    /// Leaves those that trials at one client count can answer; answers the others, as people say them.
    pub fn keep_answered_at(&mut self, clients: u32) -> Vec<String> {
        let mut left_out = Vec::new();
        if std::mem::take(&mut self.monotonic) {
            left_out.push("monotonic".to_owned());
        }
        if let Some(kib) = self.memory_per_client_kib.take() {
            left_out.push(format!("memory-per-client <= {kib}KiB"));
        }
        // What cannot be read is judged, and reported so.
        let is_answered =
            |text: &String| limit::parse(text).map_or(true, |limit| limit.is_answered_at(clients));
        left_out.extend(self.limits.extract_if(.., |text| !is_answered(text)));
        left_out
    }

    /// Those that trials for these purposes can answer. The clients and the machine are asked about with the CPU
    /// figures that they stand behind, or with parity.
    #[must_use]
    pub fn answered_by(self, purposes: &[Purpose]) -> Self {
        let has = |purpose| purposes.contains(&purpose);
        let (cpu, parity) = (has(Purpose::Cpu), has(Purpose::Parity));
        // What cannot be read is judged, and reported so.
        let is_answered =
            |text: &String| limit::parse(text).map_or(true, |limit| has(limit.asked.purpose()));
        Self {
            variants: self.variants,
            monotonic: self.monotonic && cpu,
            unknown_frames: self.unknown_frames.filter(|_| has(Purpose::Stacks)),
            clients_agree: self.clients_agree && (cpu || parity),
            machine: self.machine && cpu,
            memory_per_client_kib: self.memory_per_client_kib.filter(|_| cpu),
            memory_growth_kib: self.memory_growth_kib.filter(|_| cpu),
            parity: self.parity && parity,
            witness: self.witness && cpu,
            limits: self.limits.into_iter().filter(is_answered).collect(),
        }
    }
}

/// What is varied between repetitions, so that a claim is not about one lucky machine state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Perturb {
    /// Each repetition starts at its own phase of the access point's timers.
    #[default]
    Start,
    /// Every repetition is the same machine state: this measures the lab, not the subject.
    Nothing,
}

impl Study {
    /// Whether trials run from images of their variants, so that a device is flashed and boots between them.
    pub fn names_images(&self) -> bool {
        self.variants.iter().any(|variant| variant.image.is_some())
    }

    /// Whether calls are counted in a variant. What a host does alongside a trial is a question about the lab,
    /// and is answered by CPU figures alone.
    pub fn counts_in(&self, variant: &Variant) -> bool {
        let named = self.count.as_ref().map_or(&[][..], |count| &count.variants);
        variant.host_load.is_anything() && variant.is_meant(named)
    }

    /// The load that a variant runs under; `None` is an idle access point.
    pub fn load_of<'a>(&'a self, variant: &'a Variant) -> Option<&'a Load> {
        match &variant.load {
            Some(VariantLoad::With(load)) => Some(load),
            Some(VariantLoad::None) => None,
            None => self.load.as_ref(),
        }
    }

    /// Whose CPU is the question in a variant; one without a name in a study of traffic or of a card.
    pub fn subject_of<'a>(&'a self, variant: &'a Variant) -> &'a Subject {
        static NONE: Subject =
            Subject { process: String::new(), start: None, ready: None, others: Vec::new() };
        variant.subject.as_ref().or(self.subject.as_ref()).unwrap_or(&NONE)
    }

    /// The process whose CPU is the question where a variant does not say otherwise; empty for none.
    pub fn process(&self) -> &str {
        self.subject.as_ref().map_or("", |subject| &subject.process)
    }

    /// The mode that a variant runs in, in cells that do not say otherwise.
    pub fn mode_of(&self, variant: &Variant) -> Mode {
        variant.mode.unwrap_or(self.access_point.mode)
    }

    /// Whether what traffic and applications take from each other is the question.
    pub fn has_traffic(&self) -> bool {
        self.entries.iter().any(|entry| !entry.traffic.is_empty() || !entry.application.is_empty())
    }

    /// Whether what a card's driver spends is the question.
    pub fn has_cards(&self) -> bool {
        self.entries.iter().any(|entry| entry.card.is_some())
    }

    /// Whether a process's CPU is measured, with or without traffic.
    pub fn has_subject(&self) -> bool {
        self.subject.is_some() || self.variants.iter().any(|variant| variant.subject.is_some())
    }

    /// Whether nothing but a subject is measured.
    pub fn is_of_clients(&self) -> bool {
        !self.has_traffic() && !self.has_cards()
    }

    /// Differences below this share of the base do not matter: half a percent of a subject's CPU, one of other figures.
    pub fn margin(&self) -> Share {
        let usual = if self.is_of_clients() { 0.005 } else { 0.01 };
        self.compare.margin.unwrap_or(Share::of(usual))
    }

    /// How idle this machine must be before a trial in real time, where that can be waited for. A trial of a card is a
    /// second long, and a machine that others use is seldom idle for one.
    pub fn idle_gate(&self) -> Share {
        let usual = if self.has_cards() { 0.9 } else { 0.94 };
        self.trial.idle_gate.unwrap_or(Share::of(usual))
    }

    /// What a comparison is to show: that a variant costs no more, or of traffic and cards that it is better.
    pub fn expect(&self) -> Expect {
        let usual = if self.is_of_clients() { Expect::NoSlower } else { Expect::Faster };
        self.compare.expect.unwrap_or(usual)
    }

    /// The variants that are measured in a cell, in the study's order.
    pub fn variants_of<'a>(&'a self, cell: &'a Cell) -> impl Iterator<Item = &'a Variant> {
        let is_named =
            |variant: &Variant| cell.variants.is_empty() || cell.variants.contains(&variant.name);
        self.variants.iter().filter(move |variant| is_named(variant) && variant.is_at(cell.clients))
    }

    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == *name)
    }
}
