//! Proves probes on a program of ours before anybody else has one: that it still starts threads and programs,
//! that what these call is counted, and what a hit costs.
//!
//! Talks to [`linux::perf`]. On a kernel where a probe harms who forks, or misses who was born, nothing is
//! counted. The cost is that of the exception and of single-stepping the instruction that the breakpoint
//! replaced, so it is the machine's rather than the function's.

use std::{fs::File, hint::black_box, io, process::Command};

use linux::{
    maps,
    perf::{
        attached::{Attached, EventOrder, Rings, Scope},
        error::Purpose,
        tracing::{End, Place},
    },
    system::clock_ns,
};
use model::wire::Refusal;
use rustix::time::ClockId;

use crate::{definitions::Definitions, scope::refusal, twin};

/// Makes the agent the program that is probed.
pub const WORD: &str = "--prove-probes";
/// Makes it the program that this one starts.
pub const BORN: &str = "--born-to-prove-probes";

const CALLS: u64 = 2_000;

/// Calls of those who are born: a thread and a program.
const BORN_CALLS: u64 = 2;

const COMPLAINT: u64 = 256;

/// What a program that was probed reported, and what was counted of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Proof {
    without_ns: u64,
    with_ns: u64,
    /// What it could not do.
    failed: Option<String>,
    /// Absent without a probe on the function that it calls.
    hits: Option<u64>,
}

/// Proves these probes, and with `user` one on a function of ours: what its hit costs, ns of CPU.
pub(crate) fn prove(
    made: &mut Definitions,
    wanted: &[EventOrder],
    rings: &Rings,
    user: bool,
) -> Result<Option<u64>, Refusal> {
    let failed = |error: io::Error| Refusal::new("cannot prove probes on a program of ours", error);
    let mut all = wanted.to_vec();
    all.extend(if user { Some(on_ours(made)?) } else { None });
    let mut twin = twin::Twin::start(&[WORD], None).map_err(failed)?;
    let list = || vec![twin.pid()];
    let attached = Attached::open(&Scope::Processes(&list), &all, rings);
    let attached = attached.map_err(|error| refusal(&error))?;
    attached.enable().map_err(failed)?;
    let took: [u8; 16] = twin.go().map_err(failed)?;
    let (complaint, well) = twin.end(COMPLAINT).map_err(failed)?;
    attached.disable().map_err(failed)?;
    let readings = attached.readings(all.len()).map_err(failed)?;
    let [without_ns, with_ns] =
        [0, 8].map(|at| took[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word)));
    let hits = readings.last().filter(|_| user).map(|reading| reading.count);
    judge(&Proof { without_ns, with_ns, failed: (!well).then_some(complaint), hits })
}

/// What a hit costs; the reason where probes harm or miss.
fn judge(proof: &Proof) -> Result<Option<u64>, Refusal> {
    let refused = |why: String| {
        let what = "cannot count calls on this kernel".to_owned();
        Err(Refusal::new(what, why))
    };
    if let Some(failed) = &proof.failed {
        return refused(format!("a program of ours that had the probes could not {failed}"));
    }
    let called = CALLS + BORN_CALLS;
    match proof.hits {
        Some(hits) if hits != called => refused(format!(
            "of {called} calls of a program of ours, its new thread and its new program {hits} were counted"
        )),
        hits => Ok(hits.map(|_| proof.with_ns.saturating_sub(proof.without_ns) / CALLS)),
    }
}

fn on_ours(made: &mut Definitions) -> Result<EventOrder, Refusal> {
    let what = "put a probe on a function of ours".to_owned();
    let failed = |error: io::Error| Refusal::new(format!("cannot {what}"), error);
    let offset = offset_of(called as fn(u64) -> u64 as usize as u64).map_err(failed)?;
    let file = File::open("/proc/self/exe").map_err(failed)?;
    let attributes = made.add(Place::User(&file, offset), End::Entry);
    let attributes = attributes.map_err(|error| refusal(&error))?;
    Ok(EventOrder {
        what,
        purpose: Purpose::UserProbe,
        attributes,
        writes: false,
        everywhere: true,
    })
}

/// Where an address lies in our executable, bytes.
fn offset_of(address: u64) -> io::Result<u64> {
    let mappings = maps::of(std::process::id()).map_err(io::Error::other)?;
    let mapping = mappings.iter().find(|map| (map.start..map.end).contains(&address));
    let mapping = mapping.ok_or(io::ErrorKind::NotFound)?;
    Ok(address - mapping.start + mapping.offset)
}

/// The life of who is probed.
pub fn run() -> io::Result<()> {
    let without_ns = pass();
    twin::stand_ready()?;
    let with_ns = pass();
    twin::say(&[without_ns.to_le_bytes(), with_ns.to_le_bytes()].concat())?;
    let borne = bear();
    if let Err((what, error)) = &borne {
        twin::say(format!("{what}: {error}").as_bytes())?;
    }
    borne.map_err(|(_, error)| error)
}

/// The life of the program that this one starts.
pub fn call_once() {
    black_box(called(black_box(0)));
}

/// A thread and a program, each of which calls once.
fn bear() -> Result<(), (&'static str, io::Error)> {
    let thread = std::thread::Builder::new().spawn(call_once);
    let joined = thread.map_err(|error| ("start a thread", error))?.join();
    joined.map_err(|_| ("end a thread", io::ErrorKind::Other.into()))?;
    let mut command = Command::new("/proc/self/exe");
    command.arg(BORN).env_clear();
    let child = linux::process::spawn_in(None, command).and_then(|mut child| child.wait());
    match child {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(("end a program", io::Error::other(status.to_string()))),
        Err(error) => Err(("start a program", error)),
    }
}

/// CPU time of so many calls, ns.
fn pass() -> u64 {
    let from = clock_ns(ClockId::ThreadCPUTime);
    for number in 0..CALLS {
        black_box(called(black_box(number)));
    }
    clock_ns(ClockId::ThreadCPUTime) - from
}

#[inline(never)]
fn called(number: u64) -> u64 {
    black_box(number).wrapping_mul(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof() -> Proof {
        Proof { without_ns: 10_000, with_ns: 4_010_000, failed: None, hits: Some(2_002) }
    }

    fn refused(proof: &Proof) -> String {
        judge(proof).unwrap_err().to_string()
    }

    #[test]
    fn a_kernel_on_which_probes_are_proved_reports_what_a_hit_costs() {
        assert_eq!(judge(&proof()).unwrap(), Some(2_000));
        assert_eq!(judge(&Proof { hits: None, ..proof() }).unwrap(), None);
    }

    #[test]
    fn a_kernel_on_which_probes_harm_or_miss_counts_nothing() {
        let harmed = Proof { failed: Some("start a thread: Bad address".to_owned()), ..proof() };
        assert!(refused(&harmed).contains("could not start a thread: Bad address"));
        let missed = Proof { hits: Some(2_000), ..proof() };
        assert!(refused(&missed).contains("2000 were counted"));
    }
}
