//! Netlink's messages and attributes: how a request is put together and a reply taken apart.
//!
//! Pure. The parsers borrow from the buffer and end at the first damaged header, so that no input can
//! make them read past the end, panic or loop. What the numbers mean is for the protocols.

use std::io;

use super::Error;

pub(super) const HEADER: usize = 16;
/// Where a header has the sequence number, and the port behind it.
pub(super) const SEQUENCE: usize = 8;
const PORT: usize = 12;
/// Room for a header and a few small attributes.
const BRIEF: usize = 64;
/// An attribute header: length and type.
const ATTRIBUTE_HEADER: usize = 4;
/// A generic-netlink header: command, version, reserved.
const GENERIC_HEADER: usize = 4;
pub(super) const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Types below this one are netlink's own.
const NLMSG_MIN_TYPE: u16 = 16;

const NLM_F_REQUEST: u16 = 0x01;
const NLM_F_CAPPED: u16 = 0x100;
const NLM_F_ACK_TLVS: u16 = 0x200;

const NLMSGERR_ATTR_MSG: u16 = 1;
/// `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER` say how to read an attribute, not which one it is.
const ATTRIBUTE_KIND: u16 = 0x3fff;

#[derive(Clone, Debug)]
pub struct Request {
    pub(super) name: &'static str,
    kind: u16,
    flags: u16,
    body: Vec<u8>,
}

impl Request {
    /// A request of this type; `name` is what errors call it.
    pub fn new(name: &'static str, kind: u16) -> Self {
        Self { name, kind, flags: 0, body: Vec::new() }
    }

    /// A command to a generic family.
    pub fn generic(name: &'static str, family: u16, command: u8) -> Self {
        Self::new(name, family).fixed(&[command, 1, 0, 0])
    }

    /// Adds flags beyond those that asking and dumping set.
    #[must_use]
    pub fn flags(mut self, flags: u16) -> Self {
        self.flags |= flags;
        self
    }

    /// Appends the fixed structure that stands before the attributes.
    #[must_use]
    pub fn fixed(mut self, bytes: &[u8]) -> Self {
        self.body.extend_from_slice(bytes);
        self.pad();
        self
    }

    /// Appends an attribute.
    ///
    /// A payload beyond an attribute's 16-bit length is cut, and the kernel refuses the result.
    #[must_use]
    pub fn attribute(mut self, kind: u16, payload: &[u8]) -> Self {
        let room = usize::from(u16::MAX) - ATTRIBUTE_HEADER;
        let payload = payload.get(..room).unwrap_or(payload);
        let length = (ATTRIBUTE_HEADER + payload.len()) as u16;
        self.body.extend_from_slice(&length.to_ne_bytes());
        self.body.extend_from_slice(&kind.to_ne_bytes());
        self.body.extend_from_slice(payload);
        self.pad();
        self
    }

    #[must_use]
    pub fn number(self, kind: u16, value: u32) -> Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    #[must_use]
    pub fn text(self, kind: u16, value: &str) -> Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    fn pad(&mut self) {
        self.body.resize(aligned(self.body.len()), 0);
    }

    #[must_use]
    pub fn nest(self, kind: u16, inner: &Self) -> Self {
        self.attribute(kind, &inner.body)
    }

    /// What stands behind the header: the fixed structure and the attributes.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The whole message, with these flags beside its own.
    pub fn bytes(&self, flags: u16, sequence: u32) -> Vec<u8> {
        let mut bytes = header(self.body.len(), self.kind, flags | self.flags, sequence).to_vec();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

fn header(body: usize, kind: u16, flags: u16, sequence: u32) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..4].copy_from_slice(&((HEADER + body) as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes[6..8].copy_from_slice(&(NLM_F_REQUEST | flags).to_ne_bytes());
    bytes[SEQUENCE..PORT].copy_from_slice(&sequence.to_ne_bytes());
    bytes
}

/// Gives a finished message another sequence number; bytes that hold no header stay as they are.
pub(super) fn number(message: &mut [u8], sequence: u32) {
    if let Some(place) = message.get_mut(SEQUENCE..PORT) {
        place.copy_from_slice(&sequence.to_ne_bytes());
    }
}

/// Netlink aligns everything to four bytes. The length is one of bytes that are there, so it cannot
/// overflow.
const fn aligned(length: usize) -> usize {
    (length + 3) & !3
}

/// A request to a generic family that fits on the stack, for what is asked again and again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BriefRequest {
    bytes: [u8; BRIEF],
    length: usize,
}

impl BriefRequest {
    pub(crate) fn new(family: u16, command: u8, flags: u16) -> Self {
        let mut bytes = [0; BRIEF];
        bytes[..HEADER].copy_from_slice(&header(GENERIC_HEADER, family, flags, 0));
        bytes[HEADER..HEADER + 2].copy_from_slice(&[command, 1]);
        Self { bytes, length: HEADER + GENERIC_HEADER }
    }

