//! When static parameters are written to the data model.
//!
//! Two ways, one of which is the field's; both write by the same transaction, and neither knows who asked
//! for the reading.

mod each_poll;
mod on_change;

use super::{DataModel, View};
use crate::table::PointId;

/// When static parameters are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteBack {
    /// Once for each association, and once more when hostapd has told who it is.
    #[default]
    OnChange,
    /// All of them, at every reading of a station.
    EachPoll,
}

impl WriteBack {
    /// Writes what is due after an access point's stations have been read.
    pub fn after_reading(self, model: &mut DataModel, id: PointId, view: &View<'_>) {
        let is_due = match self {
            Self::OnChange => return on_change::after_reading(),
            Self::EachPoll => each_poll::is_due,
        };
        let Some(point) = view.points.get(id) else { return };
        for row in view.table.rows(id) {
            if is_due(model.written_ns(row.slot()), point.read_ns) {
                model.write_static(&row, point, view);
                model.note_written(row.slot(), point.read_ns);
            }
        }
    }
}
