//! Frames between a provider of objects and its broker: `ubusmsg.h`.
//!
//! A frame is a head of eight bytes and one attribute with all others in it. What comes is read by `ubus-zero`; what goes is
//! put together here, because a reply's contents are shared with others and not copied. It opens no socket.

use ubus::{
    MsgType, UbusError,
    envelope::{UbusAttr, find},
    wire::{Codec, FrameRef, HEADER_SIZE, Header, MAX_MSG_LEN, PROTO_VERSION},
};

/// The first word of an attribute: its number, and its length with this word.
const WORD: usize = 4;
/// Where an attribute's number stands in its first word.
const NUMBER: u32 = 24;
pub(super) const MAX_FRAME: usize = HEADER_SIZE + MAX_MSG_LEN;
/// The longest contents of a reply: the broker takes no frame that is longer.
pub(super) const MOST_CONTENTS: usize = MAX_MSG_LEN - 4 * WORD;

/// What a call comes to: `enum ubus_msg_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Status {
    Ok = 0,
    InvalidArgument = 2,
    MethodNotFound = 3,
    NotFound = 4,
    Unknown = 9,
}

/// The call that a reply is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    pub(super) seq: u16,
    pub(super) peer: u32,
    pub(super) object: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Call<'a> {
    pub(super) caller: Caller,
    pub(super) method: &'a str,
    /// Its arguments: the contents of a table.
    pub(super) arguments: &'a [u8],
    /// Whether the caller does not wait for how it ends.
    pub(super) no_reply: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Message<'a> {
    /// We are let in.
    Hello,
    Object {
        seq: u16,
        object: u32,
    },
    /// How a request of ours ended.
    Status {
        seq: u16,
        status: u32,
    },
    Call(Call<'a>),
    /// Somebody calls no method.
    NoCall(Caller),
    /// Somebody has subscribed to an object, or nobody is left who had.
    Subscribers {
        object: u32,
        any: bool,
    },
    /// Nothing that we have to do with.
    Other,
}

