//! Stacks and calls of real programs in real guests: every frame named, exports that others read, calls counted by the kernel,
//! faults in words.

use std::{collections::BTreeMap, fs};

use serde_json::Value;

use crate::{
    bisect,
    harness::{Busy, Place, Study, number},
};

/// The model of the field's daemon as it was found and as it writes on change, six clients, asked once a second for each radio.
fn stages() -> Study {
    let variant = |flags: &str| {
        format!(
            "subject = {{ process = \"wld-model\", ready = \"/run/wld.sock\", others = [\"hostapd\"], \
             start = \"/run/headroom/put/wld-model {flags}\" }}\n\
             load = {{ run = \"station-monitor --socket /run/wld.sock --full --every 1s\", long-running = true }}"
        )
    };
    Study::small()
        .access_point("programs = [\"wld-model\"]")
        .process("wld-model")
        .variant("found", &variant("--trace-walk"))
        .variant("written", &format!("against = [\"found\"]\n{}", variant("--write-on-change")))
}

fn profile<'a>(analysis: &'a Value, variant: &str) -> &'a Value {
    let profiles = analysis["profiles"].as_array().unwrap();
    profiles.iter().find(|profile| profile["variant"] == variant).unwrap()
}

/// µs of CPU a second of every function whose name has these words, with all that it calls.
fn inclusive(profile: &Value, words: &str) -> f64 {
    let functions = profile["functions"].as_array().unwrap();
    let named = functions.iter().filter(|one| one["name"].as_str().unwrap().contains(words));
    named.map(|one| number(one, "/inclusive/mean")).fold(0.0, f64::max)
}

#[test]
fn the_write_back_is_seen_where_it_is_done_and_stacks_go_to_other_tools() {
    let place = Place::with_study(stages().profiles(2).window("10s").text());
    let ended = place.call("profile study.toml --out run --repetitions 2");
    ended.code(0).prints("Where the CPU of found at 6 clients goes");
    let first = place.run().report();
    // Nothing but the folder is needed: the cache, and the programs beside headroom, may be gone.
    let again = place.headroom("report run --out again.html --json");
    let again = again.env("HEADROOM_CACHE", place.folder("empty")).run();
    assert!(first == place.read("again.html"));
    let analysis = again.code(0).last_json();
    for variant in ["found", "written"] {
        let profile = profile(&analysis, variant);
        let (samples, unknown) =
            (number(profile, "/unknown/samples"), number(profile, "/unknown/unknown"));
        assert!(unknown <= samples / 1000.0, "{variant}: {:#}", profile["unknown"]);
        for capture in profile["captures"].as_array().unwrap() {
            assert_eq!(capture["proof"]["holds"], true, "{capture:#}");
            assert_eq!(capture["lost"], 0, "{capture:#}");
            // A sample stands for 1/499 s of CPU: the counters of the same window say the same.
            let by_samples = number(capture, "/samples") * 1e6 / 499.0 / 10.0;
            let by_counters = number(capture, "/cpu_us_per_s");
            let tolerance = 0.05 * by_counters + 1e6 / 499.0 / 10.0 * 2.0;
            assert!((by_samples - by_counters).abs() < tolerance, "{capture:#}");
        }
        assert_eq!(profile["event"], "cpu-clock");
    }
    let sync = |variant| inclusive(profile(&analysis, variant), "::sync_info");
    assert!(sync("found") > 500.0, "{}", sync("found"));
    assert!(sync("written") < sync("found") / 20.0, "nothing is written back");
    assert!(first.contains("Where the CPU goes") && first.contains("finalize_transaction"));
    is_exported(&place, &analysis);
}

/// The stacks of `found`, for other tools.
fn is_exported(place: &Place, analysis: &Value) {
    place.call("export run --variant found --out folded").code(0);
    let folded = place.read("folded");
    let samples =
        folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap());
    assert_eq!(samples.sum::<f64>(), number(profile(analysis, "found"), "/unknown/samples"));
    assert!(folded.lines().all(|line| line.starts_with("wld-model;")), "{folded}");
    place.call("export run --csv --out figures.csv").code(0);
    let csv = place.read("figures.csv");
    let rows = analysis["table"].as_array().unwrap();
    assert_eq!(csv.lines().count(), 1 + rows.len(), "{csv}");
    for (line, row) in csv.lines().skip(1).zip(rows) {
        let names = ["name", "variant"].map(|key| row[key].as_str().unwrap());
        assert!(line.starts_with(&format!("{},", names.join(","))), "{line}: {row}");
    }
    // What is kept is what perf writes: it is a recording by itself.
    let kept = "run/stacks/found@6#1.stacks.perf.data";
    let words = format!("report --perf-data {kept} --out alone.html");
    place.call(&words).code(0).prints("report: alone.html");
}

