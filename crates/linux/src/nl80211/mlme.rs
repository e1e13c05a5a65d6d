//! Who comes and who goes, as the kernel tells it unasked.
//!
//! Listens to nl80211's multicast groups `mlme` (stations) and `config` (interfaces) on a socket of its
//! own, which never blocks. It asks nothing and keeps no list. A network device's change of name is not
//! nl80211's news: rtnetlink has it.

use std::os::fd::{AsFd, BorrowedFd};

use super::{
    ATTR_REASON_CODE, CMD_DEL_INTERFACE, CMD_NEW_INTERFACE, FAMILY, StationReading, station,
};
use crate::netlink::{
    Damaged, Error, Messages, Patience, Protocol, Socket, Transport, Wire, generic_attributes,
    receive,
};

const EVENTS: &str = "nl80211 events";
/// An event is one message of at most a station's size; the kernel bounds both by a page or two.
const BUFFER: usize = 32 * 1024;
/// A storm of events must not keep its reader from everything else; the next poll goes on.
const DATAGRAMS_AT_ONCE: u32 = 64;

const CMD_SET_INTERFACE: u8 = 6;
const CMD_START_AP: u8 = 15;
const CMD_STOP_AP: u8 = 16;
const CMD_NEW_STATION: u8 = 19;
const CMD_DEL_STATION: u8 = 20;
const CMD_CH_SWITCH_NOTIFY: u8 = 88;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Membership<'a> {
    /// A station associated. Kernels tell who, and mostly no figures.
    Joined(&'a StationReading),
    Left {
        /// Its figures at the end, all of them.
        last: &'a StationReading,
        /// Why, as a reason code of IEEE 802.11, where the kernel tells.
        reason: Option<u16>,
    },
    /// An interface was made, is gone, changed what it does, began or ended its network, or moved to another channel.
    Interfaces,
}

/// The events of nl80211, in the network namespace of the thread that opened it.
///
/// Its descriptor is readable when there is something to read.
#[derive(Debug)]
pub struct Mlme {
    transport: Box<dyn Transport>,
    family: u16,
    buffer: Vec<u8>,
}

impl Mlme {
    /// Joins the groups; refused where the kernel has no cfg80211.
    pub fn open() -> Result<Self, Error> {
        let wire = Wire::open(Protocol::Generic)?;
        let mut asking = Socket::open(Protocol::Generic)?;
        let family = asking.family(FAMILY)?;
        for group in ["mlme", "config"] {
            let what = "no such multicast group";
            let number = asking.group(FAMILY, group)?;
            let number = number.ok_or(Error::Malformed { request: EVENTS, what })?;
            wire.join(number).map_err(Error::Open)?;
        }
        Ok(Self::over(wire, family))
    }

    /// Listens to this instead of a new socket, for events of the family with this number.
    pub fn over(transport: impl Transport + 'static, family: u16) -> Self {
        Self { transport: Box::new(transport), family, buffer: vec![0; BUFFER] }
    }

    /// Shows `each` event that waits, and returns when there are none.
    ///
    /// It allocates nothing and does not block. After a storm some events may be left for the next
    /// call; the descriptor stays readable then. [`Error::Overrun`] says that events were lost: only a
    /// dump tells who is here. The next call goes on with the events that came after.
    pub fn read(&mut self, mut each: impl FnMut(Membership<'_>)) -> Result<(), Error> {
        for _ in 0..DATAGRAMS_AT_ONCE {
            let length =
                match receive(&mut *self.transport, &mut self.buffer, Patience::Never, EVENTS) {
                    Ok(length) => length,
                    Err(error) if error.is_nothing() => break,
                    Err(error) => return Err(error),
                };
            let datagram = self.buffer.get(..length).unwrap_or_default();
            for message in Messages::new(datagram) {
                let message =
                    message.map_err(|Damaged(what)| Error::Malformed { request: EVENTS, what })?;
                if message.kind == self.family {
                    membership(message.payload, &mut each);
                }
            }
        }
        Ok(())
    }
}

impl AsFd for Mlme {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.transport.as_fd()
    }
}

/// Shows `each` what one message tells: one event or, where it is about something else, none.
pub fn membership(payload: &[u8], mut each: impl FnMut(Membership<'_>)) {
    match payload.first() {
        Some(&CMD_NEW_STATION) => {
            if let Some(reading) = station(payload) {
                each(Membership::Joined(&reading));
            }
        }
        Some(&CMD_DEL_STATION) => {
            if let Some(last) = station(payload) {
                let code = generic_attributes(payload).find(ATTR_REASON_CODE);
                each(Membership::Left { last: &last, reason: code.and_then(|code| code.as_u16()) });
            }
        }
        Some(
            &(CMD_NEW_INTERFACE | CMD_DEL_INTERFACE | CMD_SET_INTERFACE | CMD_START_AP
            | CMD_STOP_AP | CMD_CH_SWITCH_NOTIFY),
        ) => each(Membership::Interfaces),
        _ => {}
    }
}
