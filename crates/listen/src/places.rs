//! Places for connections, and who has to leave when all are taken.
//!
//! A newcomer is let in; who was silent longest leaves for it. It opens and closes nothing: what is taken out is
//! the caller's to drop.

/// Anyone who is being answered is left alone for so long; no one on the same machine takes longer to read a page.
const GRACE_NS: u64 = 1_000_000_000;

/// What a connection does, in the order in which they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    Idle,
    /// It has begun to ask.
    Unfinished,
    /// It has asked, and has not taken all of its answer.
    Answered,
}

/// What a connection does, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standing {
    activity: Activity,
    since_ns: u64,
}

impl Standing {
    /// A connection that has just come, ns since boot.
    pub fn new(now_ns: u64) -> Self {
        Self { activity: Activity::Idle, since_ns: now_ns }
    }

    /// The connection has moved, and this is what it does now. Half a request, and an answer that is not taken,
    /// become no younger by another byte.
    pub fn moved(&mut self, activity: Activity, now_ns: u64) {
        if activity != self.activity || activity == Activity::Idle {
            *self = Self { activity, since_ns: now_ns };
        }
    }

    fn may_leave(self, now_ns: u64) -> bool {
        self.activity != Activity::Answered || now_ns.saturating_sub(self.since_ns) >= GRACE_NS
    }
}

pub trait Occupant {
    /// What it does, and since when.
    fn standing(&self) -> Standing;
}

/// A fixed number of places.
#[derive(Debug)]
pub struct Places<T> {
    most: usize,
    taken: usize,
    places: Vec<Option<T>>,
}

impl<T> Places<T> {
    /// This many places, all free.
    pub fn new(most: usize) -> Self {
        Self { most, taken: 0, places: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.taken
    }

    pub fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// One past the last place that was ever taken.
    pub fn end(&self) -> u32 {
        self.places.len() as u32
    }

    pub fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    /// Everybody, with their places.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let places = (0..).zip(&self.places);
        places.filter_map(|(place, occupant)| Some((place, occupant.as_ref()?)))
    }

    /// Frees a place; who had it.
    pub fn take(&mut self, place: u32) -> Option<T> {
        let occupant = self.places.get_mut(place as usize)?.take()?;
        self.taken -= 1;
        Some(occupant)
    }

    /// A place that no one has; `None` where all are taken.
    pub fn free(&self) -> Option<u32> {
        let free = self.places.iter().position(Option::is_none).unwrap_or(self.places.len());
        (free < self.most).then_some(free as u32)
    }

    /// Gives somebody a free place.
    pub fn put(&mut self, place: u32, occupant: T) {
        let place = place as usize;
        if self.places.len() <= place {
            self.places.resize_with(place + 1, || None);
        }
        self.taken += usize::from(self.places[place].replace(occupant).is_none());
    }
}

impl<T: Occupant> Places<T> {
    /// Who of these leaves for a newcomer: the longest idle, else the longest unfinished, else anyone who leaves its
    /// answer lying longest. `None` where all of them are being answered.
    pub fn longest(&self, now_ns: u64, is_one: impl Fn(&T) -> bool) -> Option<u32> {
        let may_leave = self
            .iter()
            .filter(|(_, one)| is_one(one))
            .map(|(place, one)| (one.standing(), place))
            .filter(|(standing, _)| standing.may_leave(now_ns));
        may_leave.min().map(|(_, place)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    impl Occupant for Standing {
        fn standing(&self) -> Standing {
            *self
        }
    }

    fn standing(activity: Activity, since_ns: u64) -> Standing {
        Standing { activity, since_ns }
    }

    fn full(all: &[Standing]) -> Places<Standing> {
        let mut places = Places::new(all.len());
        for one in all {
            places.put(places.free().unwrap(), *one);
        }
        assert_eq!((places.free(), places.len()), (None, all.len()));
        places
    }

    #[test]
    fn the_longest_idle_leaves_first_and_the_one_that_is_answered_last() {
        use Activity::{Answered, Idle, Unfinished};
        let mut places = full(&[
            standing(Answered, 0),
            standing(Unfinished, 1),
            standing(Idle, 9),
            standing(Idle, 8),
        ]);
        let mut left = Vec::new();
        while let Some(place) = places.longest(2 * SECOND, |_| true) {
            left.push(place);
            places.take(place);
        }
        assert_eq!(left, [3, 2, 1, 0]);
        assert!(places.is_empty());
    }

    #[test]
    fn who_is_being_answered_stays_for_a_second() {
        let places = full(&[standing(Activity::Answered, 5)]);
        assert_eq!(places.longest(SECOND, |_| true), None);
        assert_eq!(places.longest(SECOND + 5, |_| true), Some(0));
        assert_eq!(places.longest(SECOND + 5, |_| false), None);
    }

    #[test]
    fn another_byte_makes_half_a_request_no_younger() {
        let mut one = Standing::new(0);
        one.moved(Activity::Unfinished, 10);
        one.moved(Activity::Unfinished, 20);
        assert_eq!(one, standing(Activity::Unfinished, 10));
        one.moved(Activity::Idle, 30);
        one.moved(Activity::Idle, 40);
        assert_eq!(one, standing(Activity::Idle, 40));
    }
}
