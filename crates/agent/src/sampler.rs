//! Every counter of one moment: the subject's, the load's, others', the agent's own and the machine's.
//!
//! Talks to files that [`crate::party`] keeps open. It keeps no time: when to sample is
//! [`crate::measure`]'s. One sample costs about three small reads for each thread of the subject.

use linux::{
    proc::{self, Reader},
    system::monotonic_ns,
};
use model::sample::{Machine, Other, Rounds, Sample};

use crate::party::{Depth, Party, Scratch};

/// Whose counters are read.
#[derive(Debug)]
pub struct Parties {
    /// The subject.
    pub subject: Party,
    /// The load, where the trial has one; its account is empty where there are no control groups.
    pub load: Option<Party>,
    /// Others, by name.
    pub others: Vec<(String, Party)>,
    /// The agent itself.
    pub agent: Party,
}

/// Open counters.
#[derive(Debug)]
pub struct Sampler {
    parties: Parties,
    machine: Option<Reader>,
    scratch: Scratch,
    bytes: Vec<u8>,
}

impl Sampler {
    /// Every counter of these is open by now, so that sampling opens none but those of new threads.
    pub fn new(parties: Parties) -> Self {
        Self {
            parties,
            machine: Reader::open("/proc/stat").ok(),
            scratch: Scratch::default(),
            // Only the first line of `/proc/stat` is wanted, and it is shorter than this.
            bytes: Vec::new(),
        }
    }

    /// Reads everything once.
    pub fn sample(&mut self, rounds: Rounds, depth: Depth) -> Sample {
        let at_ns = monotonic_ns();
        let (parties, scratch) = (&mut self.parties, &mut self.scratch);
        Sample {
            at_ns,
            subject: parties.subject.read(depth, scratch),
            load: parties.load.as_mut().map(|load| load.read(depth, scratch)),
            others: parties
                .others
                .iter_mut()
                .map(|(name, party)| Other {
                    name: name.clone(),
                    account: party.read(depth, scratch),
                })
                .collect(),
            agent: parties.agent.read(depth, scratch),
            rounds,
            machine: self.machine(),
        }
    }

    /// The subject's processes that had ended at the last sample.
    pub fn ended(&self) -> impl Iterator<Item = u32> {
        self.parties.subject.ended()
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
