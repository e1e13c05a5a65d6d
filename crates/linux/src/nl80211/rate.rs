//! Rates: how fast a station is sent to or sends, and by which scheme.
//!
//! Reads the `NL80211_RATE_INFO_…` nest. A flag that is absent means 20 MHz, or the long guard
//! interval; everything else that is absent stays absent.

use crate::netlink::{Attributes, first};

const BITRATE: u16 = 1;
const MCS: u16 = 2;
const SHORT_GI: u16 = 4;
const BITRATE32: u16 = 5;
const VHT_MCS: u16 = 6;
const VHT_NSS: u16 = 7;
const HE_MCS: u16 = 13;
const HE_NSS: u16 = 14;
const HE_GI: u16 = 15;
const EHT_MCS: u16 = 19;
const EHT_NSS: u16 = 20;
const EHT_GI: u16 = 21;
const S1G_MCS: u16 = 23;
const S1G_NSS: u16 = 24;

/// The unit of the kernel's bit rates, in kbit/s.
const BITRATE_UNIT_KBPS: u32 = 100;
/// HT numbers its schemes through the streams, eight for each; MCS 32 is one stream.
const HT_SCHEMES: u8 = 8;
const HT_LAST_EQUAL: u8 = 31;

/// How fast frames went in one direction, lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// In kbit/s, to the kernel's 100 kbit/s.
    pub kbps: Option<u32>,
    pub mode: RateMode,
    /// The modulation and coding scheme; of HT it counts through the streams (0 to 31).
    pub mcs: Option<u8>,
    /// Spatial streams; of HT they follow from the scheme.
    pub streams: Option<u8>,
    /// How wide a channel was used, MHz; twice 80 MHz, apart, are 160.
    pub width_mhz: u16,
    /// The guard interval of 0.4 µs, of HT and VHT.
    pub short_guard: bool,
    /// The guard interval of HE and EHT, ns.
    pub guard_ns: Option<u16>,
}

/// A family of modulations, by the standard's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RateMode {
    /// Before 802.11n: no scheme is told.
    #[default]
    Legacy,
    /// 802.11n.
    Ht,
    /// 802.11ac.
    Vht,
    /// 802.11ax.
    He,
    /// 802.11be.
    Eht,
    /// 802.11ah, below 1 GHz.
    S1g,
}

impl RateMode {
    /// Its name in replies and on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Ht => "ht",
            Self::Vht => "vht",
            Self::He => "he",
            Self::Eht => "eht",
            Self::S1g => "s1g",
        }
    }
}

/// The width of a channel in MHz, from a `NL80211_CHAN_WIDTH_…`: without HT it is 20 MHz too, and twice 80 MHz are 160.
pub(super) fn channel_mhz(number: u32) -> Option<u16> {
    Some(match number {
        0 | 1 => 20,
        2 => 40,
        3 => 80,
        4 | 5 => 160,
        6 => 5,
        7 => 10,
        8 => 1,
        9 => 2,
        10 => 4,
        11 => 8,
        12 => 16,
        13 => 320,
        _ => return None,
    })
}

/// The guard interval of HE and EHT, ns.
fn guard_ns(number: u8) -> Option<u16> {
    [800, 1600, 3200].get(usize::from(number)).copied()
}

impl Rate {
    /// Whether the guard interval is the shortest of its mode.
    pub fn has_short_guard(self) -> bool {
        self.short_guard || self.guard_ns == Some(800)
    }

    pub(super) fn read(nest: &[u8]) -> Self {
        let mut rate = Self { width_mhz: 20, ..Self::default() };
        let mut narrow = None;
        for attribute in Attributes::new(nest) {
            let bytes = attribute.payload;
            match attribute.kind {
                BITRATE => narrow = first(bytes).map(u16::from_ne_bytes).map(u32::from),
                BITRATE32 => rate.kbps = first(bytes).map(u32::from_ne_bytes),
                MCS => rate.ht(first(bytes)),
                VHT_MCS => rate.scheme(RateMode::Vht, first(bytes)),
                HE_MCS => rate.scheme(RateMode::He, first(bytes)),
                EHT_MCS => rate.scheme(RateMode::Eht, first(bytes)),
                S1G_MCS => rate.scheme(RateMode::S1g, first(bytes)),
                VHT_NSS | HE_NSS | EHT_NSS | S1G_NSS => rate.streams = bytes.first().copied(),
                HE_GI | EHT_GI => rate.guard_ns = bytes.first().copied().and_then(guard_ns),
                SHORT_GI => rate.short_guard = true,
                kind => rate.width_mhz = flag_mhz(kind).unwrap_or(rate.width_mhz),
            }
        }
        // The 16-bit number stops at 6.5 Gbit/s; the kernel leaves it out beyond.
        let units = rate.kbps.or(narrow);
        rate.kbps = units.map(|units| units.saturating_mul(BITRATE_UNIT_KBPS));
        rate
    }

    fn scheme(&mut self, mode: RateMode, mcs: Option<[u8; 1]>) {
        if let Some([mcs]) = mcs {
            (self.mode, self.mcs) = (mode, Some(mcs));
        }
    }

    fn ht(&mut self, mcs: Option<[u8; 1]>) {
        self.scheme(RateMode::Ht, mcs);
        self.streams = self.mcs.map(|mcs| match mcs {
            ..=HT_LAST_EQUAL => mcs / HT_SCHEMES + 1,
            _ => 1,
        });
    }
}

/// The width in MHz that a flag stands for (`NL80211_RATE_INFO_…_MHZ_WIDTH`); there is none for 20 MHz.
fn flag_mhz(flag: u16) -> Option<u16> {
    Some(match flag {
        3 => 40,
        8 => 80,
        // Twice 80 MHz, and 160 in one piece.
        9 | 10 => 160,
        11 => 10,
        12 => 5,
        18 => 320,
        25 => 1,
        26 => 2,
        27 => 4,
        28 => 8,
        29 => 16,
        _ => return None,
    })
}
