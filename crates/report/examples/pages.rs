//! Writes the fixture's pages into a folder, for people to look at: `cargo run -p report --example pages -- DIR`.

#[path = "../tests/story/mod.rs"]
mod story;

use std::{env, error::Error, fs, path::PathBuf};

use analysis::{completion::analyse, fixture, metrics::baseline::Baselines};

const STUDY: &str =
    "question = \"SYNTHETIC\"\n\n[access-point]\nkind = \"vm\"\nclients = [18, 60, 114]\n";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or("name a folder")?);
    let (scale, check) = (fixture::run(), fixture::self_check());
    let stations = fixture::stations();
    let pages = [
        ("scale", &scale, fixture::trials(&scale)),
        ("check", &check, fixture::trials(&check)),
        ("stations", &stations, fixture::trials(&stations)),
        ("stations-trouble", &stations, fixture::troubled(&stations)),
        ("trouble", &scale, fixture::troubled(&scale)),
        ("first", &scale, fixture::trials(&scale)[..1].to_vec()),
        ("empty", &scale, Vec::new()),
    ];
    for (name, run, trials) in pages {
        let analysis = analysis::analyse(run, &trials);
        let page = report::html(run, &analysis, STUDY)?;
        fs::write(folder.join(format!("{name}.html")), page)?;
        fs::write(folder.join(format!("{name}.txt")), report::text::table(&analysis))?;
    }
    let (run, analysis) = story::run();
    let page = report::html(&run, &analysis, STUDY)?;
    fs::write(folder.join("story.html"), page)?;
    let (run, analysis) = fixture::profiled();
    let page = report::html(&run, &analysis, STUDY)?;
    fs::write(folder.join("profiled.html"), page)?;
    let functions: String = analysis.profiles.iter().map(report::text::functions).collect();
    let counts = report::text::counts(&analysis.counts, &analysis.own_counters);
    fs::write(folder.join("profiled.txt"), format!("{functions}{counts}"))?;
    let recorded = report::Recorded {
        title: "SYNTHETIC: stationd on its own",
        profiles: &analysis.profiles[..1],
        differences: &[],
        notes: &["Recorded with `perf record`; no counter was read alongside it.".to_owned()],
    };
    fs::write(folder.join("recorded.html"), report::profile_html(&recorded)?)?;
    let (run, contention) = fixture::contention::analysed(4);
    fs::write(folder.join("contention.html"), report::contention::page(&contention, &run, STUDY)?)?;
    let run = fixture::completion::run();
    let completion = analyse(&run, &fixture::completion::trials(), &Baselines::new());
    fs::write(folder.join("completion.html"), report::completion::page(&completion, &run, STUDY)?)?;
    Ok(())
}
