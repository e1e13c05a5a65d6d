//! Comparisons that are repeated in perturbed states, in real guests: a conclusion that holds, and ones that one state
//! contradicts.

use serde_json::Value;

use crate::harness::{Place, Study};

/// Two programs of one name that burn CPU every second, the variant so many rounds where `is` holds and so many
/// elsewhere, and the base always 30,000.
fn burners(is: &str, there: u32, elsewhere: u32) -> Study {
    let program = |rounds: &str| {
        let burn = format!(
            "{rounds}; while :; do i=0; while [ $i -lt $n ]; do i=$((i+1)); done; sleep 1; done"
        );
        format!("subject = {{ process = 'sh', start = '''sh -c \"{burn}\"''' }}\nload = \"none\"")
    };
    let own = format!("if {is}; then n={there}; else n={elsewhere}; fi");
    Study::small().process("sh").variant("plain", &program("n=3000")).variant("own", &program(&own))
}

/// Compares them as these words say; how it ended, and the judgement.
fn compared(place: &Place, study: &Study, words: &[&str], code: i32) -> Value {
    place.write("study.toml", &study.text());
    let all = ["compare", "study.toml", "plain", "own", "--out", "run", "--json"].iter();
    let ended = place.headroom(all.chain(words).copied()).run().code(code);
    let analysis = ended.last_json();
    let all = analysis["judgements"].as_array().unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

fn states(judgement: &Value) -> Vec<(&str, &str, bool)> {
    let text = |state: &'_ Value, key: &str| -> String { state[key].as_str().unwrap().to_owned() };
    let all = judgement["states"].as_array().unwrap();
    let one = |state: &Value| {
        let name: &'static str = text(state, "state").leak();
        let finding: &'static str = text(state, "finding").leak();
        (name, finding, state["holds"].as_bool().unwrap())
    };
    all.iter().map(one).collect()
}

#[test]
fn a_conclusion_that_holds_in_the_cheap_states_says_so_and_the_run_can_be_gone_on_with() {
    let place = Place::with_guests();
    let study = burners("true", 2_000, 2_000);
    let words = ["--perturb=phase,seed,layout", "--expect", "faster"];
    let judgement = compared(&place, &study, &words, 0);
    assert_eq!(judgement["verdict"], "pass");
    let sentence = judgement["sentence"].as_str().unwrap();
    assert!(sentence.contains("the conclusion holds in 4 of 4 states: −"), "{sentence}");
    let cheaper = |name| (name, "cheaper", true);
    assert_eq!(states(&judgement), ["as is", "phase", "seed", "layout"].map(cheaper));
    let page = std::fs::read_to_string(place.path("run/report.html")).unwrap();
    assert!(page.contains("The same comparison in each state"));
    // What a run lost, in whatever state, is measured again, and says the same.
    let trial = place.path("run/trials/own@6#3.layout.json");
    std::fs::remove_file(&trial).unwrap();
    place.headroom(["report", "run"]).run().code(3).prints("3 of 4 states");
    place.headroom(["run", "--resume", "run"]).run().code(0).prints("4 of 4 states");
    assert!(trial.is_file());
    assert_eq!(place.run().trials().len(), 4 * 2 * 6);
    assert_eq!(place.left(), []);
}

#[test]
fn a_conclusion_that_one_state_contradicts_is_none_and_the_state_is_named() {
    let place = Place::with_guests();
    // Only a program whose environment is long is dearer than the base.
    let study = burners("[ ${#HEADROOM_LAYOUT} -gt 8192 ]", 4_000, 2_000);
    let judgement = compared(&place, &study, &["--perturb=seed,layout"], 3);
    assert_eq!(judgement["verdict"], "invalid");
    let sentence = judgement["sentence"].as_str().unwrap();
    assert!(sentence.contains("the conclusion holds in 2 of 3 states"), "{sentence}");
    assert!(sentence.contains("but in `layout` fail: it costs more, +"), "{sentence}");
    let expected =
        [("as is", "cheaper", true), ("seed", "cheaper", true), ("layout", "dearer", false)];
    assert_eq!(states(&judgement), expected);
    // Alone it passes.
    place.headroom(["compare", "study.toml", "plain", "own", "--out", "alone"]).run().code(0);
    assert_eq!(place.left(), []);
}
