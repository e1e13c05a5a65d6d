//! Association: the access point is on the air, the clients join, and everybody agrees that they did.
//!
//! Gives the supplicants their orders, asks nl80211 and hostapd, and tells the console how far it is.
//! It starts and ends no service.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    airspace::Airspace, console::say, error::Error, hostapd::Hostapd, services::Services,
    supplicant, topology::Topology,
};

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

/// Everybody who has to agree before the access point is ready.
#[derive(Debug)]
pub(super) struct Association<'a> {
    pub(super) topology: &'a Topology,
    /// The kernel's view.
    pub(super) airspace: &'a mut Airspace,
    /// The processes, none of which may end meanwhile.
    pub(super) services: &'a mut Services,
}

impl Association<'_> {
    /// Comes back when every radio beacons.
    pub(super) fn begin(&mut self) -> Result<Vec<Hostapd>, Error> {
        self.wait_for_beacons(self.deadline())
    }

    fn deadline(&self) -> Instant {
        Instant::now() + START + SHARE * self.topology.clients
    }

    /// Comes back when all clients are authorised and have settled.
    pub(super) fn complete(&mut self, hostapd: &[Hostapd]) -> Result<(), Error> {
        let deadline = self.deadline();
        for radio in 0..self.topology.radios {
            if planned(self.topology, radio) > 0 {
                supplicant::associate(self.topology, radio)?;
            }
        }
        let mut reported = None;
        loop {
            self.services.reap_required()?;
            let counts = self.count()?;
            self.report(&mut reported, counts.iter().sum());
            if self.agree(&counts, hostapd)? && self.stays_so(hostapd)? {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(too_late(self.topology, &counts));
            }
            thread::sleep(PACE);
        }
    }

    fn wait_for_beacons(&mut self, deadline: Instant) -> Result<Vec<Hostapd>, Error> {
        let mut all = Vec::new();
        for radio in 0..self.topology.radios {
            all.push(self.wait_for_beacon(radio, deadline)?);
        }
        Ok(all)
    }

    fn wait_for_beacon(&mut self, radio: u32, deadline: Instant) -> Result<Hostapd, Error> {
        while Instant::now() < deadline {
            self.services.reap_required()?;
            if let Some(hostapd) = Hostapd::connect(radio)?
                && hostapd.is_on_air()?
            {
                return Ok(hostapd);
            }
            thread::sleep(BEACON_PACE);
        }
        Err(Error::Unexpected(format!("hostapd does not get wlan{radio} on the air")))
    }

    /// Who leaves while the others settle is waited for again.
    fn stays_so(&mut self, hostapd: &[Hostapd]) -> Result<bool, Error> {
        thread::sleep(SETTLING);
        self.services.reap_required()?;
        let counts = self.count()?;
        self.agree(&counts, hostapd)
    }

    fn agree(&self, counts: &[u32], hostapd: &[Hostapd]) -> Result<bool, Error> {
        for (radio, (count, hostapd)) in (0..).zip(counts.iter().zip(hostapd)) {
            let planned = planned(self.topology, radio);
            if *count != planned || hostapd.stations()? != planned {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn report(&self, reported: &mut Option<u32>, associated: u32) {
        if *reported != Some(associated) {
            say(format_args!("associated {associated}/{}", self.topology.clients));
            *reported = Some(associated);
        }
    }

    fn count(&mut self) -> Result<Vec<u32>, Error> {
        (0..self.topology.radios).map(|radio| self.airspace.authorised(radio)).collect()
    }
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
    Error::Unexpected(format!("not all clients associated: {missing}"))
}
