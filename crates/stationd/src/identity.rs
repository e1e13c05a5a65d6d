//! Who a station is: what is fixed for an association, as hostapd tells it.
//!
//! Parses hostapd's answer to `STA <address>`, but no counter in it: hostapd asks the kernel for those, station by
//! station, and would be the dearest place to read them from.

const ABOVE_2_4_GHZ: u32 = 3000;

/// The fixed facts of an association. What hostapd did not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// hostapd's words for the state and the abilities, as `[AUTH][ASSOC][AUTHORIZED][WMM][HT][VHT]`.
    pub flags: Option<Box<str>>,
    pub aid: Option<u16>,
    pub capability: Option<u16>,
    /// Rates in units of 500 kbit/s; the highest bit marks a basic one.
    pub rates: Option<Box<[u8]>>,
    /// Authentication and key management suite, as `0x000fac02` for PSK.
    pub key_management: Option<u32>,
    /// Pairwise cipher suite, as `0x000fac04` for CCMP.
    pub cipher: Option<u32>,
    /// WPA version, 2 for RSN.
    pub wpa: Option<u8>,
}

impl Identity {
    /// Reads hostapd's answer; `None` where it knows no such station (`FAIL`, or nothing).
    pub fn parse(answer: &str) -> Option<Self> {
        if answer.starts_with("FAIL") || !answer.contains('=') {
            return None;
        }
        let mut found = Self::default();
        for (key, value) in answer.lines().filter_map(|line| line.split_once('=')) {
            match key {
                "flags" => found.flags = Some(value.into()),
                "aid" => found.aid = value.parse().ok(),
                "capability" => found.capability = hexadecimal(value).map(|value| value as u16),
                "supported_rates" => found.rates = rates(value),
                "AKMSuiteSelector" => found.key_management = suite(value),
                "dot11RSNAStatsSelectedPairwiseCipher" => found.cipher = suite(value),
                "wpa" => found.wpa = value.parse().ok(),
                _ => {}
            }
        }
        Some(found)
    }

    /// Whether hostapd's words have this one, as `VHT`.
    pub fn has(&self, flag: &str) -> bool {
        let words = self.flags.as_deref().unwrap_or_default();
        words.split(['[', ']']).any(|word| word == flag)
    }

    /// `SecurityModeEnabled`, by the key management suite.
    pub fn security(&self) -> Option<&'static str> {
        // Bit 4 of the capability information field: the network has a secret of some kind.
        const PRIVACY: u16 = 1 << 4;
        let Some(suite) = self.key_management else {
            let open = self.wpa.is_none() && self.capability? & PRIVACY == 0;
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
    pub fn encryption(&self) -> Option<&'static str> {
        match self.cipher? & 0xff {
            2 => Some("TKIP"),
            4 | 8..=10 => Some("AES"),
            _ => None,
        }
    }

    /// `OperatingStandard`, on a channel of this frequency.
    pub fn standard(&self, frequency_mhz: Option<u32>) -> Option<&'static str> {
        self.flags.as_ref()?;
        let newest = [("EHT", "be"), ("HE", "ax"), ("VHT", "ac"), ("HT", "n")];
        if let Some((_, standard)) = newest.iter().find(|(flag, _)| self.has(flag)) {
            return Some(standard);
        }
        if frequency_mhz? > ABOVE_2_4_GHZ {
            return Some("a");
        }
        // The rates of 802.11b; any other is OFDM.
        let is_b = |rate: &u8| matches!(rate & 0x7f, 2 | 4 | 11 | 22);
        self.rates.as_ref().map(|rates| if rates.iter().all(is_b) { "b" } else { "g" })
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
        assert_eq!(identity.aid, Some(1));
        assert_eq!(identity.key_management, Some(0x000f_ac02));
        assert_eq!(identity.cipher, Some(0x000f_ac04));
        assert_eq!(
            (identity.security(), identity.encryption()),
            (Some("WPA2-Personal"), Some("AES"))
        );
        assert_eq!(
            identity.rates.as_deref(),
            Some(&[0x8c, 0x12, 0x98, 0x24, 0xb0, 0x48, 0x60, 0x6c][..])
        );
        assert!(identity.has("VHT") && !identity.has("HE") && !identity.has("V"));
    }

    #[test]
    fn a_station_that_hostapd_does_not_know_has_no_identity() {
        assert_eq!(Identity::parse("FAIL\n"), None);
        assert_eq!(Identity::parse(""), None);
    }

    #[test]
    fn an_open_network_has_no_security_and_one_with_privacy_an_unknown_one() {
        let of = |capability| Identity { capability, ..Identity::default() }.security();
        assert_eq!((of(Some(1)), of(Some(0x11)), of(None)), (Some("None"), None, None));
    }

    #[test]
    fn the_standard_is_the_newest_and_before_802_11n_by_band_and_rates() {
        let of = |flags: &str, rates: &[u8], mhz| {
            let (flags, rates) = (Some(flags.into()), Some(rates.into()));
            Identity { flags, rates, ..Identity::default() }.standard(Some(mhz))
        };
        assert_eq!(of("[AUTH][HT][HE]", &[], 5180), Some("ax"));
        assert_eq!(of("[AUTH]", &[0x82, 0x84, 11, 22], 2412), Some("b"));
        assert_eq!(of("[AUTH]", &[0x82, 0x84, 11, 22, 108], 2412), Some("g"));
        assert_eq!(of("[AUTH]", &[12], 5180), Some("a"));
        assert_eq!(Identity::default().standard(Some(2412)), None);
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_panic(answer: String) {
            let _ = Identity::parse(&answer);
        }
    }
}
