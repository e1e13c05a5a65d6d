//! The cells of a study: states of the access point that every variant is measured in.
//!
//! An entry of a study file multiplies: it has a cell for each combination of its lists. [`Study::cells`] is the only
//! place that knows.

mod several;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use self::several::Several;
use crate::{
    name::{CellName, VariantName},
    purpose::names,
    span::Span,
    study::{Mode, Study},
    target::Target,
    traffic::{Application, Traffic},
};

/// `[[cell]]` as it is written: a value or a list of values wherever the study multiplies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CellEntry {
    /// What its cells are called, with what tells them apart behind it; derived where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<CellName>,
    /// Where its trials are made: `vm` where nothing is said.
    #[serde(skip_serializing_if = "Several::is_empty")]
    pub on: Several<Target>,
    /// How time passes there; on the host it is always real.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Client counts; all of the access point's where nothing is said.
    #[serde(skip_serializing_if = "Several::is_empty")]
    pub clients: Several<u32>,
    #[serde(skip_serializing_if = "Several::is_empty")]
    pub traffic: Several<String>,
    #[serde(skip_serializing_if = "Several::is_empty")]
    pub application: Several<String>,
    /// A card that sends frames, with what `[card]` does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<CardEntry>,
    /// Names of the variants that are measured in it; empty is every one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantName>,
    /// The four cases are shown for it, with counters and modelled caches.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cases: bool,
    pub role: Role,
}

/// A card as it is written, in a cell or for all cells in `[card]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CardEntry {
    /// Frames a second that are offered; 0 is as fast as the card takes them.
    #[serde(skip_serializing_if = "Several::is_empty")]
    pub rate: Several<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completes_in: Option<Span>,
    /// How long the driver's CPU stands still for each word of 16 bits that goes to or from the card; without it, a
    /// word takes no more than its copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bus_word: Option<Span>,
    /// A CPU task with it, of so much work as takes this long alone (measured there first). It is also tried without
    /// any frames. The window then ends with the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Span>,
}

/// A state of the access point, every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub name: CellName,
    /// What its entry is called; limits speak of all of an entry's cells by it.
    pub entry: Option<CellName>,
    pub target: Target,
    pub mode: Mode,
    pub clients: u32,
    pub traffic: Option<String>,
    pub application: Option<String>,
    pub card: Option<Card>,
    pub role: Role,
    pub variants: Vec<VariantName>,
    pub cases: bool,
}

/// A card that sends frames at a rate, perhaps with a CPU task with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Card {
    pub rate: u32,
    pub bytes: u32,
    pub completes_in: Span,
    pub bus_word: Option<Span>,
    pub task: Option<Span>,
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

names!(Role { Harm = "harm", Paced = "paced", Changing = "changing", NoHarm = "no-harm" });

/// What a card takes to complete a transmit command where nothing is said.
const COMPLETES_IN: Span = Span::from_nanos(150_000);

impl Cell {
    /// Traffic and an application: what one takes from the other is the question.
    pub fn is_contended(&self) -> bool {
        self.traffic.is_some() && self.application.is_some()
    }

    /// Whether its trials have no subject but traffic, an application or a card.
    pub fn has_parts(&self) -> bool {
        self.traffic.is_some() || self.application.is_some() || self.card.is_some()
    }

    pub fn is_counted(&self) -> bool {
        self.mode == Mode::Counted && self.target.is_vm()
    }

    /// Where it is, in a word for people and limits.
    pub fn place(&self) -> &str {
        match (&self.target, self.mode) {
            (Target::Vm, Mode::Counted) => "vm",
            (Target::Vm, Mode::RealTime) => "vm-real-time",
            (Target::Host, _) => "host",
            (Target::Device(name), _) => name,
        }
    }
}

impl Study {
    /// The cells, in the study's order. Without entries there is one for each client count.
    pub fn cells(&self) -> Vec<Cell> {
        if self.entries.is_empty() {
            return self.of_entry(&CellEntry::default());
        }
        let all = self.entries.iter().flat_map(|entry| self.of_entry(entry));
        let is_chosen = |cell: &Cell| self.chosen.is_empty() || self.chosen.contains(&cell.name);
        all.filter(is_chosen).collect()
    }

    /// The first cell of each place, in the study's order.
    pub fn places(&self) -> Vec<Cell> {
        let mut cells = self.cells();
        let mut seen = BTreeSet::new();
        cells.retain(|cell| seen.insert(cell.place().to_owned()));
        cells
    }

    pub fn cell(&self, name: &str) -> Option<Cell> {
        self.cells().into_iter().find(|cell| cell.name == *name)
    }

    pub fn traffic_of(&self, cell: &Cell) -> Option<&Traffic> {
        let name = cell.traffic.as_ref()?;
        self.traffics.iter().find(|traffic| traffic.name == *name)
    }

    pub fn application_of(&self, cell: &Cell) -> Option<&Application> {
        let name = cell.application.as_ref()?;
        self.applications.iter().find(|application| application.name == *name)
    }

