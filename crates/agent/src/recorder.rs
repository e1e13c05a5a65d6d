//! Recording stacks: the proof, the window, and what is said of it.
//!
//! While it records it allocates nothing but for files that it has not seen.

use std::os::fd::BorrowedFd;

use linux::{
    maps,
    perf::{
        attached::{Attached, EventOrder, Rings},
        attributes::flag,
        error::Purpose,
        records::{kind, kind_of, lost},
        registers,
        sampling::{self, Choice, TRAILER},
    },
    proc,
};
use model::{
    instrument::{Proof, Recorded, Recorder, StacksOrder},
    wire::Refusal,
};

use crate::{
    burner,
    bystanders::Bystanders,
    kernel,
    mapped_files::MappedFiles,
    records::{Batch, Tail},
    scope::{Scope, refusal},
    session::{End, Session},
};

/// One CPU's ring, bytes: 60 full copies of 32 KiB.
const RING_BYTES: usize = 2 << 20;

/// The reader is woken when a quarter of a ring is full, so that three remain for what comes meanwhile.
const WATERMARK: u32 = (RING_BYTES / 4) as u32;

/// The burner burns so long, and longer where so few samples would prove nothing.
const BURN_NS: u64 = 100_000_000;
const BURN_SAMPLES: u64 = 40;

/// The proof is one frame with other things in it: of its records so much is kept, bytes.
const LONGEST_PROOF: usize = 768 * 1024;

/// Events on everybody, and what came of them.
#[derive(Debug)]
pub(crate) struct Stacks {
    attached: Attached,
    bystanders: Bystanders,
    batch: Batch,
    tail: Tail,
    beats: usize,
    tally: Tally,
    files: MappedFiles,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    samples: u64,
    lost: u64,
    throttled: u64,
}

impl Tally {
    fn see(&mut self, record: &[u8]) {
        match kind_of(record) {
            Some(kind::SAMPLE) => self.samples += 1,
            Some(kind::THROTTLE) => self.throttled += 1,
            Some(kind::LOST) => self.lost += lost(record).map_or(0, |(_, lost)| lost),
            _ => {}
        }
    }
}

impl Stacks {
    /// Proves the recorder, says how it works, and opens it for the scope, not yet sampling. What is
    /// mapped by now is sent, and from now on what is mapped anew.
    pub(crate) fn prepare(
        session: &mut Session,
        order: &StacksOrder,
        scope: &Scope,
    ) -> Result<Self, End> {
        let bytes = order.stack_bytes;
        if order.frequency == 0 || !bytes.is_multiple_of(8) || bytes > 65_528 {
            let what =
                format!("cannot sample {} times a second with {bytes} bytes", order.frequency);
            let why =
                "a rate above 0 and a multiple of 8 up to 65528 bytes are possible".to_owned();
            return Err(Refusal::new(what, why).into());
        }
        let choice = sampling::choose(order.frequency, bytes).map_err(|error| refusal(&error))?;
        let proof = prove(&choice, order.frequency)?;
        session.send(&model::wire::Frame::Recorder(Box::new(Recorder {
            event: choice.event.to_owned(),
            refused: choice.refused.clone(),
            attributes: choice.attributes.bytes(),
            ring_bytes: RING_BYTES as u64,
            proof,
        })))?;
        let mut stacks = Self::open(&choice, scope)?;
        let mut send = |batch: &[u8]| session.send_records(batch);
        stacks.describe(&scope.processes(), &mut send)?;
        Ok(stacks)
    }

