//! Parts of an access point: AP_VLAN and four-address interfaces.

use crate::{
    setup::Setup,
    world::{Fault, Shared, address},
};

fn setup() -> (Shared, Setup) {
    let world = Shared::with_points(1);
    world.lock().arrive(3, 1);
    world.lock().add_part(7, "wlan0.sta1");
    world.lock().arrive(7, 2);
    let setup = Setup::new(&world);
    (world, setup)
}

#[test]
fn the_stations_of_a_part_are_the_access_points() {
    let (world, mut setup) = setup();
    assert_eq!(setup.stations(0), [address(1), address(2)]);
    world.lock().arrive(7, 3);
    setup.hear();
    assert_eq!(setup.stations(0).len(), 3);
    world.lock().moves(2, 10, 0);
    world.lock().leave(address(2));
    setup.hear();
    assert_eq!((setup.stations(0).len(), setup.ended(0).rx_bytes), (2, 10));
    assert_eq!(setup.engine.points.iter().count(), 1);
}

#[test]
fn who_moves_to_a_part_is_the_same_session() {
    let (world, mut setup) = setup();
    world.lock().moves(1, 100, 0);
    setup.poll(0);
    for interface in [7, 3, 7] {
        world.lock().station(1).interface = interface;
        world.lock().moves(1, 1, 0);
        setup.poll(0);
    }
    assert_eq!((setup.rx_bytes(0, 1), setup.ended(0).sessions), (Some(103), 0));
    world.lock().leave(address(1));
    setup.hear();
    assert_eq!((setup.ended(0).exact, setup.ended(0).rx_bytes), (1, 103));
}

#[test]
fn a_part_that_is_new_and_whose_station_has_left_already_ends_it_exactly() {
    let (world, mut setup) = setup();
    world.lock().moves(1, 100, 0);
    setup.poll(0);
    world.lock().add_part(9, "wlan0.sta2");
    world.lock().station(1).interface = 9;
    world.lock().moves(1, 5, 0);
    world.lock().leave(address(1));
    world.lock().arrive(3, 1);
    setup.hear();
    assert_eq!((setup.ended(0).exact, setup.ended(0).rx_bytes), (1, 105));
    assert_eq!(setup.stations(0), [address(1), address(2)]);
}

#[test]
fn a_part_that_vanishes_takes_its_stations_along_heard_or_not() {
    for silent in [false, true] {
        let (world, mut setup) = setup();
        world.lock().silent = silent;
        world.lock().remove(7);
        setup.poll(0);
        assert_eq!((setup.stations(0), setup.ended(0).sessions), (vec![address(1)], 1));
        assert_eq!(setup.ended(0).exact, u64::from(!silent));
    }
}

#[test]
fn a_part_that_cannot_be_read_loses_no_one() {
    let (world, mut setup) = setup();
    let nothing = || Fault::Changes(|_| {});
    world.lock().faults.extend([nothing(), Fault::Refused(rustix::io::Errno::IO)]);
    setup.poll(0);
    assert_eq!(setup.stations(0).len(), 2);
}

#[test]
fn a_station_of_several_links_is_one_session_with_the_values_of_the_whole() {
    let world = Shared::with_points(1);
    (0..30).for_each(|number| world.lock().arrive(3, number));
    world.lock().station(7).links = vec![0, 1, 2];
    world.lock().moves(7, 1000, 500);
    let mut setup = Setup::new(&world);
    for _ in 0..5 {
        world.lock().moves(7, 10, 0);
        setup.poll(0);
    }
    assert_eq!((setup.stations(0).len(), setup.ended(0).sessions), (30, 0));
    let brief = setup.brief(0);
    let station = brief.iter().find(|one| one["MACAddress"] == "02:00:00:00:00:07").unwrap();
    assert_eq!((&station["RxBytes"], &station["TxBytes"]), (&1050.into(), &500.into()));
    let table = &setup.engine.table;
    assert_eq!(table.find(0, address(7)).unwrap().links(), 3);
    world.lock().leave(address(7));
    setup.hear();
    assert_eq!((setup.ended(0).exact, setup.ended(0).rx_bytes), (1, 1050));
}
