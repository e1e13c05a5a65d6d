//! Counting calls of functions: probes are put in place, hits counted, calls timed.
//!
//! The host has proved that a place is the start of a function, in the file whose SHA-256 it sends: another file is
//! refused, because a probe inside an instruction would break the program. Breakpoints go when the events' descriptors
//! are closed, also where the agent is killed; their lines in tracefs are [`crate::definitions`]'.

use std::{fs::File, io::Seek, os::fd::BorrowedFd, path::Path};

use linux::{
    perf::{
        attached::{Attached, EventOrder, Rings},
        attributes::sample,
        error::Purpose,
        records::{HEADER, kind, kind_of, lost, u32_at, u64_at},
        registers,
        tracing::{self, End as At},
    },
    system::monotonic_ns,
};
use model::{
    instrument::{Counted, Counts, CountsOrder, Detail, Place, Probe},
    wire::Refusal,
};

use crate::{
    bystanders::Bystanders,
    calibrate,
    definitions::Definitions,
    mapped_files::mapped_by,
    programs, returns,
    scope::{Scope, refusal},
    spans::{Calls, Hit, Pairing, Which},
};

/// One CPU's ring, bytes: some 20,000 hits.
const RING_BYTES: usize = 1 << 20;

/// The reader is woken when a quarter of a ring is full.
const WATERMARK: u32 = (RING_BYTES / 4) as u32;

/// All calls of a window share so much of their frame, bytes; the outputs of two commands are beside them.
const SPANS_BYTES: usize = 640 * 1024;

/// What a hit's record holds, in this order: the event's number, process and thread, time, CPU.
const HIT: u64 = sample::IDENTIFIER | sample::TID | sample::TIME | sample::CPU;

/// Behind these come the mode of the registers, and the register.
const REGISTERS: usize = HEADER + 4 * 8;

/// Registers of a thread of 64 bits (`PERF_SAMPLE_REGS_ABI_64`), or of the machine's only width.
const OWN_WIDTH: u64 = if cfg!(target_pointer_width = "64") { 2 } else { 1 };

#[derive(Debug)]
pub(crate) struct Probes {
    attached: Attached,
    /// Behind the events, which must be closed first.
    definitions: Option<Definitions>,
    bystanders: Bystanders,
    counted: Vec<Counted>,
    whiches: Vec<Which>,
    /// Numbers of events in records, ascending, with their place in `whiches`.
    ids: Vec<(u64, usize)>,
    pairing: Pairing,
    /// As records say, for a kernel that keeps no count.
    lost: Vec<u64>,
    hit_ns: Option<u64>,
}

impl Probes {
    /// Puts every probe in its place for the scope, not yet counting.
    pub(crate) fn prepare(order: &CountsOrder, scope: &Scope) -> Result<Self, Refusal> {
        let rings = Rings { bytes: RING_BYTES, watermark: WATERMARK, trailer: HIT, task_events: 0 };
        let (mut wanted, mut whiches) = (Vec::new(), Vec::new());
        let (mut definitions, mut hit_ns) = (None, None);
        let bystanders = Bystanders::watch(!order.probes.is_empty());
        if !order.probes.is_empty() {
            let definitions =
                definitions.insert(Definitions::begin().map_err(|error| refusal(&error))?);
            for (place, probe) in order.probes.iter().enumerate() {
                let file = verify(probe)?;
                for at in ends(probe.detail) {
                    wanted.push(want(definitions, probe, file.as_ref(), *at)?);
                    whiches.push(Which { probe: place, returns: *at == At::Return });
                }
            }
            hit_ns = calibrate::prove(definitions, &wanted, &rings, has_user(order))?;
        }
        let mut attached = scope.open(&wanted, &rings)?;
        // Births are inherited; nobody has to be told of them any more.
        attached.stop_telling();
        let scoped = scope.processes();
        Ok(Self {
            ids: attached.ids().map_err(|error| read_failed(&error))?,
            counted: order.probes.iter().map(|probe| uncounted(probe, &scoped)).collect(),
            pairing: Pairing::new(order.probes.len()),
            lost: vec![0; order.probes.len()],
            attached,
            definitions,
            bystanders,
            whiches,
            hit_ns,
        })
    }

    pub(crate) fn attached(&self) -> &Attached {
        &self.attached
    }

    /// How a process failed, where that was seen.
    pub(crate) fn failure(&mut self, pid: u32) -> Option<String> {
        self.bystanders.failure(pid)
    }

    /// Descriptors that become readable when there is something to drain.
    pub(crate) fn wakers(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.attached.wakers().chain(self.bystanders.wakers())
    }

    pub(crate) fn drain(&mut self) {
        self.bystanders.look();
        let until_ns = monotonic_ns();
        let Self { attached, ids, whiches, pairing, lost: losses, .. } = self;
        let which = |id: u64| {
            let place = ids.binary_search_by_key(&id, |(id, _)| *id).ok()?;
            whiches.get(ids[place].1).copied()
        };
        for ring in attached.rings() {
            let see = |record: &[u8]| -> Result<(), std::convert::Infallible> {
                if let Some(hit) = hit(record, which) {
                    pairing.see(hit);
                } else if let Some((id, lost)) = lost(record) {
                    which(id).into_iter().for_each(|which| losses[which.probe] += lost);
                }
                Ok(())
            };
            let Ok(()) = ring.drain(see);
        }
        pairing.pair(until_ns);
    }

