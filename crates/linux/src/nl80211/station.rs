//! What the kernel says of a station: one message, one value.
//!
//! Reads `NL80211_CMD_NEW_STATION` and `DEL_STATION` messages in one pass, without a heap. It jumps
//! over what nobody reads: the statistics per traffic identifier alone are three quarters of a message.
//! It asks nothing and keeps nothing.

use super::{
    ATTR_GENERATION, ATTR_IFINDEX, ATTR_MAC, ATTR_MLD_ADDR, ATTR_MLO_LINK_ID, ATTR_MLO_LINKS,
    ATTR_STA_INFO, Address, rate::Rate,
};
use crate::netlink::{Attributes, first, generic_attributes};

const INACTIVE_TIME: u16 = 1;
const RX_BYTES: u16 = 2;
const TX_BYTES: u16 = 3;
const SIGNAL: u16 = 7;
const TX_BITRATE: u16 = 8;
const RX_PACKETS: u16 = 9;
const TX_PACKETS: u16 = 10;
const TX_RETRIES: u16 = 11;
const TX_FAILED: u16 = 12;
const SIGNAL_AVG: u16 = 13;
const RX_BITRATE: u16 = 14;
const CONNECTED_TIME: u16 = 16;
const STA_FLAGS: u16 = 17;
const RX_BYTES64: u16 = 23;
const TX_BYTES64: u16 = 24;
const CHAIN_SIGNAL: u16 = 25;
const EXPECTED_THROUGHPUT: u16 = 27;
const RX_DROP_MISC: u16 = 28;
const RX_DURATION: u16 = 32;
const ACK_SIGNAL: u16 = 34;
const RX_MPDUS: u16 = 36;
const FCS_ERROR_COUNT: u16 = 37;
const TX_DURATION: u16 = 39;
const ASSOC_AT_BOOTTIME: u16 = 42;

/// What one message says of a station. What the message does not say is `None`, never 0.
///
/// Directions are the access point's: `tx` went to the station, `rx` came from it. Counters are those
/// of the station's present association and begin at 0 with it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StationReading {
    /// The interface that it is associated with.
    pub interface: u32,
    /// Its address; of a station of several links (IEEE 802.11be) the address of the whole (MLD).
    pub address: Address,
    /// Which attempt at the list this is from, beginning with 0; see [`super::Nl80211::stations`].
    pub attempt: u32,
    /// A number that changes whenever the list of stations changes.
    pub generation: Option<u32>,
    /// `NL80211_ATTR_MLD_ADDR`: the whole's address, where the kernel tells it apart.
    pub mld_address: Option<Address>,
    /// The link whose figures these are; `None` where they are the whole station's.
    pub link: Option<u8>,
    /// Since it was last heard, in ms.
    pub inactive_ms: Option<u32>,
    pub connected_s: Option<u32>,
    /// When it associated, in ns of the clock that runs from boot and through sleep.
    pub associated_at_boottime_ns: Option<u64>,
    pub rx_bytes: Option<Count>,
    pub tx_bytes: Option<Count>,
    /// Packets (MSDUs) that came from it.
    pub rx_packets: Option<u32>,
    /// Packets (MSDUs) that went to it; of mac80211 these are unicast.
    pub tx_packets: Option<u32>,
    pub tx_retries: Option<u32>,
    pub tx_failed: Option<u32>,
    /// Frames from it that were dropped for a reason that has no counter of its own.
    pub rx_dropped: Option<u64>,
    /// Frames (MPDUs) from it with a wrong check sum.
    pub fcs_errors: Option<u32>,
    /// Frames (MPDUs) that came from it.
    pub rx_mpdus: Option<u32>,
    /// The last frame's strength in dBm.
    pub signal_dbm: Option<i8>,
    /// A running mean of the strength in dBm.
    pub signal_average_dbm: Option<i8>,
    /// The last frame's strength, chain by chain.
    pub chain_signal: Chains,
    /// The last acknowledgement's strength in dBm.
    pub ack_signal_dbm: Option<i8>,
    /// How fast it was lately sent to.
    pub tx_rate: Option<Rate>,
    /// How fast it lately sent.
    pub rx_rate: Option<Rate>,
    /// What rate control thinks can be had, in kbit/s.
    pub expected_throughput_kbps: Option<u32>,
    /// Air time of its frames, in µs.
    pub rx_duration_us: Option<u64>,
    /// Air time of frames to it, in µs.
    pub tx_duration_us: Option<u64>,
    pub flags: Option<StationFlags>,
}

