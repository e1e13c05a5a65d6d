//! A study whose subject is started for the trial, whose load stays, and which counts other processes too. What can go wrong
//! with them is asked of the agent itself, by its own `started` and `long_running`.

use model::sample::{Account, Rounds};

use crate::harness::{Place, Study};

/// A web server with one page, ready once it says so.
const SERVER: &str = "process = 'busybox', \
     start = \"sh -c 'echo hello > /tmp/index.html; : > /run/ready; exec busybox httpd -f -p 9810 -h /tmp'\", \
     ready = '/run/ready'";

/// One process that reads the page every second, and complains where it cannot.
const READER: &str = "while busybox wget -qO /dev/null http://127.0.0.1:9810/; do sleep 1; done; \
     echo the page is gone >&2; exit 1";

fn usage(account: &Account) -> u64 {
    account.group.expect("the guest has control groups").usage_ns
}

#[test]
fn subject_load_and_others_are_counted_in_the_same_window_and_trials_differ_by_instructions_only() {
    let place = Place::with_guests();
    let keys = format!(
        "subject = {{ {SERVER}, others = ['hostapd', 'no-such-daemon', 'busybox'] }}\n\
         load = {{ run = '''sh -c \"{READER}\"''', long-running = true }}"
    );
    let study = Study::small().unperturbed().variant("served", &keys);
    let planned = place.run_study(&study).words("--dry-run").run();
    planned.code(0).prints("served@6#1").prints("on a started busybox");
    place.run_study(&study).run().code(0);
    let mut used = Vec::new();
    for recording in place.run().recordings() {
        let (first, last) = (&recording.samples[0], recording.samples.last().unwrap());
        for sample in &recording.samples {
            let names: Vec<_> = sample.others.iter().map(|other| other.name.as_str()).collect();
            assert_eq!((names, sample.rounds), (vec!["hostapd"], Rounds::default()));
        }
        assert!(usage(&last.subject) > usage(&first.subject), "no page was served");
        let load = |sample: &model::sample::Sample| usage(sample.load.as_ref().unwrap());
        assert!(load(last) > load(first), "no page was read");
        assert!(usage(&last.others[0].account) >= usage(&first.others[0].account));
        let programs = &recording.facts.programs;
        for name in ["busybox", "hostapd", "sh"] {
            assert!(programs.iter().any(|one| one.name == name), "{programs:?}");
        }
        used.push(usage(&last.subject) - usage(&first.subject));
    }
    let [one, other] = used[..] else { panic!("{used:?}") };
    // A page served or not served would be a third of it.
    assert!(one.abs_diff(other) * 50 < one.max(other), "{used:?}");
    assert_eq!(place.left(), []);
}
