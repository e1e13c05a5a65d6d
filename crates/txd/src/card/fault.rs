//! What real cards do wrong, drawn for each command from seeded rates.
//!
//! It only draws; what a fault does is [`super::Card`]'s.

use super::timing::Random;

/// One in a million, as rates are counted.
pub const MILLION: u32 = 1_000_000;

/// What may go wrong with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// It completes later than it should.
    Late,
    /// It completes, and its event is not raised.
    LostEvent,
    /// It completes with an error.
    Error,
    /// Its busy bit stays, until the card is reset.
    Stuck,
    /// The card is gone from now on: all its registers read ones.
    Death,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Late completions, in a million commands.
    pub late: u32,
    /// How much later, ns.
    pub late_by_ns: u64,
    /// Lost events, in a million commands.
    pub lost: u32,
    /// Errors, in a million commands.
    pub error: u32,
    /// Commands that stay busy, in a million.
    pub stuck: u32,
    /// This happens to this command, counted from 1. A death lasts.
    pub at: Option<(u64, Fault)>,
}

impl Rates {
    /// What goes wrong with a command, by its number from 1.
    pub fn draw(&self, number: u64, random: &mut Random) -> Option<Fault> {
        match self.at {
            Some((at, Fault::Death)) if number >= at => return Some(Fault::Death),
            Some((at, fault)) if number == at => return Some(fault),
            _ => {}
        }
        let kinds = [
            (Fault::Late, self.late),
            (Fault::LostEvent, self.lost),
            (Fault::Error, self.error),
            (Fault::Stuck, self.stuck),
        ];
        if kinds.iter().all(|(_, rate)| *rate == 0) {
            return None;
        }
        let mut drawn = random.below(MILLION.into());
        kinds.into_iter().find_map(|(fault, rate)| {
            let hit = drawn < u64::from(rate);
            drawn = drawn.saturating_sub(rate.into());
            hit.then_some(fault)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_comes_as_often_as_its_rate_says() {
        let rates =
            Rates { late: 10_000, lost: 20_000, error: 30_000, stuck: 40_000, ..Rates::default() };
        let mut random = Random::seeded(1);
        let mut count = |fault| {
            (1..=100_000).filter(|&number| rates.draw(number, &mut random) == Some(fault)).count()
        };
        for (fault, about) in [
            (Fault::Late, 1000),
            (Fault::LostEvent, 2000),
            (Fault::Error, 3000),
            (Fault::Stuck, 4000),
        ] {
            let found = count(fault);
            assert!(found.abs_diff(about) < about / 5, "{fault:?}: {found}");
        }
    }

    #[test]
    fn a_dead_card_stays_dead_and_a_sound_one_has_no_fault() {
        let mut random = Random::seeded(1);
        let mut drawn = |fault| {
            let rates = Rates { at: Some((3, fault)), ..Rates::default() };
            (1..=4).map(|number| rates.draw(number, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(Fault::Death), [None, None, Some(Fault::Death), Some(Fault::Death)]);
        assert_eq!(drawn(Fault::Error), [None, None, Some(Fault::Error), None]);
        assert_eq!(random, Random::seeded(1), "a sound card draws nothing");
    }
}
