//! Replies that are encoded once for each reading, and shared by all who ask on the socket.

use std::rc::Rc;

use super::{Engine, view};
use crate::{
    brief, full,
    table::{Generation, PointId},
};

impl Engine {
    /// The brief reply about a point's stations: encoded once for each reading, shared by all who ask.
    pub fn brief(&mut self, id: PointId) -> Rc<Vec<u8>> {
        let Some(point) = self.points.get(id) else { return Rc::default() };
        self.briefs.reply(point, &self.table, |out| brief::whole(point, &self.table, out))
    }

    /// The same of those only that have changed since a generation.
    pub fn brief_since(&self, id: PointId, since: Generation, out: &mut Vec<u8>) {
        if let Some(point) = self.points.get(id) {
            brief::since(point, &self.table, since, out);
        }
    }

    /// The full reply, shared as the brief one is.
    pub fn full(&mut self, id: PointId) -> Rc<Vec<u8>> {
        let Some(point) = self.points.get(id) else { return Rc::default() };
        let view = view(&self.table, &self.points, &self.settings.trace);
        self.fulls.reply(point, &self.table, |out| full::reply(&self.model, id, &view, out))
    }
}
