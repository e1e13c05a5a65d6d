//! Multi-link stations: one session, and links beside it.

use crate::{
    setup::Setup,
    world::{Shared, address},
};

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
    let table = setup.engine.table();
    assert_eq!(table.find(0, address(7)).unwrap().links(), 3);
    world.lock().leave(address(7));
    setup.hear();
    assert_eq!((setup.ended(0).exact, setup.ended(0).rx_bytes), (1, 1050));
}
