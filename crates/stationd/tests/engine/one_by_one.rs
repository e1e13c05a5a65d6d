//! The field's way of reading: two round trips to the kernel for each station, and one to hostapd.

use std::time::{Duration, Instant};

use stationd::engine::{AskHostapd, Pull, Settings};

use crate::{
    control::{Control, known},
    setup::{Setup, settings},
    world::{Shared, address},
};

fn one_by_one() -> Settings {
    Settings { pull: Pull::PerStation, ..settings() }
}

fn asking_each_poll() -> Settings {
    Settings { ask_hostapd: AskHostapd::EachPoll, ..one_by_one() }
}

#[test]
fn both_ways_give_the_same_reply() {
    let world = Shared::with_points(1);
    (0..10).for_each(|number| world.lock().arrive(3, number));
    let mut bulk = Setup::new(&world);
    let mut single = Setup::asking(&world, one_by_one(), Control::absent());
    for round in 0..3 {
        (0..10).for_each(|number| world.lock().moves(number, u64::from(number) + round, 9));
        bulk.poll(0);
        let gets = world.lock().asked.gets;
        single.poll(0);
        assert_eq!(world.lock().asked.gets, gets + 10);
        assert_eq!(bulk.brief(0), single.brief(0));
    }
    assert_eq!(single.engine.cost().gets, 30);
    assert_eq!(single.engine.cost().surveys, 31);
}

#[test]
fn who_is_not_known_to_the_kernel_has_left() {
    let world = Shared::with_points(1);
    world.lock().arrive(3, 1);
    world.lock().arrive(3, 2);
    world.lock().moves(1, 100, 0);
    let mut setup = Setup::asking(&world, one_by_one(), Control::absent());
    world.lock().silent = true;
    world.lock().leave(address(1));
    setup.poll(0);
    let ended = setup.ended(0);
    assert_eq!((ended.sessions, ended.exact, ended.rx_bytes), (1, 0, 100));
    assert_eq!((setup.stations(0), setup.engine.model().len()), (vec![address(2)], 1));
}

#[test]
fn what_hostapd_reported_is_written_down_once() {
    let world = Shared::with_points(1);
    let control = Control::of("wlan0");
    let mut setup = Setup::asking(&world, asking_each_poll(), control);
    world.lock().arrive(3, 1);
    setup.hear();
    assert_eq!(setup.transactions(), 1);
    let now_ns = setup.now_ns;
    let Setup { engine, control, .. } = &mut setup;
    // hostapd answers in its own time, while the daemon waits.
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                for asked in control.questions() {
                    control.answer(&asked, &known("02:00:00:00:00:99", 9));
                    control.answer(&asked, &known(&asked.station, 4));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        for second in 1..5 {
            engine.refresh(0, 0, now_ns + second * 1_000_000_000).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!((setup.aid(0, 1), setup.transactions()), (Some(4), 2));
    assert_eq!(setup.full(0)[0]["MACAddress"], "02:00:00:00:00:01");
    assert!(!setup.engine.is_settling(), "nobody has to be asked again");
}

#[test]
fn hostapd_is_asked_at_each_poll_only_where_that_is_wanted_whatever_asks_the_kernel() {
    for pull in [Pull::Bulk, Pull::PerStation] {
        for ask_hostapd in [AskHostapd::OnAssociation, AskHostapd::EachPoll] {
            let world = Shared::with_points(1);
            world.lock().arrive(3, 1);
            let settings = Settings { pull, ask_hostapd, ..settings() };
            let mut setup = Setup::asking(&world, settings, Control::of("wlan0"));
            assert_eq!((setup.introduce(), setup.engine.cost().hostapd_requests), (1, 1));
            let before = world.lock().asked;
            setup.poll(0);
            let each = u64::from(ask_hostapd == AskHostapd::EachPoll);
            assert_eq!(setup.engine.cost().hostapd_requests, 1 + each, "{pull:?} {ask_hostapd:?}");
            let bulk = u64::from(pull == Pull::Bulk);
            let asked = world.lock().asked;
            assert_eq!((asked.dumps - before.dumps, asked.gets - before.gets), (bulk, 1 - bulk));
        }
    }
}

#[test]
fn a_hostapd_that_hangs_costs_one_wait_and_not_one_for_each_station() {
    let world = Shared::with_points(1);
    (0..20).for_each(|number| world.lock().arrive(3, number));
    let mut setup = Setup::asking(&world, asking_each_poll(), Control::of("wlan0"));
    let begin = Instant::now();
    // More polls than hostapd's queue has places: sending must not wait either.
    for _ in 0..4 {
        setup.pass(3);
        setup.ask(0).unwrap();
    }
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    assert_eq!(setup.engine.cost().hostapd_timeouts, 4);
    assert_eq!(setup.brief(0).len(), 20);
}

#[test]
fn a_hostapd_whose_queue_is_full_is_not_waited_for() {
    let world = Shared::with_points(1);
    world.lock().arrive(3, 1);
    let control = Control::of("wlan0");
    let stuffer = std::os::unix::net::UnixDatagram::unbound().unwrap();
    stuffer.connect(control.folder().join("wlan0")).unwrap();
    stuffer.set_nonblocking(true).unwrap();
    while stuffer.send(b"STA x").is_ok() {}
    let mut setup = Setup::asking(&world, asking_each_poll(), control);
    let begin = Instant::now();
    setup.poll(0);
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
}
