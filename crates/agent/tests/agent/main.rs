//! The real agent, driven over pipes, on the machine that runs the tests.

#![expect(
    clippy::unwrap_used,
    reason = "what a test cannot do ends the test, and a skip or a figure is printed"
)]

mod comparability;
mod completion;
mod contention;
mod counts;
mod dialogue;
mod files;
mod harm;
mod hostile;
mod left;
mod long_running;
mod pause;
mod process_sets;
mod repair;
mod stacks;
mod started;

use std::{
    process::Command,
    time::{Duration, Instant},
};

use dialogue::{
    Agent, Copied, Subject, eventually, folders_of, loaded, measure, sha256_of, starting, state,
    staying,
};
use model::{
    instrument::{Instrument, Scope, StacksOrder},
    pause::{PauseState, Target},
    sample::Sample,
    topology::Must,
    wire::{Frame, Order, Part, Refusal, TrialOrder, Work},
};
use rustix::process::{Pid, Signal, kill_process};

fn run_ns(sample: &Sample) -> u64 {
    sample.subject.tasks.iter().filter_map(|task| task.run_ns).sum()
}

const SIGNALS: [Signal; 3] = [Signal::TERM, Signal::INT, Signal::HUP];

#[test]
fn it_introduces_itself_without_being_asked() {
    let (mut agent, facts, _census) = Agent::start();
    assert!(!facts.kernel.is_empty() && !facts.machine.is_empty());
    assert!(facts.cpus > 0 && facts.clk_tck > 0 && facts.memory_kib > 0);
    assert_eq!(facts.pmu_events.len() + facts.pmu_absent.len(), 6);
    assert_eq!(facts.programs, []);
    agent.orders = None;
    assert!(agent.ended().success());
}

#[test]
fn it_introduces_the_subjects_program_by_its_content() {
    let subject = Subject::idle();
    let (mut agent, ..) = Agent::start();
    agent.order(&Order::Introduce { subject: Some(subject.name.clone()) });
    let facts = agent.hello();
    agent.census();
    assert_eq!(facts.programs.len(), 1);
    assert_eq!(facts.programs[0].name, subject.name);
    assert_eq!(facts.programs[0].sha256, sha256_of(&facts.programs[0].path));
}

#[test]
fn a_busy_subject_uses_the_time_that_passes() {
    let subject = Subject::busy();
    let mut agent = Agent::measuring(measure(&subject.name, 10));
    let (_, samples) = agent.window(11);
    let (first, last) = (&samples[0], &samples[10]);
    let wall = last.at_ns - first.at_ns;
    let share = (run_ns(last) - run_ns(first)) as f64 / wall as f64;
    // The machine may be busy with other tests: a share, not a limit.
    assert!((0.02..1.1).contains(&share), "{share} of a core");
    assert!((0.9..30.0).contains(&(wall as f64 / 1e9)), "{wall} ns of window");
    if let (Some(first), Some(last)) = (first.subject.group, last.subject.group) {
        let group = (last.usage_ns - first.usage_ns) as f64 / wall as f64;
        assert!((group - share).abs() < 0.1, "group {group}, threads {share}");
    }
    assert!(samples.windows(2).all(|pair| run_ns(&pair[0]) <= run_ns(&pair[1])));
    assert!(samples.iter().all(|sample| sample.load.is_none()));
}

#[test]
fn an_idle_subject_uses_nothing_and_its_memory_is_reported_at_both_ends() {
    let subject = Subject::idle();
    let mut agent = Agent::measuring(measure(&subject.name, 4));
    let (_, samples) = agent.window(5);
    assert_eq!(run_ns(&samples[0]), run_ns(&samples[4]));
    let pss = |sample: &Sample| sample.subject.memory.unwrap().pss_kib.is_some();
    assert_eq!(samples.iter().map(pss).collect::<Vec<_>>(), [true, false, false, false, true]);
    assert!(samples.iter().all(|sample| sample.subject.memory.unwrap().rss_kib > 0));
    let own = samples[4].agent.tasks.len();
    assert_eq!(own, 1, "the agent has one thread");
}

#[test]
fn the_load_runs_in_whole_rounds_and_is_proved_by_its_content() {
    let subject = Subject::idle();
    let order =
        loaded(&subject.name, 5, &["sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"]);
    let mut agent = Agent::measuring(order);
    let (facts, samples) = agent.window(6);
    assert_eq!(facts.programs.len(), 2);
    let started: Vec<u64> = samples.iter().map(|sample| sample.rounds.started).collect();
    assert!(started.is_sorted() && started[5] > started[0], "{started:?}");
    assert_eq!(samples[5].rounds.failed, 0);
    let usage = |sample: &Sample| sample.load.clone().unwrap().group.map(|group| group.usage_ns);
    match (usage(&samples[0]), usage(&samples[5])) {
        (Some(first), Some(last)) => assert!(last > first),
        absent => assert_eq!(absent, (None, None)),
    }
}

