//! What a client can do, in the data model's words, from what hostapd prints of it.
//!
//! Pure; each function is the second source of one key. It is written from the standard and shares nothing with
//! stationd's own translation. IEEE 802.11-2020: HT 9.4.2.55 and 19.5, VHT 9.4.2.157 and 21.5, suites 9.4.2.24. Of
//! HE (802.11ax) it says that it is there and nothing more: [`Value::Unclear`].

use super::{station::Station, value::Value};

/// Frequencies above are not of the 2.4 GHz band, MHz.
const BAND_2_4: u32 = 3000;

/// The access point sends, and what the client receives is the limit.
pub(super) const DOWN: &str = "rx_vht_mcs_map";
/// The client sends.
pub(super) const UP: &str = "tx_vht_mcs_map";

fn text(words: impl Into<String>) -> Option<Value> {
    Some(Value::Text(words.into()))
}

fn bits(station: &Station, name: &str) -> Option<u64> {
    let words = station.hostapd(name)?;
    u64::from_str_radix(words.strip_prefix("0x").unwrap_or(words), 16).ok()
}

fn bytes(station: &Station, name: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = station
        .hostapd(name)?
        .chars()
        .map_while(|one| one.to_digit(16))
        .map(|one| one as u8)
        .collect();
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn has(station: &Station, flag: &str) -> bool {
    station.hostapd("flags").is_some_and(|flags| flags.contains(&format!("[{flag}]")))
}

fn is_he(station: &Station) -> bool {
    station.hostapd("he_capab").is_some()
}

/// The names of the bits that are set.
fn named(bits: u64, names: &[(u32, &str)]) -> Option<Value> {
    let set = names.iter().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, name)| *name);
    text(set.collect::<Vec<_>>().join(","))
}

/// Rates before 802.11n, in 500 kbit/s.
fn rates(station: &Station) -> Option<Vec<u32>> {
    let rate = |byte: &str| u32::from_str_radix(byte, 16).ok().map(|rate| rate % 128);
    station.hostapd("supported_rates")?.split_whitespace().map(rate).collect()
}

pub(super) fn security(station: &Station) -> Option<Value> {
    let Some(suite) = station.hostapd("AKMSuiteSelector") else {
        let has_secret = bits(station, "capability")? >> 4 & 1 == 1;
        return (!has_secret && station.hostapd("wpa").is_none()).then(|| "None".into());
    };
    Some(match suite {
        "00-0f-ac-2" | "00-0f-ac-4" | "00-0f-ac-6" => "WPA2-Personal".into(),
        "00-0f-ac-1" | "00-0f-ac-3" | "00-0f-ac-5" => "WPA2-Enterprise".into(),
        "00-0f-ac-8" | "00-0f-ac-9" | "00-0f-ac-24" | "00-0f-ac-25" => "WPA3-Personal".into(),
        "00-0f-ac-11" | "00-0f-ac-12" | "00-0f-ac-13" => "WPA3-Enterprise".into(),
        "00-0f-ac-18" => "OWE".into(),
        "00-50-f2-1" => "WPA-Enterprise".into(),
        "00-50-f2-2" => "WPA-Personal".into(),
        _ => Value::Unclear,
    })
}

pub(super) fn encryption(station: &Station) -> Option<Value> {
    let suite = station.hostapd("dot11RSNAStatsSelectedPairwiseCipher")?;
    Some(match suite.rsplit('-').next() {
        Some("2") => "TKIP".into(),
        Some("4" | "8" | "9" | "10") => "AES".into(),
        _ => Value::Unclear,
    })
}

pub(super) fn abilities(station: &Station) -> Option<Value> {
    let radio_measurement = bits(station, "capability")? >> 12 & 1;
    let extended = bytes(station, "ext_capab").unwrap_or_default();
    let transition = extended.get(2).map_or(0, |byte| u64::from(byte >> 3 & 1));
    named(radio_measurement | transition << 1, &[(0, "RRM"), (1, "BTM")])
}

pub(super) fn band(station: &Station) -> Option<Value> {
    text(match station.megahertz()? {
        ..BAND_2_4 => "2.4GHz",
        5935.. => "6GHz",
        _ => "5GHz",
    })
}

