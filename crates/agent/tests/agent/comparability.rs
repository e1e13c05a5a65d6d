//! What is measured, by content; files that are put there; states that differ from pair to pair.

use std::{fs, io::Write, path::Path};

use model::{
    identity::{FileDoubt, Identity, ProcessIdentity, Role},
    instrument::Instrument,
    parity::{Parity, ParityOrder, Reading},
    wire::{Frame, Order, PUT, Part, Put, Refusal, State, TrialOrder, encode},
};

use crate::dialogue::{Agent, Copied, Subject, eventually, loaded, measure, sha256_of, starting};

/// The identity that a measurement tells, after its last sample.
fn identity(order: TrialOrder) -> Identity {
    let mut agent = Agent::measuring(TrialOrder { identify: true, ..order });
    let identity = |part| if let Part::Identity(identity) = part { Some(*identity) } else { None };
    agent.answer().unwrap().part(identity)
}

fn of_role(identity: &Identity, role: Role) -> &ProcessIdentity {
    identity.processes.iter().find(|process| process.role == role).unwrap()
}

fn put(name: &str, bytes: &[u8], first: bool, last: bool) -> Order {
    Order::Put(Put { name: name.parse().unwrap(), bytes: bytes.to_vec(), first, last })
}

#[test]
fn subject_load_and_agent_are_known_by_their_files() {
    let (subject, other) = (Subject::idle(), Subject::idle());
    let others = vec![other.name.clone()];
    let reported = identity(TrialOrder { others, ..loaded(&subject.name, 2, &["sleep", "0.01"]) });
    let agent = sha256_of(env!("CARGO_BIN_EXE_headroom-agent"));
    assert_eq!(reported.agent, Some(agent));
    let process = of_role(&reported, Role::Subject);
    assert_eq!(
        (process.name.as_str(), process.command[1].as_str()),
        (subject.name.as_str(), "600")
    );
    let executable = &process.files[0];
    assert_eq!(executable.sha256, Some(sha256_of(&executable.path)));
    let maps = fs::read_to_string(format!("/proc/{}/maps", subject.pid())).unwrap();
    assert!(process.files.iter().all(|file| maps.contains(&file.path)), "{process:?}");
    assert_eq!(process.files.len() > 1, maps.contains("libc.so"));
    // It was copied a moment ago.
    assert!(matches!(executable.doubt, Some(FileDoubt::ChangedSinceBoot(_))), "{executable:?}");
    let process = of_role(&reported, Role::Other);
    assert_eq!((&process.name, process.files.len()), (&other.name, 1));
    let load = of_role(&reported, Role::Load);
    assert_eq!(load.command, ["sleep", "0.01"]);
    assert_eq!(load.files[0].sha256, executable.sha256, "a copy has the same content");
    let line = fs::read_to_string("/proc/cmdline").unwrap();
    assert_eq!(reported.kernel.command_line.as_deref(), Some(line.trim_end_matches('\n')));
    assert_eq!(reported.kernel.notes, Some(sha256_of("/sys/kernel/notes")));
}

#[test]
fn a_program_that_was_replaced_is_known_by_what_runs() {
    let subject = Subject::idle();
    let path = fs::read_link(format!("/proc/{}/exe", subject.pid())).unwrap();
    let original = sha256_of(&path);
    let new = path.with_extension("new");
    fs::write(&new, "another build").unwrap();
    fs::rename(&new, &path).unwrap();
    let reported = identity(measure(&subject.name, 2));
    let executable = &of_role(&reported, Role::Subject).files[0];
    assert_eq!(Path::new(&executable.path), path);
    assert_eq!(executable.sha256, Some(original.clone()));
    assert_eq!(executable.doubt, Some(FileDoubt::Replaced));

    fs::remove_file(&path).unwrap();
    let reported = identity(measure(&subject.name, 2));
    let executable = &of_role(&reported, Role::Subject).files[0];
    assert_eq!(
        (&executable.sha256, &executable.doubt),
        (&Some(original), &Some(FileDoubt::Replaced))
    );
}

