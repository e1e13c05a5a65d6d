//! Parts of an access point: AP_VLAN and four-address interfaces.

use stationd::engine::{Pull, Settings};

use crate::{
    scene::{Scene, settings},
    world::{Fault, Shared, address},
};

fn scene() -> (Shared, Scene) {
    let world = Shared::with_points(1);
    world.lock().arrive(3, 1);
    world.lock().add_part(7, "wlan0.sta1");
    world.lock().arrive(7, 2);
    let scene = Scene::new(&world);
    (world, scene)
}

#[test]
fn the_stations_of_a_part_are_the_access_points() {
    let (world, mut scene) = scene();
    assert_eq!(scene.stations(0), [address(1), address(2)]);
    world.lock().arrive(7, 3);
    scene.hear();
    assert_eq!(scene.stations(0).len(), 3);
    world.lock().moves(2, (10, 0));
    world.lock().leave(address(2));
    scene.hear();
    assert_eq!((scene.stations(0).len(), scene.ended(0).rx_bytes), (2, 10));
    assert_eq!(scene.engine.points().iter().count(), 1);
}

#[test]
fn who_moves_to_a_part_is_the_same_session() {
    let (world, mut scene) = scene();
    world.lock().moves(1, (100, 0));
    scene.poll(0);
    for interface in [7, 3, 7] {
        world.lock().station(1).interface = interface;
        world.lock().moves(1, (1, 0));
        scene.poll(0);
    }
    assert_eq!((scene.rx_bytes(0, 1), scene.ended(0).sessions), (Some(103), 0));
    world.lock().leave(address(1));
    scene.hear();
    assert_eq!((scene.ended(0).exact, scene.ended(0).rx_bytes), (1, 103));
}

#[test]
fn a_part_that_is_new_and_whose_station_has_left_already_ends_it_exactly() {
    let (world, mut scene) = scene();
    world.lock().moves(1, (100, 0));
    scene.poll(0);
    world.lock().add_part(9, "wlan0.sta2");
    world.lock().station(1).interface = 9;
    world.lock().moves(1, (5, 0));
    world.lock().leave(address(1));
    world.lock().arrive(3, 1);
    scene.hear();
    assert_eq!((scene.ended(0).exact, scene.ended(0).rx_bytes), (1, 105));
    assert_eq!(scene.stations(0), [address(1), address(2)]);
}

#[test]
fn a_part_that_vanishes_takes_its_stations_along_heard_or_not() {
    for silent in [false, true] {
        let (world, mut scene) = scene();
        world.lock().silent = silent;
        world.lock().remove(7);
        scene.poll(0);
        assert_eq!((scene.stations(0), scene.ended(0).sessions), (vec![address(1)], 1));
        assert_eq!(scene.ended(0).exact, u64::from(!silent));
    }
}

#[test]
fn a_part_that_cannot_be_read_loses_nobody() {
    let (world, mut scene) = scene();
    let nothing = || Fault::Changes(|_| {});
    world.lock().faults.extend([nothing(), Fault::Refused(rustix::io::Errno::IO)]);
    scene.poll(0);
    assert_eq!(scene.stations(0).len(), 2);
}

#[test]
fn one_by_one_stations_of_parts_are_found_too() {
    let world = Shared::with_points(1);
    world.lock().add_part(7, "wlan0.sta1");
    world.lock().arrive(7, 2);
    let mut scene = Scene::deaf(&world, Settings { pull: Pull::PerStation, ..settings() });
    world.lock().moves(2, (10, 0));
    scene.poll(0);
    assert_eq!((scene.stations(0), scene.rx_bytes(0, 2)), (vec![address(2)], Some(10)));
}
