//! Who a station is: what is fixed for an association, as hostapd tells it.
//!
//! Reads the text that hostapd's control interface answers to `STA <address>`. It asks no one
//! ([`crate::hostapd`] does) and holds no counter: hostapd has those from the kernel, one question a
//! station, and so would be the dearest place to read them from.

/// The fixed facts of an association. What hostapd did not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// hostapd's words for the state and the abilities, as `[AUTH][ASSOC][AUTHORIZED][WMM][HT][VHT]`.
    pub flags: Option<Box<str>>,
    /// Association id.
    pub aid: Option<u16>,
    /// Capability information field.
    pub capability: Option<u16>,
    /// Beacon intervals between two wake-ups.
    pub listen_interval: Option<u16>,
    /// Rates in units of 500 kbit/s; the highest bit marks a basic one.
    pub rates: Option<Box<[u8]>>,
    /// Authentication and key management suite, as `0x000fac02` for PSK.
    pub key_management: Option<u32>,
    /// Pairwise cipher suite, as `0x000fac04` for CCMP.
    pub cipher: Option<u32>,
    /// WPA version, 2 for RSN.
    pub wpa: Option<u8>,
    /// HT capabilities information field.
    pub ht: Option<u16>,
    /// HT receive MCS bit mask, hexadecimal as told.
    pub ht_mcs: Option<Box<str>>,
    /// VHT capabilities information field.
    pub vht: Option<u32>,
    /// VHT receive MCS map.
    pub vht_rx_mcs: Option<u16>,
    /// VHT transmit MCS map.
    pub vht_tx_mcs: Option<u16>,
    /// HE capabilities element, hexadecimal as told.
    pub he: Option<Box<str>>,
    /// Extended capabilities element, hexadecimal as told.
    pub extended: Option<Box<str>>,
    pub vlan: Option<u16>,
    /// The four-address interface that carries it.
    pub wds_interface: Option<Box<str>>,
}

impl Identity {
    /// Reads hostapd's answer; `None` where it knows no such station (`FAIL`, or nothing).
    pub fn parse(answer: &str) -> Option<Self> {
        let mut identity = Self::default();
        if answer.starts_with("FAIL") || !answer.contains('=') {
            return None;
        }
        for (key, value) in answer.lines().filter_map(|line| line.split_once('=')) {
            identity.take(key, value);
        }
        Some(identity)
    }

    fn take(&mut self, key: &str, value: &str) {
        match key {
            "flags" => self.flags = Some(value.into()),
            "aid" => self.aid = value.parse().ok(),
            "capability" => self.capability = hexadecimal(value).map(|value| value as u16),
            "listen_interval" => self.listen_interval = value.parse().ok(),
            "supported_rates" => self.rates = rates(value),
            "AKMSuiteSelector" => self.key_management = suite(value),
            "dot11RSNAStatsSelectedPairwiseCipher" => self.cipher = suite(value),
            "wpa" => self.wpa = value.parse().ok(),
            "ht_caps_info" => self.ht = hexadecimal(value).map(|value| value as u16),
            "ht_mcs_bitmask" => self.ht_mcs = Some(value.into()),
            "vht_caps_info" => self.vht = hexadecimal(value),
            "rx_vht_mcs_map" => self.vht_rx_mcs = hexadecimal(value).map(|value| value as u16),
            "tx_vht_mcs_map" => self.vht_tx_mcs = hexadecimal(value).map(|value| value as u16),
            "he_capab" => self.he = Some(value.into()),
            "ext_capab" => self.extended = Some(value.into()),
            "vlan_id" => self.vlan = value.parse().ok(),
            "wds_sta_ifname" | "ifname" => self.wds_interface = Some(value.into()),
            _ => {}
        }
    }

    /// Whether hostapd's words have this one, as `VHT`.
    pub fn has(&self, flag: &str) -> bool {
        let words = self.flags.as_deref().unwrap_or_default();
        words.split(['[', ']']).any(|word| word == flag)
    }
}

/// `0x1f`, or the same without its mark.
fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// A suite selector: `00-0f-ac-2`, three bytes of hexadecimal and a decimal number.
fn suite(text: &str) -> Option<u32> {
    let mut parts = text.trim().split('-');
    let mut selector = 0;
    for _ in 0..3 {
        selector = selector << 8 | u32::from(u8::from_str_radix(parts.next()?, 16).ok()?);
    }
    let number: u8 = parts.next()?.parse().ok()?;
    Some(selector << 8 | u32::from(number))
}

/// Bytes in hexadecimal with spaces between: `8c 12 98`.
fn rates(text: &str) -> Option<Box<[u8]>> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANSWER: &str = "02:00:00:00:01:00\n\
        flags=[AUTH][ASSOC][AUTHORIZED][WMM][HT][VHT]\naid=1\ncapability=0x11\nlisten_interval=5\n\
        supported_rates=8c 12 98 24 b0 48 60 6c\ntimeout_next=NULLFUNC POLL\n\
        dot11RSNAStatsSelectedPairwiseCipher=00-0f-ac-4\nwpa=2\nAKMSuiteSelector=00-0f-ac-2\n\
        rx_packets=8\nsignal=-30\nht_mcs_bitmask=ffff0000000000000000\nht_caps_info=0x107e\n\
        vht_caps_info=0xf800000\nrx_vht_mcs_map=ff0a\ntx_vht_mcs_map=ff0a\next_capab=0400000000000040\n";

    #[test]
    fn hostapds_answer_is_read() {
        let identity = Identity::parse(ANSWER).unwrap();
        assert_eq!((identity.aid, identity.listen_interval), (Some(1), Some(5)));
        assert_eq!(identity.key_management, Some(0x000f_ac02));
        assert_eq!(identity.cipher, Some(0x000f_ac04));
        assert_eq!(identity.vht, Some(0x0f80_0000));
        assert_eq!(identity.vht_rx_mcs, Some(0xff0a));
        assert_eq!(
            identity.rates.as_deref(),
            Some(&[0x8c, 0x12, 0x98, 0x24, 0xb0, 0x48, 0x60, 0x6c][..])
        );
        assert!(identity.has("VHT") && !identity.has("HE") && !identity.has("V"));
        assert_eq!(identity.vlan, None);
    }

    #[test]
    fn a_station_that_hostapd_does_not_know_has_no_identity() {
        assert_eq!(Identity::parse("FAIL\n"), None);
        assert_eq!(Identity::parse(""), None);
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_panic(answer: String) {
            let _ = Identity::parse(&answer);
        }
    }
}
