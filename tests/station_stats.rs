//! The limits that `studies/station-stats.toml` must keep: instructions are counted, so they are exact.

use std::{collections::BTreeMap, path::Path};

use model::{name::VariantName, sample::Account};

use crate::harness::Place;

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
fn stationd_stays_near_the_floor_and_far_below_what_was_found() {
    let place = Place::with_guests();
    let out = place.path("run");
    let variants = ["found", "bulk", "iw-dump", "floor"];
    let mut words = vec!["run", STUDY, "--clients", "114", "--repetitions", "1", "--window", "6s"];
    words.extend(variants.iter().flat_map(|variant| ["--variant", variant]));
    words.extend(["--only", "cpu", "--out", Path::to_str(&out).unwrap()]);
    // One repetition of a part of it: the study's gates cannot be judged, and say so.
    place.headroom(words).run().code(3);
    let measured = measured(&place);
    let subject = |variant: &str| measured[variant].0 as f64;
    let (default, floor, found) = (subject("bulk"), subject("floor"), subject("found"));
    eprintln!("{measured:?} ns");
    assert!(default <= 1.25 * floor, "{} × the floor", default / floor);
    assert!(default > floor, "less than the floor is no floor");
    assert!(found >= 20.0 * default, "{} × the default", found / default);
    assert!(default < measured["iw-dump"].1 as f64, "iw is cheaper");
    assert_eq!(place.left(), []);
}