/// A counter, and how soon it begins again at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub value: u64,
    /// Whether it counts in 64 bits; one of 32 begins again after 4 GiB.
    pub wide: bool,
}

/// A strength for each receive chain that has one, at most eight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chains {
    present: u8,
    dbm: [i8; 8],
}

impl Chains {
    /// The strength at this chain, in dBm.
    pub fn get(self, chain: usize) -> Option<i8> {
        self.dbm.get(chain).copied().filter(|_| self.present >> chain & 1 == 1)
    }

    /// The chains that have a strength, by number, with it in dBm.
    pub fn iter(self) -> impl Iterator<Item = (usize, i8)> {
        (0..self.dbm.len()).filter_map(move |chain| Some((chain, self.get(chain)?)))
    }

    /// Whether no chain has a strength.
    pub fn is_empty(self) -> bool {
        self.present == 0
    }

    /// Each attribute's number is its chain's.
    fn read(nest: &[u8]) -> Self {
        let mut chains = Self::default();
        for attribute in Attributes::new(nest) {
            let chain = usize::from(attribute.kind);
            if let (Some(place), Some([dbm])) =
                (chains.dbm.get_mut(chain), first(attribute.payload))
            {
                *place = i8::from_ne_bytes([dbm]);
                chains.present |= 1 << chain;
            }
        }
        chains
    }
}

/// What a station may do: which flags the kernel knows of, and which of them are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationFlags {
    /// Bit n is set where the kernel knows flag n (`NL80211_STA_FLAG_…`).
    pub known: u32,
    /// Bit n is set where the station has flag n.
    pub set: u32,
}

impl StationFlags {
    pub fn authorised(self) -> bool {
        self.has(1)
    }

    pub fn short_preamble(self) -> bool {
        self.has(2)
    }

    /// It has 802.11e's priorities.
    pub fn wme(self) -> bool {
        self.has(3)
    }

    /// Its management frames are protected.
    pub fn mfp(self) -> bool {
        self.has(4)
    }

    pub fn authenticated(self) -> bool {
        self.has(5)
    }

    pub fn associated(self) -> bool {
        self.has(7)
    }

    fn has(self, flag: u32) -> bool {
        (self.known & self.set) >> flag & 1 == 1
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let [known, set] = [bytes.get(..4)?, bytes.get(4..)?].map(first);
        Some(Self { known: u32::from_ne_bytes(known?), set: u32::from_ne_bytes(set?) })
    }
}

/// Reads one message: the station's figures, or the first link's where it holds only those.
///
/// `None` where the message names no interface or no station. An attribute that is shorter than its
/// number is absent, a nest ends where an attribute does not fit.
pub fn station(payload: &[u8]) -> Option<StationReading> {
    let mut found = None;
    readings(payload, 0, |reading| {
        found.get_or_insert(*reading);
    });
    found
}

/// Shows `each` reading of one message: the station's, then one for each link that it tells of.
///
/// Kernels tell of links in three ways: not at all; all of them in the station's message; or each in a
/// message of its own whose figures for the whole are empty, behind the one that holds them
/// (<http://lists.infradead.org/pipermail/ath12k/2026-June/009516.html>).
pub fn stations(payload: &[u8], each: impl FnMut(&StationReading)) {
    readings(payload, 0, each);
}

pub(super) fn readings(payload: &[u8], attempt: u32, mut each: impl FnMut(&StationReading)) {
    let mut reading = StationReading { attempt, ..StationReading::default() };
    let Some(parts) = reading.head(payload) else { return };
    if let Some(links) = parts.links {
        let whole = reading;
        if !parts.info.is_empty() {
            reading.read(parts.info);
            each(&reading);
        }
        for link in Attributes::new(links) {
            let mut reading = whole;
            if reading.read_link(link.payload).is_some() {
                each(&reading);
            }
        }
    } else {
        reading.read(parts.info);
        each(&reading);
    }
}

/// The nests of a message, not yet read.
struct Parts<'a> {
    info: &'a [u8],
    links: Option<&'a [u8]>,
}

