//! blobmsg: named values in tables and lists, big-endian, padded to four bytes (libubox's `blobmsg.h`).
//!
//! What is written is appended to memory that is used again, and no value allocates: `ubus-zero`'s builder allocates for each
//! text, and its builder without an allocator cannot grow. What others send is read by that crate, and refused where libubox
//! refuses it. `libubox` (a test) holds both against libubox itself. It knows no keys.

use ubus::{BlobIter, BlobRef, BlobType, BlobValue, UbusError};

/// An attribute has a name before its value.
const EXTENDED: u32 = 1 << 31;
/// Where the type stands in an attribute's first word; the lower bits are its length, bytes.
const TYPE: u32 = 24;
const LENGTH: u32 = (1 << TYPE) - 1;
const ALIGN: usize = 4;
/// What stands before a name: an attribute's first word, and how long the name is.
const BEFORE_NAME: usize = 6;

/// The types of `enum blobmsg_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// JSON's `null`, as `libblobmsg_json` has it.
    Null = 0,
    List = 1,
    Table = 2,
    Text = 3,
    Int64 = 4,
    Int32 = 5,
    Bool = 7,
}

/// The contents of a table as they grow: what stands below ubus's DATA.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// A value that may be unknown: without it, the key is left out.
    pub fn known<T>(&mut self, name: &str, value: Option<T>, put: fn(&mut Self, &str, T)) {
        if let Some(value) = value {
            put(self, name, value);
        }
    }

    /// The same where the key may not be left out.
    pub fn or_null<T>(&mut self, name: &str, value: Option<T>, put: fn(&mut Self, &str, T)) {
        match value {
            Some(value) => put(self, name, value),
            None => self.put(Kind::Null, name, []),
        }
    }

    /// A table of what came from a station and what went to it; none where neither is known.
    pub fn pair(&mut self, name: &str, [rx, tx]: [Option<u64>; 2], put: fn(&mut Self, &str, u64)) {
        if rx.is_some() || tx.is_some() {
            self.table(name, |writer| {
                writer.known("rx", rx, put);
                writer.known("tx", tx, put);
            });
        }
    }

    /// A number that may not be negative, in as few bits as hold it with its sign: the field's bus back-end widens one
    /// beyond 31 bits to 64. blobmsg has no unsigned types.
    pub fn count(&mut self, name: &str, value: u64) {
        match i32::try_from(value) {
            Ok(value) => self.put(Kind::Int32, name, value.to_be_bytes()),
            Err(_) => self.total(name, value),
        }
    }

    /// A number of 64 bits, whatever it is: bytes.
    pub fn total(&mut self, name: &str, value: u64) {
        self.put(Kind::Int64, name, value.to_be_bytes());
    }

    pub fn level(&mut self, name: &str, value: i64) {
        match i32::try_from(value) {
            Ok(value) => self.put(Kind::Int32, name, value.to_be_bytes()),
            Err(_) => self.put(Kind::Int64, name, value.to_be_bytes()),
        }
    }

    pub fn flag(&mut self, name: &str, value: bool) {
        self.put(Kind::Bool, name, [u8::from(value)]);
    }

    /// A text, which ends with its first NUL as every text does there.
    pub fn text(&mut self, name: &str, value: &str) {
        self.bytes(name, value.as_bytes());
    }

    /// The same of characters that are known to be ASCII.
    pub fn bytes(&mut self, name: &str, value: &[u8]) {
        let value = &value[..memchr::memchr(0, value).unwrap_or(value.len())];
        self.head(Kind::Text, name, value.len() + 1);
        self.out.extend_from_slice(value);
        self.pad(value.len(), 1);
    }

    pub fn table(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.nest(Kind::Table, name, write);
    }

    pub fn list(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.nest(Kind::List, name, write);
    }

    fn nest(&mut self, kind: Kind, name: &str, write: impl FnOnce(&mut Self)) {
        let at = self.out.len();
        self.head(kind, name, 0);
        write(self);
        let length = (self.out.len() - at) as u32 & LENGTH;
        if let Some(word) = self.out[at..].first_chunk_mut() {
            let kind = u32::from_be_bytes(*word) & !LENGTH;
            *word = (kind | length).to_be_bytes();
        }
    }

    fn put<const LENGTH: usize>(&mut self, kind: Kind, name: &str, value: [u8; LENGTH]) {
        self.head(kind, name, LENGTH);
        self.out.extend_from_slice(&value);
        self.pad(LENGTH, 0);
    }

    /// What stands before a value of so many bytes. An attribute's length is without what pads its value.
    fn head(&mut self, kind: Kind, name: &str, value: usize) {
        let before = (BEFORE_NAME + name.len() + 1).next_multiple_of(ALIGN);
        let word = EXTENDED | (kind as u32) << TYPE | (before + value) as u32 & LENGTH;
        // Names are ours, or an address or an interface's: all are short.
        let head = u64::from(word) << 32 | u64::from(name.len() as u16) << 16;
        self.out.extend_from_slice(&head.to_be_bytes()[..BEFORE_NAME]);
        self.out.extend_from_slice(name.as_bytes());
        self.pad(BEFORE_NAME + name.len(), 1);
    }

    /// At least so many zeros behind so many bytes, up to a whole word.
    fn pad(&mut self, behind: usize, least: usize) {
        let zeros = (behind + least).next_multiple_of(ALIGN) - behind;
        if zeros > 0 {
            // A whole word is one store, and so many bytes would be a call.
            self.out.extend_from_slice(&[0; ALIGN]);
            self.out.truncate(self.out.len() - ALIGN + zeros);
        }
    }
}

