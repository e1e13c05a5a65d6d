//! Folders of contention runs on a real disk.

use std::fs;

use model::contention::Record;

use super::*;
use crate::contention::{plan, study::parse};

const STUDY: &str = "question = \"?\"\n[contention]\nblocks = 1\n[[place]]\nname = \"ap\"\non = \"vm\"\n\
    road = \"radio\"\n[[traffic]]\nname = \"full\"\nflow = \"udp\"\n\
    [[application]]\nname = \"stream\"\nstressor = \"--stream\"\nworkers = 4\n\
    [[control]]\nname = \"idle\"\ncontrol = \"idle\"\n\
    [[cell]]\nplace = \"ap\"\ntraffic = \"full\"\napplication = \"stream\"\n";

fn run() -> Run {
    Run {
        format: FORMAT,
        headroom: "0".to_owned(),
        study: parse(STUDY).unwrap(),
        overrides: Vec::new(),
        image: None,
        host: String::new(),
        started_ms: 0,
    }
}

fn fought(run: &Run, number: u32) -> Fought {
    let planned = plan::bouts(&run.study, &plan::Rates::new()).remove(number as usize - 1);
    let plan::PlannedBout { cell, arm, block, turn, bout, .. } = planned;
    let outcome = Outcome::Fought(Box::new(Record { window_ns: 5, ..Record::default() }));
    Fought { cell, arm, block, turn, bout, outcome, caches: None, idle_before: None, wall_s: 1.0 }
}

#[test]
fn a_folder_is_complete_after_every_bout() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let run = run();
    let folder = ContentionFolder::create(&path, &run, STUDY).unwrap();
    for number in 1..=3 {
        folder.keep(number, &fought(&run, number)).unwrap();
        let recorded = read(&path).unwrap();
        assert_eq!(recorded.fought.len(), number as usize);
        assert_eq!(recorded.fought.last(), Some(&(number, fought(&run, number))));
    }
    let recorded = read(&path).unwrap();
    assert_eq!((recorded.run, recorded.study_text.as_str()), (run, STUDY));
    assert!(is_one(&path) && !is_one(place.path()));
}

#[test]
fn a_folder_has_one_user_and_one_run() {
    let place = tempfile::tempdir().unwrap();
    let run = run();
    let folder = ContentionFolder::create(place.path(), &run, STUDY).unwrap();
    assert!(matches!(ContentionFolder::resume(place.path()), Err(Error::Busy(_))));
    drop(folder);
    let again = ContentionFolder::create(place.path(), &run, STUDY);
    assert!(matches!(again, Err(Error::Exists(_))));
    assert!(ContentionFolder::resume(place.path()).is_ok());
}

#[test]
fn a_bout_that_is_half_written_is_not_there_and_one_that_was_edited_failed() {
    let place = tempfile::tempdir().unwrap();
    let run = run();
    let folder = ContentionFolder::create(place.path(), &run, STUDY).unwrap();
    (1..=3).for_each(|number| folder.keep(number, &fought(&run, number)).unwrap());
    fs::write(place.path().join(LAYOUT.piece(1)), "{\"cell").unwrap();
    let file = place.path().join(LAYOUT.piece(2));
    let edited = fs::read_to_string(&file).unwrap().replace("\"window_ns\": 5", "\"window_ns\": 6");
    fs::write(&file, edited).unwrap();
    let recorded = read(place.path()).unwrap();
    assert_eq!(recorded.edited, [2]);
    let failed: Vec<(u32, bool)> = recorded
        .fought
        .iter()
        .map(|(number, one)| (*number, matches!(one.outcome, Outcome::Failed(_))))
        .collect();
    assert_eq!(failed, [(2, true), (3, false)]);
}

#[test]
fn rates_are_kept_with_the_run() {
    let place = tempfile::tempdir().unwrap();
    let folder = ContentionFolder::create(place.path(), &run(), STUDY).unwrap();
    assert!(read(place.path()).unwrap().paces.is_empty());
    let outcome = Outcome::Failed("no".to_owned());
    let pace = Pace {
        place: "ap".to_owned(),
        traffic: "full".to_owned(),
        rate: Some(7),
        fought: vec![outcome],
    };
    folder.keep_paces(std::slice::from_ref(&pace)).unwrap();
    assert_eq!(read(place.path()).unwrap().paces, [pace]);
}

#[test]
fn what_is_no_run_is_told() {
    let place = tempfile::tempdir().unwrap();
    let told = || read(place.path()).unwrap_err().to_string();
    assert!(told().contains("holds no run: contention.json: No such file"), "{}", told());
    fs::write(place.path().join(MARK), "{}").unwrap();
    assert!(told().contains("missing field"), "{}", told());
}
