//! The engine: what is known of all stations, and how it is brought up to date.
//!
//! Joins the kernel, hostapd and the table. It opens no consumer's socket and has no loop of its own: [`crate::daemon`]
//! says when a descriptor is ready, when a moment has come, and who asks.
//!
//! ```text
//! events ─► ready ──┐                    ┌─► brief, full      for the one that asks
//! asking ─► refresh ┴► table ─► settle ──┴─► events           for anyone who follows them
//! ```
//!
//! # Design constraints
//!
//! - **Single flight**: the one that asks while a reading is fresh enough shares it. K consumers cost one.
//! - **No one asks, nothing is read**: but for drivers whose byte counters have 32 bits, and where the
//!   configuration wants it.
//! - A lost event is healed by a dump; a lost interface by a new list.

use std::{
    os::fd::{AsFd, BorrowedFd},
    rc::Rc,
};

use linux::{
    netlink,
    nl80211::{InterfaceKind, Membership, Mlme, Nl80211, StationReading},
    system::{boottime_ns, wall_ns},
};
use rustix::io::Errno;

use crate::{
    brief,
    events::Events,
    full,
    hostapd::{Hostapd, Question},
    options::Options,
    points::Points,
    pull::{Cost, Source},
    replies::Replies,
    table::{Change, PointId, Session, Slot, Table},
    trace::Level,
};

const SECOND: u64 = 1_000_000_000;
/// Interfaces are listed again so often while somebody asks: a new name is told by no event of nl80211.
const LIST_EVERY_NS: u64 = 10 * SECOND;
/// A 32-bit byte counter passes its end in 3.4 s at 10 Gb/s; a fall below half its range is seen then.
const NARROW_EVERY_NS: u64 = SECOND;
/// Events are lost again and again where no one has the time to read them; a dump heals all that.
const READS_OF_EVENTS: u32 = 4;
/// A station that has just come shakes hands first; hostapd knows all of it after that.
const HANDSHAKE_NS: u64 = SECOND;

/// A reading that was not to be had.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    #[error("the access point's interface is not there")]
    NoInterface,
    #[error("cannot read the stations")]
    Kernel(#[source] netlink::Error),
}

#[derive(Debug)]
pub struct Engine {
    options: Options,
    source: Source,
    mlme: Option<Mlme>,
    hostapd: Hostapd,
    pub points: Points,
    pub table: Table,
    briefs: Replies,
    fulls: Replies,
    /// Who came and who went.
    pub events: Events,
    news: News,
    /// When the interfaces were listed last; `None` where that failed.
    listed_ns: Option<u64>,
    /// When stations were read last although nobody asked.
    sampled_ns: u64,
}

/// What events have told that needs more than the table.
#[derive(Debug, Default)]
struct News {
    /// Events were lost: only dumps tell who is there.
    lost: bool,
    /// Only a list tells which interfaces there are.
    interfaces: bool,
    /// Events about an interface that is not known yet, and all that came after them.
    late: Vec<StationEvent>,
}

/// What an event says of a station, and if it has left, with which reason.
type StationEvent = (StationReading, Option<Option<u16>>);

/// Tells the table of an event, if the interface is one of ours; else it comes back.
fn report(
    event: StationEvent,
    table: &mut Table,
    points: &Points,
    now_ns: u64,
) -> Option<StationEvent> {
    let (reading, left) = &event;
    let Some(point) = points.of_interface(reading.interface) else { return Some(event) };
    match left {
        None => table.joined(point.id, reading, now_ns),
        Some(reason) => table.left(point.id, reading, *reason),
    }
    None
}

impl Engine {
    /// Begins: asks for the interfaces, listens for events, and reads who is there.
    /// Fails where the kernel has no nl80211, or does not let us ask it.
    pub fn open(options: Options) -> Result<Self, netlink::Error> {
        Self::over(options, Nl80211::open()?, Some(Mlme::open()?))
    }

