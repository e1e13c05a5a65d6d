//! `--once`: everything that is known of all stations, as one JSON text.
//!
//! It waits a little for what hostapd says of each station; what has not come by then is absent.

use std::{
    io::{self, Write},
    os::fd::AsFd,
};

use linux::system::boottime_ns;

use crate::{
    address,
    engine::{Engine, wall_offset_ns},
    full,
    net::poller::{Interest, Poller},
    points::Point,
    rpc::text,
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
            poller.add(descriptor.as_fd(), 0, Interest::Read)?;
        }
        let next_ns = engine.due().unwrap_or(end_ns).min(end_ns);
        poller.wait(Some(next_ns.saturating_sub(now_ns)))?;
        engine.ready(boottime_ns());
    }
}

/// Writes `{"accessPoints":[{…,"stations":[…]}]}`.
pub fn print(engine: &mut Engine, out: &mut impl Write) -> io::Result<()> {
    let points: Vec<Point> = engine.points().present().cloned().collect();
    out.write_all(b"{\"accessPoints\":[")?;
    for (place, point) in points.iter().enumerate() {
        let mut object = Vec::new();
        head(point, &mut object);
        let begin = object.len();
        full::reply(point, engine.table(), wall_offset_ns(), &mut object);
        // The reply is a list of one list; here the stations are an object's member.
        object.remove(begin);
        object.pop();
        out.write_all(if place == 0 { b"\n" } else { b",\n" })?;
        out.write_all(&object)?;
        out.write_all(b"}")?;
    }
    out.write_all(b"\n]}\n")?;
    out.flush()
}

fn head(point: &Point, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"name\":");
    text(&point.name, out);
    let number = point.number();
    let place =
        format!(",\"number\":{number},\"path\":\"WiFi.AccessPoint.{number}.\",\"bssid\":\"");
    out.extend_from_slice(place.as_bytes());
    out.extend_from_slice(&address::upper(point.address));
    out.push(b'"');
    if let Some(ssid) = &point.ssid {
        out.extend_from_slice(b",\"ssid\":");
        text(ssid, out);
    }
    let numbers = [
        ("frequencyMHz", point.frequency.map(i64::from)),
        ("noiseDbm", point.noise_dbm.map(i64::from)),
    ];
    for (name, value) in numbers {
        if let Some(value) = value {
            out.extend_from_slice(format!(",\"{name}\":{value}").as_bytes());
        }
    }
    out.extend_from_slice(b",\"stations\":");
}
