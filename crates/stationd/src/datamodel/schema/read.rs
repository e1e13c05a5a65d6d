//! Where the values of parameters come from: a station's row, and its access point.
//!
//! Only what needs more than one call stands here; [`super::field`] has the rest beside the names. The
//! fourteen values that the brief reply has too come from [`crate::derive`].

use linux::nl80211::{Guard, Rate, RateMode};

use crate::{
    datamodel::{
        capability::{self, HeWidth, Way},
        value::Value,
    },
    identity::Identity,
    points::Point,
    table::{Gauge, Row},
};

/// One station, as the sources of values see it.
#[derive(Clone, Copy, Debug)]
pub(in crate::datamodel) struct Sight<'a> {
    pub(in crate::datamodel) row: Row<'a>,
    pub(in crate::datamodel) point: &'a Point,
}

impl<'a> Sight<'a> {
    pub(super) fn identity(&self) -> Option<&'a Identity> {
        self.row.identity()
    }
}

/// Nothing tells it.
pub(super) fn unknown<'a>(_: &Sight<'a>) -> Value<'a> {
    Value::Absent
}

/// A gauge that is never below 0.
pub(super) fn gauge(sight: &Sight<'_>, which: Gauge) -> Option<u64> {
    sight.row.gauge(which).and_then(|value| u64::try_from(value).ok())
}

/// `AuthenticationState`: whether data may pass. The kernel's word at the last reading, hostapd's at the
/// association.
pub(super) fn authenticated(sight: &Sight<'_>) -> Option<bool> {
    let authorised = sight.identity().is_some_and(|identity| identity.has("AUTHORIZED"));
    sight.row.flags().map(|flags| flags.authorised()).or(authorised.then_some(true))
}

/// `OperatingStandard`.
pub(super) fn standard(sight: &Sight<'_>) -> Option<&'static str> {
    capability::standard(sight.identity()?, sight.point.frequency)
}

/// `ActiveNumberOfAffiliatedSta`: the links of a multi-link station.
pub(super) fn links(sight: &Sight<'_>) -> Option<u32> {
    let links = sight.row.links().len() as u32;
    (links > 0).then_some(links)
}

/// `MaxRxSpatialStreamsSupported` and its like.
pub(super) fn streams(sight: &Sight<'_>, way: Way) -> Option<u32> {
    capability::streams(sight.identity()?, way)
}

/// `MaxDownlinkRateSupported` and its like, kbit/s.
pub(super) fn highest_rate(sight: &Sight<'_>, way: Way) -> Option<u32> {
    capability::rate_kbps(sight.identity()?, way, sight.point.frequency)
}

/// `MaxBandwidthSupported`.
pub(super) fn widest(sight: &Sight<'_>) -> Option<&'static str> {
    capability::width_mhz(sight.identity()?, sight.point.frequency).and_then(capability::width_word)
}

/// `RxSupportedVhtMCS` and its like.
pub(super) fn vht_schemes(sight: &Sight<'_>, way: Way) -> Option<String> {
    capability::vht_schemes(sight.identity()?, way)
}

/// `RxSupportedHeMCS` and its like.
pub(super) fn he_schemes(sight: &Sight<'_>, way: Way, width: HeWidth) -> Option<String> {
    capability::he_schemes(sight.identity()?, way, width)
}

/// `LinkBandwidth`: the wider of the two last rates.
pub(super) fn link_width(sight: &Sight<'_>) -> Option<&'static str> {
    let rates = sight.row.tx_rate().into_iter().chain(sight.row.rx_rate());
    rates.map(|rate| u32::from(rate.width.mhz())).max().and_then(capability::width_word)
}

/// `SignalStrengthHistory`: weakest, strongest and mean of what was seen, and the driver's own average
/// where it has one.
pub(super) fn signal_history(sight: &Sight<'_>) -> Option<String> {
    let seen = sight.row.signal_history()?;
    let (weakest, strongest, mean) = (seen.min, seen.max, seen.mean());
    Some(match sight.row.gauge(Gauge::SignalAverage) {
        Some(average) => format!("{weakest},{strongest},{mean},{average}"),
        None => format!("{weakest},{strongest},{mean}"),
    })
}

/// `SignalStrengthByChain`, with one decimal, which the kernel's whole dBm do not fill.
pub(super) fn signal_by_chain(sight: &Sight<'_>) -> Option<String> {
    let (last, _) = sight.row.chains();
    let mut text = String::new();
    for (_, dbm) in last.iter() {
        let comma = if text.is_empty() { "" } else { "," };
        text += &format!("{comma}{dbm}.0");
    }
    (!text.is_empty()).then_some(text)
}

/// `AvgSignalStrengthByChain`, dBm.
pub(super) fn mean_of_chains(sight: &Sight<'_>) -> Option<i64> {
    let (last, _) = sight.row.chains();
    let (count, sum) =
        last.iter().fold((0, 0), |(count, sum), (_, dbm)| (count + 1, sum + i64::from(dbm)));
    (count > 0).then(|| (2 * sum - count) / (2 * count))
}

/// `DownlinkMCS` and its like.
pub(super) fn scheme(rate: Option<Rate>) -> Option<u32> {
    rate?.mcs.map(u32::from)
}

/// `DownlinkShortGuard` and its like: of HE and EHT, the shortest that they have.
pub(super) fn short_guard(rate: Option<Rate>) -> Option<bool> {
    rate.map(|rate| rate.short_guard || rate.guard == Some(Guard::Ns800))
}

/// `DownlinkRateSpec` and its like: all that a rate says, in words.
pub(super) fn rate_spec(rate: Option<Rate>) -> Option<String> {
    let rate = rate?;
    let mode = match rate.mode {
        RateMode::Legacy => "legacy",
        RateMode::Ht => "ht",
        RateMode::Vht => "vht",
        RateMode::He => "he",
        RateMode::Eht => "eht",
        RateMode::S1g => "s1g",
    };
    let mut text = format!("{mode} {}MHz", rate.width.mhz());
    if let Some(scheme) = rate.mcs {
        text += &format!(" mcs{scheme}");
    }
    if let Some(streams) = rate.streams {
        text += &format!(" {streams}x");
    }
    if short_guard(Some(rate)) == Some(true) {
        text += " sgi";
    }
    Some(text)
}
