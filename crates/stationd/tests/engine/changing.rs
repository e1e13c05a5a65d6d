//! Lists that change while they are read.

use crate::{
    scene::Scene,
    world::{Fault, Shared, World, address},
};

fn swap(world: &mut World) {
    world.leave(address(1));
    world.arrive(3, 3);
}

/// Nobody left by event, so only the list can tell.
fn silent() -> (Shared, Scene) {
    let world = Shared::with_points(1);
    world.lock().arrive(3, 1);
    world.lock().arrive(3, 2);
    let scene = Scene::new(&world);
    world.lock().silent = true;
    (world, scene)
}

#[test]
fn a_list_that_changes_while_it_is_read_is_right_in_the_end() {
    for fault in [Fault::Changes(swap), Fault::Flagged(swap)] {
        let (world, mut scene) = silent();
        world.lock().faults.push_back(fault);
        scene.poll(0);
        assert_eq!(scene.stations(0), [address(2), address(3)]);
        let cost = scene.engine.cost();
        assert_eq!(cost.interrupted, 1);
        assert_eq!(cost.dumps + cost.interrupted, world.lock().asked.dumps);
        assert_eq!(scene.engine.model().len(), 2);
    }
}

#[test]
fn a_list_that_everybody_leaves_while_it_is_read_is_empty() {
    let (world, mut scene) = silent();
    world.lock().faults.push_back(Fault::Flagged(|world| {
        world.leave(address(1));
        world.leave(address(2));
    }));
    scene.poll(0);
    assert!(scene.stations(0).is_empty());
}

#[test]
fn a_list_that_never_settles_loses_nobody_and_its_counters_are_good() {
    let (world, mut scene) = silent();
    let restless = || Fault::Changes(|world: &mut World| world.generation += 1);
    world.lock().faults.extend((0..4).map(|_| restless()));
    world.lock().leave(address(1));
    world.lock().moves(2, (700, 0));
    scene.poll(0);
    assert_eq!(scene.stations(0), [address(1), address(2)]);
    assert_eq!((scene.rx_bytes(0, 2), scene.engine.cost().interrupted), (Some(700), 3));
    scene.poll(0);
    assert_eq!(scene.stations(0), [address(2)]);
}
