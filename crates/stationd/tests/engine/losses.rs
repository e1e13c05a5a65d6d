//! Lists that change while they are read, and events and replies that are lost.

use crate::{
    setup::Setup,
    world::{Fault, Shared, World, address},
};

fn swap(world: &mut World) {
    world.leave(address(1));
    world.arrive(3, 3);
}

/// No one left by event, so only the list can tell.
fn silent() -> (Shared, Setup) {
    let (world, setup) = Setup::with_stations(&[1, 2]);
    world.lock().silent = true;
    (world, setup)
}

#[test]
fn a_list_that_changes_while_it_is_read_is_right_in_the_end() {
    for fault in [Fault::Changes(swap), Fault::Flagged(swap)] {
        let (world, mut setup) = silent();
        world.lock().faults.push_back(fault);
        setup.poll(0);
        assert_eq!(setup.stations(0), [address(2), address(3)]);
        let cost = setup.engine.cost();
        assert_eq!(cost.interrupted, 1);
        assert_eq!(cost.dumps + cost.interrupted, world.lock().asked.dumps);
        assert_eq!(setup.engine.table.total(), 2);
    }
}

#[test]
fn a_list_that_everybody_leaves_while_it_is_read_is_empty() {
    let (world, mut setup) = silent();
    world.lock().faults.push_back(Fault::Flagged(|world| {
        world.leave(address(1));
        world.leave(address(2));
    }));
    setup.poll(0);
    assert!(setup.stations(0).is_empty());
}

#[test]
fn a_list_that_never_settles_loses_no_one_and_its_counters_are_good() {
    let (world, mut setup) = silent();
    let restless = || Fault::Changes(|world: &mut World| world.generation += 1);
    world.lock().faults.extend((0..4).map(|_| restless()));
    world.lock().leave(address(1));
    world.lock().moves(2, 700, 0);
    setup.poll(0);
    assert_eq!(setup.stations(0), [address(1), address(2)]);
    assert_eq!((setup.rx_bytes(0, 2), setup.engine.cost().interrupted), (Some(700), 3));
    setup.poll(0);
    assert_eq!(setup.stations(0), [address(2)]);
}

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
    assert_eq!(setup.engine.table.total(), 5);
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
fn a_reply_that_was_lost_is_asked_for_once_more() {
    let (world, mut setup) = Setup::with_stations(&[1]);
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
