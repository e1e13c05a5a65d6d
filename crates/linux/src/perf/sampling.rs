//! The event that samples stacks: the most precise one that this machine gives.
//!
//! Asks for each on the calling thread, and says which were refused and why. What is in a sample is the
//! same for all of them.

use std::io;

use rustix::io::Errno;

use super::{
    attributes::{Attributes, CPU_CLOCK, CPU_CYCLES, HARDWARE, SOFTWARE, flag, sample},
    error::{Error, Purpose},
    event::{Event, Target},
    registers,
};

/// Name, kind, number, precision.
const LADDER: [(&str, u32, u64, u8); 4] = [
    ("cycles:pp", HARDWARE, CPU_CYCLES, 2),
    ("cycles:p", HARDWARE, CPU_CYCLES, 1),
    ("cycles", HARDWARE, CPU_CYCLES, 0),
    ("cpu-clock", SOFTWARE, CPU_CLOCK, 0),
];

/// What every record ends with.
pub const TRAILER: u64 = sample::TID | sample::TIME | sample::CPU;

/// The event that was chosen.
#[derive(Clone, Debug)]
pub struct Choice {
    /// perf's name of it.
    pub event: &'static str,
    /// More precise ones that were refused, with the system's words.
    pub refused: Vec<String>,
    /// The event, disabled, inherited, as the kernel took it.
    pub attributes: Attributes,
}

/// Chooses the event for so many samples in a second, with a copy of the user stack of so many bytes.
///
/// # Errors
///
/// Where not even the last of them can be had.
pub fn choose(frequency: u32, stack_bytes: u32) -> Result<Choice, Error> {
    let mut refused = Vec::new();
    let mut last = (LADDER[0].0, io::Error::from(Errno::NOSYS));
    for (name, kind, number, precision) in LADDER {
        let attributes = attributes(frequency, stack_bytes, (kind, number)).precise(precision);
        let error = match try_open(&attributes) {
            Ok(attributes) => return Ok(Choice { event: name, refused, attributes }),
            Err(error) => error,
        };
        let forbidden = matches!(Errno::from_io_error(&error), Some(Errno::ACCESS | Errno::PERM));
        let user = attributes.flags(flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV);
        if let Some(attributes) = forbidden.then(|| try_open(&user).ok()).flatten() {
            refused.push(format!("{name} in the kernel: {error}"));
            return Ok(Choice { event: name, refused, attributes });
        }
        refused.push(format!("{name}: {error}"));
        last = (name, error);
    }
    Err(Error::new(Purpose::Sample, format!("sample {}", last.0), last.1))
}

fn try_open(attributes: &Attributes) -> io::Result<Attributes> {
    Event::open(attributes, Target::Thread(0)).map(|event| event.taken(attributes))
}

fn attributes(frequency: u32, stack_bytes: u32, (kind, number): (u32, u64)) -> Attributes {
    let common = TRAILER | sample::IP | sample::PERIOD | sample::CALLCHAIN;
    let attributes = Attributes::new(kind, number)
        .frequency(frequency)
        .flags(flag::DISABLED | flag::INHERIT | flag::SAMPLE_ID_ALL)
        .monotonic();
    // Idle time is nobody's CPU; a hardware event stops by itself then, and some refuse the flag.
    let idle = if kind == SOFTWARE { flag::EXCLUDE_IDLE } else { 0 };
    let attributes = attributes.flags(idle);
    match registers::user() {
        // The host unwinds from the copy; the kernel's chain through frame pointers would be a second
        // truth, and wrong where there are none.
        Some(registers) => attributes
            .sample(common | sample::REGS_USER | sample::STACK_USER)
            .user(registers, stack_bytes)
            .flags(flag::EXCLUDE_CALLCHAIN_USER),
        None => attributes.sample(common),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_used_is_told_with_all_that_were_refused_before_it() {
        match choose(99, 32_000) {
            Ok(choice) => {
                let place = LADDER.iter().position(|rung| rung.0 == choice.event);
                let refused = choice.refused.iter().filter(|line| !line.contains("in the kernel"));
                assert_eq!(Some(refused.count()), place);
                assert!(choice.attributes.has_sample(TRAILER));
            }
            Err(error) => eprintln!("skipped: {error}: {}", error.why()),
        }
    }

    #[test]
    fn a_rate_that_the_kernel_does_not_allow_is_told_with_the_one_it_does() {
        let Some(rate) = super::super::error::Limits::read().rate else { return };
        let Err(error) = choose(rate + 1, 8192) else { panic!("{} Hz was allowed", rate + 1) };
        let why = error.why();
        assert!(why.contains("samples a second") || why.contains("CAP_PERFMON"), "{why}");
    }
}
