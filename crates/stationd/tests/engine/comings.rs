//! Who comes and who goes, by event: at once, exactly, and told to those who want to hear of it.

use linux::sockets::Peer;
use serde_json::Value;
use stationd::datamodel::{Kinds, Owner};

use crate::{
    control::Control,
    scene::{SECOND, Scene, settings},
    world::{Shared, address},
};

const EVERYTHING: Kinds =
    Kinds { value_change: true, object_creation: true, object_deletion: true };

#[test]
fn an_arrival_is_a_station_at_once() {
    let world = Shared::with_points(2);
    let mut scene = Scene::new(&world);
    let dumps = world.lock().asked.dumps;
    world.lock().arrive(4, 7);
    scene.hear();
    assert_eq!((scene.stations(0), scene.stations(1)), (vec![], vec![address(7)]));
    assert_eq!((scene.brief(1).len(), scene.full(1).len()), (1, 1));
    assert_eq!(world.lock().asked.dumps, dumps, "nobody asked for figures");
}

#[test]
fn an_identity_is_asked_for_once_it_may_be_known_and_once_for_each_association() {
    let world = Shared::with_points(1);
    let mut scene = Scene::asking(&world, settings(), Control::of("wlan0"));
    world.lock().arrive(3, 1);
    scene.hear();
    assert_eq!((scene.control.questions().len(), scene.transactions()), (0, 1), "it shakes hands");
    assert_eq!(scene.engine.due(), Some(scene.now_ns + SECOND));
    scene.pass(1);
    assert_eq!((scene.introduce(), scene.transactions(), scene.aid(0, 1)), (1, 2, Some(1)));
    assert_eq!((scene.engine.due(), scene.engine.is_settling()), (None, false));
    for _ in 0..30 {
        scene.poll(0);
        assert_eq!(scene.introduce(), 0);
    }
    assert_eq!(scene.transactions(), 2, "arrival and identity");
    world.lock().leave(address(1));
    world.lock().arrive(3, 1);
    scene.poll(0);
    assert_eq!((scene.introduce(), scene.aid(0, 1)), (1, Some(1)));
    assert_eq!(scene.transactions(), 4);
}

#[test]
fn a_departure_closes_the_session_with_the_kernels_last_counters() {
    let world = Shared::with_points(1);
    let mut scene = Scene::new(&world);
    world.lock().arrive(3, 1);
    world.lock().moves(1, (1000, 100));
    scene.poll(0);
    world.lock().moves(1, (234, 23));
    world.lock().leave(address(1));
    scene.hear();
    let ended = scene.ended(0);
    assert_eq!((ended.sessions, ended.exact, ended.rx_bytes, ended.tx_bytes), (1, 1, 1234, 123));
    assert_eq!((scene.stations(0), scene.engine.model().len()), (vec![], 0));
}

#[test]
fn who_leaves_and_returns_between_two_polls_is_two_sessions_and_both_are_exact() {
    // Whether the daemon has heard of it before the next consumer asks must not matter.
    for hears_first in [true, false] {
        let world = Shared::with_points(1);
        let mut scene = Scene::new(&world);
        world.lock().arrive(3, 1);
        world.lock().moves(1, (1000, 0));
        scene.poll(0);
        for _ in 0..3 {
            world.lock().moves(1, (500, 0));
            world.lock().leave(address(1));
            world.lock().arrive(3, 1);
            world.lock().moves(1, (7, 0));
        }
        if hears_first {
            scene.hear();
        }
        scene.poll(0);
        scene.hear();
        let ended = scene.ended(0);
        assert_eq!((ended.sessions, ended.exact, ended.rx_bytes), (3, 3, 1500 + 507 + 507));
        assert_eq!((scene.rx_bytes(0, 1), scene.engine.model().len()), (Some(7), 1));
    }
}

#[test]
fn an_event_that_a_poll_has_overtaken_makes_no_second_session() {
    let world = Shared::with_points(1);
    let mut scene = Scene::new(&world);
    world.lock().arrive(3, 1);
    world.lock().moves(1, (1000, 0));
    let event = world.lock().events.pop_front().unwrap();
    scene.poll(0);
    world.lock().events.push_back(event);
    scene.hear();
    assert_eq!((scene.rx_bytes(0, 1), scene.ended(0).sessions), (Some(1000), 0));
    world.lock().leave(address(1));
    scene.hear();
    assert_eq!((scene.ended(0).sessions, scene.ended(0).rx_bytes), (1, 1000));
}

