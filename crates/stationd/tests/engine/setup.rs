//! An engine before a world, and the moments that a daemon would bring it.

use std::{path::PathBuf, time::Duration};

use linux::{nl80211::Address, system::boottime_ns};
use serde_json::Value;
use stationd::{
    engine::{Engine, RefreshError},
    options::Options,
    points::EndedTotals,
    table::CounterKind,
};

use crate::{
    control::{Control, known},
    kernel,
    world::{Shared, address},
};

pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) struct Setup {
    pub(crate) engine: Engine,
    pub(crate) world: Shared,
    pub(crate) control: Control,
    pub(crate) now_ns: u64,
}

impl Setup {
    /// With the defaults, hostapd aside.
    pub(crate) fn new(world: &Shared) -> Self {
        Self::with(world, Control::absent(), None)
    }

    /// One access point with these stations.
    pub(crate) fn with_stations(numbers: &[u16]) -> (Shared, Self) {
        let world = Shared::with_points(1);
        numbers.iter().for_each(|number| world.lock().arrive(3, *number));
        let setup = Self::new(&world);
        (world, setup)
    }

    pub(crate) fn asking(world: &Shared, control: Control) -> Self {
        let folder = control.folder().to_owned();
        Self::with(world, control, Some(folder))
    }

    fn with(world: &Shared, control: Control, hostapd: Option<PathBuf>) -> Self {
        // What happened before is told to no one.
        world.lock().events.clear();
        let events = Some(kernel::mlme(world));
        let options = Options { hostapd, ..Options::default() };
        let engine = Engine::over(options, kernel::nl80211(world), events).unwrap();
        Self { engine, world: world.clone(), control, now_ns: boottime_ns() }
    }

    /// With a kernel that tells nothing unasked.
    pub(crate) fn deaf(world: &Shared, sample_every: Option<Duration>) -> Self {
        let options = Options { hostapd: None, sample_every, ..Options::default() };
        let engine = Engine::over(options, kernel::nl80211(world), None).unwrap();
        Self { engine, world: world.clone(), control: Control::absent(), now_ns: boottime_ns() }
    }

    pub(crate) fn pass(&mut self, seconds: u64) {
        self.now_ns += seconds * SECOND;
    }

    pub(crate) fn hear(&mut self) {
        self.engine.ready(self.now_ns);
    }

    /// A consumer who wants nothing older than half a second.
    pub(crate) fn ask(&mut self, point: u16) -> Result<(), RefreshError> {
        self.engine.refresh(point, SECOND / 2, self.now_ns)
    }

    /// A second later, a consumer asks.
    pub(crate) fn poll(&mut self, point: u16) {
        self.pass(1);
        self.ask(point).unwrap();
    }

    /// hostapd knows everybody. How many questions it was asked meanwhile.
    pub(crate) fn introduce(&mut self) -> usize {
        let mut count = 0;
        loop {
            self.hear();
            let questions = self.control.questions();
            if questions.is_empty() {
                return count;
            }
            for asked in questions {
                count += 1;
                self.control.answer(&asked, &known(&asked.station, 1));
            }
        }
    }

    pub(crate) fn stations(&self, point: u16) -> Vec<Address> {
        let mut found: Vec<_> =
            self.engine.table.stations(point).map(|row| row.address()).collect();
        found.sort_unstable();
        found
    }

    pub(crate) fn rx_bytes(&self, point: u16, number: u16) -> Option<u64> {
        let table = &self.engine.table;
        table.find(point, address(number))?.counter(CounterKind::RxBytes)
    }

    pub(crate) fn aid(&self, point: u16, number: u16) -> Option<u16> {
        let table = &self.engine.table;
        table.find(point, address(number))?.identity.as_ref()?.aid
    }

    pub(crate) fn ended(&self, point: u16) -> EndedTotals {
        self.engine.points.get(point).unwrap().ended
    }

    /// What events tell, in their order: `assoc` or `disassoc`, and who.
    pub(crate) fn events(&self) -> Vec<(&'static str, Address)> {
        let (_, events) = self.engine.events.since(0);
        let fields = events.map(|event| event.fields(&self.engine.points));
        fields.map(|fields| (fields.event, fields.address)).collect()
    }

    pub(crate) fn brief(&mut self, point: u16) -> Vec<Value> {
        list(&self.engine.brief(point))
    }

    pub(crate) fn full(&mut self, point: u16) -> Vec<Value> {
        list(&self.engine.full(point))
    }
}

fn list(bytes: &[u8]) -> Vec<Value> {
    let reply: Value = serde_json::from_slice(bytes).unwrap();
    assert_eq!(reply.as_array().unwrap().len(), 1);
    reply[0].as_array().unwrap().clone()
}
