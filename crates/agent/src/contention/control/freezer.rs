//! The controller that people script first: the application is frozen while the packet path is busy.
//!
//! Busy is what a script can read in one line, the packets that softirqs took (`/proc/net/softnet_stat`), whichever
//! way they are carried. It knows no application and no target: at any rate above the line nothing is left.

use linux::{load, proc};
use model::wire::Refusal;

use crate::contention::group::Group;

/// How often it looks, ns.
const EVERY_NS: u64 = 100_000_000;

/// The controller at work.
#[derive(Debug)]
pub(super) struct Freezer {
    /// Packets in a second.
    above: u32,
    next_ns: u64,
    before: Option<Seen>,
    is_frozen: bool,
}

/// When it looked, and the packets of each CPU since boot: counters of 32 bits, which wrap.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    at_ns: u64,
    packets: Vec<u32>,
}

impl Freezer {
    /// Begins with nothing frozen.
    pub(super) fn begin(above: u32, now: u64) -> Self {
        Self { above, next_ns: now, before: None, is_frozen: false }
    }

    /// When it looks next.
    pub(super) fn due_ns(&self) -> u64 {
        self.next_ns
    }

    /// Whether the application is frozen now.
    pub(super) fn has_frozen(&self) -> bool {
        self.is_frozen
    }

    /// Looks where that is due.
    ///
    /// # Errors
    ///
    /// [`Refusal::Contention`] where the group cannot be frozen.
    pub(super) fn advance(&mut self, group: &Group, now: u64) -> Result<(), Refusal> {
        if now < self.next_ns {
            return Ok(());
        }
        self.next_ns = now + EVERY_NS;
        let seen = Seen { at_ns: now, packets: packets() };
        let Some(before) = self.before.replace(seen.clone()) else { return Ok(()) };
        let is_busy = rate(&before, &seen) > f64::from(self.above);
        if is_busy != self.is_frozen {
            group.set_frozen(is_busy)?;
            self.is_frozen = is_busy;
        }
        Ok(())
    }
}

/// Packets in a second.
fn rate(before: &Seen, now: &Seen) -> f64 {
    let pairs = now.packets.iter().zip(&before.packets);
    let packets: u64 = pairs.map(|(now, before)| u64::from(now.wrapping_sub(*before))).sum();
    packets as f64 * 1e9 / now.at_ns.saturating_sub(before.at_ns).max(1) as f64
}

fn packets() -> Vec<u32> {
    let mut packets = Vec::new();
    if let Ok(text) = proc::read("/proc/net/softnet_stat") {
        load::softnet(&text, |row| packets.push(row.processed));
    }
    packets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_of_all_cpus_and_counters_may_wrap() {
        let before = Seen { at_ns: 0, packets: vec![u32::MAX, 10] };
        let now = Seen { at_ns: 100_000_000, packets: vec![9, 50] };
        assert!((rate(&before, &now) - 500.0).abs() < 1e-9);
    }
}
