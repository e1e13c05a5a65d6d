//! Watches whether a process of the machine fails while an instrument is on, as programs fail that an instrument
//! harms: a fork, a thread or a program that cannot be started, or an end by a fault.
//!
//! Talks to the kernel's own tracepoints, counted on every CPU with a filter, so nothing is slowed down but by those
//! of system calls: these are watched beside probes only, whose windows give no CPU time. A kernel without such a
//! tracepoint shows nothing. Such a window is refused; whose fault it was is not judged.
//!
//! The count decides. Each failure also writes a record with its process, whose name is read from `/proc` at once. It
//! may be gone by then, so the kernel records a name with every signal that ends a process, and beside probes with
//! every end.

use std::{
    collections::BTreeMap,
    fs, io,
    ops::Range,
    os::fd::{AsFd, BorrowedFd},
};

use linux::{
    perf::{
        attributes::{Attributes, DUMMY, SOFTWARE, flag, sample},
        event::{Event, Target},
        records::{HEADER, kind, kind_of, u32_at, u64_at},
        ring::Ring,
        tracing::Tracing,
    },
    system,
};
use model::wire::Refusal;
use rustix::process::Signal;

const BIRTHS: [&str; 4] = ["clone", "clone3", "fork", "vfork"];

const PROGRAMS: [&str; 2] = ["execve", "execveat"];

/// What an event that cannot be inherited makes of a birth: `EFAULT`, `ENOMEM`, `EACCES`, `ENODEV`, `EOPNOTSUPP`,
/// `ENOENT`, `EBUSY`. None of them is an answer to limits or to a call that is only tried.
const BIRTH_ERRORS: [i32; 7] = [14, 12, 13, 19, 95, 2, 16];

/// What none but a harmed program hears of `execve`: `EFAULT`, `ENOMEM`.
const PROGRAM_ERRORS: [i32; 2] = [14, 12];

const FAULTS: [(Signal, &str); 6] = [
    (Signal::ILL, "SIGILL"),
    (Signal::TRAP, "SIGTRAP"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::SYS, "SIGSYS"),
];

/// What a failure's record holds, in this order: the event's number, process and thread, the tracepoint's fields.
const RECORD: u64 = sample::IDENTIFIER | sample::TID | sample::RAW;

/// Where the fields begin in a record: behind the number, process, thread, and the fields' length.
const FIELDS: usize = HEADER + 8 + 8 + 4;

const RING_BYTES: usize = 64 << 10;

const MOST_NAMED: usize = 5;

/// Every process of the machine, from now on.
#[derive(Debug)]
pub(crate) struct Bystanders {
    watches: Vec<Watch>,
    rings: Vec<Ring>,
    failures: Failures,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    Birth,
    Program,
    Fault,
}

/// A tracepoint that is counted and recorded on every CPU.
#[derive(Debug)]
struct Watch {
    /// `None`: it only names the process that a signal is sent to, or that ends.
    harm: Option<Harm>,
    call: String,
    events: Vec<Event>,
    ids: Vec<u64>,
    /// Where a record has the call's answer, or the signal.
    number: Range<usize>,
    /// The thread that fails; of a signal that is sent, the one that it is for.
    thread: Range<usize>,
    /// That one's name, in the record of a signal that is sent.
    name: Option<Range<usize>>,
}

#[derive(Debug, Default)]
struct Failures {
    /// Threads that were sent a signal of [`FAULTS`] or have ended, by the kernel's number.
    names: BTreeMap<u64, String>,
    all: Vec<Failure>,
}

#[derive(Debug)]
struct Failure {
    pid: u32,
    thread: u64,
    /// The process's, where it was still there.
    name: Option<String>,
    what: String,
}

