//! Verdicts between two sides, in real guests: cheaper, the same, another build, code that never ran.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Place, Study, has, number, stationd};

/// stationd that reads ten times a second although no one asks, and as it is.
pub(crate) fn study() -> Study {
    let often = Study::small().stationd("often", " --set sample-every=100ms", " --brief");
    often.stationd("bulk", "", " --brief")
}

fn judgement(analysis: &Value) -> &Value {
    let all = analysis["judgements"].as_array().unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    &all[0]
}

#[test]
fn a_cure_is_cheaper_as_soon_as_it_is_decided_and_the_files_for_ci_say_so() {
    let place = Place::with_guests();
    place.write("study.toml", &study().text());
    let words = ["compare", "study.toml", "often", "bulk", "--expect", "faster"];
    let files = ["--out", "run", "--junit", "junit.xml", "--markdown", "summary.md", "--json"];
    let analysis = place.headroom(words).words(files).run().code(0).last_json();
    let message = judgement(&analysis);
    has(message, &json!({"finding": "cheaper", "verdict": "pass", "pairs": 6, "strangers": []}));
    assert_eq!((&message["look"][0], place.run().count()), (&json!(1), 12));
    assert!(number(message, "/relative/interval/high") < -0.1, "{message:#}");
    // All six pairs have one sign.
    assert_eq!(number(message, "/p"), 2.0 / 64.0);
    assert!(number(message, "/detectable") < 0.05);
    assert!(fs::read_to_string(place.path("junit.xml")).unwrap().contains("<testsuite"));
    assert!(fs::read_to_string(place.path("summary.md")).unwrap().contains("bulk"));
    // The same run read again says the same.
    let again = place.headroom(["report", "run", "--json"]).run().code(0).last_json();
    assert_eq!(judgement(&again), message);
    // A limit that is not kept fails, whatever the comparison says.
    let limit = ["check", "run", "--gate", "bulk: cpu at 6 clients <= 0.0001%"];
    place.headroom(limit).run().code(1).prints("fail");
    assert_eq!(place.left(), []);
}

/// A shell that turns a loop once a second; `burst` turns in every fifteenth second, from the fifth on.
fn turning(turns: u32, burst: u32) -> String {
    let script = format!(
        "second=0; while sleep 1; do second=$((second + 1)); turns={turns}; \
         if [ $((second % 15)) = 5 ]; then turns={burst}; fi; \
         while [ $turns -gt 0 ]; do turns=$((turns - 1)); done; done"
    );
    format!(
        "load = \"none\"\nsubject = {{ process = \"bash\", start = '''bash -c \"{script}\"''' }}"
    )
}

#[test]
fn a_cheaper_round_that_is_paid_for_in_bursts_is_not_cheaper() {
    let place = Place::with_guests();
    let study = Study::small().process("bash").window("16s");
    let study = study.variant("even", &turning(500, 500));
    // Ten per cent less in each second, and once in 15 as much as in nine.
    let study = study.variant("bursts", &turning(450, 4000));
    place.write("study.toml", &study.text());
    let words = ["compare", "study.toml", "even", "bursts", "--expect", "faster"];
    let analysis =
        place.headroom(words).words(["--out", "run", "--json"]).run().code(1).last_json();
    let message = judgement(&analysis);
    has(message, &json!({"finding": "dearer", "basis": "total"}));
    assert!(number(message, "/split/steady/interval/high") < 0.0, "{message:#}");
    assert!(number(message, "/split/total/interval/low") > 0.0, "{message:#}");
}

#[test]
fn another_build_that_does_the_same_is_the_same() {
    let place = Place::with_guests();
    place.write("study.toml", &study().text());
    let mut build = fs::read(stationd()).unwrap();
    let same = ["compare", "study.toml", "bulk", "--with", "stationd=stationd", "--out", "none"];
    fs::write(place.path("stationd"), &build).unwrap();
    place.headroom(same).run().code(2).says("nothing differs");
    // A word that is never said: another file, and the same program.
    let word = b"cannot read the command line";
    let at = build.windows(word.len()).position(|here| here == word).unwrap();
    build[at] = b'C';
    fs::write(place.path("stationd"), &build).unwrap();
    let words = ["compare", "study.toml", "bulk", "--with", "stationd=stationd"];
    let asked = "--expect same --margin 5% --out run --json";
    let analysis = place.headroom(words).words(asked.split(' ')).run().code(0).last_json();
    let message = judgement(&analysis);
    has(message, &json!({"verdict": "pass", "strangers": []}));
    assert_eq!(message["difference"]["program"]["name"], "stationd");
    assert_eq!(place.left(), []);
}

#[test]
fn a_change_to_code_that_never_runs_has_no_verdict() {
    let place = Place::with_guests();
    place.write("study.toml", &study().text());
    let words = ["compare", "study.toml", "bulk", "often", "--out", "run", "--json"];
    let changed = ["--changes", "full::rate_spec"];
    let analysis = place.headroom(words).words(changed).run().code(3).last_json();
    let message = judgement(&analysis);
    has(message, &json!({"finding": "no-op", "verdict": "invalid"}));
    let sentence = message["sentence"].as_str().unwrap();
    assert!(sentence.contains("this code never ran here"), "{message:#}");
}
