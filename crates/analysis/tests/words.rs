//! What the user reads where much is wrong, as snapshots, and what machines read. Report's own snapshots have the rest.

use analysis::{Analysis, analyse, fixture};

#[test]
fn the_doubts_of_a_troubled_run() {
    let run = fixture::run();
    let Analysis { doubts, .. } = analyse(&run, &fixture::troubled(&run));
    let doubts = doubts.iter().map(|one| format!("{:?}: {one}\n  → {}\n", one.level, one.advice));
    insta::assert_snapshot!(doubts.collect::<String>());
}

#[test]
fn the_answer_where_every_trial_is_invalid() {
    let run = fixture::run();
    let only_the_dead = &fixture::troubled(&run)[1..2];
    insta::assert_snapshot!(analyse(&run, only_the_dead).answer.join("\n"));
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
