//! The station table under polls and events, in and out of order.

use linux::nl80211::Count;

use super::*;

fn reading(station: u8, packets: u32) -> StationReading {
    StationReading {
        address: [2, 0, 0, 0, 0, station],
        rx_packets: Some(packets),
        rx_bytes: Some(Count { value: u64::from(packets) * 100, wide: true }),
        ..StationReading::default()
    }
}

pub(crate) fn poll(table: &mut Table, point: PointId, readings: &[StationReading]) {
    let mut poll = table.begin(point, 1000);
    readings.iter().for_each(|reading| table.read(&mut poll, reading));
    table.end(poll);
}

fn left(changes: &[Change]) -> Vec<(u8, bool)> {
    let left = changes.iter().filter_map(|change| match change {
        Change::Left(ended) => Some((ended.session.address[5], ended.exact)),
        Change::Arrived(..) => None,
    });
    left.collect()
}

#[test]
fn the_other_access_points_stations_are_none_of_a_polls_business() {
    let mut table = Table::default();
    poll(&mut table, 0, &[reading(1, 5)]);
    poll(&mut table, 1, &[reading(1, 9)]);
    poll(&mut table, 0, &[]);
    assert_eq!((table.count(0), table.count(1)), (0, 1));
}

#[test]
fn a_younger_connection_is_another_one_where_the_kernel_reports_no_moment() {
    let mut table = Table::default();
    let since =
        |connected, packets| StationReading { connected_s: Some(connected), ..reading(1, packets) };
    poll(&mut table, 0, &[since(100, 500)]);
    table.take_changes();
    poll(&mut table, 0, &[since(101, 501)]);
    assert_eq!(table.take_changes(), []);
    poll(&mut table, 0, &[since(1, 2)]);
    assert_eq!(table.take_changes().len(), 2);
}

#[test]
fn a_departure_that_a_poll_has_overtaken_takes_nothing_from_the_next_association() {
    let mut table = Table::default();
    let at = |when, packets| StationReading {
        associated_at_boottime_ns: Some(when),
        ..reading(1, packets)
    };
    poll(&mut table, 0, &[at(10, 500)]);
    poll(&mut table, 0, &[at(20, 3)]);
    table.left(0, &at(10, 600), Some(8));
    assert_eq!(table.stations(0).next().unwrap().counter(CounterKind::RxPackets), Some(3));
    table.left(0, &at(20, 4), Some(8));
    assert_eq!(left(&table.take_changes()), [(1, false), (1, true)]);
}

#[test]
fn the_departure_of_a_younger_connection_ends_the_known_one_with_its_own_figures() {
    let mut table = Table::default();
    let since = |s, packets| StationReading { connected_s: Some(s), ..reading(1, packets) };
    poll(&mut table, 0, &[since(100, 500)]);
    table.take_changes();
    // It left, returned and left again between two polls, and the kernel reports no moment.
    table.left(0, &since(2, 7), None);
    let changes = table.take_changes();
    let [Change::Left(ended)] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!((ended.exact, ended.connected, ended.packets.rx), (false, Some(100), Some(500)));
}

#[test]
fn a_departure_without_figures_leaves_those_of_the_last_poll() {
    let mut table = Table::default();
    poll(&mut table, 0, &[StationReading { connected_s: Some(7), ..reading(1, 5) }]);
    table.take_changes();
    let bare = StationReading { address: [2, 0, 0, 0, 0, 1], ..StationReading::default() };
    table.left(0, &bare, None);
    let changes = table.take_changes();
    let [Change::Left(ended)] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!((ended.exact, ended.connected, ended.packets.rx), (false, Some(7), Some(5)));
}

#[test]
fn the_moment_that_is_not_yet_known_is_no_moment() {
    let mut table = Table::default();
    let at = |when| StationReading { associated_at_boottime_ns: Some(when), ..reading(1, 5) };
    poll(&mut table, 0, &[at(0)]);
    poll(&mut table, 0, &[at(20)]);
    assert!(matches!(table.take_changes()[..], [Change::Arrived(0, _)]));
    assert_eq!(table.stations(0).next().unwrap().session.associated_ns, Some(20));
}

#[test]
fn a_slot_is_used_again_and_its_generation_reports() {
    let mut table = Table::default();
    poll(&mut table, 0, &[reading(1, 5)]);
    let seen = table.generation;
    poll(&mut table, 0, &[reading(1, 5)]);
    assert_eq!(table.generation, seen, "nothing changed");
    poll(&mut table, 0, &[reading(2, 5)]);
    assert!(table.generation > seen && table.generation_of(0) == table.generation);
    assert_eq!(table.stations(0).next().unwrap().slot, 1);
    poll(&mut table, 0, &[reading(3, 5)]);
    assert_eq!(table.stations(0).next().unwrap().slot, 0);
}
