//! A few buffers by their numbers, in their order: those of one transmit command.

use super::MOST_BUFFERS;

/// Buffers of a command; as many as a host may have, and so in need of no memory of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fids {
    all: [u16; MOST_BUFFERS as usize],
    count: usize,
}

impl Fids {
    /// The last this many of a list, which loses them.
    pub fn split_off(list: &mut Vec<u16>, count: usize) -> Self {
        let mut fids = Self::default();
        for fid in list.drain(list.len() - count.min(list.len())..) {
            // A list of a host's buffers is no longer.
            let _ = fids.push(fid);
        }
        fids
    }

    /// One more; false where there is no room.
    #[must_use]
    pub fn push(&mut self, fid: u16) -> bool {
        let Some(place) = self.all.get_mut(self.count) else { return false };
        *place = fid;
        self.count += 1;
        true
    }

    /// Their numbers.
    pub fn as_slice(&self) -> &[u16] {
        &self.all[..self.count]
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_keep_their_order_and_there_are_no_more_than_a_host_has() {
        let mut list: Vec<u16> = (1..=10).collect();
        let mut fids = Fids::split_off(&mut list, 3);
        assert_eq!((fids.as_slice(), list.len()), (&[8, 9, 10][..], 7));
        assert!((0..5).all(|fid| fids.push(fid)));
        assert!(!fids.push(5), "there is no room for a ninth");
        assert_eq!((fids.len(), fids.is_empty()), (8, false));
    }
}
