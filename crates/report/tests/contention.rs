//! The page, the terminal's text and the Markdown of a contention run, whole, partial and empty.

mod followed;
mod keys;
mod laid_out;

use analysis::{
    contention::{Cell, Contention},
    fixture::contention::{analysed, run, trials},
    metrics::Target,
    quantity::Unit,
};
use model::{cell::Role, verdict::Verdict};
use report::{
    contention::{markdown, page, summary},
    index::Limited,
};

/// The study file: what looks like markup must stay text.
const STUDY: &str = "question = \"<made up>\"";

fn whole() -> String {
    let (run, contention) = analysed(4);
    page(&contention, &run, STUDY).expect("the page is laid out")
}

#[test]
fn every_section_of_the_story_is_there_and_in_its_order() {
    let page = whole();
    let ids = [
        "answer", "where", "harm", "cases", "cure", "contest", "others", "cost", "gates",
        "left-out", "again", "measured", "study",
    ];
    laid_out::in_order(&page, &ids);
    laid_out::linked(&page);
}

#[test]
fn figures_of_every_section_are_on_the_page() {
    let (run, contention) = analysed(4);
    let page = page(&contention, &run, STUDY).unwrap();
    let text = text_of(&page);
    for figure in [
        // Wi-Fi alone, kept without control, restored.
        "120.06",
        "59.8",
        "harm",
        // The field report's published figures.
        "22.52",
        "9.19",
        "97.53",
        "6.5",
        // The modelled caches and their geometry.
        "MODELLED",
        "1MiB, 16 ways, 64 B lines",
        // guard's own.
        "2900",
        "still starved: weight of stress-ng 512 → 64",
        "the station went away",
        "500-MIPS",
    ] {
        assert!(text.contains(figure), "{figure} is missing");
    }
    for target in &contention.targets {
        assert!(text.contains(&target.name), "{} is missing", target.name);
    }
}

#[test]
fn nothing_from_outside_becomes_markup() {
    let page = whole();
    for markup in ["<take>", "<gone>", "<kept", "<made up>"] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert!(page.contains("&lt;made up&gt;"));
}

#[test]
fn each_harm_cell_has_a_plane_with_every_control() {
    let (run, contention) = analysed(4);
    let page = page(&contention, &run, STUDY).unwrap();
    let harmed: Vec<_> = contention.cells.iter().filter(|cell| is_harm_cell(cell)).collect();
    assert_eq!(harmed.len(), 6);
    assert_eq!(page.matches("class=\"plane\"").count(), 6);
    let first = page.split("class=\"plane\"").nth(1).unwrap().split("</svg>").next().unwrap();
    for arm in &harmed[0].arms {
        assert!(first.contains(&format!("<title>{}: Wi-Fi kept", arm.control)), "{}", arm.control);
    }
    assert_eq!(first.matches("class=\"ring\"").count(), 1, "the oracle is ringed once");
}

#[test]
fn a_run_without_trials_makes_a_page_that_says_so() {
    let run = run(4);
    let contention =
        analysis::contention::analyse(&run, &[], &analysis::metrics::baseline::Baselines::new());
    let page = page(&contention, &run, STUDY).unwrap();
    let text = text_of(&page);
    for reported in [
        "No valid trial yet.",
        "Harm is not decided in any cell yet",
        "there is nothing to improve",
        "there is no valid trial with guard",
    ] {
        assert!(text.contains(reported), "{reported}");
    }
    assert!(!text.contains("NaN") && !text.contains("inf"), "no figure is made of nothing");
    assert!(summary(&contention).lines().count() <= 30);
}

#[test]
fn one_block_has_figures_without_intervals() {
    let (run, contention) = analysed(1);
    let page = page(&contention, &run, STUDY).unwrap();
    let text = text_of(&page);
    assert!(text.contains("One block has no interval"));
    let kept = contention.cells[0].arm("none").unwrap().kept.unwrap();
    assert!(kept.interval.is_none() && text.contains(&Unit::PER_CENT.mean(&kept)));
    assert!(!text.contains("NaN"));
}

#[test]
fn a_run_that_was_stopped_within_a_block_makes_a_page() {
    let run = run(4);
    let trials = trials(1);
    // Cut at every place of the first two blocks: alone only, without application, without alone at the end.
    for end in [1, 2, 3, 5, 9, 20, 31, 40] {
        let contention = analysis::contention::analyse(
            &run,
            &trials[..end],
            &analysis::metrics::baseline::Baselines::new(),
        );
        let page = page(&contention, &run, STUDY).unwrap();
        assert!(!text_of(&page).contains("NaN"), "after {end} trials");
    }
}

/// The answer with targets of its own: their words are tested where they are made.
fn with_few_targets() -> Contention {
    let mut contention = analysed(4).1;
    let target = |name: &str, found: &str, verdict| Target {
        name: name.to_owned(),
        limit: "≥ 95.0 % by its bound in every cell".to_owned(),
        found: found.to_owned(),
        verdict,
        cause: None,
    };
    contention.answer = vec!["An application <takes> | something.".to_owned()];
    contention.targets = vec![
        target("Wi-Fi kept under guard", "97.1 % [96.8, 97.4]", Verdict::Pass),
        target(
            "loss restored",
            "80.2 % [79.9, 80.5] in a cell with a\tvery long name that no one would want to read on a terminal",
            Verdict::Fail,
        ),
        target("use of all CPUs", "–", Verdict::Invalid),
    ];
    contention
}

fn is_harm_cell(cell: &Cell) -> bool {
    cell.role == Role::Harm && cell.is_harmed()
}

#[test]
fn the_terminal_text_of_a_contention_run() {
    let text = summary(&with_few_targets());
    assert!(!text.contains('\t') && !text.contains('\u{1b}'), "{text:?}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_terminal_text_fits_thirty_lines_of_a_hundred_columns() {
    let mut contention = analysed(4).1;
    for targets in [contention.targets.len(), 60] {
        let more = contention.targets.clone().into_iter().cycle().take(targets);
        contention.targets = more.collect();
        let text = summary(&contention);
        assert!(text.lines().count() <= 30, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.contains("more on the page") == (targets == 60), "{text}");
    }
}

#[test]
fn the_markdown_of_a_contention_run() {
    let text = markdown(&with_few_targets());
    assert!(!text.contains("<take"));
    insta::assert_snapshot!(text);
}

/// The page without its tags, its entities as they are read.
fn text_of(page: &str) -> String {
    let body = page.split("<body>").nth(1).unwrap_or(page);
    let text: String =
        body.split('<').filter_map(|piece| piece.split_once('>')).map(|(_, text)| text).collect();
    ["&#60;", "&#62;", "&lt;", "&gt;", "\u{a0}"]
        .iter()
        .zip(["<", ">", "<", ">", " "])
        .fold(text, |text, (from, to)| text.replace(from, to))
}

#[test]
fn every_figure_of_its_table_can_be_followed_from_run_to_run() {
    let (run, analysed) = analysed(4);
    let limited = Limited {
        question: &analysed.question,
        targets: &analysed.targets,
        counted: analysed.counted,
        table: &analysed.table,
        known: run.study.known(),
    };
    followed::every_figure(&run, &limited, "kept");
}

#[test]
fn every_key_of_the_json_is_snake_case() {
    assert_eq!(keys::misspelt(&analysed(3).1), [""; 0]);
}