    fn of_entry(&self, entry: &CellEntry) -> Vec<Cell> {
        let card = entry.card.as_ref().map(|card| card.over(self.card.as_ref()));
        let rates: Vec<Option<(&CardEntry, u32)>> = match &card {
            Some(card) => card.rate.iter().map(|rate| Some((card, *rate))).collect(),
            None => vec![None],
        };
        let on = if entry.on.is_empty() { vec![Target::Vm] } else { entry.on.to_vec() };
        let own = &self.access_point.clients;
        let clients: &[u32] = if entry.clients.is_empty() { own } else { &entry.clients };
        let says_clients = clients.len() > 1;
        let mut cells = Vec::new();
        for target in &on {
            for traffic in entry.traffic.or_none() {
                for application in entry.application.or_none() {
                    for rate in &rates {
                        for clients in clients {
                            let mut cell = self.one(entry, target);
                            cell.clients = *clients;
                            (cell.traffic, cell.application) =
                                (traffic.cloned(), application.cloned());
                            cell.card = rate.map(|(card, rate)| card.at(rate));
                            cell.name = self.name_of(entry, &cell, says_clients);
                            cells.push(cell);
                        }
                    }
                }
            }
        }
        cells
    }

    /// A cell of an entry, but for what the entry multiplies by.
    fn one(&self, entry: &CellEntry, target: &Target) -> Cell {
        let target = if target.is_vm() { self.access_point.kind.clone() } else { target.clone() };
        let asked = entry.mode.unwrap_or(self.access_point.mode);
        Cell {
            name: CellName::of("cell"),
            entry: entry.name.clone(),
            mode: if target == Target::Host { Mode::RealTime } else { asked },
            target,
            clients: 0,
            traffic: None,
            application: None,
            card: None,
            role: entry.role,
            variants: entry.variants.clone(),
            cases: entry.cases,
        }
    }

    /// As `114`, `threaded+stream`, `small-440` or `task-990+host`.
    fn name_of(&self, entry: &CellEntry, cell: &Cell, says_clients: bool) -> CellName {
        let own = entry.name.as_ref().map(ToString::to_string);
        let parts = [&cell.traffic, &cell.application].into_iter().flatten().cloned();
        let derived = parts.collect::<Vec<_>>().join("+");
        let mut name = own.unwrap_or(derived);
        if let Some(card) = cell.card {
            let card_name = if name.is_empty() { "card" } else { &name };
            name = format!("{card_name}-{}", card.rate);
        } else if entry.traffic.len().max(entry.application.len()) > 1 && entry.name.is_some() {
            let which = [&cell.traffic, &cell.application].into_iter().flatten();
            which.for_each(|part| name = format!("{name}+{part}"));
        }
        match (name.is_empty(), says_clients) {
            (true, _) => name = cell.clients.to_string(),
            (false, true) => name = format!("{name}+{}", cell.clients),
            (false, false) => {}
        }
        match (&cell.target, cell.mode) {
            (Target::Host, _) => name.push_str("+host"),
            (Target::Vm, mode) if mode != self.access_point.mode => {
                name = format!("{name}+{}", mode.name());
            }
            _ => {}
        }
        CellName::of(&name)
    }

    /// Cells that are called alike, each once.
    pub fn cells_of_one_name(&self) -> Vec<CellName> {
        let mut counts = BTreeMap::<CellName, u32>::new();
        self.cells().into_iter().for_each(|cell| *counts.entry(cell.name).or_default() += 1);
        counts.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name).collect()
    }
}

impl CellEntry {
    /// How many cells it has, where the access point has so many client counts.
    pub fn size(&self, clients: u64) -> u64 {
        let of = |length: usize| (length as u64).max(1);
        let rates = self.card.as_ref().map_or(1, |card| of(card.rate.len()));
        let clients = if self.clients.is_empty() { clients } else { of(self.clients.len()) };
        let lists = [self.on.len(), self.traffic.len(), self.application.len()].map(of);
        lists.into_iter().chain([rates, clients]).fold(1, u64::saturating_mul)
    }
}

impl CardEntry {
    /// This one, and for what it does not say the study's.
    pub fn over(&self, study: Option<&Self>) -> Self {
        let none = Self::default();
        let study = study.unwrap_or(&none);
        Self {
            rate: if self.rate.is_empty() { study.rate.clone() } else { self.rate.clone() },
            bytes: self.bytes.or(study.bytes),
            completes_in: self.completes_in.or(study.completes_in),
            bus_word: self.bus_word.or(study.bus_word),
            task: self.task.or(study.task),
        }
    }

    fn at(&self, rate: u32) -> Card {
        Card {
            rate,
            bytes: self.bytes.unwrap_or_default(),
            completes_in: self.completes_in.unwrap_or(COMPLETES_IN),
            bus_word: self.bus_word,
            task: self.task,
        }
    }
}

#[cfg(test)]
mod tests;
