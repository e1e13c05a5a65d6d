//! What limits of a contention study can speak of: figures, controls, and what its cells are called by.

use super::{NamedControl, Role, Study};
use crate::limit::{Key, Known, Points, Side};

impl Study {
    /// What limits of this study can speak of.
    pub fn known(&self) -> Known {
        let against = |what: &str| {
            let name = |control: &NamedControl| format!("{what}-{}", control.name);
            self.controls.iter().map(name).collect::<Vec<_>>()
        };
        let figures = FIGURES.iter().map(|(name, _)| (*name).to_owned());
        let none = ["none".to_owned()].into_iter();
        let roles = Role::ALL.map(|role| role.name().to_owned());
        let more = ["harmed", "no-traffic", "no-application"].map(str::to_owned);
        let places = self.places.iter().map(|one| one.name.clone());
        let traffics = self.traffics.iter().map(|one| one.name.clone());
        let applications = self.applications.iter().map(|one| one.name.clone());
        Known {
            figures: figures.chain(against("work-against")).chain(against("work-over")).collect(),
            variants: none.chain(self.controls.iter().map(|one| one.name.clone())).collect(),
            points: Points::Places(
                roles
                    .into_iter()
                    .chain(more)
                    .chain(places)
                    .chain(traffics)
                    .chain(applications)
                    .collect(),
            ),
            key: Some(Key { figure: "kept", side: Side::AtLeast }),
            ..Known::default()
        }
    }
}

/// The figures that limits can be put on, each with what it is. Alongside them, for every control, `work-against-NAME`
/// (work at the setting of guard's that keeps as much Wi-Fi as this control and leaves most, of the control's) and `work-over-NAME` (work, of the
/// control's).
pub const FIGURES: [(&str, &str); 18] = [
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