    fn open(choice: &Choice, scope: &Scope) -> Result<Self, Refusal> {
        let wanted: Vec<EventOrder> = choice
            .beats
            .iter()
            .map(|beat| EventOrder {
                what: format!("sample {}", choice.event),
                purpose: Purpose::Sample,
                attributes: beat.clone(),
                writes: true,
                everywhere: false,
            })
            .collect();
        let rings = Rings {
            bytes: RING_BYTES,
            watermark: WATERMARK,
            trailer: TRAILER,
            task_events: flag::MMAP | flag::MMAP2 | flag::COMM | flag::COMM_EXEC,
        };
        let bystanders = Bystanders::watch(false);
        Ok(Self {
            bystanders,
            attached: scope.open(&wanted, &rings)?,
            batch: Batch::new(),
            tail: Tail {
                registers: registers::user().map(u64::count_ones),
                period_ns: choice.period_ns,
            },
            beats: choice.beats.len(),
            tally: Tally::default(),
            files: MappedFiles::default(),
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

    /// Sends what is in the rings, and that all of them were emptied.
    pub(crate) fn drain<E>(
        &mut self,
        send: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.bystanders.look();
        let Self { attached, batch, tail, tally, files, .. } = self;
        for ring in attached.rings() {
            ring.drain(|record| {
                tally.see(record);
                files.see_record(record);
                make_room(batch, record.len(), send)?;
                batch.take(record, *tail);
                Ok(())
            })?;
        }
        batch.finish_round();
        send(batch.bytes())?;
        batch.clear();
        Ok(())
    }

    /// After the window: what is to be said of it.
    pub(crate) fn finish(mut self, session: &mut Session) -> Result<Recorded, End> {
        self.drain(&mut |batch: &[u8]| session.send_records(batch))?;
        self.bystanders.unharmed()?;
        Ok(Recorded {
            samples: self.tally.samples,
            lost: self.lost(),
            throttled: self.tally.throttled,
            files: self.files.look(|| session.wait(Some(0), &[]).map(drop))?,
            kernel: kernel::symbols(),
        })
    }

    /// The kernel's own count where it keeps one; its records of losses come only once there is room
    /// again.
    fn lost(&self) -> u64 {
        let readings = self.attached.readings(self.beats).unwrap_or_default();
        let counted: u64 = readings.iter().filter_map(|reading| reading.lost).sum();
        counted.max(self.tally.lost)
    }

    /// Writes the names and the code of processes, as the kernel would have told them.
    fn describe<E>(
        &mut self,
        pids: &[u32],
        send: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for &pid in pids {
            for tid in proc::threads_of(pid) {
                let name =
                    std::fs::read(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
                make_room(&mut self.batch, 128, send)?;
                self.batch.name(pid, tid, name.trim_ascii_end());
            }
            let mappings = maps::of(pid).unwrap_or_default();
            for mapping in mappings.iter().filter(|mapping| mapping.may.execute) {
                self.files.see(mapping);
                make_room(&mut self.batch, 128 + mapping.name.len(), send)?;
                self.batch.mapping(pid, mapping);
            }
        }
        self.drain(send)
    }
}

/// Sends what has been gathered where so much more does not fit.
fn make_room<E>(
    batch: &mut Batch,
    length: usize,
    send: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    if !batch.has_room(length) {
        send(batch.bytes())?;
        batch.clear();
    }
    Ok(())
}

/// Records a burner with the same event and rate.
fn prove(choice: &Choice, frequency: u32) -> Result<Proof, Refusal> {
    let failed = |error: std::io::Error| {
        Refusal::new("cannot prove the recorder on a program that burns CPU", error)
    };
    let cpu_ns = BURN_NS.max(BURN_SAMPLES * 1_000_000_000 / u64::from(frequency));
    let mut twin = burner::start(cpu_ns).map_err(failed)?;
    let mut stacks = Stacks::open(choice, &Scope::Processes(vec![twin.pid()], Vec::new()))?;
    let mut records = Vec::new();
    let mut keep = |batch: &[u8]| -> Result<(), std::convert::Infallible> {
        if records.len() + batch.len() <= LONGEST_PROOF {
            records.extend_from_slice(batch);
        }
        Ok(())
    };
    let Ok(()) = stacks.describe(&[twin.pid()], &mut keep);
    let Ok(files) = stacks.files.look(|| Ok::<(), std::convert::Infallible>(()));
    stacks.attached.enable().map_err(failed)?;
    let cpu_ns = burner::burned(&mut twin).map_err(failed)?;
    stacks.attached.disable().map_err(failed)?;
    let Ok(()) = stacks.drain(&mut keep);
    let (samples, lost) = (stacks.tally.samples, stacks.lost());
    Ok(Proof { cpu_ns, samples, lost, records, files })
}
