//! What `iw` and hostapd say of one client, as they print it: text in, names and words out.
//!
//! Pure, and on its own on purpose: it shares no code with stationd, which reads the same facts from netlink, so
//! that a mistake of one is not a mistake of the other. Any text is read without a panic; what it does not
//! understand it leaves out.
//!
//! Format: `iw dev wlan0 station dump` (iw 5.19, `station.c`, `print_sta_handler`), `iw dev wlan0 survey dump`
//! (`survey.c`), hostapd's `STATUS` and `STA` (hostapd 2.10, `ctrl_iface_ap.c`).

use std::collections::BTreeMap;

use super::value::Value;

/// The clients of one interface, by address in small letters.
pub(super) type Stations = BTreeMap<String, Words>;

/// Words by their names.
pub(super) type Words = BTreeMap<String, String>;

/// One client at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Station {
    /// Its address in small letters.
    pub(super) address: String,
    /// By `iw station dump`.
    pub(super) iw: Option<Words>,
    /// By hostapd's `STA`.
    pub(super) hostapd: Option<Words>,
    /// Of its interface, by hostapd's `STATUS`.
    pub(super) status: Words,
    /// The noise on the channel in use, dBm, by `iw survey dump`.
    pub(super) noise_dbm: Option<i128>,
}

impl Station {
    /// iw's words.
    pub(super) fn iw(&self, name: &str) -> Option<&str> {
        self.iw.as_ref()?.get(name).map(String::as_str)
    }

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

/// Reads `iw survey dump`: the noise of the channel in use, dBm.
pub(super) fn noise(text: &str) -> Option<i128> {
    let in_use = text.split("Survey data").find(|channel| channel.contains("[in use]"))?;
    let noise = in_use.lines().find_map(|line| line.trim().strip_prefix("noise:"))?;
    number(noise.trim())
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

/// The numbers in the brackets of `-30 [-31, -32] dBm`.
pub(super) fn chains(words: &str) -> Vec<i128> {
    let inside = words.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let numbers = inside.into_iter().flat_map(|(inside, _)| inside.split(','));
    numbers.filter_map(|one| one.trim().parse().ok()).collect()
}

/// A rate as iw prints it: `433.3 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    /// kbit/s.
    pub(super) kbps: i128,
    /// MHz.
    pub(super) width: i128,
    /// `legacy`, `ht`, `vht`, `he`, `eht`.
    pub(super) mode: &'static str,
    /// The scheme; of HT it counts through the streams.
    pub(super) scheme: Option<i128>,
    streams: Option<i128>,
    /// Whether the guard interval is the shortest.
    pub(super) short_guard: bool,
}

impl Rate {
    pub(super) fn read(words: &str) -> Option<Self> {
        const MODES: [(&str, &str); 4] =
            [("MCS", "ht"), ("VHT-MCS", "vht"), ("HE-MCS", "he"), ("EHT-MCS", "eht")];
        let mut rate = Self {
            kbps: tenths(words.split(' ').next()?)? * 100,
            width: 20,
            mode: "legacy",
            scheme: None,
            streams: None,
            short_guard: words.contains("short GI"),
        };
        let words: Vec<&str> = words.split(' ').collect();
        for (word, next) in words.iter().zip(words.iter().skip(1).chain([&""])) {
            if let Some((_, mode)) = MODES.iter().find(|(name, _)| name == word) {
                (rate.mode, rate.scheme) = (mode, next.parse().ok());
            } else if word.ends_with("-NSS") {
                rate.streams = next.parse().ok();
            } else if word.ends_with("-GI") {
                rate.short_guard |= *next == "0";
            } else if let Some(width) = word.strip_suffix("MHz") {
                rate.width = if width == "80P80" { 160 } else { width.parse().unwrap_or(20) };
            }
        }
        Some(rate)
    }

    /// Spatial streams: HT counts eight schemes for each, but for its last one.
    fn streams(&self) -> Option<i128> {
        match (self.mode, self.scheme) {
            ("ht", Some(32)) => Some(1),
            ("ht", Some(scheme)) => Some(scheme / 8 + 1),
            _ => self.streams,
        }
    }

