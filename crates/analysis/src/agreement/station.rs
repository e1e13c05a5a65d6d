//! What nl80211 and hostapd say of one client, and how the words of `iw` and hostapd are read.
//!
//! Any text is read without a panic; what is not understood is left out.
//!
//! Format: `iw dev wlan0 station dump` (iw 5.19, `station.c`, `print_sta_handler`), hostapd's `STATUS` and `STA`
//! (hostapd 2.10, `ctrl_iface_ap.c`).

use std::collections::BTreeMap;

use model::parity::StationValues;

/// The clients of one interface, by address in small letters.
pub(super) type Stations = BTreeMap<String, Words>;

/// Words by their names.
pub(super) type Words = BTreeMap<String, String>;

/// One client at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Station {
    /// By nl80211.
    pub(super) kernel: Option<StationValues>,
    /// The wall clock when nl80211 was read, ms since 1970.
    pub(super) unix_ms: i64,
    /// The noise on the channel in use, dBm.
    pub(super) noise_dbm: Option<i8>,
    /// By hostapd's `STA`.
    pub(super) hostapd: Option<Words>,
    /// Of its interface, by hostapd's `STATUS`.
    pub(super) status: Words,
}

impl Station {
    /// hostapd's words.
    pub(super) fn hostapd(&self, name: &str) -> Option<&str> {
        self.hostapd.as_ref()?.get(name).map(String::as_str)
    }

    /// The channel's centre, MHz.
    pub(super) fn megahertz(&self) -> Option<u32> {
        self.status.get("freq")?.parse().ok()
    }
}

/// Reads `iw station dump`.
pub(super) fn iw(text: &str) -> Stations {
    let mut stations = Stations::new();
    let mut address = None;
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("Station ") {
            address = head.split(' ').next().and_then(as_address);
            if let Some(address) = &address {
                stations.entry(address.clone()).or_default();
            }
        } else if let (Some(address), Some((name, words))) = (&address, line.split_once(':')) {
            let station = stations.entry(address.clone()).or_default();
            station.entry(name.trim().to_owned()).or_insert_with(|| words.trim().to_owned());
        }
    }
    stations
}

/// Reads what hostapd says: first its `STATUS`, then each station, whose address is alone in its line.
pub(super) fn hostapd(text: &str) -> (Words, Stations) {
    let (mut status, mut stations) = (Words::new(), Stations::new());
    let mut address = None;
    for line in text.lines() {
        if let Some(known) = as_address(line) {
            stations.entry(known.clone()).or_default();
            address = Some(known);
        } else if let Some((name, words)) = line.split_once('=') {
            let of = match &address {
                Some(address) => stations.entry(address.clone()).or_default(),
                None => &mut status,
            };
            of.entry(name.to_owned()).or_insert_with(|| words.trim().to_owned());
        }
    }
    (status, stations)
}

/// An address in small letters.
pub(super) fn as_address(text: &str) -> Option<String> {
    let is_byte = |byte: &str| byte.len() == 2 && byte.bytes().all(|one| one.is_ascii_hexdigit());
    let is_address =
        text.len() == 17 && text.split(':').count() == 6 && text.split(':').all(is_byte);
    is_address.then(|| text.to_ascii_lowercase())
}

/// The whole number that words begin with: `12 ms`, `-30 [-31, -32] dBm`.
pub(super) fn number(words: &str) -> Option<i128> {
    words.split([' ', '\t']).next()?.parse().ok()
}

/// Tenths of a number with at most one decimal: `433.3`.
pub(super) fn tenths(text: &str) -> Option<i128> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let part = part.get(..1)?.parse::<u8>().ok()?;
    whole.parse::<u32>().ok().map(|whole| i128::from(whole) * 10 + i128::from(part))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DUMP: &str = "Station 02:00:00:00:01:0A (on wlan1)\n\
        \tinactive time:\t1500 ms\n\trx bytes:\t4321\n\tsignal:  \t-30 [-31, -32] dBm\n\
        \tauthorized:\tyes\n\tassociated at:\t1790000000500 ms\n\
        Station 02:00:00:00:01:0b (on wlan1)\n\trx bytes:\t1\n";

    #[test]
    fn a_dump_of_iw_is_read_by_its_names() {
        let stations = iw(DUMP);
        assert_eq!(stations.len(), 2);
        let first = &stations["02:00:00:00:01:0a"];
        assert_eq!((first["rx bytes"].as_str(), first["authorized"].as_str()), ("4321", "yes"));
        assert_eq!(number(&first["signal"]), Some(-30));
        assert_eq!(number(&first["associated at"]), Some(1_790_000_000_500));
        assert_eq!(stations["02:00:00:00:01:0b"].len(), 1);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text: String, lines in "([0-9a-f:=\\[\\], \\-\n\t.MHzGI]{0,80}\n){0,6}") {
            for text in [text.as_str(), lines.as_str(), &format!("{DUMP}{text}"), &format!("Station {lines}")] {
                let _ = (iw(text), hostapd(text), tenths(text), number(text));
            }
        }
    }
}
