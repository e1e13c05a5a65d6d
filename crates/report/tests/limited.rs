//! The pages, terminal texts and Markdown of traffic and of cards, whole, partial and empty, and their histories.

use analysis::{
    contention, fixture,
    limited::{Limited, analyse},
    metrics::{Target, baseline::Baselines},
    quantity::Unit,
};
use model::{
    cell::Role,
    figure::Figure,
    run::Run,
    trial::{Outcome, Trial},
    verdict::Verdict,
};
use report::{
    index::{self, Index, Place, by_targets},
    limited::{markdown, summary},
};

/// The study file: what looks like markup must stay text.
const STUDY: &str = "question = \"<made up>\"";

type Analysed = (Run, Limited);

fn traffic(trials: &[Trial]) -> Analysed {
    let run = fixture::contention::run(4);
    let limited = analyse(&run, trials, &Baselines::new());
    (run, limited)
}

fn cards(trials: &[Trial]) -> Analysed {
    let run = fixture::completion::run();
    let limited = analyse(&run, trials, &Baselines::new());
    (run, limited)
}

fn cells(analysed: &Analysed) -> &[contention::Cell] {
    &analysed.1.traffic.as_ref().expect("a run with traffic").cells
}

fn page((run, limited): &Analysed) -> String {
    report::limited::page(limited, run, STUDY).expect("the page is laid out")
}

fn whole_pages() -> [String; 2] {
    [fixture::contention::analysed(4), cards(&fixture::completion::trials())].map(|one| page(&one))
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
fn every_section_is_there_and_in_its_order_and_every_link_leads_somewhere() {
    let ids = [
        "answer where harm cases cure contest others cost gates left-out again measured study",
        "answer published rates task versus census repeats gates left-out again measured study",
    ];
    for (page, ids) in whole_pages().iter().zip(ids) {
        let place =
            |id| page.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("{id} is missing"));
        let places: Vec<_> = ids.split(' ').map(place).collect();
        assert!(places.is_sorted(), "{places:?}");
        for link in page.split("href=\"#").skip(1) {
            let id = link.split('"').next().expect("an id");
            assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
        }
    }
}

#[rustfmt::skip]
const FIGURES: [&[&str]; 2] = [
    &[
        // Wi-Fi alone, kept without control, restored.
        "120.06", "59.8", "harm",
        // The field report's published figures.
        "22.52", "9.19", "97.53", "6.5",
        // The modelled caches and their geometry.
        "MODELLED", "1MiB, 16 ways, 64 B lines",
        // guard's own.
        "2900", "still starved: weight of stress-ng 512 → 64", "the station went away", "500-MIPS",
    ],
    &["6.6 %", "17.2 s", "6,700", "rate × completion time", "500-MIPS", "none differs", "transmit"],
];

#[test]
fn figures_of_every_section_and_every_limit_are_on_the_page() {
    let (_, contention) = fixture::contention::analysed(4);
    let (_, completion) = cards(&fixture::completion::trials());
    let limits = [contention.targets, completion.targets];
    for ((page, figures), limits) in whole_pages().iter().zip(FIGURES).zip(limits) {
        let text = text_of(page);
        for figure in figures {
            assert!(text.contains(figure), "{figure} is missing");
        }
        for target in &limits {
            let is_there = text.contains(&target.name) && text.contains(&target.limit);
            assert!(is_there, "{} is missing", target.name);
        }
    }
}

#[test]
fn nothing_from_outside_becomes_markup() {
    let mut trials = fixture::completion::trials();
    trials[0].outcome = Outcome::invalid("the <air> was gone");
    let [traffic, _] = whole_pages();
    for page in [traffic, page(&cards(&trials))] {
        for markup in ["<take>", "<gone>", "<kept", "<made up>", "<air>"] {
            assert!(!page.contains(markup), "{markup}");
        }
        assert!(page.contains("&lt;made up&gt;"));
    }
}

#[test]
fn each_harm_cell_has_a_plane_with_every_control() {
    let analysed = fixture::contention::analysed(4);
    let page = page(&analysed);
    let is_harmed = |cell: &&contention::Cell| cell.shape.role == Role::Harm && cell.is_harmed();
    let harmed: Vec<_> = cells(&analysed).iter().filter(is_harmed).collect();
    assert_eq!(harmed.len(), 6);
    assert_eq!(page.matches("class=\"plane\"").count(), 6);
    let first = page.split("class=\"plane\"").nth(1).unwrap().split("</svg>").next().unwrap();
    for arm in &harmed[0].arms {
        assert!(first.contains(&format!("<title>{}: Wi-Fi kept", arm.control)), "{}", arm.control);
    }
    assert_eq!(first.matches("class=\"ring\"").count(), 1, "the oracle is ringed once");
}

#[test]
fn every_strategy_has_its_line_and_the_loop_has_its_limit() {
    let [_, page] = whole_pages();
    let chart = page.split("aria-label=\"CPU of the transmit path").nth(1).unwrap();
    let chart = chart.split("</svg>").next().unwrap();
    assert_eq!(chart.matches("class=\"line\"").count(), 4);
    assert_eq!(chart.matches("class=\"limit\"").count(), 1);
    assert_eq!(page.matches("aria-label=\"Time of the task").count(), 2, "wide and narrow");
}

