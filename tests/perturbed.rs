//! Comparisons that are repeated in perturbed states, in real guests: a conclusion that holds, and ones that one state
//! contradicts.

use serde_json::Value;

use crate::harness::{Place, Study, is_long};

/// Two programs of one name that burn CPU every second, the variant `there` rounds where `is` holds and `elsewhere`
/// rounds elsewhere, and the base always 3,000. Two seconds decide it, and there are 96 windows.
pub(crate) fn burners(is: &str, there: u32, elsewhere: u32) -> Study {
    let program = |rounds: &str| {
        let burn = format!(
            "{rounds}; while :; do i=0; while [ $i -lt $n ]; do i=$((i+1)); done; sleep 1; done"
        );
        format!("subject = {{ process = 'sh', start = '''sh -c \"{burn}\"''' }}\nload = \"none\"")
    };
    let own = format!("if {is}; then n={there}; else n={elsewhere}; fi");
    let study = Study::small().process("sh").window("2s");
    study.variant("plain", &program("n=3000")).variant("own", &program(&own))
}

fn states(judgement: &Value) -> Vec<(&str, &str, bool)> {
    let all = judgement["states"].as_array().unwrap();
    all.iter()
        .map(|state| {
            let text = |key| state[key].as_str().unwrap();
            (text("state"), text("finding"), state["holds"].as_bool().unwrap())
        })
        .collect()
}

#[test]
fn a_conclusion_that_holds_in_another_state_says_so_and_the_run_can_be_resumed() {
    let place = Place::with_study(burners("true", 2_000, 2_000).text());
    let judgement = place.compared("plain own --perturb=phase --expect faster", 0);
    assert_eq!(judgement["verdict"], "pass");
    let sentence = judgement["sentence"].as_str().unwrap();
    assert!(sentence.contains("the conclusion holds in 2 of 2 states: −"), "{sentence}");
    let cheaper = |name| (name, "cheaper", true);
    assert_eq!(states(&judgement), ["as is", "phase"].map(cheaper));
    let page = place.read("run/report.html");
    assert!(page.contains("The same comparison in each state"));
    // What a run lost, in whatever state, is measured again, and says the same.
    let trial = place.path("run/trials/own@6#3.phase.json");
    std::fs::remove_file(&trial).unwrap();
    place.call("report run").code(3).prints_words("1 of 2 states");
    place.call("run --resume run").code(0).prints_words("2 of 2 states");
    assert!(trial.is_file());
    assert_eq!(place.run().trials().len(), 2 * 2 * 6);
}

/// Holds on the machine as it is, and in each state but `phase` no longer: its layout, CPU and clients.
const AS_IT_IS: &str = "grep -q ^7ffff7 /proc/self/maps && grep -qw avx2 /proc/cpuinfo && \
    iw dev wlan0 station dump | grep -q 02:00:00:01:00:0";

#[test]
fn a_conclusion_that_a_state_contradicts_is_none_and_each_such_state_is_named() {
    let place = Place::with_study(burners(AS_IT_IS, 2_000, 4_000).text());
    // Each state takes a dozen trials, and most a boot.
    let (word, holding, contrary): (_, &[&str], &[&str]) = match is_long() {
        true => ("--perturb", &["as is", "phase"], &["seed", "layout", "cpu"]),
        false => ("--perturb=cpu", &["as is"], &["cpu"]),
    };
    let judgement = place.compared(&format!("plain own {word}"), 3);
    assert_eq!(judgement["verdict"], "invalid");
    let sentence = judgement["sentence"].as_str().unwrap();
    let (holds, all) = (holding.len(), holding.len() + contrary.len());
    let holds = format!("the conclusion holds in {holds} of {all} states");
    assert!(sentence.contains(&holds), "{sentence}");
    for state in contrary {
        let contrary = format!("in `{state}` it costs more (+");
        assert!(sentence.contains(&contrary), "{sentence}");
    }
    let (cheaper, dearer) = (|name| (name, "cheaper", true), |name| (name, "dearer", false));
    let cheaper = holding.iter().copied().map(cheaper);
    let expected: Vec<_> = cheaper.chain(contrary.iter().copied().map(dearer)).collect();
    assert_eq!(states(&judgement), expected);
}
