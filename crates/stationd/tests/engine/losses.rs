//! Events and replies that are lost: a dump heals it.

use crate::{
    setup::Setup,
    world::{Fault, Shared, address},
};

#[test]
fn after_lost_events_who_left_has_left_and_who_came_is_there() {
    let world = Shared::with_points(2);
    (1..5).for_each(|number| world.lock().arrive(3, number));
    world.lock().arrive(4, 9);
    let mut setup = Setup::new(&world);
    world.lock().moves(4, 1000, 0);
    setup.poll(0);
    world.lock().leave(address(1));
    world.lock().leave(address(2));
    world.lock().arrive(3, 2);
    world.lock().arrive(3, 5);
    world.lock().moves(4, 1, 0);
    world.lock().loses_events();
    setup.hear();
    assert_eq!(setup.stations(0), [2, 3, 4, 5].map(address));
    assert_eq!((setup.rx_bytes(0, 4), setup.stations(1).len()), (Some(1001), 1));
    assert_eq!((setup.ended(0).sessions, setup.ended(0).exact), (2, 0));
    assert_eq!(setup.engine.cost().overruns, 1);
    assert_eq!(setup.engine.table().len(), 5);
}

#[test]
fn events_after_the_lost_ones_are_no_second_sessions() {
    let world = Shared::with_points(1);
    world.lock().arrive(3, 1);
    world.lock().moves(1, 100, 0);
    let mut setup = Setup::new(&world);
    world.lock().loses_events();
    world.lock().arrive(3, 2);
    world.lock().moves(1, 1, 0);
    world.lock().leave(address(1));
    setup.hear();
    setup.hear();
    let ended = setup.ended(0);
    assert_eq!((ended.sessions, ended.exact, ended.rx_bytes), (1, 1, 101));
    assert_eq!(setup.stations(0), [address(2)]);
}

#[test]
fn an_interface_whose_end_was_lost_is_missed_too() {
    let world = Shared::with_points(2);
    world.lock().arrive(3, 1);
    world.lock().arrive(4, 2);
    let mut setup = Setup::new(&world);
    world.lock().remove(3);
    world.lock().add_point(8, "wlan2", 2);
    world.lock().arrive(8, 3);
    world.lock().loses_events();
    setup.hear();
    let found = [0, 1, 2].map(|point| setup.stations(point));
    assert_eq!(found, [vec![], vec![address(2)], vec![address(3)]]);
}

#[test]
fn a_reply_that_was_lost_is_asked_for_once_more() {
    let world = Shared::with_points(1);
    world.lock().arrive(3, 1);
    let mut setup = Setup::new(&world);
    world.lock().faults.push_back(Fault::Overrun);
    setup.poll(0);
    assert_eq!((setup.stations(0).len(), setup.engine.cost().overruns), (1, 1));
    world.lock().faults.extend([Fault::Overrun, Fault::Overrun]);
    setup.pass(1);
    let error = setup.ask(0).unwrap_err();
    assert_eq!(error.to_string(), "cannot read the stations");
    assert_eq!(setup.stations(0).len(), 1, "nobody has left because of that");
    setup.ask(0).unwrap();
}
