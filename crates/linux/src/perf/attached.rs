//! Events on everybody in question, and the rings that they write into.
//!
//! Each CPU has one ring, and each event is opened for one CPU and sent to its ring. A process is followed through its
//! threads and children, because events are inherited; threads that are born meanwhile are found by listing again
//! until none is new ([`super::births`]). A silent event tells of births, names and mappings from the moment that it
//! is open.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    path::PathBuf,
    time::Duration,
};

use super::{
    attributes::{Attributes, DUMMY, SOFTWARE, flag, sample},
    births::Births,
    error::{Error, Purpose},
    event::{Event, Reading, Target},
    ring::Ring,
};
use crate::{proc, system::monotonic_ns};

/// A birth is in the ring so long after the thread is in `/proc`, with room to spare.
const RECORDED: Duration = Duration::from_millis(1);

/// Processes that are born faster than they are listed are left to inheritance after so many lists.
const MOST_LISTS: u32 = 100;

/// Everybody in question.
pub enum Scope<'a> {
    /// Processes, and what they start. The function lists those that there are now.
    Processes(&'a dyn Fn() -> Vec<u32>),
    /// A control group, by its folder.
    Group(PathBuf),
    Machine,
}

#[derive(Clone, Debug)]
pub struct EventOrder {
    /// What it does, for people, as “sample cpu-clock”.
    pub what: String,
    pub purpose: Purpose,
    /// The event; it should be disabled and inherited.
    pub attributes: Attributes,
    pub writes: bool,
    /// Whether a user probe's breakpoint is to be in every process that has the file; counted is who is in
    /// question all the same. Without that a breakpoint is where the kernel believes an event's process to be.
    /// It is mistaken once it has exchanged the events of a process and its child, which it does to save time
    /// (`perf_event_context_sched_out` in `kernel/events/core.c`; `uprobe_perf_filter` in
    /// `kernel/trace/trace_uprobe.c` asks `hw.target`): with the end of one the other loses its breakpoint.
    pub everywhere: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rings {
    /// Bytes of each; a power of two of pages.
    pub bytes: usize,
    /// The reader is woken when so much is in it, bytes.
    pub watermark: u32,
    /// What a record ends with: bits of [`sample`] that samples have as well.
    pub trailer: u64,
    /// What is told from the first moment: bits of [`flag`], as [`flag::MMAP`].
    pub task_events: u64,
}

#[derive(Debug)]
pub struct Attached {
    rings: Vec<Ring>,
    trackers: Vec<Event>,
    /// Never started: they hold breakpoints.
    pins: Vec<Event>,
    events: Vec<(usize, Event)>,
    processes: Vec<u32>,
}

impl Attached {
    /// Opens every wanted event on everybody; they stay as their attributes say, disabled or not.
    pub fn open(scope: &Scope<'_>, wanted: &[EventOrder], rings: &Rings) -> Result<Self, Error> {
        let mut attached = Self {
            rings: rings.open()?,
            trackers: Vec::new(),
            pins: Vec::new(),
            events: Vec::new(),
            processes: Vec::new(),
        };
        match scope {
            Scope::Processes(list) => {
                attached.pin(wanted)?;
                attached.follow(*list, wanted, &rings.tracker())?;
            }
            Scope::Group(folder) => {
                let what = format!("open control group {}", folder.display());
                let group = File::open(folder).map_err(|e| Error::new(Purpose::Group, what, e))?;
                let fd = group.as_raw_fd();
                attached.on_cpus(wanted, &rings.tracker(), |cpu| Target::Group(fd, cpu))?;
            }
            Scope::Machine => attached.on_cpus(wanted, &rings.tracker(), Target::Cpu)?,
        }
        Ok(attached)
    }

    pub fn enable(&self) -> io::Result<()> {
        self.events.iter().try_for_each(|(_, event)| event.enable())
    }

    /// Stops every event; what is in the rings stays.
    pub fn disable(&self) -> io::Result<()> {
        self.events.iter().try_for_each(|(_, event)| event.disable())
    }

    /// Tells no more of births, names and mappings.
    pub fn stop_telling(&mut self) {
        self.trackers.clear();
    }

    /// The processes that events were opened for; empty for a group and for the machine.
    pub fn processes(&self) -> &[u32] {
        &self.processes
    }

    pub fn rings(&mut self) -> &mut [Ring] {
        &mut self.rings
    }

    /// Descriptors that become readable at the watermark.
    pub fn wakers(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.rings.iter().map(AsFd::as_fd)
    }

    pub fn readings(&self, wanted: usize) -> io::Result<Vec<Reading>> {
        let mut sums = vec![Reading { count: 0, lost: Some(0) }; wanted];
        for (place, event) in &self.events {
            let Some(sum) = sums.get_mut(*place) else { continue };
            let reading = event.read()?;
            sum.count += reading.count;
            sum.lost = sum.lost.zip(reading.lost).map(|(a, b)| a + b);
        }
        Ok(sums)
    }

