//! What the user reads, as snapshots: the terminal's table, and the bones of the page.

use analysis::{analyse, fixture};
use model::{run::Run, trial::Trial};

fn text(run: &Run, trials: &[Trial]) -> String {
    report::text::table(&analyse(run, trials))
}

#[test]
fn the_terminal_table_of_a_study() {
    let run = fixture::run();
    insta::assert_snapshot!(text(&run, &fixture::trials(&run)));
}

#[test]
fn the_terminal_table_of_the_self_check() {
    let run = fixture::self_check();
    insta::assert_snapshot!(text(&run, &fixture::trials(&run)));
}

#[test]
fn the_terminal_table_of_a_run_that_has_just_begun() {
    let run = fixture::run();
    insta::assert_snapshot!(text(&run, &[]));
}

#[test]
fn the_terminal_table_of_a_study_of_many_variants() {
    let run = fixture::stations();
    let text = text(&run, &fixture::trials(&run));
    assert!(text.lines().all(|line| line.chars().count() <= 100), "a terminal has 100 columns");
    insta::assert_snapshot!(text);
}

/// The text of each heading, caption and column head, with every digit as `0`.
fn bones(html: &str) -> String {
    let bone = |piece: &str| {
        let (tag, text) = piece.split_once('>')?;
        let depth = match tag.split(' ').next()? {
            "h1" => "# ",
            "h2" => "## ",
            "h3" => "### ",
            "caption" => "  table: ",
            "th" if tag.contains("scope=\"col\"") => "    | ",
            "title" => "  title: ",
            "li" => "  - ",
            "dt" => "  ? ",
            _ => return None,
        };
        let redacted: String =
            text.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
        (!redacted.trim().is_empty()).then(|| format!("{depth}{}\n", redacted.trim()))
    };
    html.split('<').filter_map(bone).collect()
}

#[test]
fn the_bones_of_the_page() {
    let run = fixture::run();
    let analysis = analyse(&run, &fixture::troubled(&run));
    let page = report::html(&run, &analysis, "question = \"<synthetic>\"").unwrap();
    assert!(
        page.contains("question = &#34;&#60;synthetic&#62;&#34;"),
        "the study file is shown as text"
    );
    insta::assert_snapshot!(bones(&page));
}

#[test]
fn the_bones_of_the_page_of_many_variants() {
    let run = fixture::stations();
    let analysis = analyse(&run, &fixture::troubled(&run));
    insta::assert_snapshot!(bones(
        &report::html(&run, &analysis, "question = \"synthetic\"").unwrap()
    ));
}

#[test]
fn a_published_figure_has_its_source_beside_it_and_no_place_on_our_scale() {
    let run = fixture::stations();
    let page = report::html(&run, &analyse(&run, &fixture::trials(&run)), "").unwrap();
    let figure = page.split("<figcaption>CPU of subject, load and hostapd at 114").nth(1).unwrap();
    let caption = figure.split("</figcaption>").next().unwrap();
    assert!(caption.contains("made-up field report, a core of another kind"), "{caption}");
    assert!(page.contains("43.95 %") && page.contains("% of another core"));
}

#[test]
fn programs_stand_with_their_hash_and_what_they_were_there_for() {
    let run = fixture::stations();
    let page = report::html(&run, &analyse(&run, &fixture::trials(&run)), "").unwrap();
    let table = page.split("<caption>Programs on the access point</caption>").nth(1).unwrap();
    let row = |path: &str| {
        let row = table.split(path).nth(1).and_then(|rest| rest.split("</tr>").next()).unwrap();
        row.to_owned()
    };
    assert!(row("/usr/bin/stationd").contains(">subject<"));
    assert!(row("/usr/bin/station-monitor").contains(&"3a".repeat(32)));
    assert!(row("/usr/sbin/hostapd").contains(">subject, others<"));
    assert!(page.contains("started for each trial: stationd --stage found"));
    assert!(page.contains("station-monitor runs all the time, period 1s"));
}
