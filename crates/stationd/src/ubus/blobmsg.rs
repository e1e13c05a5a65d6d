//! blobmsg as it is written: named values in tables and lists, big-endian, padded to four bytes (libubox's `blobmsg.h`).
//!
//! Appends to memory that is used again, and allocates for no value: `ubus-zero`'s builder allocates for each text, and
//! its builder without an allocator cannot grow. What others send is read by that crate. It knows no keys.

/// An attribute has a name before its value.
const EXTENDED: u32 = 1 << 31;
/// Where the type stands in an attribute's first word; the lower bits are its length, bytes.
const TYPE: u32 = 24;
const LENGTH: u32 = (1 << TYPE) - 1;
const ALIGN: usize = 4;

/// The types of `enum blobmsg_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// JSON's `null`, as `libblobmsg_json` has it.
    Null = 0,
    /// Values without names.
    List = 1,
    /// Values with names.
    Table = 2,
    Text = 3,
    Int64 = 4,
    Int32 = 5,
    Bool = 7,
}

/// The contents of a table as they grow: what stands below ubus's DATA.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

/// A table or list that is not complete.
#[derive(Debug)]
#[must_use = "its length is written when it is closed"]
pub(super) struct Open {
    at: usize,
}

impl<'a> Writer<'a> {
    /// Appends to this.
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// A value that may be unknown: without it, the key is left out.
    pub(super) fn known<T>(&mut self, name: &str, value: Option<T>, put: fn(&mut Self, &str, T)) {
        if let Some(value) = value {
            put(self, name, value);
        }
    }

    /// The same where the key may not be left out.
    pub(super) fn or_null<T>(&mut self, name: &str, value: Option<T>, put: fn(&mut Self, &str, T)) {
        match value {
            Some(value) => put(self, name, value),
            None => self.put(Kind::Null, name, &[]),
        }
    }

    /// A table of what came from a station and what went to it; none where neither is known.
    pub(super) fn pair(
        &mut self,
        name: &str,
        [rx, tx]: [Option<u64>; 2],
        put: fn(&mut Self, &str, u64),
    ) {
        if rx.is_some() || tx.is_some() {
            let table = self.table(name);
            self.known("rx", rx, put);
            self.known("tx", tx, put);
            self.close(table);
        }
    }

    /// A number that may not be negative, in as few bits as hold it with its sign: the field's bus back-end widens one
    /// beyond 31 bits to 64. blobmsg has no unsigned types.
    pub(super) fn count(&mut self, name: &str, value: u64) {
        match i32::try_from(value) {
            Ok(value) => self.int32(name, value),
            Err(_) => self.total(name, value),
        }
    }

    /// A number of 64 bits, whatever it is: bytes.
    pub(super) fn total(&mut self, name: &str, value: u64) {
        self.put(Kind::Int64, name, &value.to_be_bytes());
    }

    /// A level, as dBm.
    pub(super) fn level(&mut self, name: &str, value: i64) {
        match i32::try_from(value) {
            Ok(value) => self.int32(name, value),
            Err(_) => self.put(Kind::Int64, name, &value.to_be_bytes()),
        }
    }

    fn int32(&mut self, name: &str, value: i32) {
        self.put(Kind::Int32, name, &value.to_be_bytes());
    }

    /// Yes or no.
    pub(super) fn flag(&mut self, name: &str, value: bool) {
        self.put(Kind::Bool, name, &[u8::from(value)]);
    }

    /// A text, which ends with its first NUL as every text does there.
    pub(super) fn text(&mut self, name: &str, value: &str) {
        self.bytes(name, value.as_bytes());
    }

    /// The same of characters that are known to be ASCII.
    pub(super) fn bytes(&mut self, name: &str, value: &[u8]) {
        let length = memchr::memchr(0, value).unwrap_or(value.len());
        let begin = self.begin(Kind::Text, name);
        self.out.extend_from_slice(&value[..length]);
        self.out.push(0);
        self.end(&begin);
    }

    /// Opens a table; within a list, without a name.
    pub(super) fn table(&mut self, name: &str) -> Open {
        self.begin(Kind::Table, name)
    }

    /// Opens a list.
    pub(super) fn list(&mut self, name: &str) -> Open {
        self.begin(Kind::List, name)
    }

    /// Closes the table or list that was opened last.
    pub(super) fn close(&mut self, open: Open) {
        self.end(&open);
    }

    fn put(&mut self, kind: Kind, name: &str, value: &[u8]) {
        let begin = self.begin(kind, name);
        self.out.extend_from_slice(value);
        self.end(&begin);
    }

