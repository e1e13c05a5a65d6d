//! Writes down what nl80211 says of an access point's stations: `record_stations FOLDER SECONDS`.
//!
//! Makes `dump.netlink` (interfaces, then each access point's stations and survey, and one station
//! alone) and `events.netlink` (what comes and goes within the seconds). The files in
//! `tests/recordings/` are made with it, in headroom's virtual access point. It changes nothing.

use std::{
    env,
    error::Error,
    fs::File,
    path::Path,
    time::{Duration, Instant},
};

use linux::{
    netlink::{Protocol, Recorder, Wire},
    nl80211::{InterfaceKind, Mlme, Nl80211},
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let folder = arguments.next().ok_or("where to?")?;
    let seconds = arguments.next().ok_or("for how many seconds?")?.parse()?;
    dump(&Path::new(&folder).join("dump.netlink"))?;
    events(&Path::new(&folder).join("events.netlink"), Duration::from_secs(seconds))
}

fn dump(path: &Path) -> Result<(), Box<dyn Error>> {
    let wire = Wire::open(Protocol::Generic)?;
    let mut nl80211 = Nl80211::over(Recorder::new(wire, File::create(path)?)?)?;
    for interface in nl80211.interfaces()? {
        if interface.kind != InterfaceKind::AccessPoint {
            continue;
        }
        let mut someone = None;
        nl80211.stations(interface.index, |reading| someone = Some(reading.address))?;
        if let Some(address) = someone {
            nl80211.station(interface.index, address)?;
        }
        // A driver may keep no survey, which is an answer as well.
        let _ = nl80211.survey(interface.index, |_| {});
    }
    Ok(())
}

fn events(path: &Path, window: Duration) -> Result<(), Box<dyn Error>> {
    let wire = Wire::open(Protocol::Generic)?;
    let mut mlme = Mlme::join(Recorder::new(wire, File::create(path)?)?)?;
    let end = Instant::now() + window;
    while Instant::now() < end {
        mlme.read(|_| {})?;
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
