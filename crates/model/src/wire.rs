//! The stream between headroom and its agent: orders in, frames out.
//!
//! A frame is a little-endian `u32` length and that many bytes of postcard. The stream is the same
//! over virtio-serial, over ssh and over pipes. [`Decoder`] takes bytes as they come and never trusts
//! a length; it does no I/O.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    cache::Marks,
    card::CardReading,
    facts::Facts,
    identity::Identity,
    instrument::{Counts, Located, Piece, Recorded, Recorder, Records, Wanted},
    name::RelativePath,
    parity::{Parity, Reading},
    pause::{Pauses, Peer},
    sample::{LoadFailure, Sample},
    settings::{Set, Settings},
    span::Span,
    topology::Correction,
    traffic::TrafficReading,
    witness::CheckedRound,
};

pub use crate::{
    census::{Census, InterfaceCensus},
    order::{LoadOrder, StartOrder, State, SubjectOrder, TrialOrder, Work},
};

/// The version of everything below. Agent and headroom must agree exactly: headroom brings its agent.
pub const PROTOCOL: u16 = 17;

/// No honest frame is longer, bytes.
pub const LONGEST_FRAME: usize = 1 << 20;

/// No order but a piece of a file is longer, bytes. All of it fits into a [`Mailbox`], and into a socket whose other end does
/// not read yet, which holds at least 160 KiB where the system's defaults hold.
pub const LONGEST_ORDER: usize = 64 << 10;

/// What headroom asks of the agent. It answers the last one only; a new order ends the one before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Say hello again: answered by [`Frame::Hello`] and [`Frame::Census`].
    Introduce {
        /// The subject's name: its executable is hashed.
        subject: Option<String>,
    },
    /// Make one trial: answered by `Hello`; with a subject by a `Census`, a `Sample` for each sampling point (window ÷
    /// interval + 1 of them) and a second `Census`; and by `Done`. Stacks add `Recorder` before the first sample and
    /// `Records` from then on. Every part of the reading follows the last sample. The window is marked where QEMU counts it.
    Trial(Box<TrialOrder>, Option<Marks>),
    /// Look for programs and libraries by name: answered by [`Frame::Located`].
    Locate(Vec<String>),
    /// Bring a file: answered by [`Frame::Piece`]s, or [`Frame::Refused`].
    Fetch(Wanted),
    /// Keep a file on the access point until the stream ends; pieces come in order, each answered by
    /// [`Frame::Done`] or [`Frame::Refused`].
    Put(Put),
    /// The host is there. It ends no order and has no answer. An agent that has heard it once ends as if the stream had
    /// ended where nothing more is heard for this long.
    Alive(Span),
    /// Set what figures need, until the stream ends or something else is ordered: answered by [`Frame::Settings`].
    Set(Settings),
    /// Stop the virtual machine in an instruction of the agent's own choosing, for a snapshot of it. It has no answer; once
    /// the machine goes on, what lies in the mailbox is the next order.
    Hold,
}

impl Order {
    /// The order to make one trial whose window nobody marks.
    pub fn trial(order: TrialOrder) -> Self {
        Self::Trial(Box::new(order), None)
    }
}

/// Memory that headroom and the agent of a virtual access point share: a way for an order that takes no moment of the host's
/// time. `ivshmem-plain` of QEMU has it in its second region. It begins with [`Mailbox::MARK`], behind which lies an
/// order as the stream would have it; a length of 0 means that there is none, and whoever takes one writes that.
#[derive(Clone, Copy, Debug)]
pub struct Mailbox;

impl Mailbox {
    /// What no other user of such memory begins with.
    pub const MARK: [u8; 8] = *b"headroom";
    /// Where an order begins: right behind the mark.
    pub const ORDER: usize = Self::MARK.len();
    /// Its length, bytes: a power of two, as a region of PCI has.
    pub const LENGTH: usize = 2 * LONGEST_ORDER;
}

/// A piece of a file that is put on the access point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Put {
    /// Its path below the agent's own folder there, as `stationd`.
    pub name: RelativePath,
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
    /// Whether it is the first piece: an older file of the name is gone then.
    pub first: bool,
    /// Whether nothing follows: the file may then be executed, as [`PUT`]`/NAME`.
    pub last: bool,
}

/// The folder of files that were put on the access point.
pub const PUT: &str = "/run/headroom/put";

