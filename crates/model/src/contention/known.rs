//! What limits of a contention study can speak of: figures, controls, and what its cells are called by.

use super::{NamedControl, Role, Study};
use crate::{
    figure::{Figure, Part},
    limit::{Key, Known, Points, Side},
};

impl Study {
    /// What limits of this study can speak of.
    pub fn known(&self) -> Known {
        let against = |what: &str| {
            let name = |control: &NamedControl| format!("{what}-{}", control.name);
            self.controls.iter().map(name).collect::<Vec<_>>()
        };
        let figures = Part::Traffic.figures().map(str::to_owned);
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
            key: Some(Key { figure: Figure::Kept.name(), side: Side::AtLeast }),
            ..Known::default()
        }
    }
}
