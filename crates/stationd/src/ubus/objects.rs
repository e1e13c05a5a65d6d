//! What stationd offers on the bus: objects, their methods, and what each method takes.
//!
//! Names and shapes are the field's, so that who asks one of its daemons can ask stationd in its place. It sends nothing.

use linux::nl80211::Address;
use ubus::BlobValue;

use super::blobmsg::{Kind, Reader, Writer};
use crate::{points::Points, table::PointId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// stationd itself: who comes and goes.
    Stationd,
    /// `WiFi.AccessPoint.{i}` of prplOS.
    Point(PointId),
    /// `hostapd.{interface}` of OpenWrt's hostapd.
    Hostapd(PointId),
    /// `iwinfo` of rpcd.
    Iwinfo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// prplOS: all parameters of each station.
    Stats,
    /// prplOS: fourteen of them.
    Brief,
    /// hostapd's stations of an access point.
    Clients,
    /// iwinfo's of an interface.
    AssocList,
    Events,
}

/// A method, and names and types of its arguments; all may be left out but an interface.
type Offer = (&'static str, Method, &'static [(&'static str, Kind)]);

const MAX_AGE: (&str, Kind) = ("max-age-ms", Kind::Int32);
const OF_POINT: [Offer; 2] = [
    ("getStationStats", Method::Stats, &[MAX_AGE]),
    ("getStationStatsBrief", Method::Brief, &[MAX_AGE]),
];
const OF_HOSTAPD: [Offer; 1] = [("get_clients", Method::Clients, &[MAX_AGE])];
const OF_IWINFO: [Offer; 1] =
    [("assoclist", Method::AssocList, &[("device", Kind::Text), ("macaddr", Kind::Text), MAX_AGE])];
const OF_STATIOND: [Offer; 1] = [("events", Method::Events, &[("since", Kind::Int64)])];

impl Subject {
    fn offers(self) -> &'static [Offer] {
        match self {
            Self::Stationd => &OF_STATIOND,
            Self::Point(_) => &OF_POINT,
            Self::Hostapd(_) => &OF_HOSTAPD,
            Self::Iwinfo => &OF_IWINFO,
        }
    }

    pub(super) fn method(self, name: &str) -> Option<Method> {
        self.offers().iter().find(|(known, ..)| *known == name).map(|(_, method, _)| *method)
    }

    /// The access point that its methods are about.
    pub(super) fn point(self) -> Option<PointId> {
        match self {
            Self::Point(id) | Self::Hostapd(id) => Some(id),
            Self::Stationd | Self::Iwinfo => None,
        }
    }

    /// Its path, behind a prefix; stationd's own needs none. `None` where its access point is not there.
    pub(super) fn path(self, prefix: &str, points: &Points) -> Option<String> {
        let point = |id| points.get(id).filter(|point| point.index.is_some());
        Some(match self {
            Self::Stationd => "stationd".to_owned(),
            Self::Point(id) => format!("{prefix}WiFi.AccessPoint.{}", point(id)?.number()),
            Self::Hostapd(id) => format!("{prefix}hostapd.{}", point(id)?.name),
            Self::Iwinfo => format!("{prefix}iwinfo"),
        })
    }

    /// What the broker is told of its methods: a table for each, with a type for each argument.
    pub(super) fn signature(self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        for (method, _, arguments) in self.offers() {
            writer.table(method, |writer| {
                arguments.iter().for_each(|(name, kind)| writer.count(name, *kind as u64));
            });
        }
    }
}

/// All objects that there are to be: those of the machine, and two for each access point that is there.
pub(super) fn all(points: &Points) -> impl Iterator<Item = Subject> {
    let machine = [Subject::Stationd, Subject::Iwinfo].into_iter();
    let of_points =
        points.present().flat_map(|point| [Subject::Point(point.id), Subject::Hostapd(point.id)]);
    machine.chain(of_points)
}

/// What a call says more than its method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arguments<'a> {
    pub(super) device: Option<&'a str>,
    /// The only station that is asked for.
    pub(super) station: Option<Address>,
    /// How old a reading may be, ms.
    pub(super) max_age_ms: Option<u32>,
    /// The first event that is asked for.
    pub(super) since: Option<u64>,
}

/// Reads the arguments of a call; `None` where one is no value of its type. Those that nobody knows are passed over, and of
/// two with one name the first counts, as with libubox's policies.
pub(super) fn arguments(bytes: &[u8]) -> Option<Arguments<'_>> {
    let mut read = Arguments::default();
    let mut all = Reader::new(bytes);
    while let Some((name, value)) = all.next().ok()? {
        match name {
            "device" if read.device.is_none() => read.device = Some(text(value)?),
            "macaddr" if read.station.is_none() => {
                read.station = Some(crate::address::parse(text(value)?)?);
            }
            "max-age-ms" if read.max_age_ms.is_none() => {
                read.max_age_ms = Some(u32::try_from(number(value)?).ok()?);
            }
            "since" if read.since.is_none() => read.since = Some(number(value)?),
            _ => {}
        }
    }
    Some(read)
}

fn number(value: BlobValue<'_>) -> Option<u64> {
    match value {
        BlobValue::Int32(value) => u64::try_from(value).ok(),
        BlobValue::Int64(value) => u64::try_from(value).ok(),
        _ => None,
    }
}

fn text(value: BlobValue<'_>) -> Option<&str> {
    match value {
        BlobValue::String(value) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_and_wrong_ones_refused() {
        let written = |write: &dyn Fn(&mut Writer<'_>)| {
            let mut bytes = Vec::new();
            write(&mut Writer::new(&mut bytes));
            bytes
        };
        let bytes = written(&|writer| {
            writer.text("device", "wlan0");
            writer.text("macaddr", "02:00:00:00:01:AB");
            writer.count("max-age-ms", 100);
            writer.flag("unheard-of", true);
        });
        let expected = Arguments {
            device: Some("wlan0"),
            station: Some([2, 0, 0, 0, 1, 0xab]),
            max_age_ms: Some(100),
            since: None,
        };
        assert_eq!(arguments(&bytes), Some(expected));
        assert_eq!(arguments(&[]), Some(Arguments::default()));
        assert_eq!(arguments(&written(&|writer| writer.count("device", 1))), None);
        assert_eq!(arguments(&written(&|writer| writer.level("since", -1))), None);
        assert_eq!(arguments(&written(&|writer| writer.text("macaddr", "02:00"))), None);
        assert_eq!(arguments(&bytes[..bytes.len() - 8]), None);
        let twice = written(&|writer| {
            writer.text("device", "wlan0");
            writer.text("device", "wlan1");
        });
        assert_eq!(arguments(&twice).unwrap().device, Some("wlan0"));
    }

    #[test]
    fn objects_are_named_as_the_fields() {
        let points = Points::default();
        assert_eq!(all(&points).count(), 2);
        assert_eq!(Subject::Iwinfo.path("stationd.", &points).unwrap(), "stationd.iwinfo");
        assert_eq!(Subject::Stationd.path("stationd.", &points).unwrap(), "stationd");
        assert_eq!(Subject::Hostapd(0).path("", &points), None);
        assert_eq!(Subject::Hostapd(0).method("get_clients"), Some(Method::Clients));
        assert_eq!(Subject::Iwinfo.method("getStationStats"), None);
    }
}