impl Bystanders {
    /// Watches who dies; with `calls` also who cannot start another. What the kernel does not show is not watched.
    pub(crate) fn watch(calls: bool) -> Self {
        let Ok(tracing) = Tracing::open() else {
            return Self { watches: Vec::new(), rings: Vec::new(), failures: Failures::default() };
        };
        // An event that never counts, with the others' clock; the first record wakes the reader.
        let silent = Attributes::new(SOFTWARE, DUMMY)
            .flags(flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV)
            .monotonic()
            .watermark(1);
        let ring = |cpu| Ring::new(&silent, cpu, RING_BYTES).ok();
        let rings: Vec<Ring> = system::cpus().into_iter().filter_map(ring).collect();
        let opened = |point| Watch::open(point, &tracing, &rings).ok();
        let watches = tracepoints(calls).iter().filter_map(opened).collect();
        Self { watches, rings, failures: Failures::default() }
    }

    /// Descriptors that become readable when something has failed.
    pub(crate) fn wakers(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.rings.iter().map(AsFd::as_fd)
    }

    /// Reads the names of the processes that have failed, while they are still there.
    pub(crate) fn look(&mut self) {
        let Self { watches, rings, failures } = self;
        for ring in rings {
            let see = |record: &[u8]| -> Result<(), std::convert::Infallible> {
                if kind_of(record) == Some(kind::SAMPLE) {
                    failures.see(watches, record);
                }
                Ok(())
            };
            let Ok(()) = ring.drain(see);
        }
    }

    /// How a process failed last, where that was seen.
    pub(crate) fn failure(&mut self, pid: u32) -> Option<String> {
        self.look();
        let failed = self.failures.all.iter().rev().find(|failed| failed.pid == pid)?;
        Some(self.failures.line(failed))
    }

    /// Nothing has failed so far.
    /// Fails with [`Refusal`] with what has failed, how often, and which processes.
    pub(crate) fn unharmed(&mut self) -> Result<(), Refusal> {
        self.look();
        // Whoever has gone while the rings were read has left its name in one that was read before.
        self.look();
        let counted = self.watches.iter().filter_map(|watch| Some((watch.harm?, watch.total())));
        let failures = &self.failures;
        let lines: Vec<String> = failures.all.iter().map(|one| failures.line(one)).collect();
        let why = reason(&counted.collect::<Vec<_>>(), &lines);
        let what = "cannot trust this window with an instrument";
        why.map_or(Ok(()), |why| Err(Refusal::new(what, why)))
    }
}

/// Ways to fail, each with its tracepoint and the filter of what is counted; an empty one counts all.
fn tracepoints(calls: bool) -> Vec<(Option<Harm>, String, String)> {
    let any = |field: &str, numbers: &mut dyn Iterator<Item = i32>| {
        let each = numbers.map(|number| format!("{field} == {number}"));
        each.collect::<Vec<_>>().join(" || ")
    };
    let faults = any("sig", &mut FAULTS.iter().map(|(signal, _)| signal.as_raw()));
    // Without a handler of its own it ends by it.
    let fatal = format!("sa_handler == 0 && ({faults})");
    let mut all = vec![
        (Some(Harm::Fault), "signal/signal_deliver".to_owned(), fatal),
        (None, "signal/signal_generate".to_owned(), faults),
    ];
    let lists: [(Harm, &[&str], &[i32]); 2] =
        [(Harm::Birth, &BIRTHS, &BIRTH_ERRORS), (Harm::Program, &PROGRAMS, &PROGRAM_ERRORS)];
    for (harm, names, errors) in lists.into_iter().filter(|_| calls) {
        let filter = any("ret", &mut errors.iter().map(|error| -error));
        let call = |call| (Some(harm), format!("syscalls/sys_exit_{call}"), filter.clone());
        all.extend(names.iter().map(call));
    }
    all.extend(calls.then(|| (None, "sched/sched_process_exit".to_owned(), String::new())));
    all
}

