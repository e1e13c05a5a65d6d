//! What the dynamic linker needs, found without section headers: `sstrip` cuts those off, and firmware is
//! often treated so.

use super::{Contents, Elf};

/// `PT_DYNAMIC`, `PT_GNU_EH_FRAME` and the tags below: elf.h.
const PT_DYNAMIC: u32 = 2;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const DT_GNU_HASH: u64 = 0x6fff_fef5;

/// More entries than any `.dynamic` has.
const MOST_TAGS: usize = 1024;

/// Tables by their addresses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dynamic {
    /// `.dynsym`
    pub symbols: u64,
    pub count: usize,
    /// `.dynstr`
    pub strings: u64,
    /// Its length, bytes.
    pub strings_length: usize,
}

impl Elf {
    /// The tables of dynamic symbols, by program headers alone.
    pub(crate) fn dynamic(&self) -> Option<Dynamic> {
        let bytes = self.at(self.segment(PT_DYNAMIC)?.address);
        let width = self.word_bytes();
        let entries = (0..MOST_TAGS).map_while(|place| {
            let tag = self.word(bytes, place * 2 * width)?;
            let value = self.word(bytes, (place * 2 + 1) * width)?;
            (tag != 0).then_some((tag, value))
        });
        let (mut hash, mut gnu_hash) = (None, None);
        let mut found = Dynamic::default();
        for (tag, value) in entries {
            match tag {
                DT_HASH => hash = Some(value),
                DT_GNU_HASH => gnu_hash = Some(value),
                DT_SYMTAB => found.symbols = value,
                DT_STRTAB => found.strings = value,
                DT_STRSZ => found.strings_length = usize::try_from(value).ok()?,
                _ => {}
            }
        }
        // DT_HASH says the number outright; DT_GNU_HASH by its last chain; and linkers put the strings
        // right behind the symbols.
        let counted = hash.and_then(|at| self.word32(self.at(at), 4)).map(|count| count as usize);
        let counted = counted.or_else(|| self.gnu_hash_count(gnu_hash?));
        let between = found.strings.checked_sub(found.symbols);
        let size = if self.class.is_64 { 24 } else { 16 };
        found.count = counted.or_else(|| Some(usize::try_from(between?).ok()? / size))?;
        // Not more than the segment holds, whatever a table says.
        found.count = found.count.min(self.at(found.symbols).len() / size);
        (found.symbols != 0 && found.strings != 0).then_some(found)
    }

    /// Symbols that a GNU hash table covers: its largest bucket, and that one's chain to its end.
    fn gnu_hash_count(&self, at: u64) -> Option<usize> {
        let bytes = self.at(at);
        let word = |place: usize| self.word32(bytes, place * 4).map(|word| word as usize);
        let (buckets, first, bloom) = (word(0)?, word(1)?, word(2)?);
        let bucket_at = 4 + bloom.checked_mul(self.word_bytes() / 4)?;
        let chain_at = bucket_at.checked_add(buckets)?;
        if chain_at.checked_mul(4)? > bytes.len() {
            return None;
        }
        let last = (bucket_at..chain_at).filter_map(word).max()?;
        let Some(mut place) = last.checked_sub(first) else {
            return Some(first);
        };
        // The lowest bit ends a chain.
        while word(chain_at.checked_add(place)?)? & 1 == 0 {
            place += 1;
        }
        first.checked_add(place)?.checked_add(1)
    }

    /// `.eh_frame` and its address: by its section, or by the pointer in `.eh_frame_hdr`.
    pub(crate) fn eh_frame(&self) -> Option<(Contents, u64)> {
        if let Some(contents) = self.contents(".eh_frame") {
            return Some((contents, self.section(".eh_frame")?.address));
        }
        let header = self.segment(PT_GNU_EH_FRAME)?;
        let endian = gimli_endian(self);
        let bases = gimli::BaseAddresses::default().set_eh_frame_hdr(header.address);
        let parsed = gimli::EhFrameHdr::new(self.at(header.address), endian)
            .parse(&bases, self.word_bytes() as u8)
            .ok()?;
        let address = parsed.eh_frame_ptr().direct().ok()?;
        Some((self.contents_from(address)?, address))
    }

    /// `.eh_frame_hdr`'s address, the base of some pointers; a hint only, its table is never trusted.
    pub(crate) fn eh_frame_header(&self) -> Option<u64> {
        Some(self.segment(PT_GNU_EH_FRAME)?.address)
    }
}

/// The byte order in gimli's words.
pub(crate) fn gimli_endian(elf: &Elf) -> gimli::RunTimeEndian {
    if elf.class.is_little { gimli::RunTimeEndian::Little } else { gimli::RunTimeEndian::Big }
}