#[test]
fn who_leaves_while_the_list_is_read_ends_exactly() {
    let world = Shared::with_points(1);
    let mut scene = Scene::new(&world);
    world.lock().arrive(3, 1);
    world.lock().arrive(3, 2);
    scene.poll(0);
    world.lock().faults.push_back(crate::world::Fault::Changes(|world| {
        world.moves(1, (77, 0));
        world.leave(address(1));
        world.arrive(3, 3);
    }));
    scene.poll(0);
    let ended = scene.ended(0);
    assert_eq!((ended.sessions, ended.exact, ended.rx_bytes), (1, 1, 77));
    assert_eq!(scene.stations(0), [address(2), address(3)]);
    scene.hear();
    assert_eq!((scene.ended(0).sessions, scene.stations(0).len()), (1, 2));
}

#[test]
fn totals_survive_their_stations_and_their_interface() {
    let world = Shared::with_points(1);
    let mut scene = Scene::new(&world);
    for round in 0..5 {
        world.lock().arrive(3, round);
        world.lock().moves(round, (100, 1));
        world.lock().leave(address(round));
        scene.poll(0);
    }
    world.lock().remove(3);
    scene.hear();
    let ended = scene.ended(0);
    assert_eq!((ended.sessions, ended.exact, ended.rx_bytes, ended.tx_bytes), (5, 5, 500, 5));
}

fn told(notifications: &[(u64, Value)]) -> Vec<(u64, &str, &str)> {
    let words = |note: &'_ Value, key: &str| note[key].as_str().unwrap().to_owned();
    let told = notifications.iter().map(|(consumer, note)| {
        assert!(!words(note, "path").is_empty());
        (*consumer, note["kind"].as_str().unwrap(), note["path"].as_str().unwrap())
    });
    told.collect()
}

#[test]
fn the_object_goes_with_its_association_and_the_next_has_another_number() {
    let world = Shared::with_points(1);
    let mut scene = Scene::new(&world);
    let path = "WiFi.AccessPoint.1.AssociatedDevice.*.MACAddress";
    for number in 1..4 {
        world.lock().arrive(3, 1);
        scene.hear();
        let object = format!("WiFi.AccessPoint.1.AssociatedDevice.{number}.MACAddress");
        let got = scene.get(path);
        assert_eq!(got.as_object().unwrap().keys().collect::<Vec<_>>(), [&object]);
        world.lock().leave(address(1));
        scene.hear();
        assert_eq!(scene.get(path), serde_json::json!({}));
    }
}

/// A connection of some process of root's.
fn owner(connection: u64) -> Owner {
    Owner { connection, peer: Peer { uid: 0, pid: None } }
}

#[test]
fn subscribers_hear_of_comings_goings_and_changes_and_nobody_else_does() {
    let world = Shared::with_points(2);
    let mut scene = Scene::asking(&world, settings(), Control::of("wlan0"));
    let stations = "WiFi.AccessPoint.1.AssociatedDevice.*.";
    scene.engine.model().subscribe(owner(5), stations, EVERYTHING).unwrap();
    let elsewhere = "WiFi.AccessPoint.2.AssociatedDevice.*.";
    scene.engine.model().subscribe(owner(6), elsewhere, EVERYTHING).unwrap();
    world.lock().arrive(3, 1);
    scene.hear();
    let object = "WiFi.AccessPoint.1.AssociatedDevice.1.";
    let notes = scene.notifications();
    assert_eq!(told(&notes)[0], (5, "ObjectCreation", object));
    scene.poll(0);
    scene.introduce();
    world.lock().moves(1, (5000, 0));
    scene.poll(0);
    let notes = scene.notifications();
    assert!(told(&notes).iter().all(|note| *note == (5, "ValueChange", object)), "{notes:?}");
    assert!(notes.iter().any(|(_, note)| note["values"]["RxBytes"] == 5000), "{notes:?}");
    world.lock().moves(1, (5, 0));
    world.lock().leave(address(1));
    scene.hear();
    let notes = scene.notifications();
    assert_eq!(told(&notes), [(5, "ObjectDeletion", object)]);
    assert_eq!(notes[0].1["values"]["RxBytes"], 5005, "{notes:?}");
}
