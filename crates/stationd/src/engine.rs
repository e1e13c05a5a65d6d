//! The engine: what is known of all stations, and how it is brought up to date.
//!
//! Joins the kernel, hostapd, the table and the data model. It opens no consumer's socket and has no loop
//! of its own: [`crate::daemon`] says when a descriptor is ready, when a moment has come, and who asks.
//!
//! ```text
//! events ─► ready ──┐                    ┌─► brief, full, get       for whoever asks
//! asking ─► refresh ┴► table ─► settle ──┴─► notifications          for whoever subscribed
//! ```
//!
//! # Design constraints
//!
//! - **Single flight**: whoever asks while a reading is fresh enough shares it. K consumers cost one.
//! - **Nobody asks, nothing is read**: but for drivers whose byte counters have 32 bits, which would pass
//!   their end unseen.
//! - A lost event is healed by a dump; a lost interface by a new list.

use std::{
    os::fd::{AsFd, BorrowedFd},
    path::PathBuf,
    rc::Rc,
    time::Duration,
};

use linux::{
    netlink,
    nl80211::{InterfaceKind, Membership, Mlme, Nl80211},
};
use rustix::{
    io::Errno,
    time::{ClockId, clock_gettime},
};

pub use crate::datamodel::WriteBack;
use crate::{
    brief::{self, Briefs},
    cost::Cost,
    datamodel::{DataModel, View},
    hostapd::{Hostapd, Question},
    points::{PointChanges, Points},
    pull,
    table::{Change, Generation, PointId, Slot, Table},
    trace::{Level, Trace},
};

const SECOND: u64 = 1_000_000_000;
/// Interfaces are listed again so often while somebody asks: a new name is told by no event of nl80211.
const LIST_EVERY_NS: u64 = 10 * SECOND;
/// A 32-bit byte counter passes its end in 3.4 s at 10 Gb/s; a fall below half its range is seen then.
const NARROW_EVERY_NS: u64 = SECOND;
/// A station that has just come shakes hands first; hostapd knows all of it after that.
const HANDSHAKE_NS: u64 = SECOND;

/// How the driver is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pull {
    /// One dump for all stations of an interface.
    #[default]
    Bulk,
    /// Three round trips for each station.
    PerStation,
}

/// What the engine is told by the configuration.
#[derive(Debug)]
pub struct Settings {
    /// Where hostapd's control sockets are; `None`: it is not asked.
    pub hostapd: Option<PathBuf>,
    /// The interfaces that are read; empty: all in AP mode.
    pub interfaces: Vec<String>,
    /// How the driver is asked.
    pub pull: Pull,
    /// When static parameters are written.
    pub write_back: WriteBack,
    /// The trace.
    pub trace: Trace,
}

/// The engine cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The kernel has no nl80211, or does not let us ask it.
    #[error("cannot ask nl80211 (is cfg80211 loaded?)")]
    Kernel(#[source] netlink::Error),
}

/// A reading that was not to be had.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    /// There is no access point of this number.
    #[error("no such access point")]
    NoPoint,
    /// Its interface is not there at present.
    #[error("the access point's interface is not there")]
    NoInterface,
    /// The kernel's words.
    #[error("cannot read the stations")]
    Kernel(#[source] netlink::Error),
}

/// Everything that is known, and whom to ask for more.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    kernel: Nl80211,
    events: Option<Mlme>,
    hostapd: Hostapd,
    points: Points,
    table: Table,
    model: DataModel,
    briefs: Briefs,
    cost: Cost,
    listed_ns: u64,
    /// Events were lost: only dumps tell who is there.
    lost: bool,
}

impl Engine {
    /// Begins: asks for the interfaces, listens for events, and reads who is there.
    ///
    /// # Errors
    ///
    /// [`OpenError`] where the kernel cannot be asked.
    pub fn open(settings: Settings) -> Result<Self, OpenError> {
        let kernel = Nl80211::open().map_err(OpenError::Kernel)?;
        let events = Mlme::open().map_err(OpenError::Kernel)?;
        Self::over(settings, kernel, Some(events))
    }

    /// Begins with these conversations; tests and recordings bring their own kernel.
    ///
    /// # Errors
    ///
    /// As [`Engine::open`].
    pub fn over(
        settings: Settings,
        kernel: Nl80211,
        events: Option<Mlme>,
    ) -> Result<Self, OpenError> {
        let hostapd = Hostapd::new(settings.hostapd.as_deref());
        let mut engine = Self {
            settings,
            kernel,
            events,
            hostapd,
            points: Points::default(),
            table: Table::default(),
            model: DataModel::default(),
            briefs: Briefs::default(),
            cost: Cost::default(),
            listed_ns: 0,
            lost: false,
        };
        let now_ns = boottime_ns();
        engine.list(now_ns).map_err(OpenError::Kernel)?;
        engine.read_all(now_ns);
        Ok(engine)
    }

