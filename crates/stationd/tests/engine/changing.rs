//! Lists that change while they are read.

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
    let world = Shared::with_points(1);
    world.lock().arrive(3, 1);
    world.lock().arrive(3, 2);
    let setup = Setup::new(&world);
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
        assert_eq!(setup.engine.table().len(), 2);
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
