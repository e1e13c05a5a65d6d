//! Variants and the hash table of them: each value, argument, event and reply is one, on the heap, as in libamxc.

use std::{collections::LinkedList, iter::successors, mem::discriminant};

/// libamxc's tables begin with this many buckets, and double when three quarters are full.
const BUCKETS: usize = 10;

#[derive(Debug, Default, PartialEq)]
pub(crate) enum Variant {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Text(String),
    List(LinkedList<Variant>),
    Map(Table),
}

impl Variant {
    pub(crate) fn map() -> Self {
        Self::Map(Table::default())
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// A deep copy: each value of a table and each key of it is allocated.
    #[inline(never)]
    pub(crate) fn copy(&self) -> Self {
        match self {
            Self::Null => Self::Null,
            Self::Bool(value) => Self::Bool(*value),
            Self::Int(value) => Self::Int(*value),
            Self::Uint(value) => Self::Uint(*value),
            Self::Text(text) => Self::Text(text.clone()),
            Self::List(list) => Self::List(list.iter().map(Self::copy).collect()),
            Self::Map(table) => {
                let mut copy = Table::default();
                for entry in table.iter() {
                    copy.insert(Entry::new(&entry.key, entry.value.copy()));
                }
                Self::Map(copy)
            }
        }
    }

    #[inline(never)]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => strcmp(one, other),
            (one, other) => one == other,
        }
    }

    #[inline(never)]
    pub(crate) fn convert(&self, like: &Self) -> Option<Self> {
        (discriminant(self) == discriminant(like)).then(|| self.copy())
    }

    #[inline(never)]
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        if let Self::Map(table) = self { table.get(key) } else { None }
    }

    #[inline(never)]
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        if let Self::Map(table) = self { table.get_mut(key) } else { None }
    }

    #[inline(never)]
    pub(crate) fn set(&mut self, key: &str, value: Self) {
        if let Self::Map(table) = self {
            table.set(key, value);
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        let table = if let Self::Map(table) = self { Some(table) } else { None };
        table.into_iter().flat_map(Table::iter)
    }
}

/// A hash table whose buckets are chains, and which knows the first and the last that is in use.
#[derive(Debug, PartialEq)]
pub(crate) struct Table {
    buckets: Vec<Option<Box<Entry>>>,
    entries: usize,
    first: usize,
    last: usize,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) value: Variant,
    next: Option<Box<Entry>>,
}

impl Entry {
    #[inline(never)]
    fn new(key: &str, value: Variant) -> Box<Self> {
        Box::new(Self { key: key.to_owned(), value, next: None })
    }
}

impl Default for Table {
    fn default() -> Self {
        Self::of(BUCKETS)
    }
}

impl Table {
    #[inline(never)]
    fn of(buckets: usize) -> Self {
        let buckets = (0..buckets).map(|_| None).collect();
        Self { buckets, entries: 0, first: 0, last: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    #[inline(never)]
    pub(crate) fn get(&self, key: &str) -> Option<&Variant> {
        let first = self.buckets[self.place(key)].as_deref();
        let mut chain = successors(first, |entry| entry.next.as_deref());
        chain.find(|entry| strcmp(&entry.key, key)).map(|entry| &entry.value)
    }

    #[inline(never)]
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Variant> {
        self.slot(key)?.as_deref_mut().map(|entry| &mut entry.value)
    }

    #[inline(never)]
    pub(crate) fn take(&mut self, key: &str) -> Option<Box<Entry>> {
        let place = self.place(key);
        let mut entry = None;
        if let Some(slot) = self.slot(key) {
            entry = slot.take();
            *slot = entry.as_mut().and_then(|entry| entry.next.take());
        }
        self.has_taken(place, entry)
    }

    #[inline(never)]
    pub(crate) fn take_first(&mut self) -> Option<Box<Entry>> {
        let mut entry = self.buckets[self.first].take();
        self.buckets[self.first] = entry.as_mut().and_then(|entry| entry.next.take());
        self.has_taken(self.first, entry)
    }

    /// Finds the first and the last bucket in use anew, where one of them has become empty.
    fn has_taken(&mut self, place: usize, entry: Option<Box<Entry>>) -> Option<Box<Entry>> {
        self.entries -= usize::from(entry.is_some());
        if self.entries > 0 && self.buckets[place].is_none() {
            while self.buckets[self.first].is_none() {
                self.first += 1;
            }
            while self.buckets[self.last].is_none() {
                self.last -= 1;
            }
        }
        entry
    }

    /// Where the key's entry is, or the end of its chain.
    fn slot(&mut self, key: &str) -> Option<&mut Option<Box<Entry>>> {
        let place = self.place(key);
        let mut slot = &mut self.buckets[place];
        while slot.as_ref().is_some_and(|entry| !strcmp(&entry.key, key)) {
            slot = &mut slot.as_mut()?.next;
        }
        Some(slot)
    }

    #[inline(never)]
    pub(crate) fn set(&mut self, key: &str, value: Variant) {
        drop(self.take(key));
        self.insert(Entry::new(key, value));
    }

    /// Puts an entry in, at the head of its bucket's chain.
    #[inline(never)]
    fn insert(&mut self, mut entry: Box<Entry>) {
        if (self.entries + 1) * 100 / self.buckets.len() >= 75 {
            let larger = Self::of(self.buckets.len() * 2);
            let mut old = std::mem::replace(self, larger);
            while let Some(entry) = old.take_first() {
                self.insert(entry);
            }
        }
        let place = self.place(&entry.key);
        entry.next = self.buckets[place].take();
        self.buckets[place] = Some(entry);
        let is_only = self.entries == 0;
        self.first = if is_only { place } else { self.first.min(place) };
        self.last = if is_only { place } else { self.last.max(place) };
        self.entries += 1;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        let chains = self.buckets[self.first..=self.last].iter().map(|first| first.as_deref());
        chains.flat_map(|first| successors(first, |entry| entry.next.as_deref()))
    }

    /// The bucket, by libamxc's hash: that of Brian Kernighan and Dennis Ritchie.
    #[inline(never)]
    fn place(&self, key: &str) -> usize {
        let add = |hash: u32, byte| hash.wrapping_mul(131).wrapping_add(u32::from(byte));
        key.bytes().fold(0, add) as usize % self.buckets.len()
    }
}

impl Drop for Table {
    /// Each entry is taken out before it goes.
    #[inline(never)]
    fn drop(&mut self) {
        while self.take_first().is_some() {}
    }
}

/// Whether two texts are equal, as C's `strcmp` finds it: it knows no lengths.
#[inline(never)]
pub(crate) fn strcmp(one: &str, other: &str) -> bool {
    let (one, other, mut at) = (one.as_bytes(), other.as_bytes(), 0);
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_what_is_set_and_forgets_what_is_taken() {
        let mut table = Table::default();
        (0..100).for_each(|number| table.set(&format!("key{number}"), Variant::Uint(number)));
        table.set("key7", Variant::Bool(true));
        assert_eq!((table.len(), table.buckets.len()), (100, 160));
        assert_eq!(table.take("key7").map(|entry| entry.value), Some(Variant::Bool(true)));
        assert!(table.take("key7").is_none() && table.get("key7").is_none());
        assert!(strcmp("", "") && !strcmp("a", "ab") && !strcmp("ab", "a"));
        assert_eq!(table.get("key99"), Some(&Variant::Uint(99)));
        let copy = Variant::Map(table).copy();
        assert_eq!((copy.entries().count(), copy.get("key0")), (99, Some(&Variant::Uint(0))));
    }
}