#[test]
fn this_machine_is_profiled_as_a_device_is() {
    let place = Place::without_guests();
    let busy = Busy::named(&place, "busy-here");
    let ended = place.call("profile busy-here --on local --window 2s --out run --json");
    drop(busy);
    if ended.stderr.contains("perf_event") {
        skip::skip!("this machine lets no one sample: {}", ended.stderr);
        return;
    }
    let analysis = ended.code(0).last_json();
    let profile = profile(&analysis, "as-it-runs");
    assert!(number(profile, "/unknown/samples") > 100.0, "{profile:#}");
}

#[test]
fn a_studys_own_program_is_named_by_what_it_lost_on_the_way_to_the_access_point() {
    let place = Place::with_guests();
    bisect::compile(&place.path("steps"), 1_000_000, "one");
    let study = Study::small()
        .access_point("programs = [\"steps\"]")
        .process("steps")
        .profiles(1)
        .count(r#"{ name = "sleeps", symbol = "nanosleep" }"#)
        .variant("work", "load = \"none\"\nsubject = { process = \"steps\", start = \"/run/headroom/put/steps\" }");
    place.write("study.toml", study.text());
    let words = "run study.toml --only stacks --only counts --out run --json";
    let analysis = place.json(words);
    let counted = number(&analysis["counts"][0], "/per_window/mean");
    assert!((30.0..50.0).contains(&counted), "ten a second: {:#}", analysis["counts"]);
    let is_named = |analysis: &Value| {
        let work = profile(analysis, "work");
        assert!(inclusive(work, "main") > 0.0, "{:#}", work["functions"]);
        assert_eq!(number(work, "/unknown/synthesised"), 0.0, "{:#}", work["unknown"]);
        assert_eq!(work["captures"][0]["proof"]["holds"], true, "{:#}", work["captures"]);
    };
    is_named(&analysis);
    // The folder explains itself when the program is gone, and its stripped files hide nobody's symbols.
    fs::remove_file(place.path("steps")).unwrap();
    is_named(&place.json("report run --json"));
    is_named(&place.json("report run --json --symbols ."));
}

#[test]
fn both_builds_of_a_comparison_have_functions_to_count() {
    let place = Place::with_guests();
    bisect::compile(&place.path("steps"), 100_000, "one");
    bisect::compile(&place.path("other"), 50_000, "one");
    let work =
        "load = \"none\"\nsubject = { process = \"steps\", start = \"/run/headroom/put/steps\" }";
    let study = Study::small().access_point("programs = [\"steps\"]").process("steps");
    place.write("study.toml", study.variant("work", work).text());
    let words = "compare study.toml work --with /run/headroom/put/steps=other --pairs 6 --changes nanosleep";
    let analysis = place.json(&format!("{words} --out run --json"));
    assert_eq!(analysis["judgements"][0]["verdict"], "pass", "{:#}", analysis["judgements"]);
    for counted in analysis["counts"].as_array().unwrap() {
        assert!((30.0..50.0).contains(&number(counted, "/per_window/mean")), "{counted:#}");
    }
    let objects = fs::read_dir(place.run().path("objects")).unwrap().flatten();
    let names: Vec<_> = objects.map(|file| file.file_name().into_string().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| name.ends_with(".debug")).count(), 2, "{names:?}");
}

const COUNT: &str = r#"
{ name = "replies", symbol = "rpc::methods::answer" },
{ name = "reads", symbol = "Engine::refresh", per = "replies" },
{ name = "dumps", kernel = "nl80211_dump_station", census = true },
"#;

fn by_name<'a>(list: &'a Value, value: &str) -> BTreeMap<&'a str, f64> {
    let entries = list.as_array().unwrap().iter();
    entries.map(|one| (one["name"].as_str().unwrap(), number(one, value))).collect()
}

#[test]
fn every_poll_of_stationd_is_counted_by_the_kernel() {
    let study = Study::small().count(COUNT).window("5s").stationd("bulk", "", " --brief");
    let place = Place::with_study(study.text());
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
