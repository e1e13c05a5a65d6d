//! The protected interfaces: what they carried and dropped, what waits in front of them, how busy the air is.
//!
//! Counters are those of `/proc/net/dev`, one read for all; queues come from netlink in one dump. What waits
//! inside a driver, or in mac80211's own queues behind `noqueue`, is not seen: such a backlog is `None`.

use std::path::{Path, PathBuf};

use linux::{
    load::{self, Device},
    nl80211::Nl80211,
    qdisc::{Queue, Queues},
};

use super::source::{File, below, grown, text};
use crate::reading::Interface;

/// How often queues are asked for where no one waits for a CPU, ns.
const QUEUES_NS: u64 = 1_000_000_000;
/// How often the air is asked for, ns: drivers ask their device for it.
const AIR_NS: u64 = 1_000_000_000;
/// An answer older than this is none, ns.
const AIR_OLD_NS: u64 = 3 * AIR_NS;

/// `/proc/net/dev`, as far as it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    rx_bytes: u64,
    tx_bytes: u64,
    packets: u64,
    drops: u64,
}

/// How long a channel was listened to, and how long it was busy, ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Air {
    frequency_mhz: u32,
    active_ms: u64,
    busy_ms: u64,
}

/// An interface that is there, protected or not.
#[derive(Debug)]
struct Known {
    name: String,
    protected: bool,
    wireless: bool,
    index: Option<u32>,
    seen: bool,
    now: Option<Counts>,
    before: Option<Counts>,
    queue: Option<Queue>,
    /// What it dropped between the last two looks, until that is told.
    queue_drops: Option<u64>,
    held_back: Option<u64>,
    air: Option<Air>,
    air_busy: Option<(f64, u64)>,
}

/// The interfaces, read again and again.
#[derive(Debug)]
pub(crate) struct Interfaces {
    root: PathBuf,
    patterns: Vec<String>,
    devices: Option<File>,
    queues: Option<Queues>,
    air: Option<Nl80211>,
    air_at_ns: u64,
    queues_at_ns: u64,
    known: Vec<Known>,
    peeked: Option<u64>,
}

impl Interfaces {
    /// Opens what there is; netlink only where it may be asked.
    pub(crate) fn open(root: &Path, patterns: &[String], netlink: bool) -> Self {
        Self {
            root: root.to_owned(),
            patterns: patterns.to_vec(),
            devices: File::open(below(root, "/proc/net/dev")),
            queues: netlink.then(|| Queues::open().ok()).flatten(),
            air: netlink.then(|| Nl80211::open().ok()).flatten(),
            air_at_ns: 0,
            queues_at_ns: 0,
            known: Vec::new(),
            peeked: None,
        }
    }

    /// Whether queues can be asked for.
    pub(crate) fn has_queues(&self) -> bool {
        self.queues.is_some()
    }

    /// Whether the air can be asked for.
    pub(crate) fn has_air(&self) -> bool {
        self.air.is_some()
    }

    /// Whether some protected interface is there.
    pub(crate) fn any(&self) -> bool {
        self.known.iter().any(|known| known.protected)
    }

    /// What each protected interface carried since the last time. One that just came, or that was made anew,
    /// is left out. Queues are asked for where it matters (`waits`), else once a second: what was told last
    /// holds in between.
    pub(crate) fn read(&mut self, at_ns: u64, waits: bool, buffer: &mut [u8]) -> Vec<Interface> {
        self.look(buffer);
        if waits || at_ns >= self.queues_at_ns {
            self.queues_at_ns = at_ns + QUEUES_NS;
            self.ask_queues();
        }
        if at_ns >= self.air_at_ns {
            self.air_at_ns = at_ns + AIR_NS;
            self.ask_air(at_ns);
        }
        let protected = self.known.iter_mut().filter(|known| known.protected);
        protected.filter_map(|known| known.difference(at_ns)).collect()
    }

    /// Packets on protected interfaces since the last peek.
    pub(crate) fn peek(&mut self, buffer: &mut [u8]) -> Option<u64> {
        let text = self.devices.as_ref()?.read(buffer)?;
        let mut packets = 0_u64;
        load::devices(text, |device| {
            let named = |known: &Known| known.protected && known.name.as_bytes() == device.name;
            if self.known.iter().any(named) {
                packets = packets.saturating_add(counts(&device).packets);
            }
        });
        let before = self.peeked.replace(packets)?;
        grown(packets, before)
    }

    /// Forgets the last peek.
    pub(crate) fn peek_anew(&mut self) {
        self.peeked = None;
    }