    /// Appends an attribute of known, small size; there is room for [`BRIEF`] bytes in all.
    pub(crate) fn attribute<const N: usize>(mut self, kind: u16, payload: [u8; N]) -> Self {
        let end = self.length + aligned(ATTRIBUTE_HEADER + N);
        if let Some(place) = self.bytes.get_mut(self.length..end) {
            place[..2].copy_from_slice(&((ATTRIBUTE_HEADER + N) as u16).to_ne_bytes());
            place[2..ATTRIBUTE_HEADER].copy_from_slice(&kind.to_ne_bytes());
            place[ATTRIBUTE_HEADER..ATTRIBUTE_HEADER + N].copy_from_slice(&payload);
            self.length = end;
            self.bytes[..4].copy_from_slice(&(end as u32).to_ne_bytes());
        }
        self
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        self.bytes.get_mut(..self.length).unwrap_or_default()
    }
}

/// A message whose header does not fit its bytes; the words say how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged(pub &'static str);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it is: netlink's own below 16, else the protocol's.
    pub kind: u16,
    pub flags: u16,
    pub sequence: u32,
    pub payload: &'a [u8],
}

/// What a message is to the one who asked.
pub(super) enum Meaning {
    /// Something that was asked for.
    Data,
    /// The end of the reply.
    End,
    /// Padding of the protocol.
    Nothing,
}

impl Message<'_> {
    pub(super) fn meaning(&self, request: &'static str) -> Result<Meaning, Error> {
        match self.kind {
            NLMSG_ERROR => self.verdict(request).map(|()| Meaning::End),
            // A dump that failed half-way says so in the message that ends it.
            NLMSG_DONE if self.payload.len() >= 4 => self.verdict(request).map(|()| Meaning::End),
            NLMSG_DONE => Ok(Meaning::End),
            kind if kind >= NLMSG_MIN_TYPE => Ok(Meaning::Data),
            _ => Ok(Meaning::Nothing),
        }
    }

    /// Reads the error number that opens the payload; 0 is an acknowledgement.
    fn verdict(&self, request: &'static str) -> Result<(), Error> {
        let what = "an acknowledgement without an error number";
        let code = i32_at(self.payload, 0).ok_or(Error::Malformed { request, what })?;
        if code >= 0 {
            return Ok(());
        }
        let source = io::Error::from_raw_os_error(code.saturating_neg());
        Err(Error::Refused { request, text: self.explanation(), source })
    }

    /// The extended acknowledgement's sentence: attributes behind the request's (perhaps cut) copy.
    fn explanation(&self) -> Option<String> {
        if self.flags & NLM_F_ACK_TLVS == 0 {
            return None;
        }
        let attributes = if self.kind == NLMSG_DONE {
            self.payload.get(4..)?
        } else {
            let copied = match self.flags & NLM_F_CAPPED {
                0 => usize::try_from(u32_at(self.payload, 4)?).ok()?,
                _ => HEADER,
            };
            self.payload.get(4_usize.checked_add(copied.checked_next_multiple_of(4)?)?..)?
        };
        Attributes::new(attributes).find(NLMSGERR_ATTR_MSG)?.as_text()
    }
}

/// The messages of one datagram; ends after the first damaged one.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    pub fn new(datagram: &'a [u8]) -> Self {
        Self { rest: datagram }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.rest);
        let Some((message, length)) = message(bytes) else {
            return Some(Err(Damaged("a header that does not fit the datagram")));
        };
        self.rest = bytes.get(aligned(length)..).unwrap_or_default();
        Some(Ok(message))
    }
}

fn message(bytes: &[u8]) -> Option<(Message<'_>, usize)> {
    let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
    let message = Message {
        kind: u16_at(bytes, 4)?,
        flags: u16_at(bytes, 6)?,
        sequence: u32_at(bytes, 8)?,
        payload: bytes.get(HEADER..length)?,
    };
    Some((message, length))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Which one, without the flags that say how to read it.
    pub kind: u16,
    pub payload: &'a [u8],
}

