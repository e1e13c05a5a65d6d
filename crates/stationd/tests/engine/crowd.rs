//! Many stations, and a thousand random happenings after which everything agrees.

use crate::{
    control::Control,
    setup::Setup,
    world::{Fault, Shared, World, address},
};
use proptest::{prelude::*, test_runner::Config};

#[derive(Clone, Copy, Debug)]
enum Happening {
    Arrives(u16, bool),
    Leaves(u16),
    LeavesUnheard(u16),
    Returns(u16),
    Moves(u16, u32),
    LosesEvents,
    Changes,
    Vanishes,
    Hears,
    Polls(bool),
    Introduces,
}

const STATIONS: u16 = 24;

fn happening() -> impl Strategy<Value = Happening> {
    let number = 0..STATIONS;
    prop_oneof![
        6 => (number.clone(), any::<bool>()).prop_map(|(n, part)| Happening::Arrives(n, part)),
        3 => number.clone().prop_map(Happening::Leaves),
        1 => number.clone().prop_map(Happening::LeavesUnheard),
        2 => number.clone().prop_map(Happening::Returns),
        4 => (number, any::<u32>()).prop_map(|(n, bytes)| Happening::Moves(n, bytes)),
        1 => Just(Happening::LosesEvents),
        1 => Just(Happening::Changes),
        1 => Just(Happening::Vanishes),
        4 => Just(Happening::Hears),
        4 => any::<bool>().prop_map(Happening::Polls),
        1 => Just(Happening::Introduces),
    ]
}

fn happens(setup: &mut Setup, happening: Happening) {
    let shared = setup.world.clone();
    match happening {
        Happening::Hears => setup.hear(),
        Happening::Polls(shared) => {
            setup.pass(u64::from(!shared));
            setup.ask(0).unwrap();
        }
        Happening::Introduces => {
            setup.introduce();
        }
        other => changes(&mut shared.lock(), other),
    }
}

fn changes(world: &mut World, happening: Happening) {
    match happening {
        Happening::Arrives(n, part) if !world.is_there(n) => {
            world.arrive(if part { 7 } else { 3 }, n);
        }
        Happening::Leaves(n) => world.leave(address(n)),
        Happening::LeavesUnheard(n) => {
            world.silent = true;
            world.leave(address(n));
            world.silent = false;
        }
        Happening::Returns(n) if world.is_there(n) => {
            world.leave(address(n));
            world.arrive(3, n);
        }
        Happening::Moves(n, bytes) if world.is_there(n) => world.moves(n, bytes.into(), 1),
        Happening::LosesEvents => world.loses_events(),
        Happening::Changes => world.faults.push_back(Fault::Changes(|world| {
            world.leave(address(1));
            world.generation += 1;
        })),
        Happening::Vanishes => {
            world.remove(7);
            world.add_part(7, "wlan0.sta1");
        }
        _ => {}
    }
}

/// A poll that is not shared, in a world that holds still.
fn agrees(setup: &mut Setup) {
    setup.world.lock().faults.clear();
    setup.hear();
    setup.poll(0);
    let mut there = [3, 7].map(|interface| setup.world.lock().addresses(interface)).concat();
    there.sort_unstable();
    assert_eq!(setup.stations(0), there);
    let table = &setup.engine.table;
    assert_eq!((table.total(), table.count(0)), (there.len(), there.len()));
    for number in 0..STATIONS {
        let world = &mut *setup.world.lock();
        let expected = world.is_there(number).then(|| world.station(number).rx_bytes);
        assert_eq!(setup.rx_bytes(0, number), expected, "station {number}");
    }
    assert_eq!((setup.brief(0).len(), setup.full(0).len()), (there.len(), there.len()));
}

proptest! {
    #![proptest_config(Config { cases: 24, failure_persistence: None, ..Config::default() })]

    #[test]
    fn after_a_thousand_happenings_everything_agrees_with_the_world(
        happenings in prop::collection::vec(happening(), 1000),
    ) {
        let world = Shared::with_points(1);
        world.lock().add_part(7, "wlan0.sta1");
        let mut setup = Setup::asking(&world, Control::of("wlan0"));
        for chunk in happenings.chunks(100) {
            chunk.iter().for_each(|one| happens(&mut setup, *one));
            agrees(&mut setup);
        }
        (0..STATIONS).for_each(|number| world.lock().leave(address(number)));
        agrees(&mut setup);
    }

    #[test]
    fn what_all_have_moved_is_in_the_totals_where_no_event_is_lost(
        happenings in prop::collection::vec(happening(), 300),
    ) {
        let world = Shared::with_points(1);
        let mut setup = Setup::new(&world);
        let (mut moved, mut sessions) = (0_u64, 0_u64);
        for one in happenings {
            let before = total(&world.lock().stations);
            match one {
                Happening::Arrives(_, true)
                | Happening::LeavesUnheard(_)
                | Happening::LosesEvents
                | Happening::Vanishes
                | Happening::Changes => continue,
                Happening::Moves(..) => {
                    happens(&mut setup, one);
                    moved += total(&world.lock().stations) - before;
                }
                _ => {
                    let came = world.lock().generation;
                    happens(&mut setup, one);
                    sessions += u64::from(world.lock().generation - came);
                }
            }
        }
        (0..STATIONS).for_each(|number| {
            sessions += u64::from(world.lock().is_there(number));
            world.lock().leave(address(number));
        });
        while !world.lock().events.is_empty() {
            setup.hear();
        }
        let ended = setup.ended(0);
        // Each session changed the list twice.
        prop_assert_eq!((ended.sessions, ended.exact), (sessions / 2, sessions / 2));
        prop_assert_eq!(ended.rx_bytes, moved);
    }
}

fn total(stations: &[crate::world::Station]) -> u64 {
    stations.iter().map(|one| one.rx_bytes).sum()
}
