//! What is true: interfaces, stations and their counters, and what is to go wrong next.
//!
//! Tests change it; [`crate::kernel`] tells the engine. Anyone who comes or goes leaves an event, unless the
//! world is silent.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use linux::{netlink::Reply, nl80211::Address};
use rustix::io::Errno;

use crate::kernel;

#[derive(Clone, Debug)]
pub(crate) struct Interface {
    pub(crate) index: u32,
    pub(crate) name: String,
    /// 3 for an access point, 4 for a part of one.
    pub(crate) kind: u32,
    pub(crate) address: Address,
}

#[derive(Clone, Debug)]
pub(crate) struct Station {
    pub(crate) interface: u32,
    pub(crate) address: Address,
    pub(crate) since_ns: u64,
    pub(crate) rx_bytes: u64,
    pub(crate) tx_bytes: u64,
    pub(crate) signal: i8,
    pub(crate) links: Vec<u8>,
}

/// What goes wrong with one dump of stations.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The kernel says so in a message of its own.
    Refused(Errno),
    /// The interface is there no more after some stations; the end of the list says so.
    Vanishes,
    /// A part of the reply is lost.
    Overrun,
    /// The list changes so in its middle, and its generation with it.
    Changes(fn(&mut World)),
    /// The same, told by a flag.
    Flagged(fn(&mut World)),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) lists: u64,
    pub(crate) dumps: u64,
    pub(crate) surveys: u64,
}

#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) stations: Vec<Station>,
    pub(crate) generation: u32,
    pub(crate) events: VecDeque<Reply>,
    pub(crate) faults: VecDeque<Fault>,
    pub(crate) asked: Asked,
    /// The driver counts bytes in 32 bits.
    pub(crate) narrow: bool,
    /// No one hears who comes and goes.
    pub(crate) silent: bool,
    /// What a survey is refused with.
    pub(crate) survey: Option<Errno>,
    clock_ns: u64,
}

/// The world, for the test and for the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Shared(Arc<Mutex<World>>);

impl Shared {
    /// Access points `wlan0`, `wlan1`, … with indices from 3 on.
    pub(crate) fn with_points(count: u8) -> Self {
        let mut world = World { clock_ns: 1000, ..World::default() };
        for place in 0..count {
            world.add_point(3 + u32::from(place), &format!("wlan{place}"), place);
        }
        Self(Arc::new(Mutex::new(world)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }
}

pub(crate) fn address(number: u16) -> Address {
    let [high, low] = number.to_be_bytes();
    [2, 0, 0, 0, high, low]
}

impl World {
    pub(crate) fn add_point(&mut self, index: u32, name: &str, last: u8) {
        let address = [6, 0, 0, 0, 0, last];
        self.add(Interface { index, name: name.into(), kind: 3, address });
    }

    pub(crate) fn add_part(&mut self, index: u32, name: &str) {
        let address = [6, 0, 0, 0, 0, 0];
        self.add(Interface { index, name: name.into(), kind: 4, address });
    }

    fn add(&mut self, interface: Interface) {
        self.report(kernel::interface_event(true, interface.index));
        self.interfaces.push(interface);
    }

    /// An interface goes, after its stations.
    pub(crate) fn remove(&mut self, index: u32) {
        while let Some(station) = self.stations.iter().find(|one| one.interface == index) {
            self.leave(station.address);
        }
        self.interfaces.retain(|one| one.index != index);
        self.report(kernel::interface_event(false, index));
    }

    pub(crate) fn arrive(&mut self, interface: u32, number: u16) {
        self.generation += 1;
        self.clock_ns += 7;
        let station = Station {
            interface,
            address: address(number),
            since_ns: self.clock_ns,
            rx_bytes: 0,
            tx_bytes: 0,
            signal: -40,
            links: Vec::new(),
        };
        self.report(kernel::joined(&station, self.generation));
        self.stations.push(station);
    }

    pub(crate) fn leave(&mut self, address: Address) {
        let Some(place) = self.stations.iter().position(|one| one.address == address) else {
            return;
        };
        self.generation += 1;
        let station = self.stations.remove(place);
        self.report(kernel::left(&station, self.generation, self.narrow));
    }

    pub(crate) fn is_there(&self, number: u16) -> bool {
        self.stations.iter().any(|one| one.address == address(number))
    }

    pub(crate) fn station(&mut self, number: u16) -> &mut Station {
        self.stations.iter_mut().find(|one| one.address == address(number)).unwrap()
    }

    pub(crate) fn moves(&mut self, number: u16, rx_bytes: u64, tx_bytes: u64) {
        let station = self.station(number);
        station.rx_bytes += rx_bytes;
        station.tx_bytes += tx_bytes;
    }

    pub(crate) fn loses_events(&mut self) {
        self.events.clear();
        self.events.push_back(Err(Errno::NOBUFS));
    }

    pub(crate) fn addresses(&self, interface: u32) -> Vec<Address> {
        let on = self.stations.iter().filter(|one| one.interface == interface);
        on.map(|one| one.address).collect()
    }

    fn report(&mut self, event: Vec<u8>) {
        if !self.silent {
            self.events.push_back(Ok(event));
        }
    }
}