impl<'a> Attribute<'a> {
    pub fn as_u16(&self) -> Option<u16> {
        u16_at(self.payload, 0)
    }

    pub fn as_u32(&self) -> Option<u32> {
        u32_at(self.payload, 0)
    }

    pub fn as_text(&self) -> Option<String> {
        let text = self.payload.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    pub fn nested(&self) -> Attributes<'a> {
        Attributes::new(self.payload)
    }
}

/// A row of attributes; ends at the first that does not fit.
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Reads the bytes that follow a fixed structure, or an attribute's payload.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub fn find(mut self, kind: u16) -> Option<Attribute<'a>> {
        Iterator::find(&mut self, |attribute| attribute.kind == kind)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // A header that does not fit stays where it is, and ends the row again at the next call.
        let [l0, l1, k0, k1] = *self.rest.first_chunk::<ATTRIBUTE_HEADER>()?;
        let length = usize::from(u16::from_ne_bytes([l0, l1]));
        let kind = u16::from_ne_bytes([k0, k1]) & ATTRIBUTE_KIND;
        let payload = self.rest.get(ATTRIBUTE_HEADER..length)?;
        self.rest = self.rest.get(aligned(length)..).unwrap_or_default();
        Some(Attribute { kind, payload })
    }
}

pub fn generic_attributes(payload: &[u8]) -> Attributes<'_> {
    Attributes::new(payload.get(GENERIC_HEADER..).unwrap_or_default())
}

/// The bytes that a number begins with, if there are as many.
#[inline]
pub(crate) fn first<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.first_chunk().copied()
}

/// The number at this place, if the bytes reach so far.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_message(flags: u16, payload: &[u8]) -> Vec<u8> {
        Request::new("test", NLMSG_ERROR).flags(flags).fixed(payload).bytes(0, 7)
    }

    fn only(datagram: &[u8]) -> Message<'_> {
        Messages::new(datagram).next().unwrap().unwrap()
    }

    #[test]
    fn a_request_reads_back_as_the_message_it_is() {
        let bytes = Request::generic("test", 28, 5)
            .number(3, 42)
            .text(4, "wlan0")
            .attribute(6, &[1, 2, 3, 4, 5, 6])
            .bytes(4, 9);
        let message = only(&bytes);
        assert_eq!((message.kind, message.flags, message.sequence), (28, 5, 9));
        let attributes = generic_attributes(message.payload);
        assert_eq!(attributes.clone().find(3).unwrap().as_u32(), Some(42));
        assert_eq!(attributes.clone().find(4).unwrap().as_text().unwrap(), "wlan0");
        assert_eq!(attributes.clone().find(6).unwrap().payload, [1, 2, 3, 4, 5, 6]);
        assert_eq!(attributes.clone().count(), 3);
        assert_eq!(attributes.find(7), None, "a missing attribute is absent");
    }

    #[test]
    fn the_kernels_sentence_is_found_behind_a_capped_request() {
        let mut payload = (-22_i32).to_ne_bytes().to_vec();
        payload.extend([0; HEADER]);
        payload.extend(Request::new("", 0).text(NLMSGERR_ATTR_MSG, "bad day").body);
        let bytes = error_message(NLM_F_CAPPED | NLM_F_ACK_TLVS, &payload);
        let error = only(&bytes).verdict("test").unwrap_err();
        assert_eq!(error.to_string(), "the kernel refused test (bad day)");
    }

    #[test]
    fn an_acknowledgement_without_a_number_is_malformed() {
        let bytes = error_message(0, &[]);
        assert!(matches!(only(&bytes).verdict("test"), Err(Error::Malformed { .. })));
    }

    #[test]
    fn an_attribute_that_claims_no_length_ends_the_row() {
        assert_eq!(Attributes::new(&[0; 64]).count(), 0);
        assert_eq!(Attributes::new(&[3, 0, 1, 0, 9, 9, 9, 9]).count(), 0);
    }

    #[test]
    fn a_flagged_attribute_has_the_kind_without_its_flags() {
        let bytes = Request::new("", 0).attribute(0x8000 | 21, &[]).body;
        assert_eq!(Attributes::new(&bytes).next().unwrap().kind, 21);
    }
}