/// The folders in it of two builds that are compared, alike in length so that nothing else moves.
pub const SIDES: [&str; 2] = ["a", "b"];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Frame {
    /// Who is speaking, and from what machine.
    Hello {
        /// [`PROTOCOL`] of the agent. First field of the first frame: it must stay readable.
        protocol: u16,
        facts: Box<Facts>,
    },
    Census(Census),
    /// Counters of one moment.
    Sample(Box<Sample>),
    Recorder(Box<Recorder>),
    /// Stacks, as the kernel gave them.
    Records(Records),
    Located(Vec<Located>),
    /// A piece of a file.
    Piece(Piece),
    /// The order is carried out and everything that was changed is restored.
    Done,
    /// The order cannot be carried out; everything that was changed is restored.
    Refused(Refusal),
    /// What had to be repaired; sent where something had to be.
    Corrections(Vec<Correction>),
    /// What became of each setting.
    Settings(Vec<Set>),
    /// A part of the reading, after the last sample.
    Part(Part),
}

/// A part of the reading. Each comes once, where it was ordered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Part {
    /// What the recorder of stacks counted; no records follow it.
    Recorded(Box<Recorded>),
    /// Calls that were counted.
    Counts(Box<Counts>),
    /// What was paused.
    Pauses(Box<Pauses>),
    /// What one source says of the clients, before [`Part::Parity`], which has none then, or after its [`Part::Checked`].
    /// One for each source that is asked.
    Reading(Reading),
    /// Whether the job is still done.
    Parity(Box<Parity>),
    /// Processes that talk to the subject.
    Peers(Vec<Peer>),
    /// What is measured, by content.
    Identity(Box<Identity>),
    /// A round that was checked; its readings follow. It comes once for each round that was ordered.
    Checked(CheckedRound),
    /// Counters once put-off work has had its time.
    Drained(Box<Sample>),
    /// The first command of the load that failed; sent where one did.
    LoadFailure(LoadFailure),
    Traffic(Box<TrafficReading>),
    Card(Box<CardReading>),
}

/// Why an order was not carried out, for people: what was tried, and the system's words with what to do. Nobody decides by
/// the words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}{}{why}", if why.is_empty() { "" } else { ": " })]
pub struct Refusal {
    /// As “cannot sample cpu-clock”.
    pub what: String,
    /// Empty where `what` says all.
    pub why: String,
}

impl Refusal {
    pub fn new(what: impl Into<String>, why: impl ToString) -> Self {
        Self { what: what.into(), why: why.to_string() }
    }

    pub fn plain(what: impl Into<String>) -> Self {
        Self::new(what, "")
    }
}

/// A stream that breaks the format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A length that no honest peer sends.
    #[error("a frame of {0} bytes was announced; the longest is {LONGEST_FRAME}")]
    TooLong(usize),
    /// Bytes that are not the expected value.
    #[error("a frame could not be read: {0}")]
    Garbled(postcard::Error),
    /// A value, and bytes behind it that are not of it.
    #[error("a frame has {0} bytes too many")]
    Trailing(usize),
}

/// One value as a frame.
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, Broken> {
    let mut bytes = vec![0; 4];
    bytes = postcard::to_extend(value, bytes).map_err(Broken::Garbled)?;
    let length = bytes.len() - 4;
    if length > LONGEST_FRAME {
        return Err(Broken::TooLong(length));
    }
    bytes[..4].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(bytes)
}

/// The longest beginning of a frame, bytes: its length, the variant, and the length of what is in it.
pub const LONGEST_HEAD: usize = 10;

/// The beginning of the frame [`Frame::Records`] with so many bytes, which follow as they are: while it
/// records, the agent copies and allocates nothing more than it must.
pub fn records_head(length: usize, head: &mut [u8; LONGEST_HEAD]) -> &[u8] {
    /// The variant's place, which a test compares with what [`encode`] writes.
    const RECORDS: u8 = 4;
    head[4] = RECORDS;
    let (mut rest, mut end) = (length, 5);
    while rest >= 0x80 && end + 1 < LONGEST_HEAD {
        (head[end], end) = (rest as u8 | 0x80, end + 1);
        rest >>= 7;
    }
    (head[end], end) = (rest as u8, end + 1);
    head[..4].copy_from_slice(&((end - 4 + length) as u32).to_le_bytes());
    &head[..end]
}

/// Bytes in, values out.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// So many of them have been taken already.
    taken: usize,
}

impl Decoder {
    /// Takes what has arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Bytes that have arrived and were not taken as a value. Once [`Decoder::take`] has answered `None`,
    /// fewer than [`LONGEST_FRAME`] and four more are enough for a value.
    pub fn pending(&self) -> usize {
        self.bytes.len() - self.taken
    }