impl Watch {
    /// Opens it on every CPU. An error is the kernel's, as where it has no such tracepoint.
    fn open(
        (harm, event, filter): &(Option<Harm>, String, String),
        tracing: &Tracing,
        rings: &[Ring],
    ) -> io::Result<Self> {
        let field = |name| tracing.field(event, name);
        let (number, thread, name) = match harm {
            None => (field("pid")?, field("pid")?, Some(field("comm")?)),
            Some(Harm::Fault) => (field("sig")?, field("common_pid")?, None),
            Some(_) => (field("ret")?, field("common_pid")?, None),
        };
        let call = event.rsplit('_').next().unwrap_or_default().to_owned();
        let attributes = tracing.event(event)?;
        // Nothing is counted before the filter is there.
        let attributes = attributes.flags(flag::DISABLED).period(1).sample(RECORD).monotonic();
        let mut events = Vec::new();
        for cpu in system::cpus() {
            let event = Event::open(&attributes, Target::Cpu(cpu))?;
            if !filter.is_empty() {
                event.filter(filter)?;
            }
            // Without a ring failures are counted and have no names.
            if let Some(ring) = rings.iter().find(|ring| ring.cpu() == cpu) {
                event.redirect(ring.as_fd())?;
            }
            event.enable()?;
            events.push(event);
        }
        let ids = events.iter().map(Event::id).collect::<io::Result<_>>()?;
        Ok(Self { harm: *harm, call, events, ids, number, thread, name })
    }

    fn total(&self) -> u64 {
        self.events.iter().filter_map(|event| event.read().ok()).map(|reading| reading.count).sum()
    }
}

impl Failures {
    /// One failure, for people.
    fn line(&self, Failure { pid, thread, name, what }: &Failure) -> String {
        let name = name.clone().or_else(|| self.names.get(thread).cloned());
        format!("{} {what}", process(name, *pid))
    }

    /// Takes a record in. What is cut or of no event of ours is passed over.
    fn see(&mut self, watches: &[Watch], record: &[u8]) {
        let id = u64_at(record, HEADER);
        let watch = watches.iter().find(|watch| id.is_some_and(|id| watch.ids.contains(&id)));
        let (Some(watch), Some(fields)) = (watch, record.get(FIELDS..)) else { return };
        let number = |at| number(fields, at).unwrap_or_default();
        let thread = number(&watch.thread) as u64;
        let Some(harm) = watch.harm else {
            let name = watch.name.clone().and_then(|name| fields.get(name));
            self.names.insert(thread, text(name.unwrap_or_default()));
            return;
        };
        let pid = u32_at(record, HEADER + 8).unwrap_or_default();
        let name = fs::read(format!("/proc/{pid}/comm")).map(|name| text(name.trim_ascii_end()));
        let name = name.ok().filter(|name| !name.is_empty());
        let what = failure(harm, &watch.call, number(&watch.number));
        self.all.push(Failure { pid, thread, name, what });
    }
}

fn process(name: Option<String>, pid: u32) -> String {
    match name {
        Some(name) => format!("`{name}` (pid {pid})"),
        None => format!("pid {pid}, which is gone,"),
    }
}

/// A name up to its first NUL, with nothing in it that a terminal would obey.
fn text(name: &[u8]) -> String {
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).replace(char::is_control, "?")
}

/// A number of the kernel's, of 4 or 8 bytes.
fn number(fields: &[u8], at: &Range<usize>) -> Option<i64> {
    let bytes = fields.get(at.clone())?;
    match bytes.len() {
        4 => Some(i64::from(u32_at(bytes, 0)?.cast_signed())),
        8 => Some(u64_at(bytes, 0)?.cast_signed()),
        _ => None,
    }
}

/// What a process could not do, or how it ended, for people.
fn failure(harm: Harm, call: &str, number: i64) -> String {
    let error = || io::Error::from_raw_os_error(i32::try_from(-number).unwrap_or_default());
    match harm {
        Harm::Birth => format!("could not fork or start a thread ({call}: {})", error()),
        Harm::Program => format!("could not start a program ({call}: {})", error()),
        Harm::Fault => {
            let of = |(signal, _): &&(Signal, &str)| i64::from(signal.as_raw()) == number;
            let name = FAULTS.iter().find(of).map_or("a fault", |(_, name)| name);
            format!("ended by signal {number} ({name})")
        }
    }
}

