//! Calls, counted for real: of a program whose calls are known.

use std::{
    fs,
    os::unix::{ffi::OsStrExt, fs::FileExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use linux::{
    cgroup,
    maps::{self, Mapping},
    perf::tracing::Tracing,
};
use model::{
    instrument::{Counts, CountsOrder, Detail, Instrument, Place, Probe, Scope},
    wire::{Order, Refusal, TrialOrder},
};

use crate::dialogue::{Agent, eventually, folders_of, measure, sha256_of};

/// A program of ours with one function whose calls it counts itself; it says how often when it is asked.
pub(crate) struct Counting {
    pub(crate) name: String,
    path: PathBuf,
    child: Child,
    folder: tempfile::TempDir,
}

/// `work(n)` sleeps for n µs; each thread calls it until the file `stop` is there, and then every thread
/// says how often it did. `report` writes the sums so far.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile unsigned long calls;
static const char *said;
__attribute__((noinline)) unsigned long work(unsigned long us) {
    if (us) usleep(us);
    __asm__ volatile("" ::: "memory");
    return us + 1;
}
static void once(unsigned long us) {
    work(us);
    __atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST);
}
static void *thread(void *us) {
    for (;;) once((unsigned long)us);
    return 0;
}
int main(int argc, char **argv) {
    said = argv[1];
    pthread_t t;
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, 0);
    for (int i = 0; i < 2; i++) pthread_create(&t, 0, thread, (void *)2000UL);
    for (;;) {
        sigwait(&set, &signal);
        for (int i = 0; i < 100; i++) once(0);
        FILE *f = fopen(said, "w");
        fprintf(f, "%lu\n", calls);
        fclose(f);
    }
}
"#;

impl Counting {
    fn start() -> Option<Self> {
        Self::of(PROGRAM)
    }

    /// Starts a program, whose only word is the file in which it answers each SIGUSR1.
    pub(crate) fn of(program: &str) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = tempfile::tempdir().unwrap();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("cnt{number}-{}", std::process::id());
        let (source, path) = (folder.path().join("main.c"), folder.path().join(&name));
        fs::write(&source, program).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-pthread", "-o"]).arg(&path).arg(&source);
        match compiler.status() {
            Ok(status) if status.success() => {}
            other => {
                skip::skip!("no C compiler here: {other:?}");
                return None;
            }
        }
        let said = folder.path().join("said");
        let child = Command::new(&path).arg(said).stdout(Stdio::null()).spawn().unwrap();
        // The kernel gives it its name before it maps the program.
        let maps = format!("/proc/{}/maps", child.id());
        let is_code =
            |line: &str| line.contains(" r-xp ") && line.ends_with(path.to_str().unwrap());
        eventually(|| fs::read_to_string(&maps).unwrap().lines().any(is_code).then_some(()));
        Some(Self { name, path, child, folder })
    }

    fn offset_of(&self, function: &str) -> u64 {
        offset_in(&self.path, "-a", function)
    }

    pub(crate) fn probe(&self, name: &str, detail: Detail) -> Probe {
        let place = Place::User {
            path: self.path.to_str().unwrap().to_owned(),
            sha256: sha256_of(&self.path),
            offset: self.offset_of("work"),
        };
        Probe { name: name.to_owned(), place, detail }
    }

    /// Its own count of calls, behind 100 more that the reading causes.
    pub(crate) fn calls(&self) -> u64 {
        let words = self.read();
        let said = std::process::Command::new(&words[0]).args(&words[1..]).output().unwrap();
        String::from_utf8(said.stdout).unwrap().trim().parse().unwrap()
    }

    /// The command that makes it call and say how often it has called.
    pub(crate) fn read(&self) -> Vec<String> {
        let said = self.folder.path().join("said");
        let script = format!(
            "rm -f {0}; kill -USR1 {1}; while ! [ -s {0} ]; do sleep 0.01; done; cat {0}",
            said.display(),
            self.child.id()
        );
        ["sh", "-c", &script].map(str::to_owned).to_vec()
    }

    /// The byte where the function begins, as the process has it in memory.
    fn first_byte(&self) -> u8 {
        let offset = self.offset_of("work");
        let holds = |map: &Mapping| {
            let is_ours = map.may.execute && map.name == self.path.as_os_str().as_bytes();
            is_ours && (map.offset..map.offset + map.end - map.start).contains(&offset)
        };
        let map = maps::of(self.child.id()).unwrap().into_iter().find(holds).unwrap();
        let memory = fs::File::open(format!("/proc/{}/mem", self.child.id())).unwrap();
        let mut byte = [0];
        memory.read_exact_at(&mut byte, map.start + offset - map.offset).unwrap();
        byte[0]
    }
}

