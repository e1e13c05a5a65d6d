//! What the user reads, as snapshots: the terminal's table, and the bones of the page.

mod story;

use analysis::{analyse, fixture, limited, metrics::baseline::Baselines, verdicts::Gate};
use model::verdict::Verdict;
use serde_json::{Value, json};

#[test]
fn the_terminal_tables_of_runs() {
    let (scale, check, stations) = (fixture::run(), fixture::self_check(), fixture::stations());
    let cases = [
        ("a_study", &scale, fixture::trials(&scale)),
        ("the_self_check", &check, fixture::trials(&check)),
        ("a_run_that_has_just_begun", &scale, Vec::new()),
        ("a_study_of_many_variants", &stations, fixture::trials(&stations)),
    ];
    for (name, run, trials) in cases {
        let text = report::text::table(&analyse(run, &trials));
        let columns = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(columns <= 100 || name != "a_study_of_many_variants", "a terminal has 100 columns");
        insta::assert_snapshot!(format!("the_terminal_table_of_{name}"), text, name);
    }
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
fn the_bones_of_the_pages() {
    let runs = [("the_page", fixture::run()), ("the_page_of_many_variants", fixture::stations())];
    for (name, run) in runs {
        let analysis = analyse(&run, &fixture::troubled(&run));
        let page = report::html(&run, &analysis, "question = \"<synthetic>\"").unwrap();
        let study = "question = &quot;&lt;synthetic&gt;&quot;";
        assert!(page.contains(study), "the study file is shown as text");
        insta::assert_snapshot!(format!("the_bones_of_{name}"), bones(&page), name);
    }
}

#[test]
fn the_bones_of_the_page_of_a_profiled_run() {
    let (run, analysis) = fixture::profiled();
    let page = report::html(&run, &analysis, "question = \"synthetic\"").unwrap();
    let section = between(&page, "<h2 id=\"cpu\">", "</section>");
    // The frames of the picture that stands still are figures; they are tested where they are drawn.
    let words = bones(section);
    let words: Vec<_> = words.lines().filter(|line| !line.contains("title:")).collect();
    insta::assert_snapshot!(words.join("\n"));
}

#[test]
fn the_terminal_tables_of_a_profile() {
    let (_, analysis) = fixture::profiled();
    let text =
        report::text::functions(&analysis.profiles[1]) + &report::text::counts(&analysis.counts);
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "a terminal has 100 columns: {text}"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn where_no_cpu_was_measured_functions_and_changes_are_shown_by_their_samples() {
    let (_, analysis) = fixture::profiled();
    let mut profile = analysis.profiles[1].clone();
    for capture in &mut profile.captures {
        capture.cpu_us_per_s = None;
    }
    for function in &mut profile.functions {
        (function.inclusive, function.own) = (None, None);
    }
    profile.waiting.iter_mut().for_each(|one| one.cpu = None);
    // One function in every sample, as in a recording of one loop.
    let hottest = profile.functions.iter_mut().find(|one| one.name == "station::trace::line");
    let hottest = hottest.expect("the fixture has it");
    (hottest.share, hottest.own_share) = (1.0, 0.75);
    let text = report::text::functions(&profile);
    let row = text.lines().find(|line| line.contains("station::trace::line")).unwrap_or(&text);
    assert_eq!(row.split_whitespace().collect::<Vec<_>>()[..2], ["75", "100"], "{text}");
    assert!(!text.contains("/s"), "no cost was measured: {text}");
    let mut difference = analysis.differences[0].clone();
    difference.cpu_measured = false;
    let (profiles, differences) = ([profile], [difference]);
    let (title, notes) = ("cycles", &[][..]);
    let recorded =
        report::Recorded { title, profiles: &profiles, differences: &differences, notes };
    let page = report::profile_html(&recorded).unwrap();
    for caption in ["Functions of found", "Changes of functions"] {
        let table = between(&page, caption, "</table>");
        assert!(table.contains("samples") && !table.contains("ms/s"), "{caption}: {table}");
    }
}

#[test]
fn a_recording_has_a_page_without_a_run() {
    let (_, analysis) = fixture::profiled();
    let page = report::profile_html(&report::Recorded {
        title: "a <recording>",
        profiles: &analysis.profiles,
        differences: &analysis.differences,
        notes: &["no `agent`".to_owned()],
    });
    let page = page.unwrap();
    assert!(
        page.contains("<h1>a &#60;recording&#62;</h1>") && page.contains("no <code>agent</code>")
    );
    assert!(page.contains("id=\"flames-names\"") && page.contains("<svg class=\"still\""));
    let nothing = report::Recorded { title: "", profiles: &[], differences: &[], notes: &[] };
    assert!(report::profile_html(&nothing).unwrap().contains("Nothing was recorded."));
}

#[test]
fn a_published_figure_has_its_source_and_a_program_its_hash_and_what_it_was_there_for() {
    let run = fixture::stations();
    let page = report::html(&run, &analyse(&run, &fixture::trials(&run)), "").unwrap();
    let note = between(&page, "Published figures are of the subject alone", "</p>");
    assert!(note.contains("made-up field report, a core of another kind"), "{note}");
    assert!(page.contains(">43.95 at 114 clients<") && page.contains("% of another core"));
    let table = between(&page, "<caption>Programs on the access point</caption>", "</table>");
    let row = |path: &str| between(table, path, "</tr>");
    assert!(row("/usr/bin/stationd").contains(">subject<"));
    assert!(row("/usr/bin/station-monitor").contains(&"3a".repeat(32)));
    assert!(row("/usr/sbin/hostapd").contains(">subject, others<"));
    assert!(page.contains("started for each trial: stationd --stage found"));
    assert!(page.contains("station-monitor runs all the time, period 1s"));
}

/// The words of a piece of a page, tags taken out, a line for each.
fn words(html: &str) -> String {
    let pieces = html.split('<').filter_map(|piece| piece.split_once('>'));
    let lines = pieces.map(|(_, text)| text.trim()).filter(|text| !text.is_empty());
    lines.map(|line| format!("{line}\n")).collect()
}

/// What stands between two texts.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let (_, behind) = page.split_once(from).unwrap_or_else(|| panic!("no {from}"));
    behind.split(to).next().unwrap_or(behind)
}

fn words_of(page: &str, section: &str) -> String {
    words(between(page, &format!("aria-labelledby=\"{section}\">"), "</section>"))
}

#[test]
fn the_words_of_the_story() {
    let (run, analysis) = story::run();
    let page = report::html(&run, &analysis, "question = \"synthetic\"").unwrap();
    let top = words(between(&page, "<p class=\"banner", "</nav>"));
    let sections = ["pause", "fixes", "gates", "corrections", "again", "ledger"];
    let all = sections.map(|section| format!("── {section}\n{}", words_of(&page, section)));
    insta::assert_snapshot!(top + &all.concat());
}

#[test]
fn a_page_of_a_run_that_goes_on_says_so_and_looks_for_more_and_the_last_one_does_neither() {
    let run = fixture::run();
    let analysis = analyse(&run, &fixture::trials(&run)[..12]);
    let pending = report::Pending {
        trials: (12, 54),
        to_come: vec!["42 for CPU figures".to_owned(), "3 that record stacks".to_owned()],
        left: Some("about 6 minutes".to_owned()),
    };
    let given = |pending| report::Given { study_toml: "", pending };
    let so_far = report::html(&run, &analysis, given(Some(&pending))).unwrap();
    let said = "<b>12 of 54 trials</b>; still to come: 42 for CPU figures, 3 that record stacks, about 6 minutes.";
    assert!(so_far.contains(said), "{so_far}");
    let looks = [
        "location.reload",
        "http-equiv=\"refresh\"",
        "class=\"pending\"",
        "<b>not decided yet</b>",
    ];
    assert!(looks.iter().all(|word| so_far.contains(word)));
    let last = report::html(&run, &analysis, given(None)).unwrap();
    assert!(looks.iter().all(|word| !last.contains(word)));
}

#[test]
fn a_run_that_goes_on_passes_nothing_whatever_is_kept_so_far() {
    let mut run = fixture::run();
    let trials = &fixture::trials(&run)[..12];
    run.plan.retain(|planned| trials.iter().any(|trial| trial.planned == *planned));
    let mut analysis = analyse(&run, trials);
    let gate = |verdict| Gate { name: "g".to_owned(), verdict, sentence: "Kept.".to_owned() };
    let pending = report::Pending { trials: (12, 54), to_come: Vec::new(), left: None };
    let given = report::Given { study_toml: "", pending: Some(&pending) };
    let mut banner = |verdict| {
        analysis.gates = vec![gate(verdict)];
        let page = report::html(&run, &analysis, given).unwrap();
        between(&page, "<p class=\"banner ", "</p>").to_owned()
    };
    let open = "measured\" id=\"verdict\"><b>not decided yet</b> <span>So far: The one gate is kept: Kept.</span>";
    assert_eq!(banner(Verdict::Pass), open);
    assert!(banner(Verdict::Fail).starts_with("fail\" id=\"verdict\"><b>so far fail</b>"));
}

#[test]
fn a_doubt_stands_with_the_step_that_it_is_about() {
    let run = fixture::stations();
    let mut analysis = analyse(&run, &fixture::trials(&run));
    let grows = |variant: &str| analysis::Doubt {
        level: analysis::Level::Doubt,
        sentence: "The subject's memory grew by 36.00 KiB a window.".to_owned(),
        advice: String::new(),
        variants: vec![variant.to_owned()],
        is_about_instruments: false,
    };
    analysis.doubts = vec![grows("bulk"), grows("iw-dump")];
    let page = report::html(&run, &analysis, "").unwrap();
    let steps = between(&page, "id=\"steps\"", "</section>");
    let row = between(steps, ">bulk</th>", "</tr>");
    assert!(row.contains("memory grew by 36.00"), "{row}");
    assert_eq!(steps.matches("memory grew").count(), 1, "the other is of no step");
    assert_eq!(steps.matches("<tr").count(), 1 + 6, "a head, what was found, and five steps");
}

#[test]
fn a_run_without_verdicts_or_profiles_has_no_empty_section_and_no_trace_of_them() {
    let run = fixture::run();
    let page = report::html(&run, &analyse(&run, &fixture::trials(&run)), "").unwrap();
    assert!(!page.contains("flames") && !page.contains("Where the CPU goes"));
    for id in ["pause", "fixes", "gates", "corrections"] {
        assert!(
            !page.contains(&format!("id=\"{id}\"")) && !page.contains(&format!("#{id}\"")),
            "{id}"
        );
    }
}

fn entry(began_unix: u64, more: u64) -> report::index::Entry {
    let mut run = fixture::run();
    run.began_unix = began_unix;
    run.lab.image = format!("{began_unix:08x}").repeat(8);
    let analysis = analyse(&run, &fixture::trials(&run)[more as usize..]);
    let folder = format!("run-{more}");
    let report = (more == 0).then(|| format!("{folder}/report.html"));
    let wanted = "cpu at 114 clients".parse().expect("a figure");
    report::index::entry(&run, &analysis, &wanted, report::index::Place { folder: &folder, report })
}

fn index(runs: Vec<report::index::Entry>, unread: Vec<report::index::Unread>) -> String {
    let figure = "CPU of the subject at 114 clients".to_owned();
    let index = report::index::Index { title: "runs".to_owned(), figure, runs, unread };
    report::index::html(&index).expect("it is laid out")
}

#[test]
fn the_words_of_the_index() {
    let why = "its format is 2, <this> headroom reads 4".to_owned();
    let unread = report::index::Unread { folder: "old".to_owned(), why };
    let runs = [(1_790_300_000, 0), (1_790_200_000, 3), (1_790_000_000, 0)];
    let page = index(runs.map(|(began, more)| entry(began, more)).to_vec(), vec![unread]);
    assert!(page.contains("href=\"run-0/report.html\"") && page.contains("&#60;this&#62;"));
    assert!(!page.contains("http:") && !page.contains("<script"));
    let all = ["runs", "history-0", "unread"].map(|section| words_of(&page, section));
    insta::assert_snapshot!(all.concat());
}

#[test]
fn more_runs_than_have_room_for_marks_are_a_line() {
    let one = entry(1_790_000_000, 0);
    let [few, many] = [600, 700].map(|runs| index(vec![one.clone(); runs], Vec::new()));
    assert!(few.contains("class=\"whisker\"") && few.contains("marks are means"));
    assert!(!many.contains("class=\"whisker\"") && many.contains("more runs than room for marks"));
    assert!(many.contains("class=\"line\""));
}

/// Keys that are not in snake_case, each with the way to it; a map's keys that are a user's names count as well, and
/// the fixtures have none with a dash.
fn misspelt(way: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let way = format!("{way}.{key}");
                let is_snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                if !key.chars().all(is_snake) {
                    found.push(way.clone());
                }
                misspelt(&way, value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| misspelt(way, value, found)),
        _ => {}
    }
}

#[test]
fn every_key_of_the_json_is_snake_case() {
    let (run, story) = story::run();
    let troubled = analyse(&run, &fixture::troubled(&run));
    let (cards, trials) = (fixture::completion::run(), fixture::completion::trials());
    let cards = limited::analyse(&cards, &trials, &Baselines::new());
    let traffic = fixture::contention::analysed(3).1;
    let mut found = Vec::new();
    misspelt("", &json!([story, fixture::profiled().1, troubled, traffic, cards]), &mut found);
    assert_eq!(found, [""; 0]);
}
