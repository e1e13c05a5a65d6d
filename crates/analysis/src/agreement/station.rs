//! What nl80211 and hostapd say of one client: hostapd's `STATUS` and `STA` as of 2.10 (`ctrl_iface_ap.c`).
//!
//! Any text is read without a panic; what is not understood is left out.

use std::collections::BTreeMap;

use model::parity::StationValues;

use super::subject::Form;

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

/// Reads what hostapd says: first its `STATUS`, then each station, whose address is alone in its line.
pub(super) fn hostapd(text: &str) -> (Words, Stations) {
    let mut words = Form::Hostapd.words(text);
    let status = words.remove(&None).unwrap_or_default();
    (status, words.into_iter().filter_map(|(owner, words)| Some((owner?, words))).collect())
}

/// An address in small letters.
pub(super) fn as_address(text: &str) -> Option<String> {
    let is_byte = |byte: &str| byte.len() == 2 && byte.bytes().all(|one| one.is_ascii_hexdigit());
    let is_address =
        text.len() == 17 && text.split(':').count() == 6 && text.split(':').all(is_byte);
    is_address.then(|| text.to_ascii_lowercase())
}

/// The whole number that words begin with: `12 ms`, `-30 [-31, -32] dBm`. None that a kernel tells has more than 64 bits,
/// and rules may add and multiply what has no more.
pub(super) fn number(words: &str) -> Option<i128> {
    const ALL: std::ops::RangeInclusive<i128> = i64::MIN as i128..=u64::MAX as i128;
    words.split([' ', '\t']).next()?.parse().ok().filter(|number| ALL.contains(number))
}

/// Tenths of a number with at most one decimal: `433.3`.
pub(super) fn tenths(text: &str) -> Option<i128> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let part = part.get(..1)?.parse::<u8>().ok()?;
    whole.parse::<u32>().ok().map(|whole| i128::from(whole) * 10 + i128::from(part))
}
