//! Verdicts between two sides, in real guests: cheaper, the same, another build, code that never ran.

use std::fs;

use serde_json::json;

use crate::harness::{Place, Study, has, number, stationd};

/// stationd that reads ten times a second although no one asks, and as it is.
pub(crate) fn study() -> Study {
    let often =
        Study::small().window("2s").stationd("often", " --set sample-every=100ms", " --brief");
    often.stationd("bulk", "", " --brief")
}

#[test]
fn a_cure_is_cheaper_as_soon_as_it_is_decided_and_the_files_for_ci_say_so() {
    let place = Place::with_study(study().text());
    let files = "--junit junit.xml --markdown summary.md";
    let message = place.compared(&format!("often bulk --expect faster {files}"), 0);
    has(&message, &json!({"finding": "cheaper", "verdict": "pass", "pairs": 6, "strangers": []}));
    assert_eq!((&message["look"][0], place.run().count()), (&json!(1), 12));
    assert!(number(&message, "/relative/interval/high") < -0.1, "{message:#}");
    // All six pairs have one sign.
    assert_eq!(number(&message, "/p"), 2.0 / 64.0);
    assert!(number(&message, "/detectable") < 0.05);
    assert!(place.read("junit.xml").contains("<testsuite"));
    assert!(place.read("summary.md").contains("bulk"));
    // The same run read again says the same.
    assert_eq!(place.json("report run --json")["judgements"][0], message);
    // A limit that is not kept fails, whatever the comparison says.
    place.gate("bulk: cpu at 6 clients <= 0.0001%").code(1).prints("fail");
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
    let study = Study::small().process("bash").window("16s");
    let study = study.variant("even", &turning(500, 500));
    // Ten per cent less in each second, and once in 15 as much as in nine.
    let place = Place::with_study(study.variant("bursts", &turning(450, 4000)).text());
    let message = place.compared("even bursts --expect faster", 1);
    has(&message, &json!({"finding": "dearer", "basis": "total"}));
    assert!(number(&message, "/split/steady/interval/high") < 0.0, "{message:#}");
    assert!(number(&message, "/split/total/interval/low") > 0.0, "{message:#}");
}

#[test]
fn another_build_that_does_the_same_is_the_same_and_code_that_never_runs_has_no_verdict() {
    let place = Place::with_study(study().text());
    let mut build = fs::read(stationd()).unwrap();
    place.write("stationd", &build);
    let words = "bulk --with stationd=stationd";
    place.call(&format!("compare study.toml {words}")).code(2).says("nothing differs");
    // A word that is never said: another file, and the same program.
    let word = b"cannot read the command line";
    let at = build.windows(word.len()).position(|here| here == word).unwrap();
    build[at] = b'C';
    place.write("stationd", &build);
    let message = place.compared(&format!("{words} --expect same --margin 5%"), 0);
    has(&message, &json!({"verdict": "pass", "strangers": []}));
    assert_eq!(message["difference"]["program"]["name"], "stationd");
    fs::remove_dir_all(place.path("run")).unwrap();
    let message = place.compared("bulk often --changes full::rate_spec", 3);
    has(&message, &json!({"finding": "no-op", "verdict": "invalid"}));
    let sentence = message["sentence"].as_str().unwrap();
    assert!(sentence.contains("this code never ran here"), "{message:#}");
}