    /// Begins with these conversations; tests and recordings bring their own kernel.
    pub fn over(
        options: Options,
        kernel: Nl80211,
        mlme: Option<Mlme>,
    ) -> Result<Self, netlink::Error> {
        let hostapd = Hostapd::new(options.hostapd.as_deref());
        let mut engine = Self {
            options,
            source: Source { kernel, cost: Cost::default() },
            mlme,
            hostapd,
            points: Points::default(),
            table: Table::default(),
            briefs: Replies::new(brief::STATION, false),
            fulls: Replies::new(full::STATION, true),
            events: Events::default(),
            news: News::default(),
            listed_ns: None,
            sampled_ns: 0,
        };
        let now_ns = boottime_ns();
        engine.list(now_ns)?;
        engine.read_all(now_ns);
        Ok(engine)
    }

    /// Descriptors that are readable when [`Engine::ready`] wants to be called.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let mlme = self.mlme.iter().map(AsFd::as_fd);
        mlme.chain(self.hostapd.descriptors()).collect()
    }

    pub fn ready(&mut self, now_ns: u64) {
        self.take_events(now_ns);
        // Who has left wants no answer any more, and who has its slot now did not ask.
        self.settle(now_ns);
        self.take_identities(now_ns);
        self.ask_hostapd(now_ns);
    }

    /// The next moment that wants [`Engine::tick`], ns since boot.
    pub fn due(&self) -> Option<u64> {
        self.hostapd.due().into_iter().chain(self.unasked().map(|(.., due_ns)| due_ns)).min()
    }

    pub fn tick(&mut self, now_ns: u64) {
        self.ask_hostapd(now_ns);
        if !self.unasked().any(|(.., due_ns)| due_ns <= now_ns) {
            return;
        }
        // All who want it at all, so that they stay together. One that cannot be read is tried again as seldom as they.
        let wanted: Vec<_> = self.unasked().collect();
        self.sampled_ns = now_ns;
        for (point, every_ns, _) in wanted {
            // Who asks later is told what failed.
            let _ = self.refresh(point, every_ns / 2, now_ns);
        }
    }

    /// Access points that are to be read although nobody asks: how often, and when next, ns. Either the configuration
    /// wants it, or a driver's byte counters have 32 bits and would pass their end unseen.
    fn unasked(&self) -> impl Iterator<Item = (PointId, u64, u64)> {
        let sample_every_ns = self.options.sample_every.map(|every| every.as_nanos() as u64);
        self.points.present().filter_map(move |point| {
            let narrow = self.table.is_narrow(point.id).then_some(NARROW_EVERY_NS);
            let every_ns = narrow.into_iter().chain(sample_every_ns).min()?;
            let last_ns = point.read_ns.unwrap_or(0).max(self.sampled_ns);
            Some((point.id, every_ns, last_ns + every_ns))
        })
    }

    /// Sees to it that a point's stations are not older than this.
    /// Where it fails, what was known before is still there to be read.
    pub fn refresh(
        &mut self,
        id: PointId,
        max_age_ns: u64,
        now_ns: u64,
    ) -> Result<(), RefreshError> {
        self.source.cost.reads += 1;
        if self.is_fresh(id, max_age_ns, now_ns) {
            self.source.cost.shared += 1;
            return Ok(());
        }
        // Who left before this reading ends with the kernel's last word, and not unheard.
        self.take_events(now_ns);
        let read = self.read(id, max_age_ns, now_ns);
        // A reading that failed half-way has told of some, too.
        self.settle(now_ns);
        read?;
        self.ask_hostapd(now_ns);
        Ok(())
    }

    /// Sees to it that no point that is there is older than this. What cannot be read stays as it was; who
    /// asks for it alone is told why.
    pub fn refresh_all(&mut self, max_age_ns: u64, now_ns: u64) {
        for id in 0..self.points.iter().count() as PointId {
            // A reading may find that another has gone.
            if self.is_there(id) {
                let _ = self.refresh(id, max_age_ns, now_ns);
            }
        }
    }

    pub fn cost(&self) -> Cost {
        self.source.cost
    }

    pub fn is_settling(&self) -> bool {
        self.hostapd.is_busy()
    }

    pub fn trace(&self) -> Level {
        self.options.trace
    }

    /// The brief reply about a point's stations: encoded once for each reading, shared by all who ask on the socket.
    pub fn brief(&mut self, id: PointId) -> Rc<Vec<u8>> {
        let Some(point) = self.points.get(id) else { return Rc::default() };
        self.briefs.reply(point, &self.table, |out| brief::reply(point, &self.table, out))
    }

    pub fn full(&mut self, id: PointId) -> Rc<Vec<u8>> {
        let Some(point) = self.points.get(id) else { return Rc::default() };
        let encode = |out: &mut Vec<u8>| full::reply(point, &self.table, wall_offset_ns(), out);
        self.fulls.reply(point, &self.table, encode)
    }

    fn is_there(&self, id: PointId) -> bool {
        self.points.get(id).is_some_and(|point| point.index.is_some())
    }

    fn is_fresh(&self, id: PointId, max_age_ns: u64, now_ns: u64) -> bool {
        let read_ns = self.points.get(id).and_then(|point| point.read_ns);
        read_ns.is_some_and(|then| now_ns.saturating_sub(then) <= max_age_ns)
    }

    /// Reads a point, after a new list where the last one is old. One that is away is looked for as often
    /// as somebody would have it read.
    fn read(&mut self, id: PointId, max_age_ns: u64, now_ns: u64) -> Result<(), RefreshError> {
        let patience_ns = if self.is_there(id) { LIST_EVERY_NS } else { max_age_ns };
        if self.listed_ns.is_none_or(|then| now_ns.saturating_sub(then) > patience_ns) {
            self.list(now_ns).map_err(RefreshError::Kernel)?;
        }
        if !self.is_there(id) {
            return Err(RefreshError::NoInterface);
        }
        // Lost events may have made it new just now.
        if self.is_fresh(id, max_age_ns, now_ns) {
            return Ok(());
        }
        let pulled = self.dump(id, now_ns);
        if pulled.is_ok() {
            self.note_read(id, Some(now_ns));
        }
        self.heal(now_ns);
        match pulled {
            Err(error) if error.is_refusal(Errno::NODEV) => {
                self.take_events(now_ns);
                self.list(now_ns).map_err(RefreshError::Kernel)?;
                Err(RefreshError::NoInterface)
            }
            result => result.map_err(RefreshError::Kernel),
        }
    }

    fn note_read(&mut self, id: PointId, read_ns: Option<u64>) {
        if let Some(point) = self.points.get_mut(id) {
            point.read_ns = read_ns;
        }
    }

    /// Dumps a point's stations. Where the kernel had to drop a part of the reply, once more.
    fn dump(&mut self, id: PointId, now_ns: u64) -> Result<(), netlink::Error> {
        match self.dump_once(id, now_ns) {
            Err(netlink::Error::Overrun { .. }) => {
                self.source.cost.overruns += 1;
                self.dump_once(id, now_ns)
            }
            result => result,
        }
    }

    fn dump_once(&mut self, id: PointId, now_ns: u64) -> Result<(), netlink::Error> {
        let Some(point) = self.points.get_mut(id) else { return Ok(()) };
        self.source.survey_if_old(point, now_ns)?;
        if let Some(poll) = self.source.pull(&mut self.table, point, now_ns)? {
            // The event of a station that is missing waits already, with the last counters.
            if !self.table.has_seen_all(&poll) {
                self.hear(now_ns);
            }
            self.table.end(poll);
        }
        Ok(())
    }

    /// Reads all points, at the start and after lost events. What cannot be read now is read when it is
    /// asked for.
    fn read_all(&mut self, now_ns: u64) {
        let present: Vec<_> = self.points.present().map(|point| point.id).collect();
        for id in present {
            let read = self.dump(id, now_ns);
            self.note_read(id, read.is_ok().then_some(now_ns));
        }
        self.settle(now_ns);
        self.ask_hostapd(now_ns);
    }

    fn list(&mut self, now_ns: u64) -> Result<(), netlink::Error> {
        self.listed_ns = None;
        let mut interfaces = self.source.kernel.interfaces()?;
        let wanted = &self.options.interfaces;
        interfaces.retain(|each| {
            let is_part = each.kind == InterfaceKind::AccessPointVlan;
            wanted.is_empty() || wanted.contains(&each.name) || is_part
        });
        self.listed_ns = Some(now_ns);
        for id in self.points.update(&interfaces) {
            self.table.clear(id);
            self.settle(now_ns);
            self.hostapd.forget(id);
        }
        Ok(())
    }

    fn take_events(&mut self, now_ns: u64) {
        self.hear(now_ns);
        self.heal(now_ns);
    }

    /// Takes the events that wait. What needs more than the table is kept for [`Self::heal`].
    fn hear(&mut self, now_ns: u64) {
        let Some(mlme) = &mut self.mlme else { return };
        let (table, points, news) = (&mut self.table, &self.points, &mut self.news);
        for _ in 0..READS_OF_EVENTS {
            let read = mlme.read(|event| {
                let event = match event {
                    Membership::Joined(reading) => (*reading, None),
                    Membership::Left { last, reason } => (*last, Some(reason)),
                    _ => {
                        news.interfaces = true;
                        return;
                    }
                };
                // An event must not overtake an earlier one of the same station.
                if news.late.is_empty() {
                    news.late.extend(report(event, table, points, now_ns));
                } else {
                    news.late.push(event);
                }
            });
            let Err(error) = read else { break };
            self.source.cost.overruns += u64::from(matches!(error, netlink::Error::Overrun { .. }));
            news.lost = true;
        }
    }

    /// Asks the kernel for what events have not told.
    fn heal(&mut self, now_ns: u64) {
        let News { lost, interfaces, late } = std::mem::take(&mut self.news);
        if lost || interfaces {
            // A list that fails now is asked for again with the next reading.
            let _ = self.list(now_ns);
        }
        for event in late {
            // What is about an interface that is still unknown is about none of ours.
            let _ = report(event, &mut self.table, &self.points, now_ns);
        }
        if lost {
            self.read_all(now_ns);
        }
    }

    /// Asks what can be asked, and says once what hostapd does not let us ask.
    fn ask_hostapd(&mut self, now_ns: u64) {
        self.hostapd.advance(&self.points, now_ns, &mut self.source.cost);
        for (id, error) in self.hostapd.faults() {
            let interface = self.points.get(id).map_or("", |point| &point.name);
            let what = format_args!(
                "cannot ask hostapd about {interface}: {error}; who its stations are stays unknown \
                 (is stationd in the group of its control sockets, as netdev?)"
            );
            self.options.trace.event("hostapd", Level::Warning, what);
        }
    }

    fn take_identities(&mut self, now_ns: u64) {
        let table = &mut self.table;
        self.hostapd.answers(now_ns, |question, identity| {
            // The slot may hold another station by now.
            let is_same = table.station(question.slot).is_some_and(|station| {
                station.address() == question.address
                    && station.identity.as_deref() != Some(&identity)
            });
            if is_same {
                table.identify(question.slot, identity);
            }
        });
    }

    /// Tells hostapd, the events and the totals who came and who went.
    fn settle(&mut self, now_ns: u64) {
        for change in self.table.take_changes() {
            match change {
                Change::Arrived(slot, session) => self.arrived(slot, session, now_ns),
                Change::Left(ended) => {
                    self.events.add(ended.session, Some(ended));
                    if let Some(point) = self.points.get_mut(ended.session.point) {
                        point.ended.add(&ended);
                        self.hostapd.withdraw(point.id, ended.slot);
                    }
                }
            }
        }
    }

    fn arrived(&mut self, slot: Slot, session: Session, now_ns: u64) {
        self.events.add(session, None);
        let Some(point) = self.points.get(session.point) else { return };
        let what = format_args!("new station on {}", point.name);
        self.options.trace.event("engine", Level::Info, what);
        // Where it has left meanwhile, the slot's present one is told of later.
        let Some(station) =
            self.table.station(slot).filter(|station| station.address() == session.address)
        else {
            return;
        };
        let authorised = station.flags.is_some_and(|flags| flags.authorised());
        let from_ns = if authorised { now_ns } else { now_ns + HANDSHAKE_NS };
        let question = Question { slot, address: session.address, from_ns, tries: 0 };
        self.hostapd.want(point.id, question);
    }
}

/// What makes wall time of boot time, ns. Asked anew each time: the wall clock jumps, boot time never.
pub(crate) fn wall_offset_ns() -> i64 {
    wall_ns() - boottime_ns() as i64
}