#[test]
fn a_run_without_trials_makes_a_page_that_says_so() {
    let (traffic, cards) = (traffic(&[]), cards(&[]));
    let of_traffic = [
        "No valid trial yet.",
        "Harm is not decided in any cell yet",
        "there is nothing to improve",
        "there is no valid trial with guard",
    ];
    let of_cards = ["No valid trial yet.", "No curve", "No task has been tried"];
    let pages = [
        (page(&traffic), &of_traffic[..], summary(&traffic.1)),
        (page(&cards), &of_cards, summary(&cards.1)),
    ];
    for (page, said, summary) in pages {
        let text = text_of(&page);
        for reported in said {
            assert!(text.contains(reported), "{reported}");
        }
        assert!(summary.lines().count() <= 30);
    }
}

#[test]
fn one_block_has_figures_without_intervals() {
    let analysed = fixture::contention::analysed(1);
    let text = text_of(&page(&analysed));
    assert!(text.contains("One block has no interval"));
    let kept = cells(&analysed)[0].arm("none").unwrap().of(Figure::Kept).unwrap();
    assert!(kept.interval.is_none() && text.contains(&Unit::PER_CENT.mean(&kept)));
    assert!(!text.contains("NaN"));
}

#[test]
fn a_run_that_was_stopped_anywhere_makes_a_page_without_figures_of_nothing() {
    let (of_traffic, of_cards) = (fixture::contention::trials(1), fixture::completion::trials());
    // At every place of the first two blocks: alone only, without application, without alone at the end.
    let traffic = [0, 1, 2, 3, 5, 9, 20, 31, 40].map(|end| traffic(&of_traffic[..end]));
    let cards = [0, 1, 2, 5, 12, 20, of_cards.len() - 1].map(|end| cards(&of_cards[..end]));
    for page in traffic.iter().map(page).chain(cards.iter().map(page)) {
        let text = text_of(page.split("<script>").next().unwrap());
        assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
    }
}

/// The answer with targets of its own: their words are tested where they are made.
fn with_few_targets() -> Limited {
    let mut limited = fixture::contention::analysed(4).1;
    let target = |name: &str, found: &str, verdict| Target {
        name: name.to_owned(),
        limit: "≥ 95.0 % by its bound in every cell".to_owned(),
        found: found.to_owned(),
        verdict,
        cause: None,
    };
    let long = "80.2 % [79.9, 80.5] in a cell with a\tvery long name that no one would want to read on a terminal";
    limited.answer = vec!["An application <takes> | something.".to_owned()];
    limited.targets = vec![
        target("Wi-Fi kept under guard", "97.1 % [96.8, 97.4]", Verdict::Pass),
        target("loss restored", long, Verdict::Fail),
        target("use of all CPUs", "–", Verdict::Invalid),
    ];
    limited
}

#[test]
fn the_terminal_texts_fit_thirty_lines_of_a_hundred_columns() {
    let traffic = summary(&with_few_targets());
    let cards = summary(&cards(&fixture::completion::trials()).1);
    let own = fixture::contention::analysed(4).1;
    let targets = own.targets.iter().cycle().take(60).cloned().collect();
    let many = Limited { targets, ..own.clone() };
    let [some, many] = [&own, &many].map(summary);
    assert!(many.contains("more on the page") && !some.contains("more on the page"));
    for text in [&traffic, &cards, &some, &many] {
        assert!(text.lines().count() <= 30, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(!text.contains('\t') && !text.contains('\u{1b}'), "{text:?}");
    }
    insta::assert_snapshot!("the_terminal_text_of_a_contention_run", traffic);
    insta::assert_snapshot!("the_terminal_text_of_a_completion_run", cards);
}

#[test]
fn the_markdown_of_traffic_and_of_cards() {
    let text = markdown(&with_few_targets());
    assert!(!text.contains("<take"));
    insta::assert_snapshot!("the_markdown_of_a_contention_run", text);
    let (_, completion) = cards(&fixture::completion::trials());
    let text = markdown(&completion);
    insta::assert_snapshot!("the_markdown_of_a_completion_run", text);
}

/// Each figure of the table is found by its name, one that there is not is not found, and two runs make a picture.
fn every_figure_is_followed((run, limited): &Analysed, key: &str) {
    let entry = |name: &str| {
        let place = Place { folder: "run", report: None };
        by_targets(run, limited, &name.parse().expect("a figure"), place)
    };
    for row in limited.table.iter().filter(|row| row.estimate.is_some()) {
        let finite = row.estimate.is_some_and(|estimate| estimate.mean.abs() < f64::MAX);
        let figures = entry(&row.name).figures;
        assert_eq!(figures.iter().any(|one| Some(one.estimate) == row.estimate), finite, "{row:?}");
    }
    assert!(entry("no-such-figure").figures.is_empty());
    let runs = vec![entry(key), entry(key)];
    let index =
        Index { title: "runs".to_owned(), figure: key.to_owned(), runs, unread: Vec::new() };
    let page = index::html(&index).expect("the page is laid out");
    assert!(page.contains("class=\"chart wide\"") && !page.contains("NaN"), "no picture");
}

#[test]
fn every_figure_of_their_tables_can_be_followed_from_run_to_run() {
    every_figure_is_followed(&fixture::contention::analysed(4), "kept");
    every_figure_is_followed(&cards(&fixture::completion::trials()), "path");
}
