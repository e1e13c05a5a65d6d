//! Every counter of one moment: the subject's, the load's, the agent's own and the machine's.
//!
//! Talks to files that [`crate::party`] keeps open. It keeps no time: when to sample is
//! [`crate::measure`]'s. One sample costs about three small reads for each thread of the subject.

use linux::{
    cgroup::Meter,
    proc::{self, Reader},
    system::monotonic_ns,
};
use model::sample::{Machine, Rounds, Sample};

use crate::{
    groups::Groups,
    party::{Depth, Party, Scratch},
    subject::Subject,
};

/// Open counters.
#[derive(Debug)]
pub struct Sampler {
    subject: Party,
    load: Option<Party>,
    agent: Party,
    machine: Option<Reader>,
    scratch: Scratch,
    bytes: Vec<u8>,
}

impl Sampler {
    /// Opens every counter, so that sampling opens none but those of new threads. `loaded` says that
    /// the trial has a load, whose account stays empty where there are no control groups.
    pub fn open(subject: &Subject, groups: &Groups, loaded: bool) -> Self {
        let load = || Party::open(&[], groups.load_meter().into_iter().collect::<Vec<Meter>>());
        Self {
            subject: Party::open(&subject.pids, groups.subject_meters()),
            load: loaded.then(load),
            agent: Party::open(&[std::process::id()], groups.agent_meter().into_iter().collect()),
            machine: Reader::open("/proc/stat").ok(),
            scratch: Scratch::default(),
            // Only the first line of `/proc/stat` is wanted, and it is shorter than this.
            bytes: Vec::new(),
        }
    }

    /// Reads everything once.
    pub fn sample(&mut self, rounds: Rounds, depth: Depth) -> Sample {
        let at_ns = monotonic_ns();
        Sample {
            at_ns,
            subject: self.subject.read(depth, &mut self.scratch),
            load: self.load.as_mut().map(|load| load.read(depth, &mut self.scratch)),
            agent: self.agent.read(depth, &mut self.scratch),
            rounds,
            machine: self.machine(),
        }
    }

    /// The subject's processes that had ended at the last sample.
    pub fn ended(&self) -> impl Iterator<Item = u32> {
        self.subject.ended()
    }

    fn machine(&mut self) -> Machine {
        let times = self
            .machine
            .as_ref()
            .and_then(|file| file.parse(&mut self.bytes, proc::cpu_times).ok());
        times.map_or_else(Machine::default, |times| Machine {
            busy: times.busy,
            idle: times.idle,
            softirq: times.softirq,
            steal: times.steal,
        })
    }
}