    fn look(&mut self, buffer: &mut [u8]) {
        let (known, root, patterns) = (&mut self.known, &self.root, &self.patterns);
        for known in known.iter_mut() {
            known.seen = false;
            known.before = known.now.take();
        }
        if let Some(text) = self.devices.as_ref().and_then(|file| file.read(buffer)) {
            load::devices(text, |device| {
                let place = known.iter().position(|known| known.name.as_bytes() == device.name);
                let place = place.unwrap_or_else(|| {
                    known.push(Known::meet(root, &String::from_utf8_lossy(device.name), patterns));
                    known.len() - 1
                });
                if let Some(known) = known.get_mut(place) {
                    known.seen = true;
                    known.now = Some(counts(&device));
                }
            });
        }
        known.retain(|known| known.seen);
        // An interface whose counters went back is another one with the same name.
        for known in known.iter_mut().filter(|known| known.went_back()) {
            let now = known.now;
            *known = Known { now, seen: true, ..Known::meet(root, &known.name, patterns) };
        }
    }

    fn ask_queues(&mut self) {
        let known = &mut self.known;
        let before: Vec<_> = known.iter_mut().map(|known| known.queue.take()).collect();
        let Some(queues) = &mut self.queues else { return };
        // A dump that failed leaves backlogs unknown in this tick.
        let _ = queues.roots(|queue| {
            if let Some(known) = known.iter_mut().find(|one| one.index == Some(queue.interface)) {
                known.queue = Some(queue);
            }
        });
        for (known, before) in known.iter_mut().zip(before) {
            known.compare(before);
        }
    }

    fn ask_air(&mut self, at_ns: u64) {
        let Some(nl80211) = &mut self.air else { return };
        for known in self.known.iter_mut().filter(|known| known.protected && known.wireless) {
            let Some(index) = known.index else { continue };
            let mut now = None;
            let asked = nl80211.survey(index, |survey| {
                if survey.in_use
                    && let (Some(active_ms), Some(busy_ms)) = (survey.active_ms, survey.busy_ms)
                {
                    now = Some(Air { frequency_mhz: survey.frequency_mhz, active_ms, busy_ms });
                }
            });
            let before = std::mem::replace(&mut known.air, asked.ok().and(now));
            let share = before.zip(known.air).and_then(|(before, now)| busy(before, now));
            known.air_busy = share.map(|share| (share, at_ns)).or(known.air_busy);
        }
    }
}

/// The share of the time between two looks in which the channel was busy; `None` where the device was on another
/// one, or began to count anew.
fn busy(before: Air, now: Air) -> Option<f64> {
    let active = grown(now.active_ms, before.active_ms).filter(|&active| active > 0)?;
    let busy = grown(now.busy_ms, before.busy_ms)?;
    let same = now.frequency_mhz == before.frequency_mhz;
    same.then(|| (busy as f64 / active as f64).min(1.0))
}

fn counts(device: &Device<'_>) -> Counts {
    Counts {
        rx_bytes: device.rx_bytes,
        tx_bytes: device.tx_bytes,
        packets: device.rx_packets.saturating_add(device.tx_packets),
        drops: device.rx_dropped.saturating_add(device.tx_dropped),
    }
}

impl Known {
    /// An interface that was not there before.
    fn meet(root: &Path, name: &str, patterns: &[String]) -> Self {
        let folder = below(root, "/sys/class/net").join(name);
        let wireless = folder.join("phy80211").exists();
        let named = patterns.iter().any(|pattern| matches(pattern, name));
        let index = text(folder.join("ifindex")).and_then(|text| text.trim().parse().ok());
        Self {
            name: name.to_owned(),
            protected: named || (patterns.is_empty() && wireless),
            wireless,
            index,
            seen: true,
            now: None,
            before: None,
            queue: None,
            queue_drops: None,
            held_back: None,
            air: None,
            air_busy: None,
        }
    }

    fn went_back(&self) -> bool {
        let (Some(now), Some(before)) = (self.now, self.before) else { return false };
        now.packets < before.packets
            || now.rx_bytes < before.rx_bytes
            || now.tx_bytes < before.tx_bytes
    }

    /// What the queue did between two looks.
    fn compare(&mut self, before: Option<Queue>) {
        let both = self.queue.zip(before).filter(|(now, before)| now.queues && before.queues);
        // 32 bits; another queue may have taken its place, which begins at 0.
        let risen = |of: fn(&Queue) -> u32| {
            let (now, before) = both.as_ref()?;
            let risen = of(now).wrapping_sub(of(before));
            (risen < u32::MAX / 2).then_some(u64::from(risen))
        };
        self.queue_drops = risen(|queue| queue.drops);
        self.held_back = risen(|queue| queue.overlimits);
    }

