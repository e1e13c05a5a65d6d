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

/// Shares of the rate that the beats of a clock get: irrational, and so are their ratios.
///
/// A daemon that does the same at every poll takes the same CPU time for it, and a clock with one period
/// can fall into step with that: it then meets the same instructions at every poll and never the others.
/// (Seen with 2.0 ms of CPU a reply and 499 samples a second: a function that takes 45 % of the CPU was in
/// none of 60 samples.) Three clocks whose periods have no common measure cannot all fall into step.
const BEATS: [f64; 3] = [0.276_393_202, 0.341_640_787, 0.381_966_011];

/// What every record ends with.
pub const TRAILER: u64 = sample::TID | sample::TIME | sample::CPU;

#[derive(Clone, Debug)]
pub struct Choice {
    /// perf's name of it.
    pub event: &'static str,
    /// More precise ones that were refused, with the system's words.
    pub refused: Vec<String>,
    /// The event, disabled, inherited, as the kernel took it.
    pub attributes: Attributes,
    /// What is opened in its place: the same event with several periods, or itself alone.
    pub beats: Vec<Attributes>,
    /// CPU time that a sample of all beats together stands for, ns; `None` where the kernel says it in
    /// each sample.
    pub period_ns: Option<u64>,
}

impl Choice {
    fn of(event: &'static str, refused: Vec<String>, attributes: Attributes, hertz: u32) -> Self {
        // The rate of a hardware event is steered by the kernel all the time, and falls into no step.
        let is_clock = event == "cpu-clock";
        let beats = if is_clock { beats(&attributes, hertz) } else { vec![attributes.clone()] };
        let period_ns = is_clock.then(|| NANOSECONDS / u64::from(hertz.max(1)));
        Self { event, refused, attributes, beats, period_ns }
    }
}

const NANOSECONDS: u64 = 1_000_000_000;

fn beats(attributes: &Attributes, hertz: u32) -> Vec<Attributes> {
    let period = |share: f64| (NANOSECONDS as f64 / (f64::from(hertz.max(1)) * share)) as u64;
    BEATS.iter().map(|share| attributes.clone().fixed_period(period(*share))).collect()
}

/// Chooses the event for so many samples in a second, with a copy of the user stack of so many bytes.
/// Fails where not even the last of them can be had.
pub fn choose(frequency: u32, stack_bytes: u32) -> Result<Choice, Error> {
    let mut refused = Vec::new();
    let mut last = (LADDER[0].0, io::Error::from(Errno::NOSYS));
    for (name, kind, number, precision) in LADDER {
        let attributes = attributes(frequency, stack_bytes, kind, number).precise(precision);
        let error = match try_open(&attributes) {
            Ok(taken) => return Ok(Choice::of(name, refused, taken, frequency)),
            Err(error) => error,
        };
        let forbidden = matches!(Errno::from_io_error(&error), Some(Errno::ACCESS | Errno::PERM));
        let user = attributes.flags(flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV);
        if let Some(attributes) = forbidden.then(|| try_open(&user).ok()).flatten() {
            refused.push(format!("{name} in the kernel: {error}"));
            return Ok(Choice::of(name, refused, attributes, frequency));
        }
        refused.push(format!("{name}: {error}"));
        last = (name, error);
    }
    Err(Error::new(Purpose::Sample, format!("sample {}", last.0), last.1))
}

fn try_open(attributes: &Attributes) -> io::Result<Attributes> {
    Event::open(attributes, Target::Thread(0)).map(|event| event.taken(attributes))
}

fn attributes(frequency: u32, stack_bytes: u32, kind: u32, number: u64) -> Attributes {
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
    fn the_event_used_is_reported_with_all_that_were_refused_before_it() {
        match choose(99, 32_000) {
            Ok(choice) => {
                let place = LADDER.iter().position(|rung| rung.0 == choice.event);
                let refused = choice.refused.iter().filter(|line| !line.contains("in the kernel"));
                assert_eq!(Some(refused.count()), place);
                assert!(choice.attributes.has_sample(TRAILER));
            }
            Err(error) => skip::skip!("{error}: {}", error.why()),
        }
    }

    #[test]
    fn the_beats_of_a_clock_give_its_rate_and_have_no_common_period() {
        let clock = attributes(499, 8192, SOFTWARE, CPU_CLOCK);
        let choice = Choice::of("cpu-clock", Vec::new(), clock, 499);
        let word = |beat: &Attributes| u64::from_ne_bytes(beat.bytes()[16..24].try_into().unwrap());
        let periods: Vec<u64> = choice.beats.iter().map(word).collect();
        let rate: f64 = periods.iter().map(|period| 1e9 / *period as f64).sum();
        assert!((rate - 499.0).abs() < 0.01, "{rate}");
        assert_eq!(choice.period_ns, Some(2_004_008));
        for pair in [[0, 1], [0, 2], [1, 2]] {
            let ratio = periods[pair[0]] as f64 / periods[pair[1]] as f64;
            for whole in 1..5 {
                let off = (ratio * f64::from(whole)).fract();
                assert!((0.02..0.98).contains(&off), "{periods:?}");
            }
        }
    }

    #[test]
    fn a_rate_that_the_kernel_does_not_allow_is_reported_with_the_one_it_does() {
        let Some(rate) = super::super::error::Limits::read().rate else { return };
        let Err(error) = choose(rate + 1, 8192) else { panic!("{} Hz was allowed", rate + 1) };
        let why = error.why();
        assert!(why.contains("samples a second") || why.contains("CAP_PERFMON"), "{why}");
    }
}
