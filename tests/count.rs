//! Calls of functions, counted by the kernel in real guests.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::harness::{Place, Study, number};

const COUNT: &str = r#"
[count]
repetitions = 1

[[count.function]]
name = "replies"
symbol = "rpc::methods::answer"

[[count.function]]
name = "reads"
symbol = "Engine::refresh"
per = "replies"

[[count.function]]
name = "dumps"
kernel = "nl80211_dump_station"
census = true
"#;

fn by_name<'a>(list: &'a Value, value: &str) -> BTreeMap<&'a str, f64> {
    let entries = list.as_array().unwrap().iter();
    entries.map(|one| (one["name"].as_str().unwrap(), number(one, value))).collect()
}

#[test]
fn every_poll_of_stationd_is_counted_by_the_kernel() {
    let place = Place::with_guests();
    let study = Study::small().count(COUNT).window("5s").stationd("bulk", "", " --brief");
    place.write("study.toml", study.text());
    let analysis = place.json("count study.toml --out run --json");
    let counted = by_name(&analysis["counts"], "/per_window/mean");
    // Five polls of three radios, and the kernel is entered for each part of a dump.
    assert_eq!(counted["replies"], 15.0, "{counted:?}");
    assert_eq!(counted["reads"], 15.0, "{counted:?}");
    assert!(counted["dumps"] >= 15.0, "{counted:?}");
    let counts = analysis["counts"].as_array().unwrap();
    let named = |name: &str| counts.iter().find(|count| count["name"] == name).unwrap();
    assert_eq!(named("reads")["per_call"][0], "replies");
    let per_call = counted["reads"] / counted["replies"];
    assert_eq!(number(named("reads"), "/per_call/1/mean"), per_call);
    let census = &named("dumps")["census"];
    assert_eq!(number(census, "/calls"), counted["dumps"]);
    assert!(number(census, "/groups/0/quantiles_ns/1") > 1000.0, "{census:#}");
}

#[test]
fn a_function_that_is_not_there_is_reported_with_those_that_are_like_it() {
    let place = Place::with_guests();
    let refused = |words: &str, message: &str| {
        place
            .call(&format!("count {words} --clients 6 --out run"))
            .code(2)
            .says(message)
            .in_one_line();
        assert!(!place.path("run").exists());
    };
    refused("hostapd --function no_such_function", "cannot count calls of `no_such_function`");
    // Inside the program's head there is no code.
    refused("hostapd --function 0x10", "cannot count calls of `0x10`");
    refused("no-such-daemon --function f", "`no-such-daemon` was not found");
}