    fn difference(&mut self, at_ns: u64) -> Option<Interface> {
        let queue = self.queue.filter(|queue| queue.queues);
        // Told once: in the ticks until queues are asked for again, nothing more is known to have been dropped.
        let none_yet = self.queue_drops.map(|_| 0);
        let queue_drops = std::mem::replace(&mut self.queue_drops, none_yet);
        let (now, before) = (self.now?, self.before?);
        Some(Interface {
            name: self.name.clone(),
            rx_bytes: grown(now.rx_bytes, before.rx_bytes)?,
            tx_bytes: grown(now.tx_bytes, before.tx_bytes)?,
            packets: grown(now.packets, before.packets)?,
            drops: grown(now.drops, before.drops)?,
            queue_drops,
            backlog_bytes: queue.map(|queue| queue.backlog_bytes.into()),
            air_busy: self
                .air_busy
                .filter(|(_, then)| at_ns.saturating_sub(*then) < AIR_OLD_NS)
                .map(|(share, _)| share),
            held_back: self.held_back,
            link_limited: None,
        })
    }
}

/// Whether a name is what a pattern of the policy means: itself, or all that begin so where it ends with `*`.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sense::{source::buffer, tree::Tree};

    fn line(name: &str, bytes: u64, packets: u64, drops: u64) -> String {
        format!(
            " {name}: {bytes} {packets} 0 {drops} 0 0 0 0 {bytes} {packets} 0 {drops} 0 0 0 0\n"
        )
    }

    fn tree() -> Tree {
        let tree = Tree::new(&[
            ("sys/class/net/wlan0/phy80211/name", "phy0\n"),
            ("sys/class/net/wlan0/ifindex", "4\n"),
            ("sys/class/net/eth0/ifindex", "2\n"),
        ]);
        tree.write("proc/net/dev", &(line("wlan0", 100, 10, 1) + &line("eth0", 7, 7, 0)));
        tree
    }

    fn read(tree: &Tree, interfaces: &mut Interfaces, dev: &str) -> Vec<Interface> {
        tree.write("proc/net/dev", dev);
        interfaces.read(1, true, &mut buffer())
    }

    #[test]
    fn without_names_every_wireless_interface_is_protected() {
        let tree = tree();
        let mut interfaces = Interfaces::open(tree.root(), &[], false);
        assert_eq!(interfaces.read(1, true, &mut buffer()), [], "nothing to compare with");
        let found =
            read(&tree, &mut interfaces, &(line("wlan0", 150, 12, 4) + &line("eth0", 9, 9, 0)));
        let wanted = Interface {
            name: "wlan0".into(),
            rx_bytes: 50,
            tx_bytes: 50,
            packets: 4,
            drops: 6,
            ..Interface::default()
        };
        assert_eq!(found, [wanted], "a backlog that nobody can be asked for is none");
    }

    #[test]
    fn one_that_vanishes_or_is_made_anew_is_left_out() {
        let tree = tree();
        let mut interfaces = Interfaces::open(tree.root(), &["wl*".into(), "eth0".into()], false);
        let both = line("wlan0", 200, 20, 2) + &line("eth0", 8, 8, 0);
        let names =
            |found: Vec<Interface>| found.into_iter().map(|one| one.name).collect::<Vec<_>>();
        interfaces.read(1, true, &mut buffer());
        assert_eq!(names(read(&tree, &mut interfaces, &both)), ["wlan0", "eth0"]);
        assert_eq!(names(read(&tree, &mut interfaces, &line("eth0", 9, 9, 0))), ["eth0"]);
        assert_eq!(names(read(&tree, &mut interfaces, &both)), [""; 0], "eth0 went back");
        assert_eq!(names(read(&tree, &mut interfaces, &both)), ["eth0", "wlan0"], "as they came");
        assert_eq!(names(read(&tree, &mut interfaces, "")), [""; 0]);
    }

    #[test]
    fn a_peek_counts_protected_packets_only() {
        let tree = tree();
        let mut interfaces = Interfaces::open(tree.root(), &[], false);
        let mut buffer = buffer();
        interfaces.read(1, true, &mut buffer);
        assert_eq!(interfaces.peek(&mut buffer), None);
        tree.write("proc/net/dev", &(line("wlan0", 100, 60, 1) + &line("eth0", 7, 99, 0)));
        assert_eq!(interfaces.peek(&mut buffer), Some(100));
    }

    #[test]
    fn the_air_is_a_share_of_the_time_on_the_same_channel() {
        let air = |frequency_mhz, active_ms, busy_ms| Air { frequency_mhz, active_ms, busy_ms };
        assert_eq!(busy(air(5180, 1000, 100), air(5180, 2000, 600)), Some(0.5));
        assert_eq!(busy(air(5180, 1000, 100), air(5180, 1000, 100)), None);
        assert_eq!(busy(air(5180, 1000, 100), air(2412, 2000, 600)), None);
        assert_eq!(busy(air(5180, 1000, 100), air(5180, 1100, 50)), None, "counted anew");
        assert_eq!(busy(air(5180, 0, 0), air(5180, 10, 20)), Some(1.0));
    }
}
