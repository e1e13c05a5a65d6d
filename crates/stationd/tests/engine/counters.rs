//! Counters: wide over narrow ones, and over drivers that begin again.

use crate::{
    setup::{SECOND, Setup},
    world::{Fault, Shared, address},
};

const GIB: u64 = 1 << 30;

#[test]
fn bytes_of_a_32_bit_driver_pass_4_gib_and_go_on() {
    let world = Shared::with_points(1);
    world.lock().narrow = true;
    world.lock().arrive(3, 1);
    let mut setup = Setup::new(&world);
    for round in 1..12 {
        world.lock().moves(1, GIB, 0);
        let due = setup.engine.due().unwrap();
        assert!(due <= setup.now_ns + SECOND, "it is read though nobody asks");
        setup.now_ns = due;
        let dumps = world.lock().asked.dumps;
        setup.engine.tick(due);
        assert_eq!(world.lock().asked.dumps, dumps + 1);
        assert_eq!(setup.rx_bytes(0, 1), Some(round * GIB));
        assert!(setup.engine.due().unwrap() > due);
    }
    world.lock().moves(1, GIB, 0);
    world.lock().leave(address(1));
    setup.hear();
    assert_eq!((setup.ended(0).rx_bytes, setup.engine.due()), (12 * GIB, None));
}

#[test]
fn who_wants_samples_has_them_though_no_one_asks_and_none_on_top_of_questions() {
    let world = Shared::with_points(2);
    world.lock().arrive(3, 1);
    let mut setup = Setup::deaf(&world, Some(std::time::Duration::from_secs(2)));
    let begun = world.lock().asked.dumps;
    for round in 1..5 {
        setup.now_ns = setup.engine.due().unwrap();
        setup.engine.tick(setup.now_ns - 1);
        setup.engine.tick(setup.now_ns);
        assert_eq!(world.lock().asked.dumps, begun + 2 * round, "each access point, every 2 s");
        assert_eq!(setup.engine.due(), Some(setup.now_ns + 2 * SECOND));
    }
    let dumps = world.lock().asked.dumps;
    for _ in 0..10 {
        setup.pass(1);
        (0..2).for_each(|point| setup.engine.refresh(point, 0, setup.now_ns).unwrap());
        setup.engine.tick(setup.now_ns);
    }
    assert_eq!(world.lock().asked.dumps, dumps + 20);
}

#[test]
fn a_narrow_driver_that_cannot_be_read_is_not_asked_without_end() {
    let world = Shared::with_points(1);
    world.lock().narrow = true;
    world.lock().arrive(3, 1);
    let mut setup = Setup::new(&world);
    for _ in 0..5 {
        world.lock().faults.push_back(Fault::Refused(rustix::io::Errno::IO));
        setup.now_ns = setup.engine.due().unwrap();
        setup.engine.tick(setup.now_ns);
        assert_eq!(setup.engine.due(), Some(setup.now_ns + SECOND));
    }
}

#[test]
fn a_driver_that_begins_again_takes_nothing_away() {
    for narrow in [false, true] {
        let world = Shared::with_points(1);
        world.lock().narrow = narrow;
        world.lock().arrive(3, 1);
        world.lock().moves(1, 1000, 0);
        let mut setup = Setup::new(&world);
        world.lock().station(1).rx_bytes = 10;
        setup.poll(0);
        assert_eq!((setup.rx_bytes(0, 1), setup.engine.table.resets), (Some(1010), 1));
        assert_eq!(setup.ended(0).sessions, 0);
        world.lock().moves(1, 5, 0);
        world.lock().leave(address(1));
        setup.hear();
        assert_eq!((setup.ended(0).rx_bytes, setup.ended(0).exact), (1015, 1));
    }
}
