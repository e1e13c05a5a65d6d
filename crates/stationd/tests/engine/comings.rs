//! Who comes and who goes, by event: at once, exactly, and told to those who want to hear of it.

use crate::{
    control::Control,
    setup::{SECOND, Setup},
    world::{Fault, Shared, address},
};

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
    let mut setup = Setup::asking(&world, Control::of("wlan0"));
    world.lock().arrive(3, 1);
    setup.hear();
    assert_eq!(setup.control.questions().len(), 0, "it shakes hands");
    assert_eq!(setup.engine.due(), Some(setup.now_ns + SECOND));
    setup.pass(1);
    assert_eq!((setup.introduce(), setup.aid(0, 1)), (1, Some(1)));
    assert_eq!((setup.engine.due(), setup.engine.is_settling()), (None, false));
    for _ in 0..30 {
        setup.poll(0);
        assert_eq!(setup.introduce(), 0);
    }
    world.lock().leave(address(1));
    world.lock().arrive(3, 1);
    setup.poll(0);
    assert_eq!((setup.introduce(), setup.aid(0, 1)), (1, Some(1)));
}

#[test]
fn who_leaves_and_returns_between_two_polls_is_two_sessions_and_both_are_exact() {
    // Whether the daemon has heard of it before the next consumer asks must not matter.
    for hears_first in [true, false] {
        let (world, mut setup) = Setup::with_stations(&[1]);
        world.lock().moves(1, 1000, 100);
        setup.poll(0);
        for _ in 0..3 {
            world.lock().moves(1, 500, 50);
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
        assert_eq!((ended.sessions, ended.exact), (3, 3));
        assert_eq!((ended.rx_bytes, ended.tx_bytes), (1500 + 507 + 507, 150 + 50 + 50));
        assert_eq!((setup.rx_bytes(0, 1), setup.stations(0).len()), (Some(7), 1));
        let told: Vec<_> = setup.events().iter().map(|(event, _)| *event).collect();
        assert_eq!(told, ["assoc", "disassoc"].repeat(4)[..7]);
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
    let (world, mut setup) = Setup::with_stations(&[1, 2]);
    world.lock().faults.push_back(Fault::Changes(|world| {
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
fn one_who_came_and_left_before_the_next_in_its_slot_is_told_of_in_that_order() {
    let world = Shared::with_points(1);
    let mut setup = Setup::new(&world);
    world.lock().arrive(3, 1);
    world.lock().leave(address(1));
    world.lock().arrive(3, 2);
    setup.hear();
    let expected = [("assoc", 1), ("disassoc", 1), ("assoc", 2)];
    assert_eq!(setup.events(), expected.map(|(event, number)| (event, address(number))));
}
