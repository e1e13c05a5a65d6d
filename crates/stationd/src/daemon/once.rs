//! `stationd --once`: prints everything that is known of all stations as one JSON text.
//!
//! It waits a little for what hostapd says of each station; what has not come by then is absent.

use std::{
    io::{self, Write},
    os::fd::AsFd,
};

use linux::system::boottime_ns;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    address,
    engine::Engine,
    net::poller::{Poller, READ},
    points::Point,
};

/// hostapd answers within its event loop; more than this is not waited for.
const PATIENCE_NS: u64 = 2_000_000_000;

/// Waits until hostapd has told who the stations are, or two seconds.
pub fn settle(engine: &mut Engine) -> io::Result<()> {
    let end_ns = boottime_ns() + PATIENCE_NS;
    let mut poller = Poller::new()?;
    loop {
        let now_ns = boottime_ns();
        engine.tick(now_ns);
        if !engine.is_settling() || now_ns >= end_ns {
            return Ok(());
        }
        for descriptor in engine.descriptors() {
            poller.watch(descriptor.as_fd(), 0, READ)?;
        }
        let next_ns = engine.due().unwrap_or(end_ns).min(end_ns);
        poller.wait(Some(next_ns.saturating_sub(now_ns)))?;
        engine.ready(boottime_ns());
    }
}

/// An access point as it is printed; what is unknown is left out.
#[derive(Serialize)]
struct AccessPoint<'a> {
    name: &'a str,
    number: u32,
    path: String,
    bssid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssid: Option<&'a str>,
    #[serde(rename = "frequencyMHz", skip_serializing_if = "Option::is_none")]
    frequency_mhz: Option<u32>,
    #[serde(rename = "noiseDbm", skip_serializing_if = "Option::is_none")]
    noise_dbm: Option<i8>,
    stations: &'a RawValue,
}

/// Writes `{"accessPoints":[{…,"stations":[…]}]}`.
pub fn print(engine: &mut Engine, out: &mut impl Write) -> io::Result<()> {
    let points: Vec<Point> = engine.points.present().cloned().collect();
    out.write_all(b"{\"accessPoints\":[")?;
    for (place, point) in points.iter().enumerate() {
        let full = engine.full(point.id);
        // The reply is a list of one list; here the stations are an object's member.
        let [stations]: [&RawValue; 1] = serde_json::from_slice(&full)?;
        out.write_all(if place == 0 { b"\n" } else { b",\n" })?;
        let point = AccessPoint {
            name: &point.name,
            number: point.number(),
            path: point.path(),
            bssid: String::from_utf8_lossy(&address::upper(point.address)).into_owned(),
            ssid: point.ssid.as_deref(),
            frequency_mhz: point.frequency,
            noise_dbm: point.noise_dbm,
            stations,
        };
        serde_json::to_writer(&mut *out, &point)?;
    }
    out.write_all(b"\n]}\n")?;
    out.flush()
}
