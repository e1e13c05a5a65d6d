//! Who comes and who goes, by event: at once, exactly, and told to those who want to hear of it.

use linux::sockets::Peer;
use serde_json::Value;
use stationd::datamodel::{Kinds, Owner};

use crate::{
    control::Control,
    setup::{SECOND, Setup, settings},
    world::{Shared, address},
};

const EVERYTHING: Kinds =
    Kinds { value_change: true, object_creation: true, object_deletion: true };

#[test]
fn an_arrival_is_a_station_at_once() {
    let world = Shared::with_points(2);
    let mut setup = Setup::new(&world);
    let dumps = world.lock().asked.dumps;
    world.lock().arrive(4, 7);
    setup.hear();
    assert_eq!((setup.stations(0), setup.stations(1)), (vec![], vec![address(7)]));
    assert_eq!((setup.brief(1).len(), setup.full(1).len()), (1, 1));
    assert_eq!(world.lock().asked.dumps, dumps, "nobody asked for figures");
}

#[test]
fn an_identity_is_asked_for_once_it_may_be_known_and_once_for_each_association() {
    let world = Shared::with_points(1);
    let mut setup = Setup::asking(&world, settings(), Control::of("wlan0"));
    world.lock().arrive(3, 1);
    setup.hear();
    assert_eq!((setup.control.questions().len(), setup.transactions()), (0, 1), "it shakes hands");
    assert_eq!(setup.engine.due(), Some(setup.now_ns + SECOND));
    setup.pass(1);
    assert_eq!((setup.introduce(), setup.transactions(), setup.aid(0, 1)), (1, 2, Some(1)));
    assert_eq!((setup.engine.due(), setup.engine.is_settling()), (None, false));
    for _ in 0..30 {
        setup.poll(0);
        assert_eq!(setup.introduce(), 0);
    }
    assert_eq!(setup.transactions(), 2, "arrival and identity");
    world.lock().leave(address(1));
    world.lock().arrive(3, 1);
    setup.poll(0);
    assert_eq!((setup.introduce(), setup.aid(0, 1)), (1, Some(1)));
    assert_eq!(setup.transactions(), 4);
}

#[test]
fn a_departure_closes_the_session_with_the_kernels_last_counters() {
    let world = Shared::with_points(1);
    let mut setup = Setup::new(&world);
    world.lock().arrive(3, 1);
    world.lock().moves(1, 1000, 100);
    setup.poll(0);
    world.lock().moves(1, 234, 23);
    world.lock().leave(address(1));
    setup.hear();
    let ended = setup.ended(0);
    assert_eq!((ended.sessions, ended.exact, ended.rx_bytes, ended.tx_bytes), (1, 1, 1234, 123));
    assert_eq!((setup.stations(0), setup.engine.model().len()), (vec![], 0));
}

#[test]
fn who_leaves_and_returns_between_two_polls_is_two_sessions_and_both_are_exact() {
    // Whether the daemon has heard of it before the next consumer asks must not matter.
    for hears_first in [true, false] {
        let world = Shared::with_points(1);
        let mut setup = Setup::new(&world);
        world.lock().arrive(3, 1);
        world.lock().moves(1, 1000, 0);
        setup.poll(0);
        for _ in 0..3 {
            world.lock().moves(1, 500, 0);
            world.lock().leave(address(1));
            world.lock().arrive(3, 1);
            world.lock().moves(1, 7, 0);
        }
        if hears_first {
            setup.hear();
        }
        setup.poll(0);
        setup.hear();
        let ended = setup.ended(0);
        assert_eq!((ended.sessions, ended.exact, ended.rx_bytes), (3, 3, 1500 + 507 + 507));
        assert_eq!((setup.rx_bytes(0, 1), setup.engine.model().len()), (Some(7), 1));
    }
}

#[test]
fn an_event_that_a_poll_has_overtaken_makes_no_second_session() {
    let world = Shared::with_points(1);
    let mut setup = Setup::new(&world);
    world.lock().arrive(3, 1);
    world.lock().moves(1, 1000, 0);
    let event = world.lock().events.pop_front().unwrap();
    setup.poll(0);
    world.lock().events.push_back(event);
    setup.hear();
    assert_eq!((setup.rx_bytes(0, 1), setup.ended(0).sessions), (Some(1000), 0));
    world.lock().leave(address(1));
    setup.hear();
    assert_eq!((setup.ended(0).sessions, setup.ended(0).rx_bytes), (1, 1000));
}

