//! What a station can do, in the data model's words, from what hostapd told of it.
//!
//! Pure; each function is one parameter. What hostapd did not tell is `None`. Bits and maps are those of
//! IEEE 802.11-2020 (HT 9.4.2.55, VHT 9.4.2.157, extended capabilities 9.4.2.26) and 802.11ax-2021
//! (HE 9.4.2.248).

use crate::identity::Identity;

/// Which way data goes; the station's receiver limits the downlink, its transmitter the uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From the access point to the station.
    Down,
    /// From the station to the access point.
    Up,
}

/// First channel above the 2.4 GHz band, MHz.
const ABOVE_2_4_GHZ: u32 = 3000;

/// `SecurityModeEnabled`, by the key management suite.
pub(super) fn security(identity: &Identity) -> Option<&'static str> {
    // Bit 4 of the capability information field: the network has a secret of some kind.
    const PRIVACY: u16 = 1 << 4;
    let Some(suite) = identity.key_management else {
        let open = identity.wpa.is_none() && identity.capability? & PRIVACY == 0;
        return open.then_some("None");
    };
    Some(match suite {
        0x0050_f201 => "WPA-Enterprise",
        0x0050_f202 => "WPA-Personal",
        0x000f_ac01 | 0x000f_ac03 | 0x000f_ac05 => "WPA2-Enterprise",
        0x000f_ac02 | 0x000f_ac04 | 0x000f_ac06 => "WPA2-Personal",
        0x000f_ac08 | 0x000f_ac09 | 0x000f_ac18 | 0x000f_ac19 => "WPA3-Personal",
        0x000f_ac0b..=0x000f_ac0d => "WPA3-Enterprise",
        0x000f_ac12 => "OWE",
        _ => return None,
    })
}

/// `EncryptionMode`, by the pairwise cipher suite.
pub(super) fn encryption(identity: &Identity) -> Option<&'static str> {
    match identity.cipher? & 0xff {
        2 => Some("TKIP"),
        4 | 8..=10 => Some("AES"),
        _ => None,
    }
}

/// `OperatingStandard`.
pub(super) fn standard(identity: &Identity, frequency_mhz: Option<u32>) -> Option<&'static str> {
    identity.flags.as_ref()?;
    let newest = [("EHT", "be"), ("HE", "ax"), ("VHT", "ac"), ("HT", "n")];
    if let Some((_, standard)) = newest.iter().find(|(flag, _)| identity.has(flag)) {
        return Some(standard);
    }
    if frequency_mhz? > ABOVE_2_4_GHZ {
        return Some("a");
    }
    // The rates of 802.11b; any other is OFDM.
    let is_b = |rate: &u8| matches!(rate & 0x7f, 2 | 4 | 11 | 22);
    identity.rates.as_ref().map(|rates| if rates.iter().all(is_b) { "b" } else { "g" })
}

/// `FrequencyCapabilities`: the band that it is on is one that it can.
pub(super) fn band(frequency_mhz: u32) -> &'static str {
    match frequency_mhz {
        0..=ABOVE_2_4_GHZ => "2.4GHz",
        // 802.11ax numbers the 6 GHz channels from 5950 MHz, but for channel 2 at 5935 MHz.
        5935.. => "6GHz",
        _ => "5GHz",
    }
}

/// `Capabilities`: radio measurements (bit 12 of the capability information field), and transition
/// management (bit 19 of the extended ones).
pub(super) fn abilities(identity: &Identity) -> Option<String> {
    let capability = identity.capability?;
    let extended = identity.extended.as_deref().map(bytes).unwrap_or_default();
    let transition = extended.get(2).is_some_and(|byte| byte & 1 << 3 != 0);
    Some(listed([("RRM", capability & 1 << 12 != 0), ("BTM", transition)]))
}

