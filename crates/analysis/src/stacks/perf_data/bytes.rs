//! Numbers and texts out of bytes that no one vouches for: whatever is not there is `None`.

/// Bytes that are read from the front, in the recording's byte order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    rest: &'a [u8],
    big: bool,
}

impl<'a> Bytes<'a> {
    pub(super) const fn new(rest: &'a [u8], big: bool) -> Self {
        Self { rest, big }
    }

    pub(super) const fn is_big(&self) -> bool {
        self.big
    }

    pub(super) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    /// `count` things of `each` bytes.
    pub(super) fn take_all(&mut self, count: u64, each: u64) -> Option<&'a [u8]> {
        self.take(count.checked_mul(each)?)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        let mut taken = *taken;
        if self.big {
            taken.reverse();
        }
        Some(taken)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The last eight bytes but `words` times eight.
    pub(super) fn word_from_end(&self, words: u32) -> Option<u64> {
        let at = self.rest.len().checked_sub(words as usize * 8)?;
        Self::new(self.rest.get(at..)?, self.big).u64()
    }

    /// Up to the first 0, or all.
    pub(super) fn text(&self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == 0);
        &self.rest[..end.unwrap_or(self.rest.len())]
    }

    /// A length and so many bytes, with a text in them: `struct perf_header_string`.
    pub(super) fn string(&mut self) -> Option<String> {
        let length = self.u32()?;
        let text = Self::new(self.take(length.into())?, self.big).text();
        Some(String::from_utf8_lossy(text).into_owned())
    }
}
