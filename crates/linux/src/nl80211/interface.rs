//! Interfaces of wireless devices: what they are, and where on the air.
//!
//! Reads `NL80211_CMD_NEW_INTERFACE` messages, and nothing else of nl80211. It asks nothing.

use super::{
    ATTR_IFINDEX, ATTR_IFNAME, ATTR_IFTYPE, ATTR_MAC, ATTR_MLO_LINKS, ATTR_WIPHY, Address,
    rate::channel_mhz,
};
use crate::netlink::{Attributes, first, generic_attributes};

const ATTR_WIPHY_FREQ: u16 = 38;
const ATTR_SSID: u16 = 52;
const ATTR_CHANNEL_WIDTH: u16 = 159;

pub(super) const IFTYPE_STATION: u32 = 2;
const IFTYPE_AP: u32 = 3;
const IFTYPE_AP_VLAN: u32 = 4;
const IFTYPE_MONITOR: u32 = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number in the network namespace.
    pub index: u32,
    pub name: String,
    pub wiphy: u32,
    pub kind: InterfaceKind,
    /// Its hardware address; an access point of several links has its MLD address here.
    pub address: Address,
    /// The name of its network, any bytes; `None` while it has none (an access point that is not up).
    pub ssid: Option<Vec<u8>>,
    /// Where it is on the air; an access point of several links says it link by link instead.
    pub channel: Option<Channel>,
    /// Where the first of several links (IEEE 802.11be) is; kernels before 6.9 do not say.
    pub first_link: Option<Channel>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterfaceKind {
    Station,
    AccessPoint,
    /// A part of an access point: the stations of one VLAN, or one station that carries four addresses.
    AccessPointVlan,
    Monitor,
    /// Any other `NL80211_IFTYPE_…`, by its number.
    Other(u32),
}

impl From<u32> for InterfaceKind {
    fn from(number: u32) -> Self {
        match number {
            IFTYPE_STATION => Self::Station,
            IFTYPE_AP => Self::AccessPoint,
            IFTYPE_AP_VLAN => Self::AccessPointVlan,
            IFTYPE_MONITOR => Self::Monitor,
            other => Self::Other(other),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    pub frequency_mhz: u32,
    /// The width of the whole channel in MHz; twice 80 MHz are 160.
    pub width_mhz: Option<u16>,
}

/// Reads one message; an interface without a network device (a P2P device) has no index and is `None`.
pub fn interface(payload: &[u8]) -> Option<Interface> {
    let attributes = generic_attributes(payload);
    let find = |kind| attributes.clone().find(kind);
    let number = |kind| find(kind)?.as_u32();
    let first_link = || channel(&find(ATTR_MLO_LINKS)?.nested().next()?.nested());
    Some(Interface {
        index: number(ATTR_IFINDEX)?,
        name: find(ATTR_IFNAME)?.as_text()?,
        wiphy: number(ATTR_WIPHY)?,
        kind: number(ATTR_IFTYPE)?.into(),
        address: first(find(ATTR_MAC)?.payload)?,
        ssid: find(ATTR_SSID).map(|ssid| ssid.payload.to_vec()),
        channel: channel(&attributes),
        first_link: first_link(),
    })
}

fn channel(attributes: &Attributes<'_>) -> Option<Channel> {
    let number = |kind| attributes.clone().find(kind)?.as_u32();
    Some(Channel {
        frequency_mhz: number(ATTR_WIPHY_FREQ)?,
        width_mhz: number(ATTR_CHANNEL_WIDTH).and_then(channel_mhz),
    })
}
