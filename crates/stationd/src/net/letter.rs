//! What one turn has to say to one consumer: words of its own, and bodies that others get too.
//!
//! It goes out in one system call, its bodies uncopied; the connection keeps what the socket does not take.

use std::{collections::VecDeque, io::IoSlice, os::fd::AsFd, rc::Rc};

use rustix::{
    io::Errno,
    net::{SendAncillaryBuffer, SendFlags, sendmsg},
};

/// Parts that go out in one call. A reply has three, and most turns have one reply.
const PARTS: usize = 32;
/// A letter's memory beyond this is given back after it was sent.
const KEPT: usize = 32 * 1024;

/// What one turn has to say to one consumer.
#[derive(Debug, Default)]
pub struct Letter {
    words: Vec<u8>,
    /// Bodies, each with the number of own words before it.
    bodies: Vec<(usize, Rc<Vec<u8>>)>,
}

impl Letter {
    pub fn words(&mut self) -> &mut Vec<u8> {
        &mut self.words
    }

    pub fn share(&mut self, body: Rc<Vec<u8>>) {
        self.bodies.push((self.words.len(), body));
    }

    pub fn len(&self) -> usize {
        self.words.len() + self.bodies.iter().map(|(_, body)| body.len()).sum::<usize>()
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.bodies.is_empty()
    }

    /// Makes it empty; its memory is used for the next one.
    pub fn clear(&mut self) {
        self.words.clear();
        self.words.shrink_to(KEPT);
        self.bodies.clear();
    }

    /// Its parts in order; of a body, the body as well.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&[u8], Option<&Rc<Vec<u8>>>)> {
        let mut from = 0;
        let bodies = self.bodies.iter().flat_map(move |(to, body)| {
            let before = &self.words[from..*to];
            from = *to;
            [(before, None), (body.as_slice(), Some(body))]
        });
        let last = self.bodies.last().map_or(0, |(to, _)| *to);
        bodies.chain([(&self.words[last..], None)]).filter(|(bytes, _)| !bytes.is_empty())
    }

    /// Its parts as they are kept, from a byte on: of own words what is left, so that somebody who leaves a little
    /// unread does not cost as much as the whole; of bodies, which stay shared, all.
    pub(super) fn keep(&self, mut skip: usize, unsent: &mut VecDeque<Unsent>) {
        for (bytes, body) in self.parts() {
            if bytes.len() > skip {
                unsent.push_back(match body {
                    Some(body) => Unsent { bytes: Rc::clone(body), from: skip },
                    None => Unsent { bytes: Rc::new(bytes[skip..].to_vec()), from: 0 },
                });
            }
            skip = skip.saturating_sub(bytes.len());
        }
    }
}

/// What became of bytes that were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// All are on their way.
    All,
    Waits,
    /// There is no one to take them.
    Gone,
}

/// A part that the socket did not take.
#[derive(Debug)]
pub(super) struct Unsent {
    bytes: Rc<Vec<u8>>,
    from: usize,
}

impl Unsent {
    pub(super) fn left(&self) -> &[u8] {
        &self.bytes[self.from..]
    }

    pub(super) fn skip(&mut self, taken: usize) {
        self.from += taken;
    }
}

/// Sends as much as the socket takes now; 0 where it takes nothing.
pub(super) fn send<'a>(
    socket: impl AsFd,
    parts: impl Iterator<Item = &'a [u8]>,
) -> Result<usize, Errno> {
    let mut slices = [IoSlice::new(&[]); PARTS];
    let mut count = 0;
    for (slice, part) in slices.iter_mut().zip(parts) {
        *slice = IoSlice::new(part);
        count += 1;
    }
    if count == 0 {
        return Ok(0);
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    match sendmsg(socket, &slices[..count], &mut SendAncillaryBuffer::default(), flags) {
        Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => Ok(0),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_body_is_not_copied_while_it_waits() {
        let (mut unsent, mut letter) = (VecDeque::new(), Letter::default());
        let body = Rc::new(vec![0; 1 << 20]);
        letter.words().extend(b"words");
        letter.share(Rc::clone(&body));
        letter.share(Rc::clone(&body));
        letter.keep(9, &mut unsent);
        letter.clear();
        assert_eq!(Rc::strong_count(&body), 3);
        let left: Vec<usize> = unsent.iter().map(|part| part.left().len()).collect();
        assert_eq!(left, [(1 << 20) - 4, 1 << 20]);
    }
}