pub(super) fn standard(station: &Station) -> Option<Value> {
    station.hostapd("flags")?;
    let newest = [("EHT", "be"), ("HE", "ax"), ("VHT", "ac"), ("HT", "n")];
    if let Some((_, standard)) = newest.iter().find(|(flag, _)| has(station, flag)) {
        return text(*standard);
    }
    if station.megahertz()? > BAND_2_4 {
        return text("a");
    }
    // 1, 2, 5.5 and 11 Mbit/s.
    let is_b = rates(station)?.iter().all(|rate| [2, 4, 11, 22].contains(rate));
    text(if is_b { "b" } else { "g" })
}

pub(super) fn ht(station: &Station) -> Option<Value> {
    let names = [(1, "40MHz"), (5, "SGI20"), (6, "SGI40"), (14, "40MHz-INTOL")];
    named(bits(station, "ht_caps_info")?, &names)
}

pub(super) fn vht(station: &Station) -> Option<Value> {
    let names = [
        (5, "SGI80"),
        (6, "SGI160"),
        (11, "SU-BFR"),
        (12, "SU-BFE"),
        (19, "MU-BFR"),
        (20, "MU-BFE"),
    ];
    named(bits(station, "vht_caps_info")?, &names)
}

pub(super) fn he(station: &Station) -> Option<Value> {
    is_he(station).then_some(Value::Unclear)
}

pub(super) fn legacy_rates(station: &Station) -> Option<Value> {
    let rates = rates(station)?.into_iter().map(|rate| {
        let half = if rate % 2 == 1 { ".5" } else { "" };
        format!("{}{half}", rate / 2)
    });
    text(rates.collect::<Vec<_>>().join(","))
}

pub(super) fn ht_schemes(station: &Station) -> Option<Value> {
    let mask = bytes(station, "ht_mcs_bitmask")?;
    let schemes = (0..32)
        .filter(|scheme| mask.get(scheme / 8).is_some_and(|byte| byte >> (scheme % 8) & 1 == 1));
    text(schemes.map(|scheme| scheme.to_string()).collect::<Vec<_>>().join(","))
}

/// The highest scheme of each stream, by the map of one direction.
fn vht_highest(station: &Station, map: &str) -> Option<Vec<u32>> {
    let map = bits(station, map)?;
    let of = |stream: u32| (map >> (2 * stream)) as u32 % 4;
    Some((0..8).map(of).take_while(|code| *code != 3).map(|code| 7 + code).collect())
}

pub(super) fn vht_schemes(station: &Station, map: &str) -> Option<Value> {
    let schemes = vht_highest(station, map)?;
    text(schemes.iter().map(u32::to_string).collect::<Vec<_>>().join(","))
}

/// Streams, and the highest scheme with all of them, counted from 0 for each; `None` before 802.11n.
fn best(station: &Station, map: &str) -> Option<(i128, usize)> {
    if let Some(schemes) = vht_highest(station, map) {
        return Some((schemes.len() as i128, *schemes.last()? as usize));
    }
    let mask = bytes(station, "ht_mcs_bitmask")?;
    let streams: Vec<u8> = mask.into_iter().take(4).take_while(|byte| *byte != 0).collect();
    let last = streams.last()?;
    Some((streams.len() as i128, 7 - last.leading_zeros() as usize))
}

pub(super) fn streams(station: &Station, map: &str) -> Option<Value> {
    if is_he(station) {
        return Some(Value::Unclear);
    }
    best(station, map).map(|(streams, _)| Value::Whole(streams))
}

fn width(station: &Station) -> Option<u32> {
    station.hostapd("flags")?;
    let wide = bits(station, "ht_caps_info").is_some_and(|info| info >> 1 & 1 == 1);
    Some(match bits(station, "vht_caps_info") {
        Some(info) if station.megahertz()? > BAND_2_4 => {
            if info >> 2 & 3 == 0 {
                80
            } else {
                160
            }
        }
        _ if wide => 40,
        _ => 20,
    })
}

pub(super) fn widest(station: &Station) -> Option<Value> {
    if is_he(station) {
        return Some(Value::Unclear);
    }
    text(format!("{}MHz", width(station)?))
}

