//! The words that make hostapd change its channel and keep its width.
//!
//! Pure. The halves and blocks of wide channels are IEEE 802.11-2020, annex E (operating classes): in 5 GHz
//! they are counted from 5180 and from 5745 MHz, in 6 GHz from 5955 MHz.

use std::fmt::Write;

use crate::hostapd::Status;

/// Beacons that announce the change; clients follow.
const ANNOUNCED: u32 = 5;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Preserved {
    pub(super) width: u32,
    /// 802.11n, ac and ax.
    pub(super) standards: [bool; 3],
}

impl Preserved {
    /// A width, and the standards that hostapd says are on.
    pub(super) fn of(width: u32, status: &Status) -> Self {
        let on = |key| status.value(key) == Some("1");
        Self { width, standards: ["ieee80211n", "ieee80211ac", "ieee80211ax"].map(on) }
    }
}

/// The order to go to a primary channel, MHz. Where its band has no place for the width, hostapd is asked for
/// 20 MHz.
pub(super) fn switch(megahertz: u32, kept: Preserved) -> String {
    let mut words = format!("CHAN_SWITCH {ANNOUNCED} {megahertz}");
    let mut width = 20;
    if let Some(centre) = centre(megahertz, kept.width) {
        width = kept.width;
        // Of the 40 MHz that hold it, the primary half is the lower or the upper one.
        let upper = self::centre(megahertz, 40).is_some_and(|pair| pair < megahertz);
        let side = if upper { -1 } else { 1 };
        // Writing to a string does not fail.
        let _ = write!(words, " sec_channel_offset={side} center_freq1={centre}");
    }
    let _ = write!(words, " bandwidth={width}");
    for (name, _) in ["ht", "vht", "he"].iter().zip(kept.standards).filter(|(_, on)| *on) {
        let _ = write!(words, " {name}");
    }
    words
}

/// The middle of the block of a width, MHz, that a channel is in; `None` where there is none.
fn centre(megahertz: u32, width: u32) -> Option<u32> {
    let first = match megahertz {
        5955.. => 5955,
        5745.. => 5745,
        5180.. => 5180,
        // In 2.4 GHz halves overlap, so that none follows from the channel.
        _ => return None,
    };
    let widths: &[u32] = if first == 5745 { &[40, 80] } else { &[40, 80, 160] };
    if !widths.contains(&width) {
        return None;
    }
    let lowest = megahertz - (megahertz - first) % width;
    Some(lowest + width / 2 - 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(megahertz: u32, width: u32, standards: [bool; 3]) -> String {
        switch(megahertz, Preserved { width, standards })
    }

    #[test]
    fn a_wide_channel_keeps_its_width() {
        let ac = [true, true, false];
        assert_eq!(
            words(5220, 80, ac),
            "CHAN_SWITCH 5 5220 sec_channel_offset=1 center_freq1=5210 bandwidth=80 ht vht"
        );
        assert_eq!(
            words(5765, 80, ac),
            "CHAN_SWITCH 5 5765 sec_channel_offset=-1 center_freq1=5775 bandwidth=80 ht vht"
        );
        assert_eq!(
            words(5500, 160, [true; 3]),
            "CHAN_SWITCH 5 5500 sec_channel_offset=1 center_freq1=5570 bandwidth=160 ht vht he"
        );
        assert_eq!(
            words(5200, 40, [true, false, false]),
            "CHAN_SWITCH 5 5200 sec_channel_offset=-1 center_freq1=5190 bandwidth=40 ht"
        );
    }

    #[test]
    fn a_channel_of_20_mhz_has_no_second_one() {
        assert_eq!(words(5180, 20, [false; 3]), "CHAN_SWITCH 5 5180 bandwidth=20");
        assert_eq!(words(2437, 40, [true, false, false]), "CHAN_SWITCH 5 2437 bandwidth=20 ht");
    }

    #[test]
    fn blocks_are_the_standards() {
        let centres = [5180, 5260, 5500, 5580, 5660, 5745, 5975].map(|channel| centre(channel, 80));
        assert_eq!(centres, [5210, 5290, 5530, 5610, 5690, 5775, 5985].map(Some));
        assert_eq!(centre(5180, 160), Some(5250));
        assert_eq!((centre(5745, 160), centre(2412, 40), centre(5180, 10)), (None, None, None));
    }
}
