//! The kinds of experiment, and what differs between them as data.
//!
//! Every kind has a study, planned trials, and what must be found before its trials can be
//! planned. Everything else is one: [`Run`](crate::run::Run), [`Trial`](crate::trial::Trial),
//! [`Outcome`](crate::trial::Outcome), the run folder and what is done with it.

use std::{fmt, time::Duration};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    completion, contention,
    run::Run,
    study::{self, HostLoad},
    trial::{PlannedTrial, Purpose, Trial, TrialId},
};

pub use crate::kind::{Kind, Planned};

/// What can be kept and read again.
pub trait Data:
    Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync
{
}

impl<T: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync> Data for T {}

/// What differs between kinds, as types.
pub trait Experiment: fmt::Debug + Clone + Copy + Send + Sync + 'static {
    const KIND: Kind;
    /// The question, and everything that is done to answer it.
    type Study: Data;
    /// A trial that is to be made.
    type Planned: Data + Planned<Self::Study>;
    /// What is measured before the trials can be planned.
    type Calibration: Data + Default;
}

/// A run of a kind.
pub type RunOf<K> = Run<<K as Experiment>::Study, <K as Experiment>::Planned>;

/// A trial of a kind.
pub type TrialOf<K> = Trial<<K as Experiment>::Planned>;

/// Studies of clients and subjects.
#[derive(Clone, Copy, Debug)]
pub struct Clients;

impl Experiment for Clients {
    const KIND: Kind = Kind::Clients;
    type Study = study::Study;
    type Planned = PlannedTrial;
    type Calibration = ();
}

impl Planned<study::Study> for PlannedTrial {
    fn id(&self) -> String {
        self.id.to_string()
    }

    fn name(&self, _: &study::Study) -> String {
        self.id.to_string()
    }

    /// All that is compared at one client count; trials with an instrument are compared with none. Two that run at the
    /// same time are of two repetitions.
    fn block(&self) -> String {
        let TrialId { clients, repetition, perturbed, purpose, .. } = &self.id;
        if *purpose != Purpose::Cpu {
            return self.id.to_string();
        }
        let state = perturbed.map_or_else(String::new, |perturbed| format!(".{perturbed}"));
        match self.host_load {
            HostLoad::Trial => format!("{clients}#{}+{state}", repetition.div_ceil(2)),
            _ => format!("{clients}#{repetition}{state}"),
        }
    }

    fn passes(&self) -> Duration {
        Duration::from(self.order.warm_up) + Duration::from(self.order.window)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Contention;

impl Experiment for Contention {
    const KIND: Kind = Kind::Contention;
    type Study = contention::Study;
    type Planned = contention::PlannedTrial;
    type Calibration = contention::Rates;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Completion;

impl Experiment for Completion {
    const KIND: Kind = Kind::Completion;
    type Study = completion::Study;
    type Planned = completion::PlannedTrial;
    type Calibration = completion::Rounds;
}

/// One value for each kind.
#[derive(Clone, Debug)]
pub enum Any<Cl, Ct, Cm> {
    Clients(Cl),
    Contention(Ct),
    Completion(Cm),
}

impl<Cl, Ct, Cm> Any<Cl, Ct, Cm> {
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Clients(_) => Kind::Clients,
            Self::Contention(_) => Kind::Contention,
            Self::Completion(_) => Kind::Completion,
        }
    }
}

/// A study of any kind.
pub type Study = Any<Box<study::Study>, Box<contention::Study>, Box<completion::Study>>;