impl StationReading {
    /// Reads what stands outside the nests.
    fn head<'a>(&mut self, payload: &'a [u8]) -> Option<Parts<'a>> {
        let mut parts = Parts { info: &[], links: None };
        let (mut interface, mut address) = (None, None);
        for attribute in generic_attributes(payload) {
            let bytes = attribute.payload;
            match attribute.kind {
                ATTR_IFINDEX => interface = number(bytes),
                ATTR_MAC => address = first(bytes),
                ATTR_GENERATION => self.generation = number(bytes),
                ATTR_STA_INFO => parts.info = bytes,
                ATTR_MLO_LINKS => parts.links = Some(bytes),
                ATTR_MLD_ADDR => self.mld_address = first(bytes),
                _ => {}
            }
        }
        self.interface = interface?;
        self.address = address?;
        Some(parts)
    }

    /// Reads a link's nest: its number, and figures as a whole station has them.
    fn read_link(&mut self, nest: &[u8]) -> Option<()> {
        let mut info = None;
        for attribute in Attributes::new(nest) {
            match attribute.kind {
                ATTR_MLO_LINK_ID => self.link = attribute.payload.first().copied(),
                ATTR_STA_INFO => info = Some(attribute.payload),
                _ => {}
            }
        }
        self.link?;
        self.read(info?);
        Some(())
    }

    /// Reads `NL80211_ATTR_STA_INFO`, in one pass and with one jump for each attribute.
    fn read(&mut self, info: &[u8]) {
        for attribute in Attributes::new(info) {
            let bytes = attribute.payload;
            match attribute.kind {
                INACTIVE_TIME => self.inactive_ms = number(bytes),
                // The narrow counter is always sent; it comes first, and must not hide the wide one.
                RX_BYTES => narrow(&mut self.rx_bytes, bytes),
                TX_BYTES => narrow(&mut self.tx_bytes, bytes),
                RX_BYTES64 => wide(&mut self.rx_bytes, bytes),
                TX_BYTES64 => wide(&mut self.tx_bytes, bytes),
                SIGNAL => self.signal_dbm = decibels(bytes),
                TX_BITRATE => self.tx_rate = Some(Rate::read(bytes)),
                RX_PACKETS => self.rx_packets = number(bytes),
                TX_PACKETS => self.tx_packets = number(bytes),
                TX_RETRIES => self.tx_retries = number(bytes),
                TX_FAILED => self.tx_failed = number(bytes),
                SIGNAL_AVG => self.signal_average_dbm = decibels(bytes),
                RX_BITRATE => self.rx_rate = Some(Rate::read(bytes)),
                CONNECTED_TIME => self.connected_s = number(bytes),
                STA_FLAGS => self.flags = StationFlags::read(bytes),
                CHAIN_SIGNAL => self.chain_signal = Chains::read(bytes),
                EXPECTED_THROUGHPUT => self.expected_throughput_kbps = number(bytes),
                RX_DROP_MISC => self.rx_dropped = long(bytes),
                RX_DURATION => self.rx_duration_us = long(bytes),
                ACK_SIGNAL => self.ack_signal_dbm = decibels(bytes),
                RX_MPDUS => self.rx_mpdus = number(bytes),
                FCS_ERROR_COUNT => self.fcs_errors = number(bytes),
                TX_DURATION => self.tx_duration_us = long(bytes),
                ASSOC_AT_BOOTTIME => self.associated_at_boottime_ns = long(bytes),
                _ => {}
            }
        }
    }
}

fn number(bytes: &[u8]) -> Option<u32> {
    first(bytes).map(u32::from_ne_bytes)
}

fn long(bytes: &[u8]) -> Option<u64> {
    first(bytes).map(u64::from_ne_bytes)
}

fn decibels(bytes: &[u8]) -> Option<i8> {
    first(bytes).map(i8::from_ne_bytes)
}

fn narrow(count: &mut Option<Count>, bytes: &[u8]) {
    if !count.is_some_and(|count| count.wide) {
        *count = number(bytes).map(|value| Count { value: value.into(), wide: false });
    }
}

fn wide(count: &mut Option<Count>, bytes: &[u8]) {
    if let Some(value) = long(bytes) {
        *count = Some(Count { value, wide: true });
    }
}

/// The generations that the messages of one list bear.
///
/// nl80211 does not flag a list that changed while it was read (it calls no
/// `genl_dump_check_consistent` for stations); it numbers the lists, and a reader compares.
#[derive(Debug, Default)]
pub(super) struct Generations {
    first: Option<u32>,
    differ: bool,
}

impl Generations {
    pub(super) fn note(&mut self, generation: Option<u32>) {
        let Some(generation) = generation else { return };
        self.differ |= *self.first.get_or_insert(generation) != generation;
    }

    pub(super) fn agree(&self) -> bool {
        !self.differ
    }
}
