//! Who is associated, by the kernel's count and by hostapd's. A machine without wireless has an empty census.

use linux::nl80211::{Interface, InterfaceKind, Nl80211};
use model::wire::{Census, InterfaceCensus};

use crate::hostapd;

pub(crate) fn take() -> Census {
    let Ok(mut nl80211) = Nl80211::open() else { return Census::default() };
    let interfaces = access_points(&mut nl80211);
    Census { interfaces: interfaces.into_iter().map(|ap| count(&mut nl80211, ap)).collect() }
}

/// The names of the access-point interfaces, in the kernel's order.
pub(crate) fn names() -> Vec<String> {
    access_points_now().into_iter().map(|ap| ap.name).collect()
}

/// The access-point interfaces, in the kernel's order; none on a machine without wireless.
pub(crate) fn access_points_now() -> Vec<Interface> {
    Nl80211::open().map(|mut nl80211| access_points(&mut nl80211)).unwrap_or_default()
}

fn access_points(nl80211: &mut Nl80211) -> Vec<Interface> {
    let all = nl80211.interfaces().unwrap_or_default();
    all.into_iter().filter(|interface| interface.kind == InterfaceKind::AccessPoint).collect()
}

fn count(nl80211: &mut Nl80211, interface: Interface) -> InterfaceCensus {
    InterfaceCensus {
        kernel: nl80211.authorised_stations(interface.index).ok(),
        hostapd: hostapd::stations(&interface.name),
        name: interface.name,
    }
}
