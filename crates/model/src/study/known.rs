//! What limits of a study of clients can speak of: figures, counted functions, variants and client counts.

use super::Study;
use crate::{
    figure::{Figure, Part},
    limit::{Key, Known, Points, Side},
};

impl Study {
    /// What limits of this study can speak of.
    pub fn known(&self) -> Known {
        let functions = self.count.iter().flat_map(|count| &count.functions);
        Known {
            figures: Part::Subject.figures().map(str::to_owned).collect(),
            functions: functions.map(|function| function.name.clone()).collect(),
            variants: self.variants.iter().map(|variant| variant.name.to_string()).collect(),
            points: Points::Clients(self.access_point.clients.clone()),
            key: Some(Key { figure: Figure::Cpu.name(), side: Side::AtMost }),
        }
    }
}