/// `HtCapabilities`.
pub(super) fn ht(identity: &Identity) -> Option<String> {
    let bits = identity.ht?;
    let bit = |bit: u16| bits & 1 << bit != 0;
    Some(listed([
        ("40MHz", bit(1)),
        ("SGI20", bit(5)),
        ("SGI40", bit(6)),
        ("40MHz-INTOL", bit(14)),
    ]))
}

/// `VhtCapabilities`.
pub(super) fn vht(identity: &Identity) -> Option<String> {
    let bits = identity.vht?;
    let bit = |bit: u32| bits & 1 << bit != 0;
    Some(listed([
        ("SGI80", bit(5)),
        ("SGI160", bit(6)),
        ("SU-BFR", bit(11)),
        ("SU-BFE", bit(12)),
        ("MU-BFR", bit(19)),
        ("MU-BFE", bit(20)),
    ]))
}

/// `HeCapabilities`.
pub(super) fn he(identity: &Identity) -> Option<String> {
    let he = He::read(identity)?;
    let bit = |byte: usize, bit: u8| he.phy(byte) & 1 << bit != 0;
    Some(listed([("SU-BFR", bit(3, 7)), ("SU&MU-BFE", bit(4, 0)), ("MU-BFR", bit(4, 1))]))
}

/// `SupportedMCS`: rates before 802.11n, Mbit/s.
pub(super) fn legacy_rates(identity: &Identity) -> Option<String> {
    let rates = identity.rates.as_deref()?.iter().map(|rate| rate & 0x7f);
    let text = |rate: u8| match rate % 2 {
        0 => format!("{}", rate / 2),
        _ => format!("{}.5", rate / 2),
    };
    Some(joined(rates.map(text)))
}

/// `SupportedHtMCS`: schemes by number.
pub(super) fn ht_schemes(identity: &Identity) -> Option<String> {
    let mask = bytes(identity.ht_mcs.as_deref()?);
    let has =
        |scheme: &usize| mask.get(scheme / 8).is_some_and(|byte| byte & 1 << (scheme % 8) != 0);
    // Schemes above 31 modulate the streams unequally; the field's list ends here.
    Some(joined((0..32).filter(has).map(|scheme| scheme.to_string())))
}

/// `RxSupportedVhtMCS`, `TxSupportedVhtMCS`: the highest scheme of each stream.
pub(super) fn vht_schemes(identity: &Identity, way: Way) -> Option<String> {
    let map = vht_map(identity, way)?;
    Some(joined(highest(map, VHT_HIGHEST).map(|scheme| scheme.to_string())))
}

/// `RxSupportedHeMCS` and its kin: the highest scheme of each stream, up to `width_mhz`.
pub(super) fn he_schemes(identity: &Identity, way: Way, width: HeWidth) -> Option<String> {
    let map = He::read(identity)?.map(way, width)?;
    Some(joined(highest(map, HE_HIGHEST).map(|scheme| scheme.to_string())))
}

/// `MaxRxSpatialStreamsSupported`, `MaxTxSpatialStreamsSupported`, by the station's receiver or
/// transmitter.
pub(super) fn streams(identity: &Identity, way: Way) -> Option<u32> {
    best(identity, way).map(|best| best.streams)
}

/// `MaxBandwidthSupported`, MHz.
pub(super) fn width_mhz(identity: &Identity, frequency_mhz: Option<u32>) -> Option<u32> {
    identity.flags.as_ref()?;
    let low = frequency_mhz? <= ABOVE_2_4_GHZ;
    if let Some(he) = He::read(identity) {
        let bit = |bit: u8| he.phy(0) & 1 << bit != 0;
        match (low, bit(3), bit(2), bit(1)) {
            (true, _, _, true) => return Some(40),
            (false, true, ..) => return Some(160),
            (false, _, true, _) => return Some(80),
            _ => {}
        }
    }
    match (identity.vht, identity.ht) {
        (Some(vht), _) if !low => Some(if vht >> 2 & 3 == 0 { 80 } else { 160 }),
        (_, Some(ht)) if ht & 1 << 1 != 0 => Some(40),
        _ => Some(20),
    }
}