    fn begin(&mut self, kind: Kind, name: &str) -> Open {
        let at = self.out.len();
        let head = EXTENDED | u32::from(kind as u8) << TYPE;
        self.out.extend_from_slice(&head.to_be_bytes());
        // Names are ours, or an address or an interface's: all are short.
        self.out.extend_from_slice(&(name.len() as u16).to_be_bytes());
        self.out.extend_from_slice(name.as_bytes());
        self.out.push(0);
        self.pad();
        Open { at }
    }

    /// Its length is without what is padded behind it.
    fn end(&mut self, Open { at }: &Open) {
        let length = (self.out.len() - at) as u32 & LENGTH;
        if let Some(head) = self.out[*at..].first_chunk_mut() {
            let kind = u32::from_be_bytes(*head) & !LENGTH;
            *head = (kind | length).to_be_bytes();
        }
        self.pad();
    }

    fn pad(&mut self) {
        self.out.resize(self.out.len().next_multiple_of(ALIGN), 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ubus::{BlobIter, BlobType, BlobValue};

    use super::*;

    /// Any value.
    #[derive(Clone, Debug)]
    enum Tree {
        Null,
        Bool(bool),
        Count(u64),
        Level(i64),
        Text(String),
        List(Vec<Tree>),
        Table(Vec<(String, Tree)>),
    }

    fn trees() -> impl Strategy<Value = Tree> {
        let leaf = prop_oneof![
            Just(Tree::Null),
            any::<bool>().prop_map(Tree::Bool),
            any::<u64>().prop_map(Tree::Count),
            any::<i64>().prop_map(Tree::Level),
            "[^\0]{0,40}".prop_map(Tree::Text),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Tree::List),
                prop::collection::vec(("[a-z]{1,12}", inner), 0..8).prop_map(Tree::Table),
            ]
        })
    }

    fn write(writer: &mut Writer<'_>, name: &str, tree: &Tree) {
        match tree {
            Tree::Null => writer.or_null(name, None, Writer::count),
            Tree::Bool(value) => writer.flag(name, *value),
            Tree::Count(value) => writer.count(name, *value),
            Tree::Level(value) => writer.level(name, *value),
            Tree::Text(value) => writer.text(name, value),
            Tree::List(values) => {
                let open = writer.list(name);
                values.iter().for_each(|value| write(writer, "", value));
                writer.close(open);
            }
            Tree::Table(values) => {
                let open = writer.table(name);
                values.iter().for_each(|(name, value)| write(writer, name, value));
                writer.close(open);
            }
        }
    }

    /// Whether another reader finds the same there, in the same order, and nothing more.
    fn is(found: &ubus::BlobRef<'_>, tree: &Tree) -> bool {
        let all = |bytes, values: Vec<(&str, &Tree)>| {
            let mut found = BlobIter::new(bytes);
            let same = values.iter().all(|(name, value)| {
                let one = found.try_next().unwrap().unwrap();
                one.name.unwrap_or_default() == *name && is(&one, value)
            });
            same && found.try_next().unwrap().is_none()
        };
        match (found.value().unwrap(), tree) {
            (BlobValue::Raw(bytes), Tree::Null) => bytes.is_empty() && found.ty == BlobType::Unspec,
            (BlobValue::Int8(value), Tree::Bool(wanted)) => value == i8::from(*wanted),
            (BlobValue::Int32(value), Tree::Count(wanted)) => i64::from(value) as u64 == *wanted,
            (BlobValue::Int64(value), Tree::Count(wanted)) => {
                value as u64 == *wanted && i32::try_from(*wanted).is_err()
            }
            (BlobValue::Int32(value), Tree::Level(wanted)) => i64::from(value) == *wanted,
            (BlobValue::Int64(value), Tree::Level(wanted)) => value == *wanted,
            (BlobValue::String(value), Tree::Text(wanted)) => value == wanted,
            (BlobValue::Array(bytes), Tree::List(values)) => {
                all(bytes, values.iter().map(|value| ("", value)).collect())
            }
            (BlobValue::Table(bytes), Tree::Table(values)) => {
                all(bytes, values.iter().map(|(name, value)| (name.as_str(), value)).collect())
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_another_reader_finds(tree in trees()) {
            let mut bytes = Vec::new();
            write(&mut Writer::new(&mut bytes), "any", &tree);
            prop_assert_eq!(bytes.len() % ALIGN, 0);
            let mut found = BlobIter::new(&bytes);
            let one = found.try_next().unwrap().unwrap();
            prop_assert_eq!(one.name, Some("any"));
            prop_assert!(is(&one, &tree));
            prop_assert!(found.try_next().unwrap().is_none());
        }
    }

    #[test]
    fn a_text_ends_with_its_first_nul() {
        let mut bytes = Vec::new();
        Writer::new(&mut bytes).text("any", "one\0two");
        assert_eq!(BlobIter::new(&bytes).next().unwrap().as_str(), Some("one"));
    }
}