/// The values in the contents of a table or list, one after another, as others sent them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(contents: &'a [u8]) -> Self {
        Self { rest: contents }
    }

    /// The next one's name, which is empty where it has none, and its value; `None` behind the last.
    /// What libubox refuses, and what it passes over without a word: bytes behind the last value, and a value that is no
    /// blobmsg. Names and texts are UTF-8.
    pub(crate) fn next(&mut self) -> Result<Option<(&'a str, BlobValue<'a>)>, UbusError> {
        let Some(one) = BlobIter::new(self.rest).try_next()? else { return Ok(None) };
        let name = one.name.unwrap_or_default();
        let end = BEFORE_NAME + name.len();
        let length = (end + 1).next_multiple_of(ALIGN) + one.payload.len();
        if self.rest.get(end) != Some(&0) || !is_whole(&one) {
            return Err(UbusError::Malformed("a name without end, or a value of another length"));
        }
        let next = self.rest.get(length.next_multiple_of(ALIGN)..);
        self.rest = next.ok_or(UbusError::Malformed("a value without its padding"))?;
        Ok(Some((name, one.value()?)))
    }
}

/// Whether a value is as long as its type, and a text ends with NUL: `blob_check_type`, which the crate is more lenient than.
fn is_whole(one: &BlobRef<'_>) -> bool {
    match one.ty {
        BlobType::Int8 => one.payload.len() == 1,
        BlobType::Int16 => one.payload.len() == 2,
        BlobType::Int32 => one.payload.len() == 4,
        BlobType::Int64 => one.payload.len() == 8,
        BlobType::String => one.payload.ends_with(&[0]),
        BlobType::Unspec | BlobType::Array | BlobType::Table | BlobType::Double => true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether this is all that another reads.
    fn is(write: impl FnOnce(&mut Writer<'_>), wanted: BlobValue<'_>) -> bool {
        let mut bytes = Vec::new();
        write(&mut Writer::new(&mut bytes));
        let mut all = Reader::new(&bytes);
        all.next().unwrap() == Some(("any", wanted)) && all.next().unwrap().is_none()
    }

    fn narrow(value: i64) -> BlobValue<'static> {
        i32::try_from(value).map_or(BlobValue::Int64(value), BlobValue::Int32)
    }

    proptest! {
        #[test]
        fn a_number_takes_the_bits_that_hold_it(value: i64, short: i32) {
            let count = value.unsigned_abs();
            prop_assert!(is(|writer| writer.level("any", value), narrow(value)));
            prop_assert!(is(|writer| writer.level("any", short.into()), BlobValue::Int32(short)));
            prop_assert!(is(|writer| writer.count("any", count), narrow(count as i64)));
            prop_assert!(is(|writer| writer.total("any", 7), BlobValue::Int64(7)));
        }
    }

    #[test]
    fn a_text_ends_with_its_first_nul() {
        assert!(is(|writer| writer.text("any", "one\0two"), BlobValue::String("one")));
    }
}
