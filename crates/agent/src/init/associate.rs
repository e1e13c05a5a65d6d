//! Waits until the access point is on the air and all clients have joined, by the kernel's count and by hostapd's.
//!
//! It starts and ends no service.

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

/// What has to agree before the access point is ready.
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
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        let deadline = self.deadline();
        (0..self.topology.radios).try_for_each(|radio| self.wait_for_beacon(radio, deadline))
    }

    fn deadline(&self) -> Instant {
        Instant::now() + START + SHARE * self.topology.clients
    }

    /// Comes back when all clients are authorised and have settled.
    pub(super) fn complete(&mut self) -> Result<(), Error> {
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
            if self.agree(&counts) && self.stays_so()? {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(too_late(self.topology, &counts));
            }
            thread::sleep(PACE);
        }
    }

    fn wait_for_beacon(&mut self, radio: u32, deadline: Instant) -> Result<(), Error> {
        let name = format!("wlan{radio}");
        while Instant::now() < deadline {
            self.services.reap_required()?;
            // It has no socket, or does not answer, until it has come so far.
            let status = hostapd::status(&name);
            if status.is_ok_and(|status| status.state() == Some("ENABLED")) {
                return Ok(());
            }
            thread::sleep(BEACON_PACE);
        }
        Err(Error::new(format!("hostapd does not get {name} on the air")))
    }

    /// Whether everybody is still there after a while: those who left are waited for again.
    fn stays_so(&mut self) -> Result<bool, Error> {
        thread::sleep(SETTLING);
        self.services.reap_required()?;
        let counts = self.count()?;
        Ok(self.agree(&counts))
    }

    fn agree(&self, counts: &[u32]) -> bool {
        (0..).zip(counts).all(|(radio, count)| {
            let planned = planned(self.topology, radio);
            *count == planned && hostapd::stations(&format!("wlan{radio}")) == Some(planned)
        })
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
    Error::new(format!("not all clients associated: {missing}"))
}
