//! Every counter of one moment: the subject's, the load's, others', the agent's own and the machine's.
//!
//! One sample costs about three small reads for each thread of the subject.

use linux::{
    proc::{self, Reader},
    system::monotonic_ns,
};
use model::sample::{Machine, Other, Rounds, Sample};

use crate::process_set::{Depth, ProcessSet, Scratch};

#[derive(Debug)]
pub(crate) struct ProcessSets {
    pub(crate) subject: ProcessSet,
    /// The load, where the trial has one; its account is empty where there are no control groups.
    pub(crate) load: Option<ProcessSet>,
    pub(crate) others: Vec<(String, ProcessSet)>,
    pub(crate) agent: ProcessSet,
}

#[derive(Debug)]
pub(crate) struct Sampler {
    sets: ProcessSets,
    machine: Option<Reader>,
    scratch: Scratch,
    bytes: Vec<u8>,
}

impl Sampler {
    /// Every counter of these is open by now, so that sampling opens none but those of new threads.
    pub(crate) fn new(sets: ProcessSets) -> Self {
        Self {
            sets,
            machine: Reader::open("/proc/stat").ok(),
            scratch: Scratch::default(),
            // Only the first line of `/proc/stat` is wanted, and it is shorter than this.
            bytes: Vec::new(),
        }
    }

    pub(crate) fn sample(&mut self, rounds: Rounds, depth: Depth) -> Sample {
        let at_ns = monotonic_ns();
        let (sets, scratch) = (&mut self.sets, &mut self.scratch);
        Sample {
            at_ns,
            subject: sets.subject.read(depth, scratch),
            load: sets.load.as_mut().map(|load| load.read(depth, scratch)),
            others: sets
                .others
                .iter_mut()
                .map(|(name, set)| Other { name: name.clone(), account: set.read(depth, scratch) })
                .collect(),
            agent: sets.agent.read(depth, scratch),
            rounds,
            machine: self.machine(),
        }
    }

    /// The subject's processes that had ended at the last sample.
    pub(crate) fn ended(&self) -> impl Iterator<Item = u32> {
        self.sets.subject.ended()
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
