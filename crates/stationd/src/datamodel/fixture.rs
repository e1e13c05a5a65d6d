//! A made-up access point with made-up stations, for the tests of what reads and writes the data model.
//!
//! It stands for the engine: it reads stations into a table and tells the data model what came and went.

use linux::nl80211::{
    Channel, Count, Interface, InterfaceKind, Rate, RateMode, StationReading, Width,
};

use super::{DataModel, View, WriteBack};
use crate::{
    identity::Identity,
    points::Points,
    table::{Change, Slot, Table},
    trace::{Trace, Way},
};

/// 2026-11-21T00:00:00Z, for a machine that has just started.
pub(crate) const WALL_OFFSET_NS: i64 = 1_795_219_200_000_000_000;

/// What hostapd says of each of its stations.
pub(crate) const IDENTITY: &str = "02:00:00:00:01:00\n\
    flags=[AUTH][ASSOC][AUTHORIZED][WMM][HT][VHT]\naid=1\ncapability=0x1011\n\
    supported_rates=8c 12 98 24 b0 48 60 6c\nht_caps_info=0x006e\n\
    ht_mcs_bitmask=ffff0000000000000000\nvht_caps_info=0x00001820\nrx_vht_mcs_map=fffa\n\
    tx_vht_mcs_map=fffa\next_capab=0400080000000040\nwpa=2\nAKMSuiteSelector=00-0f-ac-8\n\
    dot11RSNAStatsSelectedPairwiseCipher=00-0f-ac-4\n";

#[derive(Debug)]
pub(crate) struct Fixture {
    pub(crate) points: Points,
    pub(crate) table: Table,
    pub(crate) model: DataModel,
    pub(crate) trace: Trace,
    pub(crate) write_back: WriteBack,
    pub(crate) now_ns: u64,
}

impl Fixture {
    /// An access point on channel 36, without stations.
    pub(crate) fn new() -> Self {
        let mut fixture = Self {
            points: Points::default(),
            table: Table::default(),
            model: DataModel::default(),
            trace: Trace::new(Way::Level),
            write_back: WriteBack::OnChange,
            now_ns: 60_000_000_000,
        };
        fixture.points.update(&[interface()]);
        fixture.points.get_mut(0).unwrap().noise_dbm = Some(-95);
        fixture.model.point_came(fixture.points.get(0).unwrap());
        fixture
    }

    /// The same with stations 1 to `count`, each with an identity.
    pub(crate) fn with_stations(count: u8) -> Self {
        let mut fixture = Self::new();
        let readings: Vec<_> = (1..=count).map(reading).collect();
        fixture.poll(&readings);
        for slot in 0..Slot::from(count) {
            fixture.table.identify(slot, Identity::parse(IDENTITY).unwrap());
            fixture.write(slot);
        }
        fixture
    }

    pub(crate) fn view(&self) -> View<'_> {
        view(&self.table, &self.points, &self.trace)
    }

    /// Reads exactly these stations, a second after the last time.
    pub(crate) fn poll(&mut self, readings: &[StationReading]) {
        self.now_ns += 1_000_000_000;
        let mut poll = self.table.begin(0, self.now_ns);
        for reading in readings {
            self.table.read(&mut poll, reading);
        }
        self.table.end(poll);
        self.points.get_mut(0).unwrap().read_ns = Some(self.now_ns);
        self.settle();
        let view = view(&self.table, &self.points, &self.trace);
        self.write_back.after_reading(&mut self.model, 0, &view);
        self.model.compare(0, &view);
    }

    fn settle(&mut self) {
        for change in self.table.take_changes() {
            match change {
                Change::Arrived(slot) => self.write(slot),
                Change::Left(ended) => {
                    let point = self.points.get(ended.session.point).unwrap();
                    self.model.station_left(point, &ended);
                }
            }
        }
    }

    /// A station leaves, with its last reading.
    pub(crate) fn leave(&mut self, last: &StationReading) {
        self.table.left(0, last, Some(3));
        self.settle();
    }

    pub(crate) fn write(&mut self, slot: Slot) {
        let Some(row) = self.table.row(slot) else { return };
        let view = view(&self.table, &self.points, &self.trace);
        let point = self.points.get(0).unwrap();
        self.model.write_static(&row, point, &view);
    }

    /// The answer to a request for these paths.
    pub(crate) fn get(&self, paths: &[&str]) -> serde_json::Value {
        let mut out = Vec::new();
        self.model.get(paths, &self.view(), &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    /// All that waits to be told.
    pub(crate) fn notifications(&mut self) -> Vec<(u64, serde_json::Value)> {
        std::iter::from_fn(|| self.model.next_notification())
            .map(|(consumer, bytes)| (consumer, serde_json::from_slice(&bytes).unwrap()))
            .collect()
    }
}

pub(crate) fn view<'a>(table: &'a Table, points: &'a Points, trace: &'a Trace) -> View<'a> {
    View { table, points, wall_offset_ns: WALL_OFFSET_NS, trace }
}

fn interface() -> Interface {
    Interface {
        index: 3,
        name: "wlan0".into(),
        wiphy: 0,
        kind: InterfaceKind::AccessPoint,
        address: [2, 0, 0, 0, 0, 1],
        ssid: Some(b"a \"net\"".to_vec()),
        four_addresses: false,
        channel: Some(Channel {
            frequency_mhz: 5180,
            width: Some(Width::Mhz80),
            centre_mhz: None,
            second_centre_mhz: None,
        }),
        links: Vec::new(),
    }
}

/// What the kernel says of station `last`: every counter another number.
pub(crate) fn reading(last: u8) -> StationReading {
    let rate = |kbps, width| {
        Some(Rate {
            kbps: Some(kbps),
            width,
            mode: RateMode::Vht,
            mcs: Some(9),
            streams: Some(2),
            short_guard: true,
            ..Rate::default()
        })
    };
    StationReading {
        address: [2, 0, 0, 0, 1, last],
        associated_at_boottime_ns: Some(30_000_000_000),
        inactive_ms: Some(1999),
        connected_s: Some(31),
        rx_bytes: Some(Count { value: 11, wide: true }),
        tx_bytes: Some(Count { value: 5_000_000_000, wide: true }),
        rx_packets: Some(13),
        tx_packets: Some(14),
        tx_retries: Some(15),
        tx_failed: Some(16),
        rx_dropped: Some(17),
        signal_dbm: Some(-40),
        signal_average_dbm: Some(-41),
        tx_rate: rate(866_700, Width::Mhz80),
        rx_rate: rate(400_000, Width::Mhz40),
        ..StationReading::default()
    }
}