/// The word for a width.
pub(super) fn width_word(mhz: u32) -> Option<&'static str> {
    Some(match mhz {
        20 => "20MHz",
        40 => "40MHz",
        80 => "80MHz",
        160 => "160MHz",
        320 => "320MHz",
        _ => return None,
    })
}

/// `MaxDownlinkRateSupported`, `MaxUplinkRateSupported`, kbit/s.
///
/// Data subcarriers × bits on each × coding rate × streams / duration of a symbol with its shortest
/// guard interval: 802.11-2020 19.5 and 21.5, 802.11ax-2021 27.5.
pub(super) fn rate_kbps(identity: &Identity, way: Way, frequency_mhz: Option<u32>) -> Option<u32> {
    let Some(best) = best(identity, way) else {
        let fastest = identity.rates.as_deref()?.iter().map(|rate| rate & 0x7f).max()?;
        return Some(u32::from(fastest) * 500);
    };
    let width = width_mhz(identity, frequency_mhz)?;
    let (subcarriers, symbol_ns) = match (best.he, width) {
        (true, 20) => (234, 13_600),
        (true, 40) => (468, 13_600),
        (true, 80) => (980, 13_600),
        (true, _) => (1960, 13_600),
        (false, 20) => (52, 3600),
        (false, 40) => (108, 3600),
        (false, 80) => (234, 3600),
        (false, _) => (468, 3600),
    };
    let (bits, numerator, denominator) = *MODULATIONS.get(best.scheme)?;
    let bits = u64::from(subcarriers * bits * best.streams * numerator) * 1_000_000;
    u32::try_from(bits / u64::from(denominator * symbol_ns)).ok()
}

/// Bits on a subcarrier and the coding rate, by scheme.
const MODULATIONS: [(u32, u32, u32); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];

/// What the two bits of a stream mean in a map; 3 is “not this stream”.
const VHT_HIGHEST: [usize; 3] = [7, 8, 9];
const HE_HIGHEST: [usize; 3] = [7, 9, 11];

/// The best that a station can, of the newest kind.
#[derive(Clone, Copy, Debug)]
struct Best {
    he: bool,
    streams: u32,
    /// The highest scheme with all of these streams, counted from 0 for each.
    scheme: usize,
}

fn best(identity: &Identity, way: Way) -> Option<Best> {
    let of_map = |map, table, he| {
        let schemes: Vec<_> = highest(map, table).collect();
        Some(Best { he, streams: schemes.len() as u32, scheme: *schemes.last()? })
    };
    let he = He::read(identity).and_then(|he| he.map(way, HeWidth::Mhz80));
    if let Some(map) = he {
        return of_map(map, HE_HIGHEST, true);
    }
    if let Some(map) = vht_map(identity, way) {
        return of_map(map, VHT_HIGHEST, false);
    }
    // HT tells what is received; what is sent is the same unless it says otherwise, which is rare.
    let mask = bytes(identity.ht_mcs.as_deref()?);
    let streams = mask.iter().take(4).take_while(|byte| **byte != 0).count();
    let last = *mask.get(streams.checked_sub(1)?)?;
    Some(Best { he: false, streams: streams as u32, scheme: last.ilog2() as usize })
}

fn vht_map(identity: &Identity, way: Way) -> Option<u16> {
    match way {
        Way::Down => identity.vht_rx_mcs,
        Way::Up => identity.vht_tx_mcs,
    }
}

/// The highest scheme of each stream, to the last stream that there is.
fn highest(map: u16, table: [usize; 3]) -> impl Iterator<Item = usize> {
    let of = move |stream: u16| table.get(usize::from(map >> (2 * stream) & 3)).copied();
    (0..8).map_while(of)
}

/// Up to which width a map of HE schemes is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeWidth {
    /// 80 MHz.
    Mhz80,
    /// 160 MHz.
    Mhz160,
    /// Twice 80 MHz, apart.
    Mhz80Plus80,
}

