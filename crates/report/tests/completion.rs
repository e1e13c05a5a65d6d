//! The page, the terminal's text and the Markdown of a completion run, whole, partial and empty.

mod followed;
mod keys;
mod laid_out;
mod offline;

use analysis::{
    completion::{Completion, analyse},
    fixture::completion as test_data,
    metrics::baseline::Baselines,
};
use model::{
    run::Run,
    trial::{Outcome, Trial},
};
use report::{
    completion::{markdown, page, summary},
    index::Limited,
};

/// The study file: what looks like markup must stay text.
const STUDY: &str = "question = \"<made up>\"";

fn analysed() -> (Run, Completion) {
    let run = test_data::run();
    let completion = analyse(&run, &test_data::trials(), &Baselines::new());
    (run, completion)
}

fn page_of(trials: &[Trial]) -> String {
    let run = test_data::run();
    page(&analyse(&run, trials, &Baselines::new()), &run, STUDY).expect("the page is laid out")
}

fn whole() -> String {
    page_of(&test_data::trials())
}

#[test]
fn every_section_of_the_story_is_there_and_in_its_order() {
    let page = whole();
    let ids = [
        "answer",
        "published",
        "rates",
        "task",
        "versus",
        "census",
        "gates",
        "repeats",
        "left-out",
        "again",
        "measured",
        "study",
    ];
    laid_out::in_order(&page, &ids);
    laid_out::linked(&page);
}

#[test]
fn figures_of_every_section_are_on_the_page() {
    let (run, completion) = analysed();
    let page = page(&completion, &run, STUDY).unwrap();
    for figure in [
        "6.6 %",
        "17.2 s",
        "6,700",
        "rate × completion time",
        "500-MIPS",
        "none differs",
        "transmit",
    ] {
        assert!(page.contains(figure), "{figure} is missing");
    }
    for target in &completion.targets {
        assert!(page.contains(&target.limit), "{} is missing", target.limit);
    }
}

#[test]
fn every_strategy_has_its_line_and_the_loop_has_its_limit() {
    let page = whole();
    let chart = page.split("aria-label=\"CPU of the transmit path").nth(1).unwrap();
    let chart = chart.split("</svg>").next().unwrap();
    assert_eq!(chart.matches("class=\"line\"").count(), 4);
    assert_eq!(chart.matches("class=\"limit\"").count(), 1);
    assert_eq!(page.matches("aria-label=\"Time of the task").count(), 2, "wide and narrow");
}

#[test]
fn the_page_asks_nobody_for_anything_and_takes_no_markup_from_outside() {
    let mut trials = test_data::trials();
    trials[0].outcome = Outcome::invalid("the <air> was gone");
    let page = page_of(&trials);
    assert_eq!(offline::asked(&page), None);
    assert!(!page.contains("<air>") && !page.contains("<made up>"));
    assert!(page.contains("&lt;made up&gt;"));
}

#[test]
fn a_run_that_was_stopped_makes_a_page_without_figures_of_nothing() {
    let trials = test_data::trials();
    for end in [0, 1, 2, 5, 12, 20, trials.len() - 1] {
        let page = page_of(&trials[..end]);
        let body = page.split("<script>").next().unwrap();
        assert!(!body.contains("NaN") && !body.contains("inf "), "after {end} trials");
    }
    let empty = page_of(&[]);
    for reported in ["No valid trial yet.", "No curve", "No task has been tried"] {
        assert!(empty.contains(reported), "{reported}");
    }
}

#[test]
fn the_terminal_text_of_a_completion_run() {
    let text = summary(&analysed().1);
    assert!(text.lines().count() <= 30, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_markdown_of_a_completion_run() {
    insta::assert_snapshot!(markdown(&analysed().1));
}

#[test]
fn every_figure_of_its_table_can_be_followed_from_run_to_run() {
    let (run, analysed) = analysed();
    let limited = Limited {
        question: &analysed.question,
        targets: &analysed.targets,
        counted: analysed.counted,
        table: &analysed.table,
        known: run.study.known(),
    };
    followed::every_figure(&run, &limited, "path");
}

#[test]
fn every_key_of_the_json_is_snake_case() {
    assert_eq!(keys::misspelt(&analysed().1), [""; 0]);
}
