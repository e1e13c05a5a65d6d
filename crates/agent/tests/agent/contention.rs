//! Trials with traffic and applications on the machine that runs the tests: a road of namespaces, iperf3, stress-ng.
//!
//! A machine without one of them skips with the reason. How fast anything was is judged nowhere here: the
//! machine may be busy.

use std::{
    fs,
    path::{Path, PathBuf},
};

use model::{
    card::CardOrder,
    instrument::{Instrument, Scope, StacksOrder},
    span::Span,
    traffic::{Application, Control, Road, Traffic, TrafficReading},
    wire::{Frame, Order, Part, TrialOrder},
};

use super::{
    completion::with_txd,
    dialogue::{Agent, Subject, eventually, loaded, trusted},
};

pub(crate) fn traffic() -> Traffic {
    Traffic {
        name: "full".to_owned(),
        bytes: 1400,
        rate: Some(20_000_000),
        probes: 50,
        ..Traffic::default()
    }
}

fn application() -> Application {
    let words = ["--cache-level", "1"].map(str::to_owned).to_vec();
    let name = "cache".to_owned();
    Application { name, stressor: "--cache".to_owned(), words, workers: 1, swap: None }
}

pub(crate) fn ordered(
    traffic: Option<Traffic>,
    application: Option<Application>,
    control: Control,
) -> TrialOrder {
    TrialOrder {
        road: Some(Road::Veth),
        traffic,
        application,
        control,
        warm_up: Span::from_nanos(300_000_000),
        window: Span::from_secs(2),
        marks: true,
        ..TrialOrder::default()
    }
}

/// Makes the trial; `None`, with the reason, where this machine cannot.
fn made(agent: &mut Agent, order: TrialOrder) -> Option<TrafficReading> {
    agent.order(&Order::trial(order));
    let answer = agent.answer().inspect_err(|why| skip::skip!("{why}")).ok()?;
    Some(answer.part(|part| if let Part::Traffic(traffic) = part { Some(*traffic) } else { None }))
}

/// Groups of this agent's trials that are there now. `hostile` looks after folders.
fn left(agent: &Agent) -> Vec<PathBuf> {
    let name = format!("headroom-trial-{}", agent.pid());
    let hierarchies = fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten();
    let mut places: Vec<_> = hierarchies.map(|entry| entry.path().join(&name)).collect();
    places.push(Path::new("/sys/fs/cgroup").join(&name));
    places.retain(|place| place.exists());
    places
}

#[test]
fn a_trial_counts_both_sides_and_leaves_nothing() {
    let (mut agent, ..) = Agent::start();
    let control = Control::Weight(512);
    let Some(record) = made(&mut agent, ordered(Some(traffic()), Some(application()), control))
    else {
        return;
    };
    assert_eq!(record.seconds.len(), 2);
    assert!(record.seconds.iter().all(|second| second.busy && second.offered_packets > 0));
    assert!(record.seconds.iter().any(|second| second.received_bytes > 0), "{:?}", record.seconds);
    assert!(record.round_trips.iter().any(|trip| trip.took_us.is_some()));
    assert!(record.round_trips.iter().all(|trip| trip.at_ms < 4000), "all are of the window");
    let work = record.application.unwrap();
    assert!(work.operations > 0.0 && work.ran_ns > 0, "{work:?}");
    assert!(work.life_ran_ns > work.ran_ns && work.life_ns > record.window_ns);
    assert!(!record.cpus.is_empty() && record.guard.is_none());
    for name in ["sender", "receiver", "prober", "echo", "application"] {
        assert!(record.threads.iter().any(|thread| thread.name == name), "{name}");
    }
    assert!(left(&agent).is_empty());
}

#[test]
fn an_application_alone_has_no_road_and_traffic_alone_no_group() {
    let (mut agent, ..) = Agent::start();
    if let Some(record) = made(&mut agent, ordered(None, Some(application()), Control::None)) {
        assert!(record.round_trips.is_empty());
        assert!(record.seconds.iter().all(|second| !second.busy && second.received_bytes == 0));
        assert!(record.seconds.iter().any(|second| second.application_ns > 0));
    }
    if let Some(record) = made(&mut agent, ordered(Some(traffic()), None, Control::None)) {
        assert!(record.application.is_none());
        assert!(record.seconds.iter().all(|second| second.application_ns == 0));
    }
}

#[test]
fn traffic_in_bursts_is_off_in_between() {
    let (mut agent, ..) = Agent::start();
    let bursts = Some((Span::from_nanos(400_000_000), Span::from_secs(30)));
    let ordered = ordered(Some(Traffic { bursts, ..traffic() }), None, Control::None);
    let Some(record) = made(&mut agent, ordered) else { return };
    assert!(record.seconds.iter().all(|second| !second.busy));
    // Only probes and their answers.
    assert!(record.seconds[1].received_packets < 200, "{:?}", record.seconds);
}

