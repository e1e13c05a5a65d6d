//! Studies whose subject is started for the trial, whose load stays, and which count others alongside it.

use model::sample::{Account, Rounds};

use crate::harness::{Ended, Place, Study};

/// A web server with one page, ready once it says so.
const SERVER: &str = "process = 'busybox', \
     start = \"sh -c 'echo hello > /tmp/index.html; : > /run/ready; exec busybox httpd -f -p 9810 -h /tmp'\", \
     ready = '/run/ready'";

/// One process that reads the page every second, and complains where it cannot.
const READER: &str = "while busybox wget -qO /dev/null http://127.0.0.1:9810/; do sleep 1; done; \
     echo the page is gone >&2; exit 1";

/// One trial of the server under a load that stays.
fn serve(place: &Place, others: &str, script: &str) -> Ended {
    let keys = format!(
        "subject = {{ {SERVER}, others = [{others}] }}\n\
         load = {{ run = '''sh -c \"{script}\"''', long-running = true }}"
    );
    let study = Study::small().repetitions(1).variant("served", &keys);
    place.run_study(&study).run()
}

fn usage(account: &Account) -> u64 {
    account.group.expect("the guest has control groups").usage_ns
}

#[test]
fn subject_load_and_others_are_counted_in_the_same_window() {
    let place = Place::with_guests();
    let ended = serve(&place, "'hostapd', 'no-such-daemon', 'busybox'", READER);
    ended.code(0).prints("report: ");
    let recording = place.run().recordings().remove(0);
    let (first, last) = (&recording.samples[0], recording.samples.last().unwrap());
    for sample in &recording.samples {
        let names: Vec<_> = sample.others.iter().map(|other| other.name.as_str()).collect();
        assert_eq!((names, sample.rounds), (vec!["hostapd"], Rounds::default()));
    }
    assert!(usage(&last.subject) > usage(&first.subject), "no one was served");
    let load = |sample: &model::sample::Sample| usage(sample.load.as_ref().unwrap());
    assert!(load(last) > load(first), "no one read");
    assert!(usage(&last.others[0].account) >= usage(&first.others[0].account));
    let programs: Vec<_> = recording.facts.programs.iter().map(|one| one.name.as_str()).collect();
    for name in ["busybox", "hostapd", "sh"] {
        assert!(programs.contains(&name), "{programs:?}");
    }
    place.run().report();
    assert_eq!(place.left(), []);
}

#[test]
fn trials_with_a_started_subject_differ_by_instructions_only() {
    let place = Place::with_guests();
    let keys = format!(
        "subject = {{ {SERVER} }}\nload = {{ run = '''sh -c \"{READER}\"''', long-running = true }}"
    );
    let study = Study::small().unperturbed().variant("served", &keys);
    place.run_study(&study).run().code(0);
    let used: Vec<u64> = place
        .run()
        .recordings()
        .iter()
        .map(|one| usage(&one.samples[4].subject) - usage(&one.samples[0].subject))
        .collect();
    eprintln!("{used:?} ns");
    let (least, most) = (used.iter().min().unwrap(), used.iter().max().unwrap());
    // A page served or not served would be a third of it.
    assert!(used.len() == 2 && (most - least) * 50 < *most, "{used:?}");
}

/// The one trial's reason, after a run that made its report all the same.
fn the_reason(place: &Place, ended: &Ended) -> String {
    ended.code(3).prints("report: ");
    let mut invalid = place.run().invalid();
    assert_eq!((invalid.len(), place.left()), (1, Vec::new()), "{ended}");
    invalid.remove(0).0
}

#[test]
fn a_load_that_was_to_stay_and_ends_makes_the_trial_invalid_in_its_own_words() {
    let place = Place::with_guests();
    let ended = serve(&place, "", "sleep 3; echo station 3 has vanished >&2; exit 4");
    let why = the_reason(&place, &ended);
    assert!(why.starts_with("the load `sh -c sleep 3;"), "{why}");
    assert!(why.ends_with("ended by itself: exit status: 4: station 3 has vanished"), "{why}");
}

#[test]
fn a_monitor_whose_own_checks_failed_makes_the_trial_invalid_at_its_end() {
    let place = Place::with_guests();
    let check = "trap 'echo 2 of 6 clients seen >&2; exit 1' TERM; while :; do sleep 0.1; done";
    let why = the_reason(&place, &serve(&place, "", check));
    // The shell says of its `sleep` that it was terminated, too.
    assert!(why.contains("exit status: 1: ") && why.ends_with("2 of 6 clients seen"), "{why}");
}

#[test]
fn a_subject_that_does_not_start_is_reported_in_its_own_words() {
    let place = Place::with_guests();
    for (name, subject, message) in [
        (
            "ends",
            "process = 'sh', start = \"sh -c 'echo no radio >&2; exit 3'\", ready = '/run/x'",
            "exit status: 3: no radio",
        ),
        (
            "never-ready",
            "process = 'sleep', start = 'sleep 1000', ready = '/run/x'",
            "`/run/x` is not there after 20 s",
        ),
        ("no-program", "process = 'stationd', start = 'frobnicate --all'", "No such file"),
        (
            "other-name",
            "process = 'stationd', start = 'sleep 1000'",
            "named `stationd`; they are: sleep",
        ),
        (
            "runs-already",
            "process = 'hostapd', start = 'hostapd x.conf'",
            "`hostapd` already runs as pid ",
        ),
    ] {
        let keys = format!("subject = {{ {subject} }}\nload = 'none'");
        let study = Study::small().repetitions(1).variant(name, &keys);
        place.write("study.toml", &study.text());
        place.headroom(["run", "study.toml", "--out", name]).run().code(3);
        let (why, _) = place.run_in(name).invalid().remove(0);
        assert!(why.starts_with("cannot start the subject `") && why.contains(message), "{why}");
    }
    assert_eq!(place.left(), []);
}

#[test]
fn the_plan_says_what_is_started() {
    let place = Place::without_guests();
    let keys =
        format!("subject = {{ {SERVER} }}\nload = {{ run = 'sleep 100', long-running = true }}");
    place.write("study.toml", &Study::small().variant("served", &keys).text());
    let ended = place.headroom(["run", "study.toml", "--dry-run"]).run();
    ended.code(0).prints("served@6#1").prints("sleep on a started busybox");
}
