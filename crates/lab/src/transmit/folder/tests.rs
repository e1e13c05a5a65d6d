//! Folders of completion runs on a real disk.

use std::fs;

use model::transmit::Measured;

use super::*;
use crate::transmit::{plan, rounds::Work, study::parse};

const STUDY: &str = "question = \"?\"\n[completion]\nblocks = 1\n[[place]]\nname = \"ap\"\non = \"vm\"\n\
    [[load]]\nname = \"small\"\nrates = [100, 440]\nbytes = 66\n";

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

fn trial(run: &Run, number: u32) -> Trial {
    let planned = plan::trials(&run.study, &Rounds::default()).remove(number as usize - 1);
    let outcome = Outcome::Measured(Box::new(Measured { window_ns: 5, ..Measured::default() }));
    planned.became(outcome, 1.0)
}

#[test]
fn a_folder_is_complete_after_every_trial() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let run = run();
    let folder = TransmitFolder::create(&path, &run, STUDY).unwrap();
    for number in 1..=3 {
        folder.keep(&trial(&run, number)).unwrap();
        let recorded = read(&path).unwrap();
        assert_eq!(recorded.trials.len(), number as usize);
        assert_eq!(recorded.trials.last(), Some(&trial(&run, number)));
    }
    let recorded = read(&path).unwrap();
    assert_eq!((recorded.run, recorded.study_text.as_str()), (run, STUDY));
    assert!(is_one(&path) && !is_one(place.path()));
}

#[test]
fn a_folder_has_one_user_and_one_run() {
    let place = tempfile::tempdir().unwrap();
    let run = run();
    let folder = TransmitFolder::create(place.path(), &run, STUDY).unwrap();
    assert!(matches!(TransmitFolder::resume(place.path()), Err(Error::Busy(_))));
    drop(folder);
    let again = TransmitFolder::create(place.path(), &run, STUDY);
    assert!(matches!(again, Err(Error::Exists(_))));
    assert!(TransmitFolder::resume(place.path()).is_ok());
}

#[test]
fn a_trial_that_was_edited_is_told_and_counts_no_more() {
    let place = tempfile::tempdir().unwrap();
    let run = run();
    let folder = TransmitFolder::create(place.path(), &run, STUDY).unwrap();
    (1..=2).for_each(|number| folder.keep(&trial(&run, number)).unwrap());
    let file = place.path().join("trials/0002.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"window_ns\": 5", "\"window_ns\": 4")).unwrap();
    fs::write(place.path().join("trials/0003.json"), "{ half a tri").unwrap();
    let recorded = read(place.path()).unwrap();
    assert_eq!(recorded.edited, [2]);
    assert_eq!(recorded.trials.len(), 2, "what cannot be read was not made");
    assert!(matches!(recorded.trials[1].outcome, Outcome::Failed(_)));
}

#[test]
fn the_work_of_tasks_is_kept() {
    let place = tempfile::tempdir().unwrap();
    let folder = TransmitFolder::create(place.path(), &run(), STUDY).unwrap();
    let work = Work { place: "ap".to_owned(), ms: 1000, rounds: Some(7), why: None };
    folder.keep_rounds(&Rounds(vec![work])).unwrap();
    assert_eq!(read(place.path()).unwrap().rounds.of("ap", 1000), Some(7));
    assert_eq!(read(place.path()).unwrap().rounds.of("ap", 2000), None);
}

#[test]
fn another_format_is_told() {
    let place = tempfile::tempdir().unwrap();
    let newer = Run { format: FORMAT + 1, ..run() };
    drop(TransmitFolder::create(place.path(), &newer, STUDY).unwrap());
    let Err(error) = read(place.path()) else { panic!("it was read") };
    assert!(error.to_string().contains("its format is"), "{error}");
}
