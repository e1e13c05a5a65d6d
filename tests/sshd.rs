//! Debian's sshd as a subject on a virtual access point, where every login succeeds whatever measures it.
//!
//! Each login is a connection, a process without rights and a command: three forks of a program whose children fork
//! again. On the machine that runs the tests that is asked by the agent's own `harm.rs`, and of a program that
//! counts its calls in a guest by `harm`.

use model::trial::Recording;

use crate::harness::{Ended, Place};

/// A study of one window. The key is made anew for each trial; the log says what sshd thinks of it.
fn study(load: &str, tables: &str) -> String {
    let start = "mkdir -p /run/sshd && ssh-keygen -q -t ed25519 -N '' -f /run/key && \
                 exec /usr/sbin/sshd -D -E /run/sshd.log -p 2222 -h /run/key -o ListenAddress=127.0.0.1 \
                 -o AuthorizedKeysFile=/run/key.pub -o PidFile=/run/sshd.pid -o StrictModes=no -o UsePAM=no";
    format!(
        "question = \"Does everybody get in?\"\n\
         [access-point]\nradios = 3\nclients = [6]\npackages = [\"openssh-server\"]\n\
         [subject]\nprocess = \"sshd\"\nready = \"/run/sshd.pid\"\nstart = \"\"\"sh -c \"{start}\" \"\"\"\n\
         [trial]\nwarm-up = \"3s\"\nwindow = \"9s\"\nrepetitions = 1\nperturb = \"nothing\"\n\
         [profile]\nrepetitions = 1\n{tables}\n\
         [[variant]]\nname = \"logins\"\nload = {{ {load} }}\n"
    )
}

/// A login from the access point to itself, and that sshd never failed to fork.
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
of = "/usr/lib/x86_64-linux-gnu/libc.so.6"
[[count.function]]
name = "forks with times"
symbol = "_Fork"
of = "/usr/lib/x86_64-linux-gnu/libc.so.6"
census = true
[[count.function]]
name = "births"
kernel = "kernel_clone"
[[count.function]]
name = "births with times"
kernel = "kernel_clone"
census = true
"#;

/// Three of them in a window, none of which failed.
fn all_succeeded(place: &Place, folder: &str, ended: &Ended) -> Vec<Recording> {
    assert_eq!(place.run_in(folder).invalid(), [], "{ended}");
    ended.code(0);
    let recordings = place.run_in(folder).recordings();
    for recording in &recordings {
        let [first, .., last] = &recording.samples[..] else { panic!("{recording:?}") };
        assert_eq!(last.rounds.failed, 0, "{folder}: a login failed");
        assert_eq!(last.rounds.started - first.rounds.started, 3, "{folder}");
    }
    recordings
}

#[test]
fn every_login_succeeds_on_an_access_point_under_every_instrument() {
    let place = Place::with_guests();
    let rounds = format!("every = \"3s\", run = '''sh -c \"{LOGIN}\"'''");
    place.write("study.toml", &study(&rounds, COUNT));
    // Counters, stacks, then calls and their census.
    for (verb, trials) in [("run", 3), ("profile", 1), ("count", 1)] {
        let ended = place.headroom([verb, "study.toml", "--out", verb]).run();
        let recordings = all_succeeded(&place, verb, &ended);
        assert_eq!(recordings.len(), trials, "{verb}: {ended}");
        for counts in recordings.iter().filter_map(|recording| recording.counts.as_ref()) {
            for counted in &counts.probes {
                // The connection, its process without rights, and the command.
                assert!(counted.hits >= 3 * 3, "{}: {}", counted.name, counted.hits);
            }
        }
    }
    // The program that logs in is stopped and resumed. A login that fails ends it, and so the trial.
    let stays =
        format!("stays = true, run = '''sh -c \"while sleep 2; do {LOGIN} || exit 1; done\"'''");
    place.write("study.toml", &study(&stays, "[pause]\nprocess = \"sh\"\n"));
    let words =
        ["pause", "sh", "study.toml", "--repetitions", "1", "--span", "8s", "--settle", "2s"];
    let ended = place.headroom(words).words(["--out", "pause"]).run();
    assert_eq!(place.run_in("pause").invalid(), [], "{ended}");
    assert_eq!(place.run_in("pause").recordings().len(), 1, "{ended}");
    assert_eq!(place.left(), []);
}
