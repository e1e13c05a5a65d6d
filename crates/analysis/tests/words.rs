//! What the user reads, as snapshots: answers and doubts of the synthetic runs.

use analysis::{Analysis, analyse, fixture};

fn answer(analysis: &Analysis) -> String {
    analysis.answer.join("\n")
}

fn doubts(analysis: &Analysis) -> String {
    let one =
        |doubt: &analysis::Doubt| format!("{:?}: {doubt}\n  → {}\n", doubt.level, doubt.advice);
    analysis.doubts.iter().map(one).collect()
}

#[test]
fn the_answer_of_the_self_check() {
    let run = fixture::self_check();
    insta::assert_snapshot!(answer(&analyse(&run, &fixture::trials(&run))));
}

#[test]
fn the_doubts_of_a_troubled_run() {
    let run = fixture::run();
    insta::assert_snapshot!(doubts(&analyse(&run, &fixture::troubled(&run))));
}

#[test]
fn the_answer_where_every_trial_is_invalid() {
    let run = fixture::run();
    let only_the_dead = &fixture::troubled(&run)[1..2];
    insta::assert_snapshot!(answer(&analyse(&run, only_the_dead)));
}

#[test]
fn the_analysis_is_data_for_machines_too() {
    let run = fixture::run();
    let analysis = analyse(&run, &fixture::trials(&run));
    let json = serde_json::to_value(&analysis).unwrap();
    assert_eq!(json["cells"].as_array().unwrap().len(), 9);
    assert_eq!(json["curves"][1]["slopes"][2]["part"], "sum");
    assert_eq!(json["trials"][0]["subject"]["source"], "group");
}

#[test]
fn the_answer_of_a_study_of_many_variants() {
    let run = fixture::stations();
    insta::assert_snapshot!(answer(&analyse(&run, &fixture::trials(&run))));
}
