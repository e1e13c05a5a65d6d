//! What limits of a study can speak of: figures, counted functions, variants, and client counts or names of cells.

use std::collections::BTreeSet;

use super::Study;
use crate::{
    cell::{Cell, Role},
    limit::{Key, Known, METRICS, Points, Side},
    trial::NONE,
};

impl Study {
    /// What limits of this study can speak of.
    pub fn known(&self) -> Known {
        let functions = self.count.iter().flat_map(|count| &count.functions);
        let named = self.variants.iter().map(|variant| variant.name.to_string());
        let without = self.has_traffic().then(|| NONE.to_owned());
        let (figure, side) = if self.has_traffic() {
            ("kept", Side::AtLeast)
        } else if self.has_cards() {
            ("path", Side::AtMost)
        } else {
            ("cpu", Side::AtMost)
        };
        Known {
            figures: self.figures(),
            functions: functions.map(|function| function.name.clone()).collect(),
            variants: without.into_iter().chain(named).collect(),
            points: match self.is_of_clients() {
                true => Points::Clients(self.access_point.clients.clone()),
                false => Points::Places(self.labels()),
            },
            key: Some(Key { figure, side }),
        }
    }

    fn figures(&self) -> Vec<String> {
        let owned = |(name, _): &(&str, &str)| (*name).to_owned();
        if self.is_of_clients() {
            return METRICS.map(str::to_owned).to_vec();
        }
        let mut figures: Vec<String> = Vec::new();
        if self.has_traffic() {
            figures.extend(TRAFFIC_FIGURES.iter().map(owned));
            for what in ["work-against", "work-over"] {
                figures.extend(self.variants.iter().map(|one| format!("{what}-{}", one.name)));
            }
        }
        if self.has_cards() {
            figures.extend(CARD_FIGURES.iter().map(owned));
        }
        figures
    }

    /// What limits may call the cells by.
    fn labels(&self) -> Vec<String> {
        let cells = self.cells();
        let own: BTreeSet<String> = cells.iter().flat_map(Cell::labels).collect();
        let all = self.has_traffic().then(|| Role::ALL.map(|role| role.name().to_owned()));
        let more = ["harmed", "no-traffic", "no-application"].map(str::to_owned);
        let more = self.has_traffic().then_some(more);
        all.into_iter().flatten().chain(more.into_iter().flatten()).chain(own).collect()
    }
}

impl Cell {
    /// What limits may call it by, but for what only its figures tell.
    pub fn labels(&self) -> Vec<String> {
        let or =
            |name: &Option<String>, none: &str| name.clone().unwrap_or_else(|| none.to_owned());
        let mut labels = vec![self.name.to_string(), self.place().to_owned()];
        labels.extend(self.entry.as_ref().map(ToString::to_string));
        match self.card {
            Some(card) => labels.push(format!("{}/s", card.rate)),
            None => labels.extend([
                self.role.name().to_owned(),
                or(&self.traffic, "no-traffic"),
                or(&self.application, "no-application"),
            ]),
        }
        labels
    }
}

/// The figures of cells with traffic that limits can be put on, each with what it is. Alongside them, for every variant, `work-against-NAME`
/// (work at the setting of guard's that keeps as much Wi-Fi as this control and leaves most, of the control's) and `work-over-NAME` (work, of the
/// control's).
pub const TRAFFIC_FIGURES: [(&str, &str); 18] = [
    ("harmed-cells", "cells in which harm is shown, of the whole run"),
    ("kept", "Wi-Fi kept, of traffic alone; at most 1 in each block"),
    ("kept-uncapped", "the same, above 1 too"),
    ("kept-p01", "the first percentile of all seconds of Wi-Fi kept"),
    ("restored", "the share of the loss without control that is back"),
    ("p50", "median round trip"),
    ("p99", "99th percentile of round trips"),
    ("p99-ratio", "the same, of traffic alone's"),
    ("work", "application work kept, of the application alone"),
    ("cpu-use", "share of all CPUs that was in use"),
    (
        "regret",
        "work that guard left less than the best other control that keeps as much Wi-Fi, of that one's",
    ),
    ("guard-cpu", "CPU of guard and its watchdog, of one core"),
    ("guard-memory", "guard's resident memory, the most"),
    ("guard-writes", "guard's writes in a minute"),
    (
        "protect",
        "from the start of contention until guard held its target for a second; never is infinite",
    ),
    ("guard-restored", "trials after which everything was as before, of all with guard"),
    ("guard-decisions", "guard's decisions that changed something, in the first block"),
    ("agreement", "pairs of cases whose modelled cache misses move as the field report's, of all"),
];

/// The figures of cells with a card that limits can be put on, each with what it is.
pub const CARD_FIGURES: [(&str, &str); 13] = [
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