#[test]
fn a_load_that_fails_now_and_then_is_counted_and_says_how() {
    let subject = Subject::idle();
    // Every other round: the file is there or it is not.
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let script = format!(
        "mkdir {0} 2>/dev/null || {{ rmdir {0}; echo it was there >&2; exit 1; }}",
        mark.display()
    );
    let order = loaded(&subject.name, 3, &["sh", "-c", &script]);
    let answer = Agent::measuring(order).answer().unwrap();
    let rounds = answer.samples[3].rounds;
    let [Part::LoadFailure(failure)] = &answer.parts[..] else { panic!("{:?}", answer.parts) };
    assert!(failure.command.starts_with("sh -c mkdir"), "{failure:?}");
    assert_eq!(failure.why, "exit status: 1: it was there");
    assert!(rounds.failed > 0 && rounds.failed < rounds.ended, "{rounds:?}");
}

#[test]
fn a_load_that_only_fails_is_refused_with_its_status_and_words() {
    let subject = Subject::idle();
    let words = ["sh", "-c", "echo no route >&2; exit 7"];
    let mut agent = Agent::measuring(loaded(&subject.name, 3, &words));
    let Refusal { what, why } = agent.refused();
    assert!(what.starts_with("the load `sh -c") && what.ends_with("ended by itself"), "{what}");
    assert!(why.starts_with("each of its ") && why.contains(" commands failed, "), "{why}");
    assert!(why.ends_with("the first with exit status: 7: no route"), "{why}");
}

#[test]
fn no_subject_is_refused_with_what_runs() {
    let mut agent = Agent::measuring(measure("no-such-daemon", 3));
    let refusal = agent.refused();
    let running = refusal
        .what
        .strip_prefix("no process named `no-such-daemon` runs on the access point; running are: ");
    let running: Vec<&str> = running.unwrap().split(", ").collect();
    assert!(running.contains(&"headroom-agent") && running.is_sorted(), "{refusal}");
    assert!(!running.contains(&"kthreadd"), "{refusal}");
}