/// What has failed, for people.
fn reason(counted: &[(Harm, u64)], failures: &[String]) -> Option<String> {
    let counted_of =
        |harm| counted.iter().filter(|(of, _)| *of == harm).map(|(_, count)| count).sum::<u64>();
    let failed = [
        (Harm::Birth, "forks or threads failed"),
        (Harm::Program, "programs could not be started"),
        (Harm::Fault, "processes ended by a fault"),
    ];
    let failed = failed.map(|(harm, what)| (counted_of(harm), what)).into_iter();
    let failed: Vec<String> = failed
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{what}: {count}"))
        .collect();
    let who = match failures {
        [] => "; `dmesg` may say which".to_owned(),
        all if all.len() > MOST_NAMED => {
            format!(": {}; and {} more", all[..MOST_NAMED].join("; "), all.len() - MOST_NAMED)
        }
        all => format!(": {}", all.join("; ")),
    };
    (!failed.is_empty()).then(|| {
        format!(
            "while it was in place a process on the access point failed as programs do that an instrument \
             harms ({}){who}",
            failed.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_said_with_its_count_and_its_process() {
        assert_eq!(reason(&[(Harm::Birth, 0), (Harm::Fault, 0)], &[]), None);
        let failed = [(Harm::Birth, 2), (Harm::Birth, 1), (Harm::Program, 0), (Harm::Fault, 1)];
        let counts = "(forks or threads failed: 3, processes ended by a fault: 1)";
        let without = reason(&failed, &[]).unwrap();
        assert!(without.ends_with(&format!("{counts}; `dmesg` may say which")), "{without}");
        let failures = ["a", "b", "c", "d", "e", "f", "g"].map(str::to_owned);
        let some = reason(&failed, &failures[..2]).unwrap();
        assert!(some.ends_with(&format!("{counts}: a; b")), "{some}");
        let many = reason(&failed, &failures).unwrap();
        assert!(many.ends_with(&format!("{counts}: a; b; c; d; e; and 2 more")), "{many}");
    }

    #[test]
    fn a_failure_says_which_process_which_call_or_signal_and_why() {
        let fork = failure(Harm::Birth, "clone", -14);
        assert!(fork.starts_with("could not fork or start a thread (clone: Bad address"), "{fork}");
        let what = failure(Harm::Fault, "", i64::from(Signal::SEGV.as_raw()));
        let gone = Failure { pid: 7, thread: 9, name: None, what };
        let mut failures = Failures::default();
        let line = failures.line(&gone);
        assert_eq!(line, "pid 7, which is gone, ended by signal 11 (SIGSEGV)");
        // The name that came with its end.
        failures.names.insert(9, text(b"ev\x1bil\0rest"));
        assert_eq!(failures.line(&gone), "`ev?il` (pid 7) ended by signal 11 (SIGSEGV)");
    }

    #[test]
    fn a_number_that_is_cut_or_of_another_length_is_absent() {
        let fields = (-14_i64).to_ne_bytes();
        assert_eq!(number(&fields, &(0..8)), Some(-14));
        assert_eq!(number(&(-14_i32).to_ne_bytes(), &(0..4)), Some(-14));
        for absent in [1..9, 0..3, 8..16] {
            assert_eq!(number(&fields, &absent), None);
        }
    }

    #[test]
    fn system_calls_are_watched_only_where_that_is_asked_for() {
        let signals = ["signal/signal_deliver", "signal/signal_generate"];
        let names = |calls| tracepoints(calls).into_iter().map(|one| one.1).collect::<Vec<_>>();
        assert_eq!(names(false), signals);
        assert_eq!(names(true).len(), 9);
        assert_eq!(names(true)[8], "sched/sched_process_exit", "names come with the end");
        let (_, event, filter) = &tracepoints(true)[2];
        assert!(event.ends_with("sys_exit_clone") && filter.starts_with("ret == -14 || "));
    }
}