#[test]
fn a_file_is_put_in_pieces_runs_and_goes_with_the_stream() {
    let name = format!("hrput-{}", std::process::id());
    let path = Path::new(PUT).join(&name);
    let program = fs::read(agent::programs::resolve("sleep").unwrap()).unwrap();
    let mut agent = Agent::start().0;
    let half = program.len() / 2;
    agent.order(&put(&name, &program[..half], true, false));
    assert_eq!(agent.frame(), Frame::Done);
    assert!(!path.exists());
    agent.order(&put(&name, &program[half..], false, true));
    assert_eq!(agent.frame(), Frame::Done);
    assert_eq!(fs::read(&path).unwrap(), program);

    // It outlives orders, runs as the subject, and its newness is no doubt: we know what we sent.
    let order =
        TrialOrder { identify: true, ..starting(&name, 2, &[path.to_str().unwrap(), "60"]) };
    agent.order(&Order::trial(order));
    agent.begun();
    agent.samples(2);
    let Frame::Part(Part::Identity(reported)) = agent.frame() else { panic!("no identity") };
    let executable = &of_role(&reported, Role::Subject).files[0];
    assert_eq!((&executable.sha256, &executable.doubt), (&Some(sha256_of(&path)), &None));
    agent.census();
    assert_eq!(agent.frame(), Frame::Done);
    agent.orders = None;
    assert!(agent.ended().success());
    assert!(!path.exists());
}

#[test]
fn a_file_that_would_lie_elsewhere_is_refused() {
    let mut agent = Agent::start().0;
    // A name that leads out is no name: the order is not understood, and the stream of no further use.
    let mut bytes = encode(&put("aa/tool", b"x", true, true)).unwrap();
    let at = bytes.windows(7).position(|name| name == b"aa/tool").unwrap();
    bytes[at..at + 2].copy_from_slice(b"..");
    agent.orders.as_mut().unwrap().write_all(&bytes).unwrap();
    assert!(!agent.ended().success());
}

#[test]
fn a_started_subject_has_the_states_padding_and_the_next_has_none() {
    let shell = Copied::of("sh");
    let script = "sleep 60; :";
    let order = starting(&shell.name, 2, &[shell.path().to_str().unwrap(), "-c", script]);
    let mut agent = Agent::start().0;
    let mut length = |state| {
        agent.order(&Order::trial(TrialOrder { state, ..order.clone() }));
        agent.hello();
        agent.census();
        agent.sample();
        let pid = agent::subject::pids_of(&shell.name).unwrap()[0];
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
        let mut variables = environment.split(|&byte| byte == 0);
        let found =
            variables.find_map(|one| one.strip_prefix(b"HEADROOM_LAYOUT=").map(<[u8]>::len));
        while agent.frame() != Frame::Done {}
        found
    };
    assert_eq!(length(Some(State { seed: 7, padding: 1234 })), Some(1234));
    assert_eq!(length(Some(State { seed: 7, padding: 0 })), None);
    assert_eq!(length(Some(State { seed: 8, padding: 77 })), Some(77));
    assert_eq!(length(None), None);
    eventually(|| (shell.running() == 0).then_some(()));
}

/// What the agent says after the window where it asks with these scripts.
fn asked(
    subject: &Subject,
    clients: &str,
    values: &str,
) -> Result<(Vec<Reading>, Parity), Refusal> {
    let words = |script: &str| ["sh", "-c", script].map(str::to_owned).to_vec();
    let order = ParityOrder {
        clients: Some(words(clients)),
        values: vec![words(values), words("echo more")],
        traffic: false,
        leave: true,
    };
    let instrument = Some(Instrument::Parity(order));
    let order = TrialOrder { instrument, ..measure(&subject.name, 2) };
    let (mut readings, mut parity) = (Vec::new(), None);
    for part in Agent::measuring(order).answer()?.parts {
        match part {
            Part::Reading(reading) => readings.push(reading),
            Part::Parity(reported) => parity = Some(*reported),
            other => panic!("{other:?}"),
        }
    }
    Ok((readings, parity.unwrap()))
}

#[test]
fn the_subject_is_asked_for_its_clients_and_values_after_the_window() {
    let subject = Subject::idle();
    let (readings, reported) = asked(&subject, "echo 38", "echo 'b 2'; echo 'a 1'").unwrap();
    assert_eq!((reported.before.subject, reported.frames), (Some(Ok(38)), None));
    let own: Vec<&str> = readings.iter().filter_map(Reading::subject).collect();
    assert_eq!(own, ["b 2\na 1\n", "more\n"], "each command's words as they were said");
    // A machine without an access point has nobody to send away.
    if reported.before.census.interfaces.is_empty() {
        assert_eq!((reported.left, readings.len()), (None, 2));
    }
    let (_, reported) = asked(&subject, "exit 4", "true").unwrap();
    let why = reported.before.subject.unwrap().unwrap_err();
    assert!(why.contains("exit status: 4"), "{why}");
    // A command that fails, and one that says too much.
    for values in ["exit 4", "yes"] {
        let refused = asked(&subject, "echo 38", values).unwrap_err();
        assert!(refused.to_string().contains("exit status"), "{refused}");
    }
}
