//! Completion studies that are right, and the line that is reported of each that is wrong.

use model::study::Mode;

use super::*;

const GOOD: &str = r#"question = "What does waiting cost?"

[completion]
window = "1s"
blocks = 6
strategies = ["busy", "event"]

[[place]]
name = "ap"
on = "vm"

[[place]]
name = "here"
on = "host"

[[load]]
name = "small"
rates = [100, 440]
bytes = 66

[[load]]
name = "task"
rates = [990]
bytes = 66
task-ms = 1000
"#;

fn fault(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from:?} is not in the good study");
    let Fault { line, why } = parse(&GOOD.replacen(from, to, 1)).unwrap_err();
    format!("{line}: {why}")
}

#[test]
fn a_good_study_is_read_with_its_defaults() {
    let study = parse(GOOD).unwrap();
    assert_eq!(study.completion.completes_in, Span::from_nanos(150_000));
    assert_eq!(study.completion.warm_up, Span::from_nanos(500_000_000));
    assert_eq!(study.completion.strategies, [Strategy::Busy, Strategy::Event]);
    assert_eq!(study.places[0].mode, Mode::Counted);
    assert_eq!(study.loads[1].task_ms, Some(1000));
}

#[test]
fn what_is_written_wrongly_is_reported_with_its_line_and_what_was_meant() {
    let message = [
        fault("window = \"1s\"", "windwo = \"1s\""),
        fault("\"event\"", "\"evnet\""),
        fault("bytes = 66", "byte = 60"),
        fault("on = \"vm\"", "on = \"router\""),
        fault("\"event\"", "\"busy\""),
        fault("[\"busy\", \"event\"]", "[]"),
        fault("window = \"1s\"", "window = \"0s\""),
        fault("window = \"1s\"", "window = \"2m\""),
        fault("blocks = 6", "blocks = 0"),
        fault("blocks = 6", "completes-in = \"0s\""),
        fault("blocks = 6", "completes-in = \"2h\""),
        fault("blocks = 6", "idle-gate = \"100%\""),
        fault("blocks = 6", "versus = { base = \"busy\" }"),
        fault("on = \"host\"", "on = \"host\"\nmode = \"counted\""),
        fault("name = \"here\"", "name = \"ap\""),
        fault("name = \"here\"", "name = \"over here\""),
        fault("rates = [100, 440]", "rates = []"),
        fault("rates = [100, 440]", "rates = [100, 100]"),
        fault("rates = [100, 440]", "rates = [1000000]"),
        fault("bytes = 66", "bytes = 9000"),
        fault("bytes = 66", "bytes = 10"),
        fault("task-ms = 1000", "task-ms = 1"),
    ];
    insta::assert_snapshot!(message.join("\n"));
}

#[test]
fn a_study_without_places_or_loads_is_refused() {
    let without = |what: &str| {
        let text: String =
            GOOD.split_inclusive("\n\n").filter(|part| !part.contains(what)).collect();
        parse(&text).unwrap_err().why
    };
    assert!(without("[[load]]").contains("load"), "{}", without("[[load]]"));
    assert!(without("[[place]]").contains("place"), "{}", without("[[place]]"));
}

#[test]
fn what_the_command_line_changed_is_checked_too() {
    let mut study = parse(GOOD).unwrap();
    check(&study).unwrap();
    study.completion.blocks = 0;
    assert_eq!(check(&study).unwrap_err(), "at least 1 block");
}
