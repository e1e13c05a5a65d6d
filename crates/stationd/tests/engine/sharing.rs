//! Readings that are shared, and how often the kernel is asked for them.

use stationd::engine::RefreshError;

use crate::{setup::Setup, world::Shared};

#[test]
fn ten_consumers_within_the_freshness_share_one_dump_and_one_more_is_made_after_it() {
    let (world, mut setup) = Setup::with_stations(&[1]);
    let (asked, cost) = (world.lock().asked, setup.engine.cost());
    for dumps in 1..4 {
        setup.pass(1);
        (0..10).for_each(|_| setup.ask(0).unwrap());
        assert_eq!(world.lock().asked.dumps, asked.dumps + dumps);
    }
    let now = setup.engine.cost();
    assert_eq!((now.dumps - cost.dumps, now.reads, now.shared), (3, 30, 27));
    assert_eq!(now.dumps, world.lock().asked.dumps);
    assert_eq!(
        (now.surveys, world.lock().asked.surveys),
        (1, 1),
        "a noise is not asked for so often"
    );
}

#[test]
fn a_noise_and_a_list_are_asked_for_every_ten_seconds() {
    let world = Shared::with_points(1);
    let mut setup = Setup::new(&world);
    let begun = world.lock().asked;
    (0..25).for_each(|_| setup.poll(0));
    let asked = world.lock().asked;
    assert_eq!((asked.surveys - begun.surveys, asked.lists - begun.lists), (2, 2));
}

#[test]
fn a_driver_without_surveys_is_read_without_a_noise() {
    use rustix::io::Errno;
    for errno in [Errno::OPNOTSUPP, Errno::NETDOWN, Errno::BUSY] {
        let world = Shared::with_points(1);
        world.lock().arrive(3, 1);
        world.lock().survey = Some(errno);
        let mut setup = Setup::new(&world);
        setup.poll(0);
        assert!(setup.brief(0)[0]["SignalNoiseRatio"].is_null());
        assert_eq!(setup.brief(0)[0]["SignalStrength"], -40);
    }
}

#[test]
fn where_no_events_can_be_had_polls_find_who_came_and_who_went() {
    let world = Shared::with_points(1);
    let mut setup = Setup::deaf(&world, None);
    world.lock().arrive(3, 1);
    setup.poll(0);
    assert_eq!(setup.stations(0), world.lock().addresses(3));
    world.lock().remove(3);
    setup.pass(1);
    assert!(matches!(setup.ask(0), Err(RefreshError::NoInterface)));
    assert_eq!((setup.stations(0).len(), setup.ended(0).exact), (0, 0));
}
