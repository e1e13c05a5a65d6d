//! Interfaces that vanish, come back, and have other names.

use rustix::io::Errno;
use stationd::engine::RefreshError;

use crate::{
    control::Control,
    setup::Setup,
    world::{Fault, Shared, address},
};

fn is_away(setup: &mut Setup) {
    setup.pass(1);
    let error = setup.ask(0).unwrap_err();
    assert!(matches!(error, RefreshError::NoInterface), "{error:?}");
    assert_eq!(error.to_string(), "the access point's interface is not there");
}

#[test]
fn an_interface_that_vanishes_in_mid_dump_takes_its_stations_along_and_others_do_not_notice() {
    let world = Shared::with_points(2);
    (1..50).for_each(|number| world.lock().arrive(3, number));
    world.lock().moves(1, 500, 0);
    world.lock().arrive(4, 99);
    let mut setup = Setup::new(&world);
    let other = setup.brief(1);
    world.lock().faults.push_back(Fault::Vanishes);
    is_away(&mut setup);
    assert_eq!((setup.stations(0), setup.brief(0), setup.full(0)), (vec![], vec![], vec![]));
    let ended = setup.ended(0);
    assert_eq!((ended.sessions, ended.exact, ended.rx_bytes), (49, 49, 500));
    assert_eq!((setup.brief(1), setup.engine.table.total()), (other, 1));
    setup.ask(1).unwrap();
    is_away(&mut setup);
}

#[test]
fn one_that_is_away_is_away_for_every_consumer_and_looked_for_once() {
    let world = Shared::with_points(1);
    let mut setup = Setup::new(&world);
    world.lock().remove(3);
    setup.hear();
    let lists = world.lock().asked.lists;
    setup.pass(1);
    for _ in 0..10 {
        assert!(matches!(setup.ask(0), Err(RefreshError::NoInterface)));
    }
    assert_eq!(world.lock().asked.lists, lists + 1);
}

#[test]
fn it_comes_back_under_a_new_index_and_keeps_its_number() {
    for silent in [false, true] {
        let world = Shared::with_points(2);
        world.lock().arrive(3, 1);
        let mut setup = Setup::new(&world);
        world.lock().silent = silent;
        world.lock().remove(3);
        is_away(&mut setup);
        world.lock().add_point(17, "wlan0", 0);
        world.lock().arrive(17, 2);
        setup.poll(0);
        assert_eq!((setup.stations(0), setup.stations(1)), (vec![address(2)], vec![]));
        assert_eq!(setup.engine.points.named("wlan0").unwrap().number(), 1);
        assert_eq!(setup.engine.points.iter().count(), 2);
        assert_eq!(setup.brief(0)[0]["SignalNoiseRatio"], 55, "the channel was surveyed anew");
    }
}

#[test]
fn it_comes_back_under_another_name_and_keeps_its_number() {
    let world = Shared::with_points(1);
    let mut setup = Setup::new(&world);
    world.lock().remove(3);
    setup.hear();
    world.lock().add_point(17, "ap24", 0);
    setup.poll(0);
    assert_eq!(setup.engine.points.named("ap24").unwrap().number(), 1);
}

#[test]
fn one_that_goes_and_returns_unheard_is_new_and_so_are_its_stations() {
    let (world, mut setup) = Setup::with_stations(&[1]);
    world.lock().remove(3);
    world.lock().add_point(5, "wlan0", 0);
    world.lock().arrive(5, 1);
    world.lock().loses_events();
    setup.hear();
    setup.poll(0);
    assert_eq!((setup.stations(0), setup.ended(0).sessions), (vec![address(1)], 1));
}

#[test]
fn a_renamed_interface_keeps_stations_and_what_was_to_be_asked() {
    let world = Shared::with_points(1);
    let mut setup = Setup::asking(&world, Control::of("ap24"));
    world.lock().arrive(3, 1);
    setup.hear();
    world.lock().interfaces[0].name = "ap24".into();
    setup.pass(11);
    setup.ask(0).unwrap();
    // It asks where hostapd is now, and not where it was.
    let point = setup.engine.points.get(0).unwrap();
    assert_eq!((point.name.as_str(), setup.stations(0)), ("ap24", vec![address(1)]));
    assert_eq!((setup.introduce(), setup.aid(0, 1)), (1, Some(1)));
    assert!(!setup.engine.is_settling());
}

#[test]
fn an_error_of_the_kernel_is_reported_and_no_one_leaves_because_of_it() {
    let (world, mut setup) = Setup::with_stations(&[1]);
    world.lock().faults.push_back(Fault::Refused(Errno::IO));
    setup.pass(1);
    assert!(matches!(setup.ask(0), Err(RefreshError::Kernel(_))));
    assert_eq!(setup.stations(0), [address(1)]);
    setup.ask(0).unwrap();
}
