//! What a planned trial of a contention study says of itself.

use std::time::Duration;

use super::{PlannedTrial, Study};
use crate::kind::Planned;

impl Planned<Study> for PlannedTrial {
    fn id(&self) -> String {
        format!("{:04}", self.number)
    }

    /// As `cell 3 guard-100, block 2`: cells and blocks count from 1 there.
    fn name(&self, _: &Study) -> String {
        let caches = if self.order.marks { ", with caches" } else { "" };
        format!("cell {} {}, block {}{caches}", self.cell + 1, self.arm.name(), self.block + 1)
    }

    fn block(&self) -> String {
        format!("{}#{}", self.cell, self.block)
    }

    fn passes(&self) -> Duration {
        Duration::from(self.order.warm_up) + Duration::from(self.order.window)
    }
}
