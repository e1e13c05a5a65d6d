//! Texts that are kept once, however many objects have them.
//!
//! Stations of one make have the same capabilities, so a hundred of them need a handful of texts. A text
//! that no one has any more goes at the next sweep.

use std::{borrow::Borrow, collections::BTreeSet, rc::Rc};

/// A text that several objects share. It is one word wide, so that a [`super::value::Cell`] is two.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shared(pub(super) Rc<Box<str>>);

impl Borrow<str> for Shared {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// All texts that are kept.
#[derive(Debug, Default)]
pub(super) struct Texts {
    known: BTreeSet<Shared>,
}

impl Texts {
    /// The one that reads so.
    pub(super) fn share(&mut self, text: &str) -> Shared {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let new = Shared(Rc::new(text.into()));
        self.known.insert(new.clone());
        new
    }

    /// Forgets those that only this list has.
    pub(super) fn sweep(&mut self) {
        self.known.retain(|text| Rc::strong_count(&text.0) > 1);
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once_and_goes_with_its_last_owner() {
        let mut texts = Texts::default();
        let first = texts.share("80MHz");
        assert!(Rc::ptr_eq(&first.0, &texts.share("80MHz").0));
        texts.share("nobody's");
        texts.sweep();
        assert_eq!(texts.len(), 1);
        drop(first);
        texts.sweep();
        assert_eq!(texts.len(), 0);
    }
}
