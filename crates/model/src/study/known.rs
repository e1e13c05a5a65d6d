//! What limits of a study can speak of: figures, counted functions, variants, and client counts or names of cells.

use std::collections::BTreeSet;

use super::Study;
use crate::{
    cell::{Cell, Role},
    figure::{Figure, Part},
    limit::{Key, Known, Points, Side},
    trial::NONE,
};

impl Study {
    /// What limits of this study can speak of.
    pub fn known(&self) -> Known {
        let functions = self.count.iter().flat_map(|count| &count.functions);
        let named = self.variants.iter().map(|variant| variant.name.to_string());
        let without = self.has_traffic().then(|| NONE.to_owned());
        let (figure, side) = if self.has_traffic() {
            (Figure::Kept, Side::AtLeast)
        } else if self.has_cards() {
            (Figure::Path, Side::AtMost)
        } else {
            (Figure::Cpu, Side::AtMost)
        };
        Known {
            figures: self.figures(),
            functions: functions.map(|function| function.name.clone()).collect(),
            variants: without.into_iter().chain(named).collect(),
            points: match self.is_of_clients() {
                true => Points::Clients(self.access_point.clients.clone()),
                false => Points::Places(self.labels()),
            },
            key: Some(Key { figure: figure.name(), side }),
        }
    }

    fn figures(&self) -> Vec<String> {
        let of = |part: Part| part.figures().map(str::to_owned);
        if self.is_of_clients() {
            return of(Part::Subject).collect();
        }
        let mut figures: Vec<String> = Vec::new();
        if self.has_traffic() {
            figures.extend(of(Part::Traffic));
            for what in ["work-against", "work-over"] {
                figures.extend(self.variants.iter().map(|one| format!("{what}-{}", one.name)));
            }
        }
        if self.has_cards() {
            figures.extend(of(Part::Frames));
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