#[test]
fn a_subject_that_dies_ends_the_measurement_at_once() {
    let mut subject = Subject::idle();
    let mut agent = Agent::measuring(measure(&subject.name, 1000));
    agent.begun();
    subject.child.kill().unwrap();
    let refusal = agent.refused();
    let died = format!("`{}` (pid {}) ended ", subject.name, subject.pid());
    assert!(refusal.what.starts_with(&died), "{refusal}");
    assert!(refusal.what.ends_with("s after the window opened"), "{refusal}");
    assert_eq!(folders_of(agent.pid()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_load_that_cannot_start_is_refused_with_the_systems_words() {
    let subject = Subject::idle();
    let before = subject.groups();
    let rounds = loaded(&subject.name, 3, &["/no/such/monitor", "--all"]);
    let mut staying = rounds.clone();
    let load = staying.load.as_mut().unwrap();
    load.work = Work::LongRunning(load.work.commands().to_vec());
    for order in [rounds, staying] {
        let Refusal { what, why } = Agent::measuring(order).refused();
        assert_eq!(what, "cannot start the load `/no/such/monitor --all`");
        assert!(why.contains("No such file"), "{why}");
        assert_eq!(subject.groups(), before);
    }
}

/// How a measurement ends before its time.
#[derive(Clone, Copy, Debug)]
enum End {
    Order,
    Stream,
    Signal(Signal),
    Kill,
}

/// Has the agent end what it does; it is gone, or has introduced itself again.
fn end(agent: &mut Agent, end: End) {
    match end {
        End::Order => {
            agent.order(&Order::Introduce { subject: None });
            while !matches!(agent.frame(), Frame::Hello { .. }) {}
            agent.census();
        }
        End::Stream => {
            agent.orders = None;
            while agent.frame_or_end().is_some() {}
            assert!(agent.ended().success());
        }
        End::Signal(signal) => {
            kill_process(Pid::from_child(&agent.child), signal).unwrap();
            assert_eq!(agent.ended().code(), Some(128 + signal.as_raw()));
        }
        End::Kill => {
            agent.child.kill().unwrap();
            agent.ended();
        }
    }
}

/// An order under way, and what shows that it is.
struct UnderWay {
    order: TrialOrder,
    programs: usize,
    is_stopped: bool,
}

#[test]
fn whatever_ends_whatever_is_under_way_leaves_nothing_changed() {
    let (subject, other, sleep) = (Subject::idle(), Subject::idle(), Copied::of("sleep"));
    let (before, path) = (subject.groups(), sleep.path());
    let command = [path.to_str().unwrap(), "600"];
    let script = format!("{}; true", command.join(" "));
    let stacks = StacksOrder { scope: Scope::Subject, frequency: 499, stack_bytes: 16_384 };
    let measure = || measure(&subject.name, 1000);
    let recorded = TrialOrder { instrument: Some(Instrument::Stacks(stacks)), ..measure() };
    let rests = repair::wanting(measure(), &other.name, Must::Rest, None);
    let pauses = Target::Process(other.name.clone());
    let pauses = pause::pausing(&subject.name, pauses, &[PauseState::Stopped], 1000);
    let under_way = |order, programs, is_stopped| UnderWay { order, programs, is_stopped };
    let all = [
        under_way(measure(), 0, false),
        under_way(loaded(&subject.name, 1000, &command), 1, false),
        under_way(staying(&subject.name, 1000, &[&script]), 1, false),
        under_way(starting(&sleep.name, 1000, &command), 1, false),
        under_way(recorded, 0, false),
        under_way(rests, 0, true),
        under_way(pauses, 0, true),
    ];
    let ends = [End::Order, End::Stream, End::Kill].into_iter().chain(SIGNALS.map(End::Signal));
    let ends = ends.collect::<Vec<_>>();
    for (UnderWay { order, programs, is_stopped }, how) in
        all.iter().flat_map(|one| ends.iter().map(move |how| (one, *how)))
    {
        let mut agent = match Agent::opened(&Order::trial(order.clone())) {
            Ok(agent) => agent,
            Err(why) => {
                skip::skip!("{why}");
                continue;
            }
        };
        eventually(|| (sleep.running() == *programs).then_some(()));
        assert_eq!(state(other.pid()) == 'T', *is_stopped, "{order:?}");
        end(&mut agent, how);
        let is_restored = || {
            let runs = !matches!(state(other.pid()), 'T' | 'Z') && sleep.running() == 0;
            runs && subject.groups() == before && folders_of(agent.pid()).is_empty()
        };
        if matches!(how, End::Kill) {
            // Then a second process does it, which must not take long.
            let from = Instant::now();
            eventually(|| is_restored().then_some(()));
            assert!(from.elapsed() < Duration::from_secs(2), "{order:?} {:?}", from.elapsed());
        }
        assert!(is_restored(), "{order:?} {how:?}");
        pause::no_helpers_of(agent.pid());
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_agent() {
    let subject = Subject::idle();
    let before = subject.groups();
    let mut child = Command::new(env!("CARGO_BIN_EXE_headroom-agent"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let _kept_open = child.stdin.take();
    let ended = eventually(|| child.try_wait().unwrap());
    assert!(ended.success());
    assert_eq!(subject.groups(), before);
}

#[test]
fn noise_on_the_stream_is_reported_and_is_the_end() {
    let (mut agent, ..) = Agent::start();
    std::io::Write::write_all(agent.orders.as_mut().unwrap(), &[0xff; 64]).unwrap();
    assert_eq!(agent.ended().code(), Some(1));
}

#[test]
fn an_order_without_meaning_is_refused_and_the_next_is_obeyed() {
    let subject = Subject::idle();
    let order = measure(&subject.name, 2);
    let (mut agent, ..) = Agent::start();
    let senseless = model::wire::TrialOrder { sample_every: Default::default(), ..order.clone() };
    agent.order(&Order::trial(senseless));
    assert_eq!(agent.frame(), Frame::Refused(Refusal::plain("a period of 0 s was ordered")));
    agent.order(&Order::trial(order));
    assert_eq!(agent.window(3).1.len(), 3);
}

#[test]
fn samples_are_sent_as_they_are_taken_and_do_not_drift() {
    let subject = Subject::idle();
    let mut agent = Agent::measuring(measure(&subject.name, 10));
    agent.hello();
    agent.census();
    let samples: Vec<Sample> = (0..11).map(|_| agent.sample()).collect();
    let since = |place: usize| samples[place].at_ns - samples[0].at_ns;
    // Where each interval began at the end of the one before, ten delays would add up.
    let late_ms = since(10) as f64 / 1e6 - 1000.0;
    assert!((-90.0..90.0).contains(&late_ms), "{late_ms} ms late");
    assert!((1..11).map(since).is_sorted());
}

#[test]
fn the_agent_is_small_next_to_what_it_measures() {
    let subject = Subject::idle();
    let mut agent = Agent::measuring(loaded(&subject.name, 20, &["true"]));
    let (_, samples) = agent.window(21);
    let own =
        |sample: &Sample| sample.agent.tasks.iter().filter_map(|task| task.run_ns).sum::<u64>();
    // The first and the last interval hold the reading of the proportional set sizes.
    let each_us = (own(&samples[19]) - own(&samples[1])) / 18 / 1000;
    eprintln!(
        "{each_us} µs of CPU a second for the agent, at one sample and one round of one command a second"
    );
    // In a debug build, on a machine that runs other tests: a multiple of what is true of a release.
    assert!(each_us < 10_000, "{each_us} µs");
}

#[test]
fn the_two_flags_and_a_wrong_one() {
    let run =
        |flag: &str| Command::new(env!("CARGO_BIN_EXE_headroom-agent")).arg(flag).output().unwrap();
    assert!(run("--help").status.success() && run("-h").stdout.starts_with(b"headroom-agent"));
    assert!(
        String::from_utf8(run("--version").stdout)
            .unwrap()
            .contains(&format!("protocol {}", model::wire::PROTOCOL))
    );
    let wrong = run("--verbose");
    assert_eq!((wrong.status.code(), wrong.stdout.len()), (Some(2), 0));
}
