//! Some frames from and to each client, so that no two clients have the same counters.
//!
//! Every access point sends to its clients, and every client in the namespace `clients` to its access point. The
//! frames have an EtherType for experiments (IEEE 802-2014, 9.2.4), which nobody answers or forwards; how many and how
//! long they are depends on the place of the client alone.

use std::{io, path::Path, thread};

use linux::{
    namespace::Network,
    nl80211::{Address, Interface, InterfaceKind, Nl80211},
    packet,
};
use rustix::net::{SendFlags, send};

use crate::init::CLIENTS;

/// IEEE 802 Local Experimental EtherType 1.
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];

/// How many frames and how long they are repeats only after so many clients: these have no common factor.
const COUNTS: u64 = 7;
const LENGTHS: u64 = 101;

/// Sends in both directions: how many frames left.
pub(super) fn cause() -> io::Result<u64> {
    let down = from_everybody_here()?;
    let Ok(clients) = Network::open(Path::new(CLIENTS)) else { return Ok(down) };
    // Entering is for a thread's whole life, so that the one that does it is not ours.
    let up = thread::spawn(move || {
        clients.enter()?;
        from_everybody_here()
    });
    let up = up.join().map_err(|_| io::Error::other("the thread of the clients panicked"))??;
    Ok(down + up)
}

/// From every access point and every client of the thread's namespace to all that it is associated with.
fn from_everybody_here() -> io::Result<u64> {
    let mut nl80211 = Nl80211::open().map_err(io::Error::other)?;
    let (mut sent, mut place) = (0, 0);
    for interface in nl80211.interfaces().map_err(io::Error::other)? {
        if !matches!(interface.kind, InterfaceKind::AccessPoint | InterfaceKind::Station) {
            continue;
        }
        let mut peers: Vec<Address> = Vec::new();
        let listed = nl80211.stations(interface.index, |one| peers.push(one.address));
        if listed.is_err() || peers.is_empty() {
            continue;
        }
        peers.sort_unstable();
        peers.dedup();
        let socket = packet::open(interface.index, None)?;
        for peer in peers {
            let frame = frame(&interface, peer, place);
            for _ in 0..=place % COUNTS {
                // A queue that is full takes no more, which is no reason to give up.
                sent += u64::from(send(&socket, &frame, SendFlags::DONTWAIT).is_ok());
            }
            place += 1;
        }
    }
    Ok(sent)
}

fn frame(from: &Interface, to: Address, place: u64) -> Vec<u8> {
    /// The shortest payload of Ethernet, bytes.
    const SHORTEST: usize = 46;
    let mut frame = [&to[..], &from.address, &ETHER_TYPE].concat();
    frame.resize(frame.len() + SHORTEST + (place % LENGTHS) as usize, 0);
    frame
}
