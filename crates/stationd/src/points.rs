//! The access points: one for each interface in AP mode, with the interfaces that belong to it.
//!
//! A point keeps its number while the daemon runs, also when its interface goes and comes back, so that a consumer's
//! path stays valid.

use linux::nl80211::{Address, Interface, InterfaceKind};

use crate::table::{PointId, SessionEnd};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    pub id: PointId,
    /// The interface's name, as `wlan0`.
    pub name: String,
    /// The interface's number in the kernel; `None` while there is no such interface.
    pub index: Option<u32>,
    pub wiphy: u32,
    pub address: Address,
    /// Network name, where the kernel tells.
    pub ssid: Option<String>,
    pub frequency: Option<u32>,
    /// AP_VLAN and four-address interfaces whose stations are counted here.
    pub children: Vec<u32>,
    /// Noise of the channel, dBm; absent where the driver does not tell.
    pub noise_dbm: Option<i8>,
    /// When its stations were read last, ns since boot.
    pub read_ns: Option<u64>,
    /// When the channel was surveyed last, ns since boot.
    pub surveyed_ns: Option<u64>,
    /// Everything that ended associations have moved.
    pub ended: EndedTotals,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedTotals {
    pub sessions: u64,
    /// Of them: those whose last counters the kernel reported.
    pub exact: u64,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
}

impl EndedTotals {
    pub fn add(&mut self, ended: &SessionEnd) {
        self.sessions += 1;
        self.exact += u64::from(ended.exact);
        self.rx_bytes += ended.bytes.rx.unwrap_or(0);
        self.tx_bytes += ended.bytes.tx.unwrap_or(0);
    }
}

impl Point {
    /// Its number in paths, `WiFi.AccessPoint.{number}.`.
    pub fn number(&self) -> u32 {
        u32::from(self.id) + 1
    }

    pub fn path(&self) -> String {
        format!("WiFi.AccessPoint.{}.", self.number())
    }
}

/// All access points, also those whose interface has gone.
#[derive(Clone, Debug, Default)]
pub struct Points {
    points: Vec<Point>,
    /// Another one after each change of which there are, and of their names.
    pub version: u32,
}

impl Points {
    pub fn iter(&self) -> impl Iterator<Item = &Point> {
        self.points.iter()
    }

    pub fn present(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|point| point.index.is_some())
    }

    pub fn get(&self, id: PointId) -> Option<&Point> {
        self.points.get(usize::from(id))
    }

    pub fn get_mut(&mut self, id: PointId) -> Option<&mut Point> {
        self.points.get_mut(usize::from(id))
    }

    pub fn numbered(&self, number: u32) -> Option<&Point> {
        self.points.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// The one of this interface's name; one that is there comes before one that had the name once.
    pub fn named(&self, name: &str) -> Option<&Point> {
        let named = |point: &&Point| point.name == name;
        self.present().find(named).or_else(|| self.points.iter().find(named))
    }

    /// The one that an interface belongs to: its own, or that of which it is a child.
    pub fn of_interface(&self, index: u32) -> Option<&Point> {
        self.points
            .iter()
            .find(|point| point.index == Some(index) || point.children.contains(&index))
    }

    /// Takes nl80211's list. An interface that was renamed, or made again under its old name or with its
    /// old address, keeps its point. The points whose interface is gone, and the stations with it.
    pub fn update(&mut self, interfaces: &[Interface]) -> Vec<PointId> {
        let (mut gone, mut is_other) = (Vec::new(), false);
        let is_ap = |interface: &&Interface| interface.kind == InterfaceKind::AccessPoint;
        for point in &mut self.points {
            let there = |index| interfaces.iter().filter(is_ap).any(|each| each.index == index);
            if point.index.is_some_and(|index| !there(index)) {
                point.index = None;
                (point.read_ns, point.surveyed_ns) = (None, None);
                gone.push(point.id);
            }
        }
        for interface in interfaces.iter().filter(is_ap) {
            let id = self.place_of(interface, interfaces);
            let point = &mut self.points[usize::from(id)];
            is_other |= point.index != Some(interface.index) || point.name != interface.name;
            point.name.clone_from(&interface.name);
            let ssid = interface.ssid.as_deref();
            point.ssid = ssid.map(|ssid| String::from_utf8_lossy(ssid).into_owned());
            (point.index, point.wiphy) = (Some(interface.index), interface.wiphy);
            point.address = interface.address;
            let frequency = interface.channel.map(|channel| channel.frequency_mhz);
            if point.frequency != frequency {
                // Another channel has another noise.
                (point.frequency, point.surveyed_ns) = (frequency, None);
            }
            point.children = children(interface, interfaces);
        }
        self.version += u32::from(is_other || !gone.is_empty());
        gone
    }

    /// The point of an interface, a new one if it has none.
    fn place_of(&mut self, interface: &Interface, all: &[Interface]) -> PointId {
        let same = |point: &&Point| point.index == Some(interface.index);
        if let Some(point) = self.points.iter().find(same) {
            return point.id;
        }
        let is_free = |point: &&Point| point.index.is_none();
        let by_name = |point: &&Point| point.name == interface.name;
        // Its name may be another, but not one that somebody else has come back with.
        let by_address = |point: &&Point| {
            point.address == interface.address && all.iter().all(|other| other.name != point.name)
        };
        let free = || self.points.iter().filter(is_free);
        let back = free().find(by_name).or_else(|| free().find(by_address));
        back.map(|point| point.id).unwrap_or_else(|| {
            let id = self.points.len() as PointId;
            self.points.push(Point { id, ..Point::default() });
            id
        })
    }
}

/// The interfaces of one radio that share an access point's address: mac80211 makes AP_VLANs so.
fn children(parent: &Interface, interfaces: &[Interface]) -> Vec<u32> {
    let is_child = |other: &&Interface| {
        other.kind == InterfaceKind::AccessPointVlan
            && other.wiphy == parent.wiphy
            && other.address == parent.address
    };
    interfaces.iter().filter(is_child).map(|child| child.index).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn access_point(index: u32, name: &str) -> Interface {
        Interface {
            index,
            name: name.into(),
            wiphy: 0,
            kind: InterfaceKind::AccessPoint,
            address: [2, 0, 0, 0, 0, index as u8],
            ssid: None,
            channel: None,
            first_link: None,
        }
    }

    #[test]
    fn a_name_is_that_of_the_point_that_is_there() {
        let mut points = Points::default();
        points.update(&[access_point(3, "wlan0"), access_point(4, "wlan1")]);
        points.update(&[access_point(4, "wlan0")]);
        assert_eq!(points.named("wlan0").unwrap().number(), 2);
    }
}