/// Where a function begins in a file, by its symbol (those that `which` tells nm) and the section that it is in.
pub(crate) fn offset_in(path: &Path, which: &str, function: &str) -> u64 {
    let symbols = Command::new("nm").arg(which).arg(path).output().unwrap().stdout;
    let symbols = String::from_utf8(symbols).unwrap();
    let line = symbols.lines().find(|line| line.ends_with(&format!(" {function}"))).unwrap();
    let address = u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
    let headers = Command::new("readelf").args(["-lW"]).arg(path).output().unwrap();
    let headers = String::from_utf8(headers.stdout).unwrap();
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let segment = headers
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields.first() == Some(&"LOAD"))
        .map(|fields| (number(fields[1]), number(fields[2]), number(fields[5])))
        .find(|(_, start, length)| (*start..start + length).contains(&address));
    let (offset, start, _) = segment.unwrap();
    address - start + offset
}

impl Drop for Counting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn ordered(counts: CountsOrder, measure: TrialOrder) -> Order {
    Order::trial(TrialOrder { instrument: Some(Instrument::Counts(counts)), ..measure })
}

/// Says that nothing can be probed here; another refusal is a failure.
pub(crate) fn skipped<T>(refusal: &Refusal) -> Option<T> {
    let text = refusal.to_string();
    assert!(text.contains("without probes") || text.contains("run the agent as root"), "{text}");
    skip::skip!("{text}");
    None
}

/// Carries out the order; `None`, with the reason, where nothing can be probed here.
pub(crate) fn counted(order: &Order) -> Option<Counts> {
    match Agent::ordered(order).answer() {
        Ok(answer) => Some(answer.counts()),
        Err(refusal) => skipped(&refusal),
    }
}

/// An agent whose window is open; `None`, with the reason, where it cannot be.
fn opened(order: &Order) -> Option<Agent> {
    Agent::opened(order).inspect_err(|refusal| skip::skip!("{refusal}")).ok()
}

/// The probes that an agent has in tracefs.
fn lines_of(agent: u32) -> Vec<String> {
    let ours = Tracing::open().unwrap().ours(|_| true).unwrap();
    let names = ours.into_iter().map(|(_, name)| name);
    names.filter(|name| name.starts_with(&format!("headroom_{agent}_"))).collect()
}

#[test]
fn hits_are_the_calls_that_the_program_counts_itself() {
    let Some(program) = Counting::start() else { return };
    let order = CountsOrder {
        scope: Scope::Subject,
        probes: vec![
            program.probe("hits", Detail::Hits),
            program.probe("spans", Detail::Spans(Some(0))),
        ],
    };
    let before = program.calls();
    let Some(counts) = counted(&ordered(order, measure(&program.name, 10))) else { return };
    let calls = program.calls() - before;
    let [hits, spans] = &counts.probes[..] else { panic!("{counts:?}") };
    eprintln!("{calls} calls, {} hits, a hit costs {:?} ns", hits.hits, counts.hit_ns);
    // The 100 calls of the second reading are outside, and so are those before and behind the window.
    assert!(hits.hits > 200 && hits.hits + 100 <= calls, "{hits:?} of {calls}");
    assert!(hits.hits.abs_diff(spans.hits) <= 4, "{} and {}", hits.hits, spans.hits);
    assert_eq!((hits.probed, hits.mapped_by, hits.lost), (1, Some(1), 0));
    assert!(hits.spans.is_empty());
    assert!(counts.hit_ns.unwrap() > 0);
    // The census of sleeps: each lasts at least as long as it asked to.
    assert_eq!(spans.lost, 0);
    let paired = spans.spans.len() as u64;
    assert!(paired <= spans.hits && paired + 2 >= spans.hits, "{paired} of {}", spans.hits);
    // A return whose breakpoint the kernel moved at that moment is missed and told; on a busy machine now and then.
    assert!(spans.unpaired <= 4 + spans.hits / 50, "{} of {} unpaired", spans.unpaired, spans.hits);
    assert!(spans.spans.iter().all(|span| span.argument == Some(2000)));
    let tasks = PathBuf::from(format!("/proc/{}/task", program.child.id()));
    assert!(spans.spans.iter().all(|span| tasks.join(span.tid.to_string()).exists()));
    assert!(spans.spans.iter().all(|span| span.took_ns >= 2_000_000), "a sleep was too short");
}

