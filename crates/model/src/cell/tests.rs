//! Cells as a study file writes them, and what becomes of them.

use super::*;
use crate::study::Study;

fn study(more: &str) -> Study {
    let text = format!(
        r#"{{"question": "?", "variant": [], "access-point": {{"clients": [9, 3]}}, {more}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

fn names(more: &str) -> Vec<String> {
    study(more).cells().iter().map(|cell| cell.name.to_string()).collect()
}

#[test]
fn a_study_without_entries_has_a_cell_for_each_client_count() {
    assert_eq!(names(r#""cell": []"#), ["9", "3"]);
    let cells = study(r#""cell": []"#).cells();
    assert!(cells.iter().all(|cell| cell.is_counted() && !cell.has_parts()));
}

#[test]
fn an_entry_has_a_cell_for_each_combination_of_its_lists() {
    let contended = r#""cell": [{"on": ["vm", "host"], "clients": 3, "traffic": "small", "application": ["a", "b"]}]"#;
    assert_eq!(names(contended), ["small+a", "small+b", "small+a+host", "small+b+host"]);
    let cards = r#""card": {"bytes": 66}, "cell": [{"name": "task", "clients": 3, "card": {"rate": [1, 2], "task": "1s"}}]"#;
    let cells = study(cards).cells();
    assert_eq!(
        cells.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>(),
        ["task-1", "task-2"]
    );
    let card = cells[1].card.unwrap();
    assert_eq!(
        (card.bytes, card.completes_in, card.task),
        (66, COMPLETES_IN, Some(Span::from_secs(1)))
    );
    assert_eq!(cells[1].labels(), ["task-2", "vm", "task", "2/s"]);
    assert_eq!(names(r#""cell": [{"name": "few", "clients": [1, 2]}]"#), ["few+1", "few+2"]);
}

#[test]
fn time_on_the_host_is_real_and_cells_of_one_name_are_found() {
    let study = study(
        r#""cell": [{"on": "host", "clients": 3, "traffic": "a"}, {"mode": "real-time", "clients": 3, "traffic": "a"},
                    {"clients": 3, "traffic": "a"}, {"clients": 3, "traffic": "a"}]"#,
    );
    let places: Vec<String> = study.cells().iter().map(|cell| cell.place().to_owned()).collect();
    assert_eq!(places, ["host", "vm-real-time", "vm", "vm"]);
    assert_eq!(study.cells()[1].name, "a+real-time");
    assert_eq!(study.cells_of_one_name(), [CellName::of("a")]);
}

#[test]
fn a_value_or_a_list_of_values_says_which_value_was_wrong() {
    let wrong = |text: &str| serde_json::from_str::<CellEntry>(text).unwrap_err().to_string();
    assert!(wrong(r#"{"on": "moon"}"#).contains("unknown variant `moon`"));
    assert!(wrong(r#"{"clients": ["x"]}"#).contains("expected u32"));
    assert!(wrong(r#"{"clients": true}"#).contains("a value or a list of values"));
}
