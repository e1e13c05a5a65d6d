//! Waits until the access point is on the air and all clients have joined, by the kernel's count and by hostapd's.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    airspace::Airspace, console::say, error::Error, services::Services, supplicant,
    topology::Topology,
};
use crate::hostapd;

/// How often hostapd is asked whether it beacons.
const BEACON_PACE: Duration = Duration::from_millis(100);
/// How often the clients are counted and the host is told. To count 500 of them takes a twentieth of
/// this, which the clients need themselves; idle time costs nothing in the counted mode.
const PACE: Duration = Duration::from_secs(1);
/// After the last handshake: delayed work of mac80211, hostapd and the supplicants runs out.
const SETTLING: Duration = Duration::from_secs(10);
/// What association may take at most: a start, and a share for each client.
const START: Duration = Duration::from_secs(120);
const SHARE: Duration = Duration::from_secs(2);

/// Waits until every radio beacons. None of the services may end meanwhile.
pub(super) fn wait_for_beacons(topology: &Topology, services: &mut Services) -> Result<(), Error> {
    let deadline = deadline(topology);
    for name in (0..topology.radios).map(|radio| format!("wlan{radio}")) {
        // It has no socket, or does not answer, until it has come so far.
        while !hostapd::status(&name).is_ok_and(|status| status.state() == Some("ENABLED")) {
            services.reap_required()?;
            if Instant::now() > deadline {
                return Err(Error::new(format!("hostapd does not get {name} on the air")));
            }
            thread::sleep(BEACON_PACE);
        }
    }
    Ok(())
}

/// Lets all clients join, and waits until they are authorised, by both counts, and have settled.
pub(super) fn associate(
    topology: &Topology,
    airspace: &mut Airspace,
    services: &mut Services,
) -> Result<(), Error> {
    let deadline = deadline(topology);
    for radio in (0..topology.radios).filter(|radio| planned(topology, *radio) > 0) {
        supplicant::associate(topology, radio)?;
    }
    let mut count = || -> Result<Vec<u32>, Error> {
        services.reap_required()?;
        (0..topology.radios).map(|radio| airspace.authorised(radio)).collect()
    };
    let mut reported = None;
    loop {
        let counts = count()?;
        let associated: u32 = counts.iter().sum();
        if reported.replace(associated) != Some(associated) {
            say(format_args!("associated {associated}/{}", topology.clients));
        }
        if agree(topology, &counts) {
            // Those who leave meanwhile are waited for again.
            thread::sleep(SETTLING);
            if agree(topology, &count()?) {
                return Ok(());
            }
        }
        if Instant::now() > deadline {
            return Err(too_late(topology, &counts));
        }
        thread::sleep(PACE);
    }
}

fn deadline(topology: &Topology) -> Instant {
    Instant::now() + START + SHARE * topology.clients
}

fn agree(topology: &Topology, counts: &[u32]) -> bool {
    (0..).zip(counts).all(|(radio, count)| {
        let planned = planned(topology, radio);
        *count == planned && hostapd::stations(&format!("wlan{radio}")) == Some(planned)
    })
}

fn planned(topology: &Topology, radio: u32) -> u32 {
    u32::try_from(topology.clients_of(radio).count()).unwrap_or(u32::MAX)
}

fn too_late(topology: &Topology, counts: &[u32]) -> Error {
    let missing: Vec<String> = (0..)
        .zip(counts)
        .filter(|(radio, count)| planned(topology, *radio) != **count)
        .map(|(radio, count)| format!("wlan{radio} {count}/{}", planned(topology, radio)))
        .collect();
    let missing = match missing.as_slice() {
        [] => "hostapd and the kernel do not agree".to_owned(),
        some => some.join(", "),
    };
    Error::new(format!("not all clients associated: {missing}"))
}