    /// All of it in the data model's words: `vht 80MHz mcs9 1x sgi`.
    pub(super) fn in_words(&self) -> Value {
        let scheme = self.scheme.map(|scheme| format!(" mcs{scheme}")).unwrap_or_default();
        let streams = self.streams().map(|streams| format!(" {streams}x")).unwrap_or_default();
        let guard = if self.short_guard { " sgi" } else { "" };
        Value::Text(format!("{} {}MHz{scheme}{streams}{guard}", self.mode, self.width))
    }
}

/// Tenths of a number with at most one decimal: `433.3`.
fn tenths(text: &str) -> Option<i128> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let part = part.get(..1)?.parse::<u8>().ok()?;
    whole.parse::<u32>().ok().map(|whole| i128::from(whole) * 10 + i128::from(part))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(super) const DUMP: &str = "Station 02:00:00:00:01:0A (on wlan1)\n\
        \tinactive time:\t1500 ms\n\trx bytes:\t4321\n\trx packets:\t12\n\ttx bytes:\t987\n\
        \tsignal:  \t-30 [-31, -32] dBm\n\ttx bitrate:\t433.3 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 1\n\
        \tauthorized:\tyes\n\tassociated at [boottime]:\t12.345s\n\tassociated at:\t1790000000500 ms\n\
        Station 02:00:00:00:01:0b (on wlan1)\n\trx bytes:\t1\n";

    #[test]
    fn a_dump_of_iw_is_read_by_its_names() {
        let stations = iw(DUMP);
        assert_eq!(stations.len(), 2);
        let first = &stations["02:00:00:00:01:0a"];
        assert_eq!((first["rx bytes"].as_str(), first["authorized"].as_str()), ("4321", "yes"));
        assert_eq!(
            (number(&first["signal"]), chains(&first["signal"])),
            (Some(-30), vec![-31, -32])
        );
        assert_eq!(number(&first["associated at"]), Some(1_790_000_000_500));
        assert_eq!(stations["02:00:00:00:01:0b"].len(), 1);
    }

    #[test]
    fn hostapds_status_comes_before_its_stations() {
        let (status, stations) = hostapd(
            "state=ENABLED\nfreq=5180\n02:00:00:00:01:0a\nflags=[AUTH]\nrx_bytes=5\n\
             tx_rate_info=4333 vhtmcs 9 vhtnss 1\n02:00:00:00:01:0b\nrx_bytes=6\n",
        );
        assert_eq!(status["freq"], "5180");
        assert_eq!(number(&stations["02:00:00:00:01:0a"]["tx_rate_info"]), Some(4333));
        assert_eq!(stations["02:00:00:00:01:0b"]["rx_bytes"], "6");
    }

    #[test]
    fn noise_is_that_of_the_channel_in_use() {
        let other = "Survey data from wlan0\n\tfrequency:\t2412 MHz\n\tnoise:\t-90 dBm\n";
        assert_eq!(noise(other), None);
        let used = "Survey data from wlan0\n\tfrequency:\t2417 MHz [in use]\n\tnoise:\t-95 dBm\n";
        assert_eq!(noise(&format!("{other}{used}")), Some(-95));
    }

    #[test]
    fn rates_of_every_kind_are_read() {
        let words = |text: &str| match Rate::read(text).unwrap().in_words() {
            Value::Text(text) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(words("6.0 MBit/s"), "legacy 20MHz");
        assert_eq!(words("72.2 MBit/s MCS 7 short GI"), "ht 20MHz mcs7 1x sgi");
        assert_eq!(words("300.0 MBit/s MCS 15 40MHz short GI"), "ht 40MHz mcs15 2x sgi");
        let vht = Rate::read("433.3 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 1").unwrap();
        assert_eq!((vht.kbps, vht.width, vht.scheme), (433_300, 80, Some(9)));
        assert_eq!(vht.in_words(), Value::from("vht 80MHz mcs9 1x sgi"));
        let he = "1201.0 MBit/s 80MHz HE-MCS 11 HE-NSS 2 HE-GI 0 HE-DCM 0";
        assert_eq!(words(he), "he 80MHz mcs11 2x sgi");
        assert_eq!(Rate::read("(unknown)"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text: String, lines in "([0-9a-f:=\\[\\], \\-\n\t.MHzGI]{0,80}\n){0,6}") {
            for text in [text.as_str(), lines.as_str(), &format!("{DUMP}{text}"), &format!("Station {lines}")] {
                let _ = (iw(text), hostapd(text), noise(text), Rate::read(text), chains(text));
            }
        }
    }
}