    /// Descriptors that are readable when [`Engine::ready`] wants to be called.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let events = self.events.iter().map(AsFd::as_fd);
        events.chain(self.hostapd.descriptors()).collect()
    }

    /// Takes what has come: events, and hostapd's answers.
    pub fn ready(&mut self, now_ns: u64) {
        self.take_events(now_ns);
        self.take_identities(now_ns);
        self.settle(now_ns);
        self.hostapd.advance(now_ns, &mut self.cost);
    }

    /// The next moment that wants [`Engine::tick`], ns since boot.
    pub fn due(&self) -> Option<u64> {
        let narrow = self.table.is_narrow().then(|| {
            let oldest = self.points.present().filter_map(|point| point.read_ns).min();
            oldest.unwrap_or(0) + NARROW_EVERY_NS
        });
        self.hostapd.due().into_iter().chain(narrow).min()
    }

    /// Does what a moment asks for.
    pub fn tick(&mut self, now_ns: u64) {
        self.hostapd.advance(now_ns, &mut self.cost);
        if self.table.is_narrow() {
            let ids: Vec<PointId> = self.points.present().map(|point| point.id).collect();
            for id in ids {
                // Who asks later is told what failed.
                let _ = self.refresh(id, NARROW_EVERY_NS, now_ns);
            }
        }
    }

    /// Sees to it that a point's stations are not older than this.
    ///
    /// # Errors
    ///
    /// [`RefreshError`]; what was known before is still there to be read.
    pub fn refresh(
        &mut self,
        id: PointId,
        max_age_ns: u64,
        now_ns: u64,
    ) -> Result<(), RefreshError> {
        self.cost.reads += 1;
        let point = self.points.get(id).ok_or(RefreshError::NoPoint)?;
        if point.read_ns.is_some_and(|then| now_ns.saturating_sub(then) <= max_age_ns) {
            self.cost.shared += 1;
            return Ok(());
        }
        if now_ns.saturating_sub(self.listed_ns) >= LIST_EVERY_NS || point.index.is_none() {
            self.list(now_ns).map_err(RefreshError::Kernel)?;
        }
        match self.pull(id, now_ns) {
            Err(error) if error.is_refusal(Errno::NODEV) => {
                self.list(now_ns).map_err(RefreshError::Kernel)?;
                Err(RefreshError::NoInterface)
            }
            result => result.map_err(RefreshError::Kernel),
        }?;
        self.settle(now_ns);
        let view = view(&self.table, &self.points);
        let trace = &self.settings.trace;
        self.settings.write_back.after_reading(&mut self.model, id, &view, trace);
        self.model.compare(id, &view, trace);
        self.hostapd.advance(now_ns, &mut self.cost);
        let there = self.points.get(id).is_some_and(|point| point.index.is_some());
        if there { Ok(()) } else { Err(RefreshError::NoInterface) }
    }

    /// The access points.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// The stations.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What all this has cost.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Whether identities are still being asked for.
    pub fn is_settling(&self) -> bool {
        self.hostapd.is_busy()
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.settings.trace
    }

    /// The data model, for subscriptions.
    pub fn model(&mut self) -> &mut DataModel {
        &mut self.model
    }

    /// The data model and what it shows, for its readers.
    pub fn reading(&self) -> (&DataModel, View<'_>, &Trace) {
        (&self.model, view(&self.table, &self.points), &self.settings.trace)
    }

    /// The brief reply about a point's stations: encoded once for each reading, shared by all who ask.
    pub fn brief(&mut self, id: PointId) -> Rc<Vec<u8>> {
        match self.points.get(id) {
            Some(point) => self.briefs.reply(point, &self.table),
            None => Rc::default(),
        }
    }

    /// The same of those only that have changed since a generation.
    pub fn brief_since(&self, id: PointId, since: Generation, out: &mut Vec<u8>) {
        if let Some(point) = self.points.get(id) {
            brief::since(point, &self.table, since, out);
        }
    }

    fn pull(&mut self, id: PointId, now_ns: u64) -> Result<(), netlink::Error> {
        let at = (id, now_ns);
        match self.settings.pull {
            Pull::Bulk => self.dump(id, now_ns)?,
            // Only events tell this way who is there; after lost ones and at the start, a dump does.
            Pull::PerStation if self.lost || !self.was_read(id) => self.dump(id, now_ns)?,
            Pull::PerStation => {
                let mut sources = pull::per_station::Sources {
                    kernel: &mut self.kernel,
                    hostapd: &mut self.hostapd,
                    trace: &self.settings.trace,
                    cost: &mut self.cost,
                };
                pull::per_station::pull(&mut sources, &mut self.points, &mut self.table, at)?;
            }
        }
        if let Some(point) = self.points.get_mut(id) {
            point.read_ns = Some(now_ns);
        }
        Ok(())
    }

    fn was_read(&self, id: PointId) -> bool {
        self.points.get(id).is_some_and(|point| point.read_ns.is_some())
    }

    fn dump(&mut self, id: PointId, now_ns: u64) -> Result<(), netlink::Error> {
        let at = (id, now_ns);
        pull::survey_if_old(&mut self.kernel, &mut self.points, at, &mut self.cost)?;
        let Some(point) = self.points.get(id) else { return Ok(()) };
        pull::bulk::pull(&mut self.kernel, &mut self.table, (point, now_ns), &mut self.cost)
    }

    /// Reads all points, at the start and after lost events. What cannot be read now is read when it is
    /// asked for.
    fn read_all(&mut self, now_ns: u64) {
        let ids: Vec<PointId> = self.points.present().map(|point| point.id).collect();
        for id in ids {
            if self.dump(id, now_ns).is_ok()
                && let Some(point) = self.points.get_mut(id)
            {
                point.read_ns = Some(now_ns);
            }
        }
        self.settle(now_ns);
        self.hostapd.advance(now_ns, &mut self.cost);
    }

    /// Asks which interfaces there are.
    fn list(&mut self, now_ns: u64) -> Result<(), netlink::Error> {
        let mut interfaces = self.kernel.interfaces()?;
        let wanted = &self.settings.interfaces;
        interfaces.retain(|each| {
            let is_part = each.kind == InterfaceKind::AccessPointVlan;
            wanted.is_empty() || wanted.contains(&each.name) || is_part
        });
        self.listed_ns = now_ns;
        let PointChanges { came, went } = self.points.update(&interfaces);
        for id in went {
            self.table.clear(id);
            self.settle(now_ns);
            if let Some(point) = self.points.get(id) {
                self.hostapd.forget(&point.name);
                self.model.point_went(point);
            }
        }
        for id in came {
            if let Some(point) = self.points.get(id) {
                self.model.point_came(point);
            }
        }
        Ok(())
    }

    fn take_events(&mut self, now_ns: u64) {
        let Some(events) = &mut self.events else { return };
        let (table, points) = (&mut self.table, &self.points);
        let mut interfaces_changed = false;
        let read = events.read(|event| match event {
            Membership::Joined(reading) => {
                if let Some(point) = points.of_interface(reading.interface) {
                    table.joined(point.id, reading, now_ns);
                }
            }
            Membership::Left { last, reason } => {
                if let Some(point) = points.of_interface(last.interface) {
                    table.left(point.id, last, reason);
                }
            }
            _ => interfaces_changed = true,
        });
        self.lost |= read.is_err();
        if interfaces_changed {
            // A list that fails now is asked for again with the next reading.
            self.lost |= self.list(now_ns).is_err();
        }
        if std::mem::take(&mut self.lost) {
            self.cost.overruns += 1;
            self.read_all(now_ns);
        }
    }

    fn take_identities(&mut self, now_ns: u64) {
        let (table, mut identified) = (&mut self.table, Vec::new());
        self.hostapd.answers(now_ns, |question, identity| {
            // The slot may hold another station by now.
            let is_same = table.row(question.slot).is_some_and(|row| {
                row.address() == question.address && row.identity() != Some(&identity)
            });
            if is_same {
                table.identify(question.slot, identity);
                identified.push(question.slot);
            }
        });
        for slot in identified {
            self.write(slot);
        }
    }

    /// Tells the data model, hostapd and the totals who came and who went.
    fn settle(&mut self, now_ns: u64) {
        for change in self.table.take_changes() {
            match change {
                Change::Arrived(slot) => self.arrived(slot, now_ns),
                Change::Left(ended) => {
                    if let Some(point) = self.points.get_mut(ended.session.point) {
                        point.ended.add(&ended);
                        self.model.station_left(point, &ended);
                    }
                }
            }
        }
    }

    fn arrived(&mut self, slot: Slot, now_ns: u64) {
        let Some(row) = self.table.row(slot) else { return };
        let Some(point) = self.points.get(row.session().point) else { return };
        let trace = &self.settings.trace;
        trace.event("assocdev", Level::INFO, format_args!("new station on {}", point.name));
        self.model.station_came(&row, point);
        let known = row.flags().is_some_and(|flags| flags.authorised());
        let from_ns = if known { now_ns } else { now_ns + HANDSHAKE_NS };
        self.hostapd.want(&point.name, Question::new(slot, row.address(), from_ns));
        self.write(slot);
    }

    /// Writes a station's static parameters, in one transaction.
    fn write(&mut self, slot: Slot) {
        let Some(row) = self.table.row(slot) else { return };
        let Some(point) = self.points.get(row.session().point) else { return };
        let view = view(&self.table, &self.points);
        self.model.write_static(&row, point, &view, &self.settings.trace);
    }
}

fn view<'a>(table: &'a Table, points: &'a Points) -> View<'a> {
    View { table, points, wall_offset_ns: wall_offset_ns() }
}

/// Since boot, sleep included, ns: the clock of the kernel's association times.
pub fn boottime_ns() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32).as_nanos() as u64
}

/// What makes wall time of boot time, ns. Asked anew each time: the wall clock jumps, boot time never.
fn wall_offset_ns() -> i64 {
    let wall = clock_gettime(ClockId::Realtime);
    let wall = wall.tv_sec as i64 * SECOND as i64 + wall.tv_nsec as i64;
    wall - boottime_ns() as i64
}
