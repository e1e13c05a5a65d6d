//! Rates: how fast a station is sent to or sends, and by which scheme.
//!
//! Reads the `NL80211_RATE_INFO_…` nest. A flag that is absent means 20 MHz, or the long guard
//! interval; everything else that is absent stays absent.

use crate::netlink::{Attributes, first};

const BITRATE: u16 = 1;
const MCS: u16 = 2;
const WIDTH_40: u16 = 3;
const SHORT_GI: u16 = 4;
const BITRATE32: u16 = 5;
const VHT_MCS: u16 = 6;
const VHT_NSS: u16 = 7;
const WIDTH_80: u16 = 8;
const WIDTH_80P80: u16 = 9;
const WIDTH_160: u16 = 10;
const WIDTH_10: u16 = 11;
const WIDTH_5: u16 = 12;
const HE_MCS: u16 = 13;
const HE_NSS: u16 = 14;
const HE_GI: u16 = 15;
const WIDTH_320: u16 = 18;
const EHT_MCS: u16 = 19;
const EHT_NSS: u16 = 20;
const EHT_GI: u16 = 21;
const S1G_MCS: u16 = 23;
const S1G_NSS: u16 = 24;
const WIDTH_1: u16 = 25;
const WIDTH_2: u16 = 26;
const WIDTH_4: u16 = 27;
const WIDTH_8: u16 = 28;
const WIDTH_16: u16 = 29;

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
    /// How wide a channel was used.
    pub width: Width,
    /// The guard interval of 0.4 µs, of HT and VHT.
    pub short_guard: bool,
    /// The guard interval of HE and EHT.
    pub guard: Option<Guard>,
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

/// How wide a channel is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    Mhz1,
    Mhz2,
    Mhz4,
    Mhz5,
    Mhz8,
    Mhz10,
    Mhz16,
    /// 20 MHz.
    #[default]
    Mhz20,
    Mhz40,
    Mhz80,
    /// Twice 80 MHz, apart.
    Mhz80Plus80,
    Mhz160,
    Mhz320,
}

impl Width {
    /// In MHz; twice 80 MHz are 160.
    pub fn mhz(self) -> u16 {
        match self {
            Self::Mhz1 => 1,
            Self::Mhz2 => 2,
            Self::Mhz4 => 4,
            Self::Mhz5 => 5,
            Self::Mhz8 => 8,
            Self::Mhz10 => 10,
            Self::Mhz16 => 16,
            Self::Mhz20 => 20,
            Self::Mhz40 => 40,
            Self::Mhz80 => 80,
            Self::Mhz80Plus80 | Self::Mhz160 => 160,
            Self::Mhz320 => 320,
        }
    }

    /// From a `NL80211_CHAN_WIDTH_…`; without HT it is 20 MHz too.
    pub(super) fn of_channel(number: u32) -> Option<Self> {
        Some(match number {
            0 | 1 => Self::Mhz20,
            2 => Self::Mhz40,
            3 => Self::Mhz80,
            4 => Self::Mhz80Plus80,
            5 => Self::Mhz160,
            6 => Self::Mhz5,
            7 => Self::Mhz10,
            8 => Self::Mhz1,
            9 => Self::Mhz2,
            10 => Self::Mhz4,
            11 => Self::Mhz8,
            12 => Self::Mhz16,
            13 => Self::Mhz320,
            _ => return None,
        })
    }
}

/// A guard interval between symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guard {
    Ns800,
    Ns1600,
    Ns3200,
}

impl Guard {
    fn of(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Ns800),
            1 => Some(Self::Ns1600),
            2 => Some(Self::Ns3200),
            _ => None,
        }
    }
}

impl Rate {
    /// Whether the guard interval is the shortest of its mode.
    pub fn has_short_guard(self) -> bool {
        self.short_guard || self.guard == Some(Guard::Ns800)
    }

    /// Reads the nest's payload.
    pub(super) fn read(nest: &[u8]) -> Self {
        let mut rate = Self::default();
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
                HE_GI | EHT_GI => rate.guard = bytes.first().copied().and_then(Guard::of),
                SHORT_GI => rate.short_guard = true,
                kind => rate.width = width(kind).unwrap_or(rate.width),
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

/// The width that a flag stands for; there is none for 20 MHz.
fn width(flag: u16) -> Option<Width> {
    Some(match flag {
        WIDTH_1 => Width::Mhz1,
        WIDTH_2 => Width::Mhz2,
        WIDTH_4 => Width::Mhz4,
        WIDTH_5 => Width::Mhz5,
        WIDTH_8 => Width::Mhz8,
        WIDTH_10 => Width::Mhz10,
        WIDTH_16 => Width::Mhz16,
        WIDTH_40 => Width::Mhz40,
        WIDTH_80 => Width::Mhz80,
        WIDTH_80P80 => Width::Mhz80Plus80,
        WIDTH_160 => Width::Mhz160,
        WIDTH_320 => Width::Mhz320,
        _ => return None,
    })
}