#[test]
fn one_trial_has_a_subject_with_its_load_and_stacks_and_traffic_an_application_and_a_card() {
    const FIGURES: &str = r#"{"window_ns":7,"sent":3}"#;
    let (_folder, program) = with_txd(&format!("sleep 1; echo '{FIGURES}'"));
    let subject = Subject::idle();
    let stacks = StacksOrder { scope: Scope::Subject, frequency: 99, stack_bytes: 1024 };
    let second = Span::from_secs(1);
    let mut counted = loaded(&subject.name, 1, &["true"]);
    counted.load.as_mut().unwrap().every = second;
    let order = Order::trial(TrialOrder {
        sample_every: second,
        instrument: Some(Instrument::Stacks(stacks)),
        card: Some(CardOrder::default()),
        identify: true,
        subject: counted.subject,
        load: counted.load,
        ..ordered(Some(traffic()), Some(application()), Control::Weight(512))
    });
    let said = trusted(|| {
        let (mut agent, ..) = Agent::start_at(&program);
        agent.order(&order);
        let mut said = Vec::new();
        while said.last() != Some(&"done") {
            said.push(match agent.frame() {
                Frame::Hello { .. } => "hello",
                Frame::Census(_) => "census",
                Frame::Recorder(_) => "recorder",
                Frame::Records(_) => continue,
                Frame::Sample(_) => "sample",
                Frame::Part(Part::Card(card)) if (card.window_ns, card.sent) == (7, 3) => "card",
                Frame::Part(Part::Recorded(_)) => "stacks",
                Frame::Part(Part::Identity(_)) => "identity",
                Frame::Part(Part::Traffic(traffic)) => {
                    assert_eq!(traffic.seconds.len(), 2);
                    assert!(traffic.application.is_some_and(|work| work.operations > 0.0));
                    "traffic"
                }
                Frame::Done => "done",
                Frame::Refused(why) => return Err(why),
                other => panic!("{other:?}"),
            });
        }
        assert_eq!(left(&agent), [""; 0].map(std::path::PathBuf::from));
        Ok(said)
    });
    let said = match said {
        Ok(said) => said,
        Err(why) => return skip::skip!("{why}"),
    };
    let expected = [
        "hello", "census", "recorder", "sample", "sample", "sample", "card", "stacks", "identity",
        "traffic", "census", "done",
    ];
    assert_eq!(said, expected);
}

#[test]
fn what_cannot_be_run_is_refused_with_what_to_do() {
    let (mut agent, ..) = Agent::start();
    let refused = |agent: &mut Agent, order| {
        agent.order(&Order::trial(order));
        agent.refused().to_string()
    };
    if !Path::new("/run/netns/clients").exists() {
        let radio =
            TrialOrder { road: Some(Road::Radio), ..ordered(Some(traffic()), None, Control::None) };
        let radio = refused(&mut agent, radio);
        assert!(radio.contains("use veth") || radio.contains("run as root"), "{radio}");
    }
    let unknown = Application { stressor: "--no-such-stressor".to_owned(), ..application() };
    let unknown = refused(&mut agent, ordered(None, Some(unknown), Control::None));
    assert!(unknown.contains("stress-ng") || unknown.contains("control group"), "{unknown}");
    assert!(left(&agent).is_empty());
}

/// Where guard's program is: beside the agent, if it has been built.
fn guard_is_built() -> bool {
    let sibling = Path::new(env!("CARGO_BIN_EXE_headroom-agent")).with_file_name("guard");
    let built = sibling.is_file();
    if !built {
        skip::skip!("{} is not built: cargo build --package guard", sibling.display());
    }
    built
}

#[test]
fn guard_is_a_control_that_reports_what_it_did_and_leaves_the_group_as_it_was() {
    if !guard_is_built() {
        return;
    }
    let policy = "[protect]\ninterfaces = [\"{interface}\"]\n\
                  [[application]]\nname = \"a\"\ngroup = \"{group}\"\n";
    let (mut agent, ..) = Agent::start();
    let ordered = ordered(Some(traffic()), Some(application()), Control::Guard(policy.to_owned()));
    let Some(record) = made(&mut agent, ordered) else { return };
    let guard = record.guard.unwrap();
    assert!(guard.restored && guard.resident_kib > 0 && guard.ran_ns > 0, "{guard:?}");
    assert!(left(&agent).is_empty());
}

/// Nice values of ksoftirqd: the 19th field of its stat.
fn packet_threads() -> Vec<String> {
    let stats = fs::read_dir("/proc").unwrap().flatten();
    let stats = stats.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let carries = |stat: &String| stat.contains("(ksoftirqd/");
    let nice = |stat: String| stat.rsplit(") ").next()?.split(' ').nth(16).map(str::to_owned);
    stats.filter(carries).filter_map(nice).collect()
}

#[test]
fn packet_threads_are_nicer_for_the_trial_only_and_nothing_is_left_however_it_ends() {
    let before = packet_threads();
    let control = Control::Together(vec![Control::Weight(64), Control::PacketNice(-10)]);
    let order = || ordered(Some(traffic()), Some(application()), control.clone());
    for kill in [true, false] {
        let (mut agent, ..) = Agent::start();
        if made(&mut agent, order()).is_none() {
            return;
        }
        assert_eq!(packet_threads(), before, "after the trial");
        agent.order(&Order::trial(TrialOrder { window: Span::from_secs(60), ..order() }));
        agent.hello();
        eventually(|| packet_threads().iter().all(|nice| nice == "-10").then_some(()));
        // What is to be removed with the group is there by then.
        let has_members = |group: &PathBuf| {
            fs::read_to_string(group.join("cgroup.procs")).is_ok_and(|pids| !pids.is_empty())
        };
        eventually(|| left(&agent).iter().any(has_members).then_some(()));
        if kill {
            agent.child.kill().unwrap();
        } else {
            agent.orders = None;
        }
        agent.ended();
        eventually(|| (packet_threads() == before && left(&agent).is_empty()).then_some(()));
    }
}

#[test]
fn an_application_is_frozen_while_packets_pass_and_ends_as_any_other() {
    let (mut agent, ..) = Agent::start();
    let ordered = ordered(Some(traffic()), Some(application()), Control::FreezeAbove(200));
    let Some(record) = made(&mut agent, ordered) else { return };
    let work = record.application.unwrap();
    // 20 Mb/s are far more than 200 packets a second: nothing ran in the window, and some before it.
    assert!(work.ran_ns < 20_000_000 && work.life_ran_ns > work.ran_ns, "{work:?}");
    assert!(left(&agent).is_empty());
}
