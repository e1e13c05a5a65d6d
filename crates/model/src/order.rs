//! What the agent is ordered to do in one trial. How it is carried out is the agent's.

use serde::{Deserialize, Serialize};

use crate::{
    card::CardOrder,
    instrument::Instrument,
    span::Span,
    topology::TopologyOrder,
    traffic::{Application, Control, Road, Traffic},
    witness::WitnessOrder,
};

/// One trial. Every part that is there is made at the same time as the others, and has its own part of the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialOrder {
    /// Wait this long before anything else: the repetition's phase.
    pub offset: Span,
    /// Everything runs this long before the window opens.
    pub warm_up: Span,
    /// The measured span: from the first sample to the last.
    pub window: Span,
    /// From one sample of the subject to the next.
    pub sample_every: Span,
    /// Varied from pair to pair, so that a claim is not about one machine state.
    pub state: Option<State>,
    /// How the access point must look; repaired before anything else, reported by [`Frame::Corrections`](crate::wire::Frame::Corrections).
    pub topology: Option<TopologyOrder>,
    /// Identify by content what is measured.
    pub identify: bool,
    /// The window's caches are modelled where it is made on a virtual access point.
    pub marks: bool,
    /// Whose CPU is the question; `None` in a trial of traffic or of a card alone.
    pub subject: Option<SubjectOrder>,
    /// Names of other processes whose CPU is counted with it. One that does not run is absent.
    pub others: Vec<String>,
    /// What to run, and how often.
    pub load: Option<LoadOrder>,
    /// A program that runs from the warm-up until the window has closed, and is in no figure.
    pub background: Option<Vec<String>>,
    /// What packets cross; it is made where there is traffic, or guard to protect it.
    pub road: Option<Road>,
    /// Its rate is in bits a second.
    pub traffic: Option<Traffic>,
    pub application: Option<Application>,
    /// What is done about the application.
    pub control: Control,
    pub card: Option<CardOrder>,
    /// What is recorded with the counters; `None` for a window whose CPU is the figure.
    pub instrument: Option<Instrument>,
    /// What the load hears is checked in some rounds, and put-off work counted.
    pub witness: Option<WitnessOrder>,
}

impl TrialOrder {
    /// Name of the subject's process.
    pub fn process(&self) -> Option<&str> {
        self.subject.as_ref().map(|subject| subject.process.as_str())
    }

    /// Whether something in it takes the CPU that the rest needs, so that nothing is sent while the window is open.
    pub fn contends(&self) -> bool {
        self.traffic.is_some() || self.application.is_some() || self.card.is_some()
    }
}

/// A machine state that differs from the others in what should not matter. Both sides of a pair have the
/// same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Mixed into the kernel's random numbers before the subject starts: hash seeds and whatever else a
    /// program draws.
    pub seed: u64,
    /// Bytes of environment that programs get which the agent starts: moves their stacks, and what is
    /// copied from there. After Mytkowicz et al., “Producing wrong data without doing anything obviously
    /// wrong!”, ASPLOS 2009.
    pub padding: u32,
}

/// The subject: one that runs, or one to start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectOrder {
    pub process: String,
    /// How to start it; it is ended after the window. `None` where it runs already.
    pub start: Option<StartOrder>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartOrder {
    /// A program and its arguments.
    pub command: Vec<String>,
    /// It is ready once this path exists; `None`: once it runs.
    pub ready: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadOrder {
    pub work: Work,
    /// From the start of one round to the start of the next.
    pub every: Span,
}

/// What a load runs; a command is a program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// The commands of a round, in order, one after the other; round after round.
    Rounds(Vec<Vec<String>>),
    /// Commands that are started together, once, and run until the window has closed.
    LongRunning(Vec<Vec<String>>),
}

impl Work {
    /// The commands, whichever way they run.
    pub fn commands(&self) -> &[Vec<String>] {
        match self {
            Work::Rounds(commands) | Work::LongRunning(commands) => commands,
        }
    }
}
