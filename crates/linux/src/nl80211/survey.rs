//! How busy channels are, and how loud when nobody speaks.
//!
//! Reads `NL80211_CMD_NEW_SURVEY_RESULTS` messages. It asks nothing, and makes no ratio of the times.

use super::{ATTR_IFINDEX, ATTR_SURVEY_INFO};
use crate::netlink::{first, generic_attributes};

const FREQUENCY: u16 = 1;
const NOISE: u16 = 2;
const IN_USE: u16 = 3;
const TIME: u16 = 4;
const TIME_BUSY: u16 = 5;

/// What a device knows of one channel. What it does not know is `None`, never 0.
///
/// Times are in ms and sums since the device came up or, with some drivers, since it last tuned here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SurveyReading {
    /// The interface that was asked for.
    pub interface: u32,
    pub frequency_mhz: u32,
    /// Whether the device is on this channel now.
    pub in_use: bool,
    pub noise_dbm: Option<i8>,
    /// Time on the channel.
    pub active_ms: Option<u64>,
    /// Time in which the primary channel was busy.
    pub busy_ms: Option<u64>,
}

/// Reads one message; `None` where it names no interface or no channel.
pub fn survey(payload: &[u8]) -> Option<SurveyReading> {
    let attributes = generic_attributes(payload);
    let interface = attributes.clone().find(ATTR_IFINDEX)?.as_u32()?;
    let mut reading = SurveyReading { interface, ..SurveyReading::default() };
    let mut frequency = None;
    for attribute in attributes.find(ATTR_SURVEY_INFO)?.nested() {
        let time = || first(attribute.payload).map(u64::from_ne_bytes);
        match attribute.kind {
            FREQUENCY => frequency = attribute.as_u32(),
            NOISE => reading.noise_dbm = first(attribute.payload).map(i8::from_ne_bytes),
            IN_USE => reading.in_use = true,
            TIME => reading.active_ms = time(),
            TIME_BUSY => reading.busy_ms = time(),
            _ => {}
        }
    }
    reading.frequency_mhz = frequency?;
    Some(reading)
}
