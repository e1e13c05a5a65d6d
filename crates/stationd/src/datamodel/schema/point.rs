//! The few parameters of an access point itself.
//!
//! They are read from what nl80211 says of the interface; the field's daemon has many more, most of them
//! configuration, which is none of ours.

use crate::{
    datamodel::{View, value::Value},
    points::Point,
};

/// One parameter of an access point.
#[derive(Debug)]
pub(in crate::datamodel) struct PointParameter {
    pub(in crate::datamodel) name: &'static str,
    read: for<'a> fn(&View<'a>, &'a Point) -> Value<'a>,
}

impl PointParameter {
    pub(in crate::datamodel) fn read<'a>(&self, view: &View<'a>, point: &'a Point) -> Value<'a> {
        (self.read)(view, point)
    }
}

/// Those of the field's tree. `SSID` and `BSSID` stand under `WiFi.SSID.{i}.` there; here they stand
/// where they are looked for.
pub(in crate::datamodel) static FIELD_POINT: [PointParameter; 7] = [
    PointParameter { name: "ActiveAssociatedDeviceNumberOfEntries", read: stations },
    PointParameter { name: "Alias", read: name },
    PointParameter { name: "AssociatedDeviceNumberOfEntries", read: stations },
    PointParameter { name: "BSSID", read: |_, point| Value::Address(point.address) },
    PointParameter { name: "Interface", read: name },
    PointParameter { name: "SSID", read: |_, point| point.ssid.as_deref().into() },
    PointParameter { name: "Status", read: status },
];

/// Those of TR-181.
pub(in crate::datamodel) static STANDARD_POINT: [PointParameter; 3] = [
    PointParameter { name: "Alias", read: name },
    PointParameter { name: "AssociatedDeviceNumberOfEntries", read: stations },
    PointParameter { name: "Status", read: status },
];

fn stations<'a>(view: &View<'a>, point: &'a Point) -> Value<'a> {
    Value::Unsigned(view.table.count(point.id) as u64)
}

fn name<'a>(_: &View<'a>, point: &'a Point) -> Value<'a> {
    Some(point.name.as_str()).into()
}

fn status<'a>(_: &View<'a>, point: &'a Point) -> Value<'a> {
    Some(if point.index.is_some() { "Enabled" } else { "Disabled" }).into()
}