/// An HE capabilities element: 6 bytes of MAC, 11 of PHY, then pairs of maps.
#[derive(Clone, Debug)]
struct He(Vec<u8>);

impl He {
    const PHY: usize = 6;
    const MAPS: usize = 17;

    fn read(identity: &Identity) -> Option<Self> {
        let bytes = bytes(identity.he.as_deref()?);
        (bytes.len() >= Self::MAPS + 4).then_some(Self(bytes))
    }

    fn phy(&self, byte: usize) -> u8 {
        self.0[Self::PHY + byte]
    }

    /// The map of a width, where there is one: bits 3 and 4 of the first PHY byte tell.
    fn map(&self, way: Way, width: HeWidth) -> Option<u16> {
        let has = |bit: u8| self.phy(0) & 1 << bit != 0;
        let pair = match width {
            HeWidth::Mhz80 => 0,
            HeWidth::Mhz160 if has(3) => 1,
            HeWidth::Mhz80Plus80 if has(4) => 1 + usize::from(has(3)),
            _ => return None,
        };
        let at = Self::MAPS + 4 * pair + if way == Way::Up { 2 } else { 0 };
        Some(u16::from_le_bytes([*self.0.get(at)?, *self.0.get(at + 1)?]))
    }
}

/// The bytes of a hexadecimal text, to the first that is none.
fn bytes(text: &str) -> Vec<u8> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    text.as_bytes().chunks_exact(2).map_while(byte).collect()
}

