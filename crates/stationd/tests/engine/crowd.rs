//! Many stations, and a thousand random happenings after which everything agrees.

use proptest::{prelude::*, test_runner::Config};
use stationd::engine::{Pull, Settings};

use crate::{
    control::Control,
    scene::{Scene, settings},
    world::{Fault, Shared, address},
};

#[test]
fn five_hundred_stations_on_one_radio_are_in_every_reply() {
    let world = Shared::with_points(1);
    (0..500).for_each(|number| world.lock().arrive(3, number));
    let mut scene = Scene::asking(&world, settings(), Control::of("wlan0"));
    assert_eq!((scene.introduce(), scene.transactions()), (500, 1000));
    scene.poll(0);
    let (brief, full) = (scene.brief(0), scene.full(0));
    assert_eq!((brief.len(), full.len()), (500, 500));
    for (brief, full) in brief.iter().zip(&full) {
        let brief = brief.as_object().unwrap();
        assert!(brief.iter().all(|(key, value)| value.is_null() || full[key] == *value));
    }
    let got = scene.get("WiFi.AccessPoint.1.AssociatedDevice.*.SignalStrength");
    assert_eq!(got.as_object().unwrap().len(), 500);
    assert!(scene.engine.model().texts() < 50, "equal texts are kept once");
    scene.poll(0);
    assert_eq!(scene.transactions(), 1000);
    (0..500).for_each(|number| world.lock().leave(address(number)));
    while !world.lock().events.is_empty() {
        scene.hear();
    }
    assert_eq!((scene.ended(0).exact, scene.engine.model().len()), (500, 0));
    assert_eq!((scene.engine.model().texts(), scene.brief(0).len()), (0, 0));
}

/// Anything that may happen.
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

fn happens(scene: &mut Scene, happening: Happening) {
    let is_there =
        |n| scene.world(|world| world.stations.iter().any(|one| one.address == address(n)));
    match happening {
        Happening::Arrives(n, part) if !is_there(n) => {
            scene.world(|world| world.arrive(if part { 7 } else { 3 }, n));
        }
        Happening::Leaves(n) => scene.world(|world| world.leave(address(n))),
        Happening::LeavesUnheard(n) => scene.world(|world| {
            world.silent = true;
            world.leave(address(n));
            world.silent = false;
        }),
        Happening::Returns(n) if is_there(n) => scene.world(|world| {
            world.leave(address(n));
            world.arrive(3, n);
        }),
        Happening::Moves(n, bytes) if is_there(n) => {
            scene.world(|world| world.moves(n, (bytes.into(), 1)));
        }
        Happening::LosesEvents => scene.world(|world| world.loses_events()),
        Happening::Changes => scene.world(|world| {
            let shakes = Fault::Changes(|world| {
                world.leave(address(1));
                world.generation += 1;
            });
            world.faults.push_back(shakes);
        }),
        Happening::Vanishes => scene.world(|world| {
            world.remove(7);
            world.add_part(7, "wlan0.sta1");
        }),
        Happening::Hears => scene.hear(),
        Happening::Polls(shared) => {
            scene.pass(u64::from(!shared));
            scene.ask(0).unwrap();
        }
        Happening::Introduces => {
            scene.introduce();
        }
        Happening::Arrives(..) | Happening::Returns(_) | Happening::Moves(..) => {}
    }
}

/// A poll that is not shared, in a world that holds still.
fn agrees(scene: &mut Scene, may_miss: bool) {
    scene.world(|world| world.faults.clear());
    if may_miss {
        scene.world(|world| world.loses_events());
        scene.hear();
    }
    scene.hear();
    scene.poll(0);
    let mut there = scene.world(|world| [world.addresses(3), world.addresses(7)].concat());
    there.sort_unstable();
    assert_eq!(scene.stations(0), there);
    let table = scene.engine.table();
    assert_eq!((table.len(), table.count(0)), (there.len(), there.len()));
    assert!(table.slots() <= u32::from(STATIONS), "slots are used again");
    for number in 0..STATIONS {
        let told = scene.world(|world| {
            let find = |one: &&crate::world::Station| one.address == address(number);
            world.stations.iter().find(find).map(|one| one.rx_bytes)
        });
        assert_eq!(scene.rx_bytes(0, number), told, "station {number}");
    }
    assert_eq!(scene.engine.model().len(), there.len());
    assert_eq!((scene.brief(0).len(), scene.full(0).len()), (there.len(), there.len()));
    let got = scene.get("WiFi.AccessPoint.*.AssociatedDevice.*.MACAddress");
    assert_eq!(got.as_object().unwrap().len(), there.len());
    if there.is_empty() {
        assert_eq!(scene.engine.model().texts(), 0);
    }
}

proptest! {
    #![proptest_config(Config { cases: 24, failure_persistence: None, ..Config::default() })]

    #[test]
    fn after_a_thousand_happenings_everything_agrees_with_the_world(
        happenings in prop::collection::vec(happening(), 1000),
        one_by_one: bool,
    ) {
        let world = Shared::with_points(1);
        world.lock().add_part(7, "wlan0.sta1");
        let pull = if one_by_one { Pull::PerStation } else { Pull::Bulk };
        let control = if one_by_one { Control::absent() } else { Control::of("wlan0") };
        let mut scene = Scene::asking(&world, Settings { pull, ..settings() }, control);
        for chunk in happenings.chunks(100) {
            chunk.iter().for_each(|one| happens(&mut scene, *one));
            // What nobody told, only a dump can tell.
            agrees(&mut scene, one_by_one);
        }
        (0..STATIONS).for_each(|number| world.lock().leave(address(number)));
        agrees(&mut scene, false);
    }

    #[test]
    fn what_all_have_moved_is_in_the_totals_where_no_event_is_lost(
        happenings in prop::collection::vec(happening(), 300),
    ) {
        let world = Shared::with_points(1);
        let mut scene = Scene::new(&world);
        let (mut moved, mut sessions) = (0_u64, 0_u64);
        for one in happenings {
            let before = scene.world(|world| total(&world.stations));
            match one {
                Happening::Arrives(_, true)
                | Happening::LeavesUnheard(_)
                | Happening::LosesEvents
                | Happening::Vanishes
                | Happening::Changes => continue,
                Happening::Moves(..) => {
                    happens(&mut scene, one);
                    moved += scene.world(|world| total(&world.stations)) - before;
                }
                _ => {
                    let came = scene.world(|world| world.generation);
                    happens(&mut scene, one);
                    sessions += u64::from(scene.world(|world| world.generation) - came);
                }
            }
        }
        (0..STATIONS).for_each(|number| {
            sessions += u64::from(!scene.world(|world| world.stations.iter().all(|one| one.address != address(number))));
            world.lock().leave(address(number));
        });
        while !world.lock().events.is_empty() {
            scene.hear();
        }
        let ended = scene.ended(0);
        // Each session changed the list twice.
        prop_assert_eq!((ended.sessions, ended.exact), (sessions / 2, sessions / 2));
        prop_assert_eq!(ended.rx_bytes, moved);
    }
}

fn total(stations: &[crate::world::Station]) -> u64 {
    stations.iter().map(|one| one.rx_bytes).sum()
}