#[test]
fn who_leaves_while_the_list_is_read_ends_exactly() {
    let world = Shared::with_points(1);
    let mut setup = Setup::new(&world);
    world.lock().arrive(3, 1);
    world.lock().arrive(3, 2);
    setup.poll(0);
    world.lock().faults.push_back(crate::world::Fault::Changes(|world| {
        world.moves(1, 77, 0);
        world.leave(address(1));
        world.arrive(3, 3);
    }));
    setup.poll(0);
    let ended = setup.ended(0);
    assert_eq!((ended.sessions, ended.exact, ended.rx_bytes), (1, 1, 77));
    assert_eq!(setup.stations(0), [address(2), address(3)]);
    setup.hear();
    assert_eq!((setup.ended(0).sessions, setup.stations(0).len()), (1, 2));
}

#[test]
fn totals_survive_their_stations_and_their_interface() {
    let world = Shared::with_points(1);
    let mut setup = Setup::new(&world);
    for round in 0..5 {
        world.lock().arrive(3, round);
        world.lock().moves(round, 100, 1);
        world.lock().leave(address(round));
        setup.poll(0);
    }
    world.lock().remove(3);
    setup.hear();
    let ended = setup.ended(0);
    assert_eq!((ended.sessions, ended.exact, ended.rx_bytes, ended.tx_bytes), (5, 5, 500, 5));
}

fn summary(notifications: &[(u64, Value)]) -> Vec<(u64, &str, &str)> {
    let words = |note: &'_ Value, key: &str| note[key].as_str().unwrap().to_owned();
    let summary = notifications.iter().map(|(consumer, note)| {
        assert!(!words(note, "path").is_empty());
        (*consumer, note["kind"].as_str().unwrap(), note["path"].as_str().unwrap())
    });
    summary.collect()
}

#[test]
fn the_object_goes_with_its_association_and_the_next_has_another_number() {
    let world = Shared::with_points(1);
    let mut setup = Setup::new(&world);
    let path = "WiFi.AccessPoint.1.AssociatedDevice.*.MACAddress";
    for number in 1..4 {
        world.lock().arrive(3, 1);
        setup.hear();
        let object = format!("WiFi.AccessPoint.1.AssociatedDevice.{number}.MACAddress");
        let got = setup.get(path);
        assert_eq!(got.as_object().unwrap().keys().collect::<Vec<_>>(), [&object]);
        world.lock().leave(address(1));
        setup.hear();
        assert_eq!(setup.get(path), serde_json::json!({}));
    }
}

/// A connection of some process of root's.
fn owner(connection: u64) -> Owner {
    Owner { connection, peer: Peer { uid: 0, pid: None } }
}

#[test]
fn subscribers_hear_of_comings_goings_and_changes_and_no_one_else_does() {
    let world = Shared::with_points(2);
    let mut setup = Setup::asking(&world, settings(), Control::of("wlan0"));
    let stations = "WiFi.AccessPoint.1.AssociatedDevice.*.";
    setup.engine.model().subscribe(owner(5), stations, EVERYTHING).unwrap();
    let elsewhere = "WiFi.AccessPoint.2.AssociatedDevice.*.";
    setup.engine.model().subscribe(owner(6), elsewhere, EVERYTHING).unwrap();
    world.lock().arrive(3, 1);
    setup.hear();
    let object = "WiFi.AccessPoint.1.AssociatedDevice.1.";
    let notes = setup.notifications();
    assert_eq!(summary(&notes)[0], (5, "ObjectCreation", object));
    setup.poll(0);
    setup.introduce();
    world.lock().moves(1, 5000, 0);
    setup.poll(0);
    let notes = setup.notifications();
    assert!(summary(&notes).iter().all(|note| *note == (5, "ValueChange", object)), "{notes:?}");
    assert!(notes.iter().any(|(_, note)| note["values"]["RxBytes"] == 5000), "{notes:?}");
    world.lock().moves(1, 5, 0);
    world.lock().leave(address(1));
    setup.hear();
    let notes = setup.notifications();
    assert_eq!(summary(&notes), [(5, "ObjectDeletion", object)]);
    assert_eq!(notes[0].1["values"]["RxBytes"], 5005, "{notes:?}");
}
