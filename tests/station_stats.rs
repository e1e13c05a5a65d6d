//! The limits that `studies/station-stats.toml` must keep (instructions are counted, so they are exact), and its moving clients.

use std::collections::BTreeMap;

use model::{name::VariantName, sample::Account};

use crate::harness::{Place, in_guest};

const STUDY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../studies/station-stats.toml");

fn usage(account: &Account) -> u64 {
    account.group.expect("the guest has control groups").usage_ns
}

/// What the subject and the load of each variant took in the window, ns.
fn measured(place: &Place) -> BTreeMap<VariantName, (u64, u64)> {
    let spent = |first: &Account, last: &Account| usage(last) - usage(first);
    let run = place.run();
    let trials = run.trials();
    let of = trials.iter().zip(run.recordings()).map(|(trial, recording)| {
        let [first, .., last] = &recording.samples[..] else { panic!("too few samples") };
        let load = first.load.as_ref().zip(last.load.as_ref());
        let load = load.map_or(0, |(first, last)| spent(first, last));
        (trial.planned.id.variant.clone(), (spent(&first.subject, &last.subject), load))
    });
    of.collect()
}

#[test]
fn stationd_stays_near_the_floor_and_below_iw() {
    let place = Place::with_guests();
    let variants = "--variant bulk --variant iw-dump --variant floor --only cpu --out run";
    // One repetition of a part of it: gates that need more cannot be judged, and say so.
    let words = format!("run {STUDY} --clients 114 --repetitions 1 --window 6s {variants}");
    place.call(&words).code(3);
    let measured = measured(&place);
    let subject = |variant: &str| measured[variant].0 as f64;
    let (default, floor) = (subject("bulk"), subject("floor"));
    assert!(default <= 1.25 * floor, "{} × the floor: {measured:?} ns", default / floor);
    assert!(default > floor, "less than the floor is no floor");
    assert!(default < measured["iw-dump"].1 as f64, "iw is cheaper: {measured:?} ns");
}

#[test]
fn clients_that_move_make_sessions_end_and_counters_rise_and_are_all_back_at_the_end() {
    let place = Place::with_guests();
    let script = r#"
daemon
part before; metrics
headroom-agent --move-clients packets=500ms roams=1s leaves=1s &
mover=$!
sleep 6
kill -TERM $mover
wait $mover
part after; metrics
part wrong; headroom-agent --move-clients packets=often 2>&1 || echo "code $?"
"#;
    let parts = in_guest(&place, 6, script);
    let (before, after) = (parts.page("before"), parts.page("after"));
    assert_eq!(after.sum("stationd_access_point_stations"), 6.0);
    // One roams and one leaves in each second.
    let ended = after.more(&before, "stationd_access_point_sessions_ended_total");
    assert!((8.0..=14.0).contains(&ended), "{ended} sessions ended");
    for total in ["receive_bytes_total", "transmit_bytes_total"] {
        let moved = after.more(&before, &format!("stationd_access_point_{total}"));
        assert!(moved > 6.0 * 8.0 * 58.0, "{total}: {moved}");
    }
    let wrong = parts.text("wrong");
    assert!(wrong.contains("write packets=SPAN") && wrong.contains("code 1"), "{wrong}");
}
