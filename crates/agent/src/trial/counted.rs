//! Finds the processes whose CPU is counted, the subject and others, and opens their counters. A subject may have to be
//! started first.

use std::path::PathBuf;

use model::wire::{SubjectOrder, TrialOrder};

use crate::{
    groups::Groups,
    identity,
    instrument::InPlace,
    process_set::ProcessSet,
    programs,
    resident::Resident,
    sampler::{ProcessSets, Sampler},
    session::{End, Session, Stop},
    started,
    subject::{self, Other, Subject},
};

/// The processes that are counted, before anything is moved.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) subject: Subject,
    others: Vec<Other>,
    /// The subject's process, where it is ours.
    pub(super) started: Option<Resident>,
    /// The subject's group, where it was started in one.
    room: Vec<PathBuf>,
}

impl Counted {
    /// Starts the subject or finds it, and finds the others.
    pub(super) fn find(
        session: &mut Session,
        SubjectOrder { process, start }: &SubjectOrder,
        order: &TrialOrder,
        groups: &mut Groups,
    ) -> Result<Self, End> {
        let (subject, started, room) = match start {
            Some(how) => {
                let room = groups.make_room("subject");
                let (started, pids) = started::start(session, process, how, room.as_deref())?;
                (Subject::of(process, pids), Some(started), room)
            }
            None => (Subject::find(process)?, None, None),
        };
        let others = subject::others(&order.others, &subject)?;
        Ok(Self { subject, others, started, room: room.into_iter().collect() })
    }

    /// Sends hello with their programs and those of the load, and the clients that are associated.
    pub(super) fn introduce(&self, session: &mut Session, order: &TrialOrder) -> Result<(), Stop> {
        let pids: Vec<u32> = self.subject.pids.iter().copied().chain(self.others()).collect();
        let mut programs = programs::running(&pids);
        programs.extend(order.load.as_ref().map(programs::of_load).unwrap_or_default());
        session.hello(programs)?;
        session.census()
    }

    fn others(&self) -> impl Iterator<Item = u32> {
        self.others.iter().flat_map(|other| &other.pids).copied()
    }

    pub(super) fn identity(&self, order: &TrialOrder) -> model::identity::Identity {
        let others: Vec<u32> = self.others().collect();
        let load = order.load.as_ref();
        identity::of(identity::Processes { subject: &self.subject.pids, others: &others, load })
    }

    pub(super) fn instrument(
        &self,
        session: &mut Session,
        order: &TrialOrder,
    ) -> Result<Option<InPlace>, End> {
        let subject = (self.subject.pids.as_slice(), self.room.as_slice());
        let ordered = order.instrument.as_ref();
        let intervals = order.window.as_nanos() / order.sample_every.as_nanos();
        ordered.map(|ordered| InPlace::prepare(session, ordered, subject, intervals)).transpose()
    }

    /// Gives each process set its groups and opens its counters; and the room for the load.
    pub(super) fn count(
        &self,
        order: &TrialOrder,
        groups: &mut Groups,
    ) -> (Sampler, Option<PathBuf>) {
        let subject = match &self.started {
            Some(_) => self.room.clone(),
            None => groups.gather("subject", &self.subject.pids),
        };
        let others = (0..).zip(&self.others).map(|(place, other)| {
            // A process's name may hold signs that a folder's may not.
            let own = groups.gather(&format!("other{place}"), &other.pids);
            (other.name.clone(), ProcessSet::open(&other.pids, groups.meters(&own)))
        });
        let others = others.collect();
        let room = order.load.as_ref().and_then(|_| groups.make_room("load"));
        let load = || ProcessSet::open(&[], groups.meters(room.as_slice()));
        let sampler = Sampler::new(ProcessSets {
            subject: ProcessSet::open(&self.subject.pids, groups.meters(&subject)),
            load: order.load.as_ref().map(|_| load()),
            others,
            agent: ProcessSet::open(&[std::process::id()], groups.agent_meters()),
        });
        (sampler, room)
    }
}
