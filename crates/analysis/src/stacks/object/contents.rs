//! What is in a section: bytes of the file itself, or unpacked ones.
//!
//! Shared, so that readers of debug information can keep it without borrowing from the file.

use std::{
    io::Read,
    ops::{Deref, Range},
    sync::Arc,
};

use super::Elf;

/// `ELFCOMPRESS_ZLIB`, elf.h.
const ZLIB: u32 = 1;

#[derive(Clone, Debug)]
pub struct Contents {
    bytes: Arc<[u8]>,
    range: Range<usize>,
}

impl Contents {
    pub fn own(bytes: Vec<u8>) -> Self {
        Contents { range: 0..bytes.len(), bytes: bytes.into() }
    }

    /// What they are a part of, and which part.
    pub(crate) fn parts(&self) -> (Arc<[u8]>, Range<usize>) {
        (Arc::clone(&self.bytes), self.range.clone())
    }
}

impl Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(self.range.clone()).unwrap_or_default()
    }
}

impl Elf {
    /// A section's content, unpacked; `None` where there is none, or it cannot be unpacked.
    pub fn contents(&self, name: &str) -> Option<Contents> {
        let section = self.section(name)?;
        let range = section.content.clone().filter(|range| !range.is_empty())?;
        if section.compressed {
            return self.unpacked(range).map(Contents::own);
        }
        Some(Contents { bytes: Arc::clone(&self.bytes), range })
    }

    /// The file's content from an address to the end of its segment.
    pub(crate) fn contents_from(&self, address: u64) -> Option<Contents> {
        let length = self.at(address).len();
        let first = usize::try_from(self.offset_of(address)?).ok()?;
        (length > 0).then(|| Contents {
            bytes: Arc::clone(&self.bytes),
            range: first..first.saturating_add(length),
        })
    }

    /// `Elf64_Chdr` is type, reserved, size, alignment; `Elf32_Chdr` has no reserved word.
    fn unpacked(&self, range: Range<usize>) -> Option<Vec<u8>> {
        let packed = self.bytes().get(range)?;
        let class = self.class;
        let (size, head) = if class.is_64 {
            (self.word64(packed, 8)?, 24)
        } else {
            (u64::from(self.word32(packed, 4)?), 12)
        };
        let (kind, body) = (self.word32(packed, 0)?, packed.get(head..)?);
        // What the header promises is all that is ever unpacked.
        if kind != ZLIB || !self.budget.take(size) {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).ok()?);
        flate2::read::ZlibDecoder::new(body).take(size).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 == size).then_some(bytes)
    }

    pub(crate) fn word32(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let four = bytes.get(at..)?.first_chunk::<4>()?;
        let is_little = self.class.is_little;
        Some(if is_little { u32::from_le_bytes(*four) } else { u32::from_be_bytes(*four) })
    }

    pub(crate) fn word64(&self, bytes: &[u8], at: usize) -> Option<u64> {
        let eight = bytes.get(at..)?.first_chunk::<8>()?;
        let is_little = self.class.is_little;
        Some(if is_little { u64::from_le_bytes(*eight) } else { u64::from_be_bytes(*eight) })
    }

    pub(crate) fn word(&self, bytes: &[u8], at: usize) -> Option<u64> {
        if self.class.is_64 {
            self.word64(bytes, at)
        } else {
            self.word32(bytes, at).map(u64::from)
        }
    }

    pub(crate) fn word_bytes(&self) -> usize {
        if self.class.is_64 { 8 } else { 4 }
    }
}
