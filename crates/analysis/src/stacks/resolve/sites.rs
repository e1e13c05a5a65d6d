//! What is known of an address of a file: found once, and then looked up.
//!
//! In front of the ordered map stands a small table by a fixed hash, because nearly all samples come back
//! to a few thousand addresses.

use std::collections::BTreeMap;

/// Entries of the table in front; a power of two.
const FRONT: usize = 1 << 15;

/// An address of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) file: u32,
    pub(super) address: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    /// Its frames: the first of them in the list of all, and how many.
    first: u32,
    count: u32,
    pub(super) rules: Rules,
}

/// How its caller is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// By a row of its file.
    Row(u32),
    /// There is no unwind information.
    Bare,
    /// There is some, and it cannot be read.
    Broken,
    /// It is where a program or a thread begins.
    Outermost,
}

#[derive(Debug)]
pub(super) struct Sites {
    front: Vec<Option<(Key, u32)>>,
    places: BTreeMap<Key, u32>,
    sites: Vec<Site>,
    frames: Vec<u32>,
}

impl Default for Sites {
    fn default() -> Self {
        Sites {
            front: vec![None; FRONT],
            places: BTreeMap::new(),
            sites: Vec::new(),
            frames: Vec::new(),
        }
    }
}

impl Key {
    /// Multiplicative hashing (Knuth, The Art of Computer Programming 3, §6.4): the upper bits are mixed.
    #[inline]
    fn slot(self) -> usize {
        let mixed = (self.address ^ u64::from(self.file) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 49) as usize & (FRONT - 1)
    }
}

impl Sites {
    #[inline]
    pub(super) fn find(&mut self, key: Key) -> Option<Site> {
        let slot = key.slot();
        if let Some(Some((kept, site))) = self.front.get(slot)
            && *kept == key
        {
            return self.sites.get(*site as usize).copied();
        }
        let place = *self.places.get(&key)?;
        if let Some(kept) = self.front.get_mut(slot) {
            *kept = Some((key, place));
        }
        self.sites.get(place as usize).copied()
    }

    pub(super) fn keep(&mut self, key: Key, frames: &[u32], rules: Rules) -> Site {
        let site = Site { first: self.frames.len() as u32, count: frames.len() as u32, rules };
        self.frames.extend_from_slice(frames);
        self.places.insert(key, self.sites.len() as u32);
        self.sites.push(site);
        site
    }

    /// A site's frames, innermost first.
    #[inline]
    pub(super) fn frames(&self, site: Site) -> &[u32] {
        let first = site.first as usize;
        self.frames.get(first..first + site.count as usize).unwrap_or_default()
    }
}