/// kbit/s: subcarriers × streams × bits of a scheme on one of them, for each symbol of 3.6 µs.
pub(super) fn highest_rate(station: &Station, map: &str) -> Option<Value> {
    /// Sixths of a bit on a subcarrier, by scheme.
    const SIXTHS: [i128; 12] = [3, 6, 9, 12, 18, 24, 27, 30, 36, 40, 45, 50];
    if is_he(station) {
        return Some(Value::Unclear);
    }
    let Some((streams, scheme)) = best(station, map) else {
        return rates(station)?.iter().max().map(|rate| Value::Whole(i128::from(*rate) * 500));
    };
    let subcarriers = match width(station)? {
        20 => 52,
        40 => 108,
        80 => 234,
        _ => 468,
    };
    let bits_for_a_symbol = subcarriers * streams * SIXTHS.get(scheme)?;
    Some(Value::Whole(bits_for_a_symbol * 1_000_000 / (6 * 3600)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::station;

    fn of(words: &str) -> Station {
        let (status, mut stations) =
            station::hostapd(&format!("freq=5180\n02:00:00:00:01:0a\n{words}"));
        Station { hostapd: stations.remove("02:00:00:00:01:0a"), status, ..Station::default() }
    }

    /// VHT, 80 MHz, two streams down, one up, MCS 9: 866.7 and 433.3 Mbit/s in every data sheet.
    #[test]
    fn an_802_11ac_client_is_reported_in_words() {
        let client = of("flags=[AUTH][ASSOC][AUTHORIZED][WMM][HT][VHT]\ncapability=0x1011\n\
             supported_rates=8c 12 98 24 b0 48 60 6c\nht_caps_info=0x006e\n\
             ht_mcs_bitmask=ffff0000000000000000\nvht_caps_info=0x00001820\n\
             rx_vht_mcs_map=fffa\ntx_vht_mcs_map=fffe\next_capab=0400080000000040\n\
             AKMSuiteSelector=00-0f-ac-8\ndot11RSNAStatsSelectedPairwiseCipher=00-0f-ac-4\nwpa=2\n");
        let is = |value: Option<Value>, words: &str| assert_eq!(value, Some(words.into()));
        is(security(&client), "WPA3-Personal");
        is(encryption(&client), "AES");
        is(standard(&client), "ac");
        is(band(&client), "5GHz");
        is(abilities(&client), "RRM,BTM");
        is(ht(&client), "40MHz,SGI20,SGI40");
        is(vht(&client), "SGI80,SU-BFR,SU-BFE");
        is(legacy_rates(&client), "6,9,12,18,24,36,48,54");
        is(vht_schemes(&client, DOWN), "9,9");
        is(vht_schemes(&client, UP), "9");
        is(widest(&client), "80MHz");
        assert_eq!(streams(&client, DOWN), Some(Value::Whole(2)));
        assert_eq!(highest_rate(&client, DOWN), Some(Value::Whole(866_666)));
        assert_eq!(highest_rate(&client, UP), Some(Value::Whole(433_333)));
        assert_eq!(he(&client), None);
    }

    #[test]
    fn older_clients_have_their_own_words() {
        let n = of("flags=[HT]\nht_caps_info=0x002e\nht_mcs_bitmask=ff000000000000000000\n");
        assert_eq!(highest_rate(&n, DOWN), Some(Value::Whole(150_000)), "HT40, one stream, MCS 7");
        assert_eq!(ht_schemes(&n), Some("0,1,2,3,4,5,6,7".into()));
        let a = of("flags=[AUTH]\nsupported_rates=8c 6c\ncapability=0x1\n");
        assert_eq!((standard(&a), security(&a)), (Some("a".into()), Some("None".into())));
        assert_eq!(highest_rate(&a, UP), Some(Value::Whole(54_000)));
        let ax = of("flags=[HE]\nhe_capab=00\n");
        assert_eq!((highest_rate(&ax, UP), he(&ax)), (Some(Value::Unclear), Some(Value::Unclear)));
        assert_eq!((security(&of("")), widest(&of("")), ht(&of(""))), (None, None, None));
    }
}