    pub(crate) fn finish(mut self) -> Result<Counts, Refusal> {
        self.drain();
        self.bystanders.unharmed()?;
        let readings = self.attached.readings(self.whiches.len());
        let readings = readings.map_err(|error| read_failed(&error))?;
        drop(self.attached);
        self.definitions.map_or(Ok(()), Definitions::end).map_err(|error| {
            let why = format!("{error}; the next count removes them");
            Refusal::new("cannot remove probes from tracefs", why)
        })?;
        let calls = self.pairing.finish();
        let mut counted = self.counted;
        for (which, reading) in self.whiches.iter().zip(&readings) {
            let counted = &mut counted[which.probe];
            if !which.returns {
                counted.hits = reading.count;
            }
            counted.lost += reading.lost.unwrap_or(0);
        }
        let mut room = SPANS_BYTES;
        for ((counted, mut calls), reported) in counted.iter_mut().zip(calls).zip(self.lost) {
            room -= calls.fit(room);
            let Calls { spans, unpaired, dropped } = calls;
            counted.lost = counted.lost.max(reported) + dropped;
            (counted.spans, counted.unpaired) = (spans, unpaired);
        }
        Ok(Counts { probes: counted, hit_ns: self.hit_ns })
    }
}

/// A probe that nobody has hit yet, with how many processes have its file.
fn uncounted(probe: &Probe, scoped: &[u32]) -> Counted {
    let (mapped_by, probed) = match &probe.place {
        Place::User { path, .. } => {
            let pids = mapped_by(Path::new(path));
            let probed = pids.iter().filter(|pid| scoped.contains(pid)).count();
            (Some(pids.len() as u32), probed as u32)
        }
        Place::Kernel(_) => (None, 0),
    };
    let (name, spans) = (probe.name.clone(), Vec::new());
    Counted { name, hits: 0, probed, mapped_by, spans, unpaired: 0, lost: 0 }
}

fn ends(detail: Detail) -> &'static [At] {
    match detail {
        Detail::Hits => &[At::Entry],
        // The return first: whoever is seen to begin must be seen to return.
        Detail::Spans(_) => &[At::Return, At::Entry],
    }
}

fn has_user(order: &CountsOrder) -> bool {
    order.probes.iter().any(|probe| matches!(probe.place, Place::User { .. }))
}

/// The probe's file; one that the host has not looked at is refused.
fn verify(probe: &Probe) -> Result<Option<File>, Refusal> {
    let Place::User { path, sha256, .. } = &probe.place else { return Ok(None) };
    let what = || format!("cannot count `{}` in {path}", probe.name);
    let failed = |error: std::io::Error| Refusal::new(what(), error);
    let mut file = File::open(path).map_err(failed)?;
    let found = programs::digest_of(&file).map_err(failed)?;
    if found.eq_ignore_ascii_case(sha256) {
        file.rewind().map_err(failed)?;
        let times = probe.detail != Detail::Hits;
        let harm = if times { returns::harmful_in(&file).map_err(failed)? } else { None };
        return match harm {
            None => Ok(Some(file)),
            Some(why) => {
                let what = format!("cannot record how long calls of `{}` take", probe.name);
                Err(Refusal::new(what, format!("{why}; count them without a census")))
            }
        };
    }
    let why = format!(
        "the file there has SHA-256 {found}, and places were looked up in one with {sha256}; look them \
         up again"
    );
    Err(Refusal::new(what(), why))
}

fn want(
    definitions: &mut Definitions,
    probe: &Probe,
    file: Option<&File>,
    at: At,
) -> Result<EventOrder, Refusal> {
    let (at_place, purpose, place) = match (&probe.place, file) {
        (Place::User { path, offset, .. }, Some(file)) => (
            tracing::Place::User(file, *offset),
            Purpose::UserProbe,
            format!("at {offset:#x} of {path}"),
        ),
        (Place::User { path: name, .. }, None) | (Place::Kernel(name), _) => {
            (tracing::Place::Kernel(name), Purpose::KernelProbe, format!("on the kernel's {name}"))
        }
    };
    let what = format!("put the probe `{}` {place}", probe.name);
    let mut attributes = definitions
        .add(at_place, at)
        .map_err(|error| Refusal::new(format!("cannot {what}"), error.why()))?;
    if let Detail::Spans(argument) = probe.detail {
        attributes = attributes.monotonic().period(1).sample(HIT);
        if let Some(argument) = argument.filter(|_| at == At::Entry) {
            let register = registers::argument(argument).ok_or_else(|| {
                Refusal::new(
                    format!("cannot record argument {argument} of `{}`", probe.name),
                    "it is in no register here; arguments count from 0",
                )
            })?;
            attributes = attributes.sample(HIT | sample::REGS_INTR).registers(register);
        }
    }
    // Nobody's return is diverted who is not in question: one that is missed is counted as unpaired.
    let everywhere = file.is_some() && at == At::Entry;
    Ok(EventOrder { what, purpose, attributes, writes: probe.detail != Detail::Hits, everywhere })
}

fn hit(record: &[u8], which: impl Fn(u64) -> Option<Which>) -> Option<Hit> {
    (kind_of(record)? == kind::SAMPLE).then_some(())?;
    let argument = || {
        let width = u64_at(record, REGISTERS)?;
        u64_at(record, REGISTERS + 8).filter(|_| width == OWN_WIDTH)
    };
    Some(Hit {
        which: which(u64_at(record, HEADER)?)?,
        tid: u32_at(record, HEADER + 12)?,
        time_ns: u64_at(record, HEADER + 16)?,
        argument: argument(),
    })
}

fn read_failed(error: &std::io::Error) -> Refusal {
    Refusal::new("cannot read a probe's count", error)
}