fn listed<const N: usize>(words: [(&str, bool); N]) -> String {
    joined(words.into_iter().filter(|(_, has)| *has).map(|(word, _)| word.to_owned()))
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    let mut all = String::new();
    for part in parts {
        if !all.is_empty() {
            all.push(',');
        }
        all += &part;
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A two-stream VHT station, as hostapd tells it.
    fn vht_station() -> Identity {
        Identity::parse(
            "02:00:00:00:01:00\nflags=[AUTH][ASSOC][AUTHORIZED][WMM][HT][VHT]\ncapability=0x1011\n\
             supported_rates=8c 12 98 24 b0 48 60 6c\nht_caps_info=0x006e\n\
             ht_mcs_bitmask=ffff0000000000000000\nvht_caps_info=0x00001820\n\
             rx_vht_mcs_map=fffa\ntx_vht_mcs_map=fffe\next_capab=0400080000000040\n\
             AKMSuiteSelector=00-0f-ac-8\ndot11RSNAStatsSelectedPairwiseCipher=00-0f-ac-4\n",
        )
        .unwrap()
    }

    #[test]
    fn a_vht_station_is_reported_in_words() {
        let station = vht_station();
        assert_eq!(
            (security(&station), encryption(&station)),
            (Some("WPA3-Personal"), Some("AES"))
        );
        assert_eq!(standard(&station, Some(5180)), Some("ac"));
        assert_eq!(abilities(&station).as_deref(), Some("RRM,BTM"));
        assert_eq!(ht(&station).as_deref(), Some("40MHz,SGI20,SGI40"));
        assert_eq!(vht(&station).as_deref(), Some("SGI80,SU-BFR,SU-BFE"));
        assert_eq!(legacy_rates(&station).as_deref(), Some("6,9,12,18,24,36,48,54"));
        assert_eq!(ht_schemes(&station).as_deref(), Some("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"));
        assert_eq!(vht_schemes(&station, Way::Down).as_deref(), Some("9,9"));
        assert_eq!(vht_schemes(&station, Way::Up).as_deref(), Some("9"));
        assert_eq!(he_schemes(&station, Way::Up, HeWidth::Mhz80), None);
    }

    /// VHT, 80 MHz, two streams, MCS 9, short guard: 866.7 Mbit/s in every data sheet.
    #[test]
    fn the_highest_rate_is_the_data_sheets() {
        let station = vht_station();
        assert_eq!(width_mhz(&station, Some(5180)), Some(80));
        assert_eq!((streams(&station, Way::Down), streams(&station, Way::Up)), (Some(2), Some(1)));
        assert_eq!(rate_kbps(&station, Way::Down, Some(5180)), Some(866_666));
        assert_eq!(rate_kbps(&station, Way::Up, Some(5180)), Some(433_333));
        let ht = Identity { vht_rx_mcs: None, vht: None, ..station };
        assert_eq!(rate_kbps(&ht, Way::Down, Some(2412)), Some(300_000));
    }

    /// HE, 160 MHz, two streams, MCS 11, 0.8 µs: 2402 Mbit/s.
    #[test]
    fn an_he_station_has_a_map_for_each_width() {
        let element = "000000000000\
                       0c00000000000000000000\
                       faff faff faff feff"
            .replace(' ', "");
        let he = Identity { he: Some(element.into()), ..vht_station() };
        assert_eq!(width_mhz(&he, Some(5180)), Some(160));
        assert_eq!(he_schemes(&he, Way::Down, HeWidth::Mhz160).as_deref(), Some("11,11"));
        assert_eq!(he_schemes(&he, Way::Up, HeWidth::Mhz160).as_deref(), Some("11"));
        assert_eq!(he_schemes(&he, Way::Down, HeWidth::Mhz80Plus80), None);
        assert_eq!(rate_kbps(&he, Way::Down, Some(5180)), Some(2_401_960));
    }

    #[test]
    fn what_hostapd_did_not_report_is_absent() {
        let nothing = Identity::default();
        assert_eq!(security(&nothing), None);
        assert_eq!(standard(&nothing, Some(2412)), None);
        assert_eq!((abilities(&nothing), ht(&nothing), legacy_rates(&nothing)), (None, None, None));
        assert_eq!((width_mhz(&nothing, Some(2412)), streams(&nothing, Way::Up)), (None, None));
        assert_eq!(rate_kbps(&nothing, Way::Up, Some(2412)), None);
    }

    #[test]
    fn an_open_network_has_no_security_and_one_with_privacy_an_unknown_one() {
        let open = Identity { capability: Some(1), ..Identity::default() };
        assert_eq!(security(&open), Some("None"));
        let wep = Identity { capability: Some(0x11), ..Identity::default() };
        assert_eq!(security(&wep), None);
    }

    #[test]
    fn a_station_before_802_11n_is_a_b_or_g() {
        let old = |rates: &[u8]| Identity {
            flags: Some("[AUTH]".into()),
            rates: Some(rates.into()),
            ..Identity::default()
        };
        assert_eq!(standard(&old(&[0x82, 0x84, 11, 22]), Some(2412)), Some("b"));
        assert_eq!(standard(&old(&[0x82, 0x84, 11, 22, 108]), Some(2412)), Some("g"));
        assert_eq!(standard(&old(&[12]), Some(5180)), Some("a"));
        assert_eq!(legacy_rates(&old(&[0x82, 0x8b])).as_deref(), Some("1,5.5"));
        assert_eq!(rate_kbps(&old(&[12, 108]), Way::Up, Some(5180)), Some(54_000));
    }

    proptest! {
        #[test]
        fn any_identity_is_read_without_panic(
            element in "[0-9a-f]{0,60}", mask in "\\PC{0,24}", map: u16, bits: u32, frequency: u32,
        ) {
            let any = Identity {
                flags: Some("[HE]".into()),
                he: Some(element.into()),
                ht_mcs: Some(mask.into()),
                vht_rx_mcs: Some(map),
                vht: Some(bits),
                ht: Some(bits as u16),
                ..Identity::default()
            };
            for way in [Way::Down, Way::Up] {
                let _ = (rate_kbps(&any, way, Some(frequency)), streams(&any, way), he(&any));
                let _ = (he_schemes(&any, way, HeWidth::Mhz80Plus80), vht_schemes(&any, way));
            }
            let _ = (ht_schemes(&any), standard(&any, Some(frequency)), band(frequency));
        }
    }
}
