//! Both ways say the same, whatever was done to the zones; and no one is silenced who wants to speak.

use proptest::prelude::*;

use super::*;

#[test]
fn with_nothing_wanted_the_integer_is_below_every_level() {
    let none = Trace::with(Way::Level, Zones::default());
    assert_eq!(none.gate, Level::NONE);
    assert!(!none.wants("dm", Level::ERROR) && !none.wants("dm", Level(0)));
}

/// The field's own: −1 as an unsigned number is the highest of all, so the search for a higher one found
/// none, and nothing was ever said again.
#[test]
fn the_sentinel_does_not_silence_a_zone_that_speaks() {
    let mut trace = Trace::with(Way::Level, Zones::default());
    trace.add("dm", Level(0));
    assert_eq!(trace.gate, Level(0));
    assert!(trace.wants("dm", Level(0)));
    trace.set("dm", Level::ERROR);
    assert!(trace.wants("dm", Level::ERROR) && !trace.wants("dm", Level::WARNING));
    trace.set_all(Level::NONE);
    assert_eq!(trace.gate, Level::NONE);
    trace.set_all(Level::INFO);
    assert!(trace.wants("dm", Level::INFO));
}

#[test]
fn the_fall_back_zone_speaks_for_those_that_are_not_in_the_list() {
    for way in [Way::Walk, Way::Level] {
        let mut trace = Trace::with(way, Zones::default());
        trace.add(ALL, Level::INFO);
        trace.add("dm", Level::ERROR);
        assert!(trace.wants("rpc", Level::INFO) && !trace.wants("dm", Level::INFO));
        trace.remove("dm");
        assert!(trace.wants("dm", Level::INFO));
        trace.remove(ALL);
        assert!(!trace.wants("dm", Level::INFO));
    }
}

#[test]
fn the_daemon_has_eighty_zones_and_is_quiet_unless_asked() {
    let mut names: Vec<_> = ZONES.into_iter().chain([ALL]).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 80);
    let trace = Trace::new(Way::Level);
    assert_eq!((trace.zones.len(), trace.gate), (80, Level::WARNING));
    assert!(!trace.wants("dm", Level::INFO) && trace.wants("dm", Level::ERROR));
}

#[test]
fn settings_are_taken_all_or_none() {
    let mut trace = Trace::new(Way::Level);
    trace.configure("dm=info, dmTrans = 500,,*=100,mine=none").unwrap();
    assert_eq!(trace.zones.level("dm"), Some(Level::ERROR), "the star came later");
    assert_eq!(trace.zones.level("mine"), Some(Level::NONE));
    let before = trace.zones.clone();
    let said = |text| trace.clone().configure(text).unwrap_err().to_string();
    assert_eq!(
        said("dm=info,rpc"),
        "trace setting `rpc` has no level; write zone=level, as all=400"
    );
    assert_eq!(
        said("dm=info,rpc=loud"),
        "`loud` is not a level of trace zone `rpc`; it may be none, error, warning, notice, info, debug \
         or a number"
    );
    assert!(trace.configure("dm=info,rpc=loud").is_err());
    assert_eq!(trace.zones, before);
}

#[test]
fn a_message_is_one_line_with_its_zone() {
    let mut line = Vec::new();
    write_line(&mut line, "dm", Level::INFO, format_args!("{} of {}", 1, 2)).unwrap();
    assert_eq!(line, b"stationd info: dm: 1 of 2\n");
}

/// What may be done to zones.
#[derive(Clone, Debug)]
enum Step {
    Add(usize, i32),
    Remove(usize),
    Set(usize, i32),
    SetAll(i32),
}

const NAMES: [&str; 5] = ["dm", "dmTrans", "rpc", "", ALL];

fn level() -> impl Strategy<Value = i32> {
    prop_oneof![Just(-1), Just(0), Just(100), Just(400), -3..600_i32, any::<i32>()]
}

fn step() -> impl Strategy<Value = Step> {
    let name = 0..NAMES.len();
    prop_oneof![
        (name.clone(), level()).prop_map(|(name, level)| Step::Add(name, level)),
        name.clone().prop_map(Step::Remove),
        (name, level()).prop_map(|(name, level)| Step::Set(name, level)),
        level().prop_map(Step::SetAll),
    ]
}

fn take(trace: &mut Trace, step: &Step) {
    match *step {
        Step::Add(name, level) => trace.add(NAMES[name], Level(level)),
        Step::Remove(name) => drop(trace.remove(NAMES[name])),
        Step::Set(name, level) => drop(trace.set(NAMES[name], Level(level))),
        Step::SetAll(level) => trace.set_all(Level(level)),
    }
}

proptest! {
    #[test]
    fn both_ways_agree_after_every_history(
        steps in prop::collection::vec(step(), 0..20),
        levels in prop::collection::vec(level(), 1..10),
    ) {
        let mut walk = Trace::with(Way::Walk, Zones::default());
        let mut level = Trace::with(Way::Level, Zones::default());
        for step in &steps {
            take(&mut walk, step);
            take(&mut level, step);
            for asked in levels.iter().map(|level| Level(*level)) {
                for zone in NAMES.into_iter().chain(["nobody's"]) {
                    prop_assert_eq!(walk.wants(zone, asked), level.wants(zone, asked));
                }
            }
        }
    }

    #[test]
    fn any_setting_is_read_without_panic(text: String) {
        let _ = Trace::new(Way::Level).configure(&text);
    }
}