    /// The number of each event in samples, with the place of what was wanted; ascending.
    pub fn ids(&self) -> io::Result<Vec<(u64, usize)>> {
        let ids = self.events.iter().map(|(place, event)| Ok((event.id()?, *place)));
        let mut ids = ids.collect::<io::Result<Vec<_>>>()?;
        ids.sort_unstable();
        Ok(ids)
    }

    /// Puts breakpoints in everybody. An event of a whole CPU or group does so by itself.
    fn pin(&mut self, wanted: &[EventOrder]) -> Result<(), Error> {
        let Some(cpu) = self.rings.first().map(Ring::cpu) else { return Ok(()) };
        for wanted in wanted.iter().filter(|wanted| wanted.everywhere) {
            self.pins.push(open(wanted, Target::Cpu(cpu), None)?);
        }
        Ok(())
    }

    /// Lists until everybody has every event.
    fn follow(
        &mut self,
        list: &dyn Fn() -> Vec<u32>,
        wanted: &[EventOrder],
        tracker: &EventOrder,
    ) -> Result<(), Error> {
        let mut births = Births::default();
        for round in 0..MOST_LISTS {
            let pids = list();
            let mut threads: Vec<u32> =
                pids.iter().flat_map(|&pid| proc::threads_of(pid)).collect();
            if round > 0 && threads.iter().any(|&tid| !births.is_covered(tid)) {
                std::thread::sleep(RECORDED);
                self.rings.iter_mut().for_each(|ring| ring.peek(|record| births.see(record)));
            }
            threads.retain(|&tid| !births.is_covered(tid));
            if threads.is_empty() {
                self.processes = pids;
                return Ok(());
            }
            for tid in threads {
                match self.on_thread(tid, wanted, tracker) {
                    Err(error) if !error.is_gone() => return Err(error),
                    Ok(()) | Err(_) => births.opened(tid, monotonic_ns()),
                }
            }
            self.processes = pids;
        }
        Ok(())
    }

    fn on_thread(
        &mut self,
        tid: u32,
        wanted: &[EventOrder],
        tracker: &EventOrder,
    ) -> Result<(), Error> {
        for ring in &self.rings {
            let target = Target::ThreadOn(tid, ring.cpu());
            self.trackers.push(open(tracker, target, Some(ring))?);
        }
        for (place, wanted) in wanted.iter().enumerate() {
            if wanted.writes {
                for ring in &self.rings {
                    let target = Target::ThreadOn(tid, ring.cpu());
                    self.events.push((place, open(wanted, target, Some(ring))?));
                }
            } else {
                self.events.push((place, open(wanted, Target::Thread(tid), None)?));
            }
        }
        Ok(())
    }

    fn on_cpus(
        &mut self,
        wanted: &[EventOrder],
        tracker: &EventOrder,
        target: impl Fn(u32) -> Target,
    ) -> Result<(), Error> {
        for ring in &self.rings {
            let target = target(ring.cpu());
            self.trackers.push(open(tracker, target, Some(ring))?);
            for (place, wanted) in wanted.iter().enumerate() {
                self.events.push((place, open(wanted, target, wanted.writes.then_some(ring))?));
            }
        }
        Ok(())
    }
}

impl Rings {
    fn open(&self) -> Result<Vec<Ring>, Error> {
        let attributes = self.silent().watermark(self.watermark);
        let ring = |cpu| {
            Ring::new(&attributes, cpu, self.bytes).map_err(|source| {
                let what = format!("make a ring of {} KiB on CPU {cpu}", self.bytes / 1024);
                Error::new(Purpose::Ring, what, source)
            })
        };
        crate::system::cpus().into_iter().map(ring).collect()
    }

    /// An event that never counts, with the events' clock and trailer.
    fn silent(&self) -> Attributes {
        let trailer = sample::TID | sample::TIME | sample::CPU | sample::IDENTIFIER;
        Attributes::new(SOFTWARE, DUMMY)
            .sample(self.trailer & trailer)
            .flags(flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV | flag::SAMPLE_ID_ALL)
            .monotonic()
    }

    fn tracker(&self) -> EventOrder {
        EventOrder {
            what: "follow births and mappings".to_owned(),
            purpose: Purpose::Sample,
            attributes: self.silent().flags(flag::INHERIT | flag::TASK | self.task_events),
            writes: true,
            everywhere: false,
        }
    }
}

fn open(wanted: &EventOrder, target: Target, ring: Option<&Ring>) -> Result<Event, Error> {
    let on = match target {
        Target::Thread(tid) | Target::ThreadOn(tid, _) => format!("in thread {tid}"),
        Target::Cpu(cpu) => format!("on CPU {cpu}"),
        Target::Group(_, cpu) => format!("for the control group on CPU {cpu}"),
    };
    let refused = |source: io::Error| {
        let invalid = matches!(source.raw_os_error(), Some(libc::EINVAL | libc::EBADF));
        let group = invalid && matches!(target, Target::Group(..));
        let purpose = if group { Purpose::Group } else { wanted.purpose };
        Error::new(purpose, format!("{} {on}", wanted.what), source)
    };
    let event = Event::open(&wanted.attributes, target).map_err(refused)?;
    if let Some(ring) = ring {
        event.redirect(ring.as_fd()).map_err(refused)?;
    }
    Ok(event)
}
