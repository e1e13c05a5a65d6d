//! Debian's sshd as a subject on a virtual access point, where every login succeeds whatever measures it.
//!
//! Each login is a connection, a process without rights and a command: three forks of a program whose children fork
//! again. On the machine that runs the tests that is asked by the agent's own `harm.rs`, and of a program that
//! counts its calls in a guest by `harm`.

use crate::harness::{PACKAGES, Place};

/// A login from the access point to itself; and sshd has never failed to fork.
const LOGIN: &str = "ssh -F none -i /run/key -p 2222 -o BatchMode=yes -o StrictHostKeyChecking=no \
                     -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR root@127.0.0.1 true && \
                     ! grep -q 'Bad address' /run/sshd.log";

/// Calls of the C library and of the kernel: counted, and with their times.
const COUNT: &str = r#"
[count]
repetitions = 1
[[count.function]]
name = "forks"
symbol = "_Fork"
of = "libc.so.6"
[[count.function]]
name = "forks with times"
symbol = "_Fork"
of = "libc.so.6"
census = true
[[count.function]]
name = "births"
kernel = "kernel_clone"
[[count.function]]
name = "births with times"
kernel = "kernel_clone"
census = true
"#;

const LOGINS: u64 = 2;

/// One window with this load, on one access point. The key is made anew for each trial.
fn study(load: &str, tables: &str) -> String {
    // sshd ends at once without the user `sshd` and the folder `/run/sshd`: its package has asked for both.
    let start = "ssh-keygen -q -t ed25519 -N '' -f /run/key && \
                 exec /usr/sbin/sshd -D -f /dev/null -E /run/sshd.log -p 2222 -h /run/key \
                 -o ListenAddress=127.0.0.1 -o AuthorizedKeysFile=/run/key.pub -o PidFile=/run/sshd.pid \
                 -o StrictModes=no -o UsePAM=no";
    format!(
        "question = \"Is everybody let in?\"\n\
         [access-point]\nradios = 3\nclients = [6]\npackages = {PACKAGES:?}\n\
         [subject]\nprocess = \"sshd\"\nready = \"/run/sshd.pid\"\nstart = '''sh -c \"{start}\"'''\n\
         [trial]\nwarm-up = \"3s\"\nwindow = \"6s\"\nrepetitions = 1\nperturb = \"nothing\"\n\
         [profile]\nrepetitions = 1\n{tables}\n\
         [[variant]]\nname = \"logins\"\nload = {{ {load} }}\n"
    )
}

#[test]
fn every_login_succeeds_on_an_access_point_under_counters_stacks_counts_and_census() {
    let place = Place::with_guests();
    let load = format!("every = \"3s\", run = '''sh -c \"{LOGIN}\"'''");
    place.write("study.toml", &study(&load, COUNT));
    let ended = place.headroom(["run", "study.toml", "--out", "run"]).run();
    ended.code(0);
    assert_eq!(place.run().invalid(), [], "{ended}");
    let recordings = place.run().recordings();
    assert_eq!(recordings.len(), 3, "{ended}");
    for recording in &recordings {
        let [first, .., last] = &recording.samples[..] else { panic!("{recording:?}") };
        assert_eq!(last.rounds.failed, 0, "a login failed");
        assert_eq!(last.rounds.started - first.rounds.started, LOGINS);
    }
    let counts = recordings.iter().find_map(|recording| recording.counts.as_ref()).unwrap();
    for counted in &counts.probes {
        // Of each login the connection, its process without rights, and the command.
        assert_eq!(counted.hits, 3 * LOGINS, "{}", counted.name);
    }
    assert_eq!(place.left(), []);
}

#[test]
fn every_login_succeeds_while_the_program_that_logs_in_is_stopped_and_resumed() {
    let place = Place::with_guests();
    // One that fails ends the load, and so the trial.
    let script = format!("while sleep 2; do {LOGIN} || exit 1; done");
    let load = format!("long-running = true, run = '''sh -c \"{script}\"'''");
    place.write("study.toml", &study(&load, "[pause]\nprocess = \"sh\"\n"));
    let words =
        ["pause", "sh", "study.toml", "--repetitions", "1", "--span", "8s", "--settle", "2s"];
    // Of one trial there is no interval, and so no verdict.
    let ended = place.headroom(words).words(["--out", "run"]).run();
    ended.code(3);
    assert_eq!(place.run().invalid(), [], "{ended}");
    let [recording] = &place.run().recordings()[..] else { panic!("{ended}") };
    let used_ns = |at: usize| recording.samples[at].subject.group.as_ref().unwrap().usage_ns;
    // Five spans of eight samples: it runs, is stopped, runs, runs beside the control, and runs.
    let of_span = |span: usize, from: usize| used_ns(8 * (span + 1)) - used_ns(8 * span + from);
    for span in [0, 2, 3, 4] {
        assert!(of_span(span, 0) > 200_000_000, "no login in span {span}");
    }
    // A login that had begun goes on; after four seconds it is over.
    assert!(of_span(1, 4) < 10_000_000, "{} ns while nothing logs in", of_span(1, 4));
    assert_eq!(place.left(), []);
}