    /// A line that comes before any value, without its end; `None` until the rest arrives.
    pub fn line(&mut self, longest: usize) -> Result<Option<String>, Broken> {
        let pending = &self.bytes[self.taken..];
        let end = pending.iter().position(|byte| *byte == b'\n');
        let length = end.unwrap_or(pending.len());
        if length > longest {
            return Err(Broken::TooLong(length));
        }
        let Some(end) = end else { return Ok(None) };
        let line = String::from_utf8_lossy(&pending[..end]).into_owned();
        self.taken += end + 1;
        Ok(Some(line))
    }

    /// The next whole value, or `None` until more bytes arrive. What it holds in memory is bounded by its
    /// bytes here: a length in it is never believed.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Broken> {
        let pending = &self.bytes[self.taken..];
        let Some(length) = pending.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > LONGEST_FRAME {
            return Err(Broken::TooLong(length));
        }
        let Some(body) = pending.get(4..4 + length) else { return Ok(None) };
        let (value, rest) = postcard::take_from_bytes(body).map_err(Broken::Garbled)?;
        if !rest.is_empty() {
            return Err(Broken::Trailing(rest.len()));
        }
        self.taken += 4 + length;
        Ok(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_frame_survives_any_split() {
        let frame = Frame::Refused(Refusal::new("cannot run txd", "no such file"));
        let bytes = encode(&frame).unwrap();
        for cut in 0..bytes.len() {
            let mut decoder = Decoder::default();
            decoder.push(&bytes[..cut]);
            assert_eq!(decoder.take::<Frame>(), Ok(None), "after {cut} bytes");
            decoder.push(&bytes[cut..]);
            assert_eq!(decoder.take(), Ok(Some(frame.clone())));
        }
    }

    #[test]
    fn a_line_comes_before_values_and_is_short() {
        let mut decoder = Decoder::default();
        decoder.push(b"aarch");
        assert_eq!(decoder.line(8), Ok(None));
        decoder.push(&[b"64\n".to_vec(), encode(&Frame::Done).unwrap()].concat());
        assert_eq!(decoder.line(8), Ok(Some("aarch64".to_owned())));
        assert_eq!(decoder.take(), Ok(Some(Frame::Done)));
        decoder.push(&[b'x'; 9]);
        assert_eq!(decoder.line(8), Err(Broken::TooLong(9)));
    }

    #[test]
    fn an_absurd_length_is_refused_before_it_is_believed() {
        let mut decoder = Decoder::default();
        decoder.push(&u32::MAX.to_le_bytes());
        assert_eq!(decoder.take::<Frame>(), Err(Broken::TooLong(u32::MAX as usize)));
    }

    #[test]
    fn bytes_behind_a_value_are_refused() {
        let mut bytes = encode(&Frame::Done).unwrap();
        bytes.push(0);
        bytes[0] += 1;
        let mut decoder = Decoder::default();
        decoder.push(&bytes);
        assert_eq!(decoder.take::<Frame>(), Err(Broken::Trailing(1)));
    }

    #[test]
    fn a_length_within_a_frame_is_not_believed() {
        // A list of 2^60 texts, announced in a frame of a few bytes.
        let located = encode(&Frame::Located(Vec::new())).unwrap();
        let mut body = vec![located[4]];
        body.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]);
        let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
        bytes.extend(body);
        let mut decoder = Decoder::default();
        decoder.push(&bytes);
        assert!(matches!(decoder.take::<Frame>(), Err(Broken::Garbled(_))));
    }

    #[test]
    fn many_small_frames_in_one_piece_are_taken_one_after_the_other() {
        let one = encode(&Frame::Done).unwrap();
        let mut decoder = Decoder::default();
        decoder.push(&one.repeat(200_000));
        (0..200_000).for_each(|_| assert_eq!(decoder.take(), Ok(Some(Frame::Done))));
        assert_eq!((decoder.take::<Frame>(), decoder.pending()), (Ok(None), 0));
    }

    #[test]
    fn a_head_and_its_bytes_are_the_frame() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 262_144, 1_000_000] {
            let bytes = vec![7; length];
            let mut head = [0; LONGEST_HEAD];
            let mut frame = records_head(length, &mut head).to_vec();
            frame.extend_from_slice(&bytes);
            assert_eq!(encode(&Frame::Records(Records { bytes })), Ok(frame), "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_a_value_or_a_word(bytes: Vec<u8>) {
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            while let Ok(Some(_)) = decoder.take::<Frame>() {}
        }
    }
}
