//! Reads the clients from nl80211 and hostapd around the rounds of the load, inside the measured window, beside what the
//! load was answered.
//!
//! ```text
//! due − age                 due: the round                         the round's end
//!   ├ nl80211, hostapd       ├ commands, one after the other        ├ nl80211, hostapd
//! ```
//!
//! Every round of the window is read around alike, and what is not asked for is thrown away: neither load nor subject can
//! see which rounds are checked. Nothing is sent before the window has closed.

use linux::nl80211::Interface;
use model::{
    parity::{Answer, Reading},
    witness::{CheckedRound, WitnessOrder},
};

use crate::{census, rounds::Replies, sources};

/// A reading is begun so long before the moment by which it must have been taken, ns.
const LEAD_NS: u64 = 100_000_000;

/// When the rounds of a window are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beat {
    /// The first one that begins in the window, ns.
    pub(crate) first_ns: u64,
    /// From one to the next, ns.
    pub(crate) every_ns: u64,
    /// So many begin in the window.
    pub(crate) rounds: u32,
}

impl Beat {
    fn due_ns(&self, place: u32) -> u64 {
        self.first_ns + u64::from(place) * self.every_ns
    }

    /// The place of the round that was due at this moment; `None` outside the window.
    fn place(&self, due_ns: u64) -> Option<u32> {
        let place = due_ns.checked_sub(self.first_ns)? / self.every_ns.max(1);
        u32::try_from(place).ok().filter(|place| *place < self.rounds)
    }
}

#[derive(Debug)]
pub(crate) struct Witness {
    order: WitnessOrder,
    beat: Beat,
    interfaces: Vec<Interface>,
    /// The round that the next reading before is for.
    next: u32,
    rounds: Vec<CheckedRound>,
}

impl Witness {
    /// Reads around the rounds of this beat.
    pub(crate) fn new(order: &WitnessOrder, beat: Beat) -> Self {
        let rounds = order.rounds.iter().copied().filter(|place| *place < beat.rounds);
        let checked = |place| CheckedRound { place, ..CheckedRound::default() };
        Self {
            order: order.clone(),
            beat,
            interfaces: census::access_points_now(),
            next: 0,
            rounds: rounds.map(checked).collect(),
        }
    }

    /// When the next reading is to begin, ns.
    pub(crate) fn due_ns(&self) -> u64 {
        if self.next >= self.beat.rounds {
            return u64::MAX;
        }
        let ahead = self.order.age.as_nanos().saturating_add(LEAD_NS);
        self.beat.due_ns(self.next).saturating_sub(ahead)
    }

    /// Takes the reading that is due at `now_ns`, if one is.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        while self.due_ns() <= now_ns {
            let place = self.next;
            self.next += 1;
            if let Some(round) = self.checked(place) {
                round.read_from_ns = now_ns;
            }
            self.read(place);
        }
    }

    /// A round has ended: what was answered in it, and then what the other sources say after it.
    pub(crate) fn round_ended(&mut self, heard: &Replies) {
        let Some(place) = self.beat.place(heard.due_ns) else { return };
        let interfaces = self.order.interfaces.clone();
        if let Some(round) = self.checked(place) {
            round.started_ns = Some(heard.started_ns);
            for (command, at_ns, said) in &heard.said {
                let interface = interfaces.get(*command).cloned().flatten();
                let Ok(text) = said.text() else { continue };
                let answer = Answer::Subject(text);
                round.readings.push(Reading { interface, at_ns: *at_ns, answer });
            }
        }
        self.read(place);
    }

    pub(crate) fn take(&mut self) -> Vec<CheckedRound> {
        std::mem::take(&mut self.rounds)
    }

    fn checked(&mut self, place: u32) -> Option<&mut CheckedRound> {
        self.rounds.iter_mut().find(|round| round.place == place)
    }

    fn read(&mut self, place: u32) {
        let readings = sources::read(&self.interfaces, self.order.hostapd);
        if let Some(round) = self.checked(place) {
            round.readings.extend(readings);
        }
    }
}

#[cfg(test)]
mod tests {
    use model::span::Span;

    use super::*;
    use crate::reading::Output;

    const BEAT: Beat = Beat { first_ns: 6_000_000_000, every_ns: 1_000_000_000, rounds: 20 };

    fn witness(rounds: &[u32]) -> Witness {
        let order = WitnessOrder {
            rounds: rounds.to_vec(),
            interfaces: vec![Some("wlan0".to_owned())],
            age: Span::from_secs(1),
            drain: Span::from_secs(3),
            hostapd: false,
        };
        Witness { interfaces: Vec::new(), ..Witness::new(&order, BEAT) }
    }

    #[test]
    fn a_reading_is_begun_as_long_before_its_round_as_values_may_be_old() {
        let mut witness = witness(&[1]);
        assert_eq!(witness.due_ns(), 6_000_000_000 - 1_100_000_000);
        witness.advance(4_899_999_999);
        assert_eq!(witness.due_ns(), 6_000_000_000 - 1_100_000_000);
        witness.advance(5_900_000_000);
        assert_eq!(witness.due_ns(), 6_900_000_000);
        assert_eq!(witness.take()[0].read_from_ns, 5_900_000_000);
    }

    #[test]
    fn answers_are_kept_with_their_interface_where_their_round_is_checked() {
        let heard = |due_ns| {
            let said = vec![(0, 8_050_000_000, Output::new(100).unwrap())];
            Replies { due_ns, started_ns: due_ns + 1, said }
        };
        let mut witness = witness(&[2]);
        witness.round_ended(&heard(9_000_000_000));
        witness.round_ended(&heard(8_000_000_000));
        let rounds = witness.take();
        let [CheckedRound { place: 2, started_ns: Some(8_000_000_001), readings, .. }] =
            &rounds[..]
        else {
            panic!("{rounds:?}")
        };
        let [reading] = readings.as_slice() else { panic!("{readings:?}") };
        assert_eq!((reading.subject(), reading.at_ns), (Some(""), 8_050_000_000));
        assert_eq!(reading.interface.as_deref(), Some("wlan0"));
    }

    #[test]
    fn a_round_outside_the_window_has_no_place() {
        assert_eq!(BEAT.place(5_000_000_000), None);
        assert_eq!(BEAT.place(6_000_000_000), Some(0));
        assert_eq!(BEAT.place(25_000_000_000), Some(19));
        assert_eq!(BEAT.place(26_000_000_000), None);
    }
}