#[test]
fn no_probe_outlives_the_agent_even_where_it_is_killed() {
    let Some(program) = Counting::start() else { return };
    let original = program.first_byte();
    let probes = vec![program.probe("spans", Detail::Spans(None))];
    let order = CountsOrder { scope: Scope::Subject, probes };
    let Some(mut agent) = opened(&ordered(order, measure(&program.name, 1000))) else { return };
    assert_ne!(program.first_byte(), original, "there is a breakpoint");
    assert!(!lines_of(agent.pid()).is_empty());
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    eventually(|| (program.first_byte() == original).then_some(()));
    eventually(|| lines_of(agent.pid()).is_empty().then_some(()));
}

#[test]
fn what_an_agent_leaves_that_is_killed_with_its_second_process_goes_with_the_next_count() {
    let Some(program) = Counting::start() else { return };
    let original = program.first_byte();
    let order = |intervals| {
        let probes = vec![program.probe("hits", Detail::Hits)];
        let order = CountsOrder { scope: Scope::Subject, probes };
        ordered(order, measure(&program.name, intervals))
    };
    let Some(mut agent) = opened(&order(1000)) else { return };
    let second = agent::subject::pids_of("headroom-watch").unwrap().into_iter();
    let second = second.filter(|&pid| agent::subject::parent(pid) == Some(agent.pid()));
    second.for_each(|pid| linux::process::kill(pid).unwrap());
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    eventually(|| (program.first_byte() == original).then_some(()));
    // Other tests count beside us, and while anybody does nothing is known to belong to nobody.
    let gone = (0..60).any(|_| {
        counted(&order(2));
        lines_of(agent.pid()).is_empty()
    });
    assert!(gone, "{:?}", lines_of(agent.pid()));
    drop(program);
    // Nobody is left who would remove these.
    for folder in folders_of(agent.pid()) {
        let groups = cgroup::below(&folder);
        eventually(|| groups.iter().all(|group| cgroup::remove(group).is_ok()).then_some(()));
        cgroup::remove(&folder).unwrap();
    }
}

#[test]
fn another_file_a_place_outside_and_an_absent_file_are_refused_by_name() {
    let Some(program) = Counting::start() else { return };
    let good = program.probe("work", Detail::Hits);
    let Place::User { path, sha256, .. } = good.place.clone() else { panic!("it is a user's") };
    let user = |path: &str, sha256: &str, offset| Place::User {
        path: path.to_owned(),
        sha256: sha256.parse().unwrap(),
        offset,
    };
    for (place, reported) in [
        (user(&path, &"0".repeat(64), 0), "look them up again"),
        (user("/no/such/file", &sha256, 0), "No such file"),
        (user(&path, &sha256, 1 << 40), "put the probe `work`"),
        (Place::Kernel("no_such_function_of_the_kernel".to_owned()), "kallsyms"),
    ] {
        let probes = vec![Probe { place, ..good.clone() }];
        let order = CountsOrder { scope: Scope::Subject, probes };
        let refusal = Agent::ordered(&ordered(order, measure(&program.name, 2))).refused();
        assert!(!refusal.why.is_empty(), "{refusal}");
        let text = refusal.to_string();
        eprintln!("{text}");
        assert!(
            text.contains(reported) || text.contains("KPROBE") || text.contains("kallsyms"),
            "{text}"
        );
    }
}