/// Reads the first frame: what it says, and its length; `None` where it has not come whole.
/// What follows cannot be read either: the frame's length is in what is wrong.
pub(super) fn read(bytes: &[u8]) -> Result<Option<(Message<'_>, usize)>, UbusError> {
    // The crate takes a head that comes alone for a whole frame, and a broker sends none.
    if bytes.len() < HEADER_SIZE + WORD {
        return Ok(None);
    }
    match Codec::read_frame_borrowed(bytes) {
        Ok((frame, length)) => Ok(Some((message(frame), length))),
        Err(UbusError::Short { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn message(FrameRef { hdr, payload }: FrameRef<'_>) -> Message<'_> {
    let Header { ty, seq, peer, .. } = hdr;
    let number = |attribute| find(payload, attribute)?.as_u32();
    let flag = |attribute| Some(find(payload, attribute)?.as_bool_int8());
    match (ty, number(UbusAttr::ObjId)) {
        (MsgType::Hello, _) => Message::Hello,
        (MsgType::Data, Some(object)) => Message::Object { seq, object },
        (MsgType::Status, _) => {
            let status = number(UbusAttr::Status).unwrap_or(Status::Unknown as u32);
            Message::Status { seq, status }
        }
        (MsgType::Invoke, object) => {
            let caller = Caller { seq, peer, object: object.unwrap_or(0) };
            let method = find(payload, UbusAttr::Method).and_then(|one| one.as_str());
            match method.filter(|_| caller.object != 0) {
                Some(method) => {
                    let data = find(payload, UbusAttr::Data);
                    let arguments = data.map_or(&[][..], |one| one.as_blobmsg());
                    let no_reply = flag(UbusAttr::NoReply).unwrap_or(false);
                    Message::Call(Call { caller, method, arguments, no_reply })
                }
                None => Message::NoCall(caller),
            }
        }
        (MsgType::Notify, Some(object)) => flag(UbusAttr::Active)
            .map_or(Message::Other, |any| Message::Subscribers { object, any }),
        _ => Message::Other,
    }
}

/// A request for the broker to know an object, whose methods are these: the contents of a table, a table for each.
pub(super) fn add_object(seq: u16, path: &str, methods: &[u8], out: &mut Vec<u8>) {
    frame(head(MsgType::AddObject, seq, 0), out, |out| {
        attribute(UbusAttr::ObjPath, &[path.as_bytes(), &[0]], out);
        attribute(UbusAttr::Signature, &[methods], out);
    });
}

/// A request for the broker to forget one.
pub(super) fn remove_object(seq: u16, object: u32, out: &mut Vec<u8>) {
    frame(head(MsgType::RemoveObject, seq, 0), out, |out| {
        attribute(UbusAttr::ObjId, &[&object.to_be_bytes()], out)
    });
}

/// Everything of a reply's data up to its contents, which must be whole words and are to follow.
pub(super) fn data(caller: Caller, contents: usize, out: &mut Vec<u8>) {
    let Caller { seq, peer, object } = caller;
    let begin = out.len();
    frame(head(MsgType::Data, seq, peer), out, |out| {
        attribute(UbusAttr::ObjId, &[&object.to_be_bytes()], out);
        out.extend_from_slice(&word(UbusAttr::Data as u32, WORD + contents));
    });
    let outer = out.len() - begin - HEADER_SIZE + contents;
    out[begin + HEADER_SIZE..][..WORD].copy_from_slice(&word(0, outer));
}

pub(super) fn status(caller: Caller, status: Status, out: &mut Vec<u8>) {
    let Caller { seq, peer, object } = caller;
    frame(head(MsgType::Status, seq, peer), out, |out| {
        attribute(UbusAttr::Status, &[&(status as u32).to_be_bytes()], out);
        attribute(UbusAttr::ObjId, &[&object.to_be_bytes()], out);
    });
}

/// What an object tells its subscribers; the broker is not asked who got it.
pub(super) fn notify(object: u32, kind: &str, contents: &[u8], out: &mut Vec<u8>) {
    frame(head(MsgType::Notify, 0, object), out, |out| {
        attribute(UbusAttr::ObjId, &[&object.to_be_bytes()], out);
        attribute(UbusAttr::Method, &[kind.as_bytes(), &[0]], out);
        attribute(UbusAttr::NoReply, &[&[1]], out);
        attribute(UbusAttr::Data, &[contents], out);
    });
}

fn head(ty: MsgType, seq: u16, peer: u32) -> Header {
    Header { version: PROTO_VERSION, ty, seq, peer }
}

/// A frame with these attributes in it.
fn frame(head: Header, out: &mut Vec<u8>, attributes: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(&head.encode());
    let outer = out.len();
    out.extend_from_slice(&[0; WORD]);
    attributes(out);
    let length = out.len() - outer;
    out[outer..][..WORD].copy_from_slice(&word(0, length));
}

/// An attribute of these parts, filled up to a whole word.
fn attribute(number: UbusAttr, parts: &[&[u8]], out: &mut Vec<u8>) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&word(number as u32, WORD + length));
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out.resize(out.len() + length.next_multiple_of(WORD) - length, 0);
}

fn word(number: u32, length: usize) -> [u8; WORD] {
    (number << NUMBER | length as u32).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLER: Caller = Caller { seq: 7, peer: 0x1234, object: 0x5678 };

    fn invoke(attributes: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        frame(head(MsgType::Invoke, 7, 0x1234), &mut out, attributes);
        out
    }

    #[test]
    fn a_call_is_read_and_a_part_of_it_is_none() {
        let bytes = invoke(|out| {
            attribute(UbusAttr::ObjId, &[&0x5678_u32.to_be_bytes()], out);
            attribute(UbusAttr::Method, &[b"get_clients", &[0]], out);
            attribute(UbusAttr::Data, &[&[]], out);
        });
        let call = Call { caller: CALLER, method: "get_clients", arguments: &[], no_reply: false };
        assert_eq!(read(&bytes).unwrap(), Some((Message::Call(call), bytes.len())));
        for length in 0..bytes.len() {
            assert_eq!(read(&bytes[..length]).unwrap(), None, "{length}");
        }
    }

    #[test]
    fn a_call_without_a_method_is_answered_all_the_same() {
        let bytes = invoke(|out| attribute(UbusAttr::ObjId, &[&0x5678_u32.to_be_bytes()], out));
        assert_eq!(read(&bytes).unwrap(), Some((Message::NoCall(CALLER), bytes.len())));
    }

    #[test]
    fn a_reply_is_whole_with_its_contents_behind_it() {
        let mut bytes = Vec::new();
        data(CALLER, 8, &mut bytes);
        bytes.extend_from_slice(b"contents");
        let (frame, length) = Codec::read_frame_borrowed(&bytes).unwrap();
        assert_eq!((length, frame.hdr.seq, frame.hdr.peer), (bytes.len(), 7, 0x1234));
        assert_eq!(find(frame.payload, UbusAttr::Data).unwrap().payload, b"contents");
        assert_eq!(find(frame.payload, UbusAttr::ObjId).unwrap().as_u32(), Some(0x5678));
    }

    #[test]
    fn a_frame_of_another_length_than_it_says_is_refused() {
        let mut bytes = invoke(|_| {});
        bytes[HEADER_SIZE + 3] = 3;
        assert!(read(&bytes).is_err());
        bytes[HEADER_SIZE] = 0xff;
        bytes[HEADER_SIZE + 1] = 0xff;
        assert!(read(&bytes).is_err());
    }
}
