//! Whether anybody on the machine failed while an instrument was in place, as programs fail that an instrument
//! harms: a fork, a thread or a program that cannot be started, or an end by a fault.
//!
//! Talks to the kernel's own tracepoints, counted on every CPU with a filter, so nobody is slowed down but by
//! those of system calls: these are watched beside probes only, whose windows give no CPU time. A kernel
//! without such a tracepoint shows nothing. Such a window is refused; whose fault it was is not judged.

use linux::{
    perf::{
        event::{Event, Target},
        tracing::Tracing,
    },
    system,
};
use model::wire::Refusal;
use rustix::process::Signal;

/// Calls that start a process or a thread.
const BIRTHS: [&str; 4] = ["clone", "clone3", "fork", "vfork"];

/// Calls that start a program.
const PROGRAMS: [&str; 2] = ["execve", "execveat"];

/// What an event that cannot be inherited makes of a birth: `EFAULT`, `ENOMEM`, `EACCES`, `ENODEV`, `EOPNOTSUPP`,
/// `ENOENT`, `EBUSY`. None of them is an answer to limits or to a call that is only tried.
const BIRTH_ERRORS: [i32; 7] = [14, 12, 13, 19, 95, 2, 16];

/// What none but a harmed program hears of `execve`: `EFAULT`, `ENOMEM`.
const PROGRAM_ERRORS: [i32; 2] = [14, 12];

/// Ends by a fault.
const FAULTS: [Signal; 6] =
    [Signal::ILL, Signal::TRAP, Signal::ABORT, Signal::BUS, Signal::SEGV, Signal::SYS];

/// Everybody, from now on.
#[derive(Debug)]
pub(crate) struct Bystanders {
    watches: Vec<(Harm, Vec<Event>)>,
}

/// A way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    Birth,
    Program,
    Fault,
}

impl Bystanders {
    /// Watches who dies; with `calls` also who cannot start another. What the kernel does not show is not watched.
    pub(crate) fn watch(calls: bool) -> Self {
        let Ok(tracing) = Tracing::open() else { return Self { watches: Vec::new() } };
        let watch = |(harm, name, filter): (Harm, String, String)| {
            Some((harm, counting(&tracing, &name, &filter)?))
        };
        Self { watches: wanted(calls).into_iter().filter_map(watch).collect() }
    }

    /// Nobody has failed so far.
    ///
    /// # Errors
    ///
    /// [`Refusal::Instrument`] with what has failed, and how often.
    pub(crate) fn unharmed(&self) -> Result<(), Refusal> {
        let counted = self.watches.iter().map(|(harm, events)| (*harm, total(events)));
        match told(&counted.collect::<Vec<_>>()) {
            None => Ok(()),
            Some(why) => {
                let what = "cannot trust this window with an instrument".to_owned();
                Err(Refusal::Instrument { what, why })
            }
        }
    }
}

/// Tracepoints, and what is counted of each.
fn wanted(calls: bool) -> Vec<(Harm, String, String)> {
    let any = |field: &str, numbers: &mut dyn Iterator<Item = i32>| {
        let each = numbers.map(|number| format!("{field} == {number}"));
        each.collect::<Vec<_>>().join(" || ")
    };
    let faults = any("sig", &mut FAULTS.iter().map(|signal| signal.as_raw()));
    let mut wanted = vec![(
        Harm::Fault,
        "signal/signal_deliver".to_owned(),
        // Without a handler of its own it ends by it.
        format!("sa_handler == 0 && ({faults})"),
    )];
    let lists: [(Harm, &[&str], &[i32]); 2] =
        [(Harm::Birth, &BIRTHS, &BIRTH_ERRORS), (Harm::Program, &PROGRAMS, &PROGRAM_ERRORS)];
    for (harm, names, errors) in lists.into_iter().filter(|_| calls) {
        let filter = any("ret", &mut errors.iter().map(|error| -error));
        let name = |name| format!("syscalls/sys_exit_{name}");
        wanted.extend(names.iter().map(|call| (harm, name(call), filter.clone())));
    }
    wanted
}

/// Events on every CPU; `None` where the kernel has none.
fn counting(tracing: &Tracing, name: &str, filter: &str) -> Option<Vec<Event>> {
    let attributes = tracing.event(name).ok()?;
    let on = |cpu| {
        let event = Event::open(&attributes, Target::Cpu(cpu)).ok()?;
        event.filter(filter).ok().map(|()| event)
    };
    system::cpus().into_iter().map(on).collect()
}

fn total(events: &[Event]) -> u64 {
    events.iter().filter_map(|event| event.read().ok()).map(|reading| reading.count).sum()
}

/// What has failed, for people.
fn told(counted: &[(Harm, u64)]) -> Option<String> {
    let of = |harm| counted.iter().filter(|(of, _)| *of == harm).map(|(_, count)| count).sum();
    let failed = [
        (of(Harm::Birth), "forks or threads failed"),
        (of(Harm::Program), "programs could not be started"),
        (of(Harm::Fault), "processes ended by a fault"),
    ];
    let failed = failed.into_iter().filter(|(count, _): &(u64, _)| *count > 0);
    let failed: Vec<String> = failed.map(|(count, what)| format!("{what}: {count}")).collect();
    (!failed.is_empty()).then(|| {
        format!(
            "while it was in place something on the access point failed as programs do that an instrument \
             harms ({}); `dmesg` may say who",
            failed.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_failed_is_told_with_its_count() {
        assert_eq!(told(&[(Harm::Birth, 0), (Harm::Fault, 0)]), None);
        let failed = [(Harm::Birth, 2), (Harm::Birth, 1), (Harm::Program, 0), (Harm::Fault, 1)];
        let told = told(&failed).unwrap();
        assert!(
            told.contains("(forks or threads failed: 3, processes ended by a fault: 1)"),
            "{told}"
        );
    }

    #[test]
    fn system_calls_are_watched_only_where_that_is_asked_for() {
        let names = |calls| wanted(calls).into_iter().map(|(_, name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(false), ["signal/signal_deliver"]);
        assert_eq!(names(true).len(), 7);
        let births = &wanted(true)[1];
        assert!(births.1.ends_with("sys_exit_clone") && births.2.starts_with("ret == -14 || "));
    }
}
