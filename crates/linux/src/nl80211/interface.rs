//! Interfaces of wireless devices: what they are, and where on the air.
//!
//! Reads `NL80211_CMD_NEW_INTERFACE` messages, and nothing else of nl80211. It asks nothing.

use super::{
    ATTR_IFINDEX, ATTR_IFNAME, ATTR_IFTYPE, ATTR_MAC, ATTR_MLO_LINK_ID, ATTR_MLO_LINKS, ATTR_WIPHY,
    Address, rate::Width,
};
use crate::netlink::{Attribute, Attributes, first, generic_attributes};

const ATTR_WIPHY_FREQ: u16 = 38;
const ATTR_SSID: u16 = 52;
const ATTR_4ADDR: u16 = 83;
const ATTR_CHANNEL_WIDTH: u16 = 159;
const ATTR_CENTER_FREQ1: u16 = 160;
const ATTR_CENTER_FREQ2: u16 = 161;

pub(super) const IFTYPE_STATION: u32 = 2;
const IFTYPE_AP: u32 = 3;
const IFTYPE_AP_VLAN: u32 = 4;
const IFTYPE_MONITOR: u32 = 6;

/// An interface of a wireless device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number in the network namespace.
    pub index: u32,
    pub name: String,
    /// The device that it belongs to.
    pub wiphy: u32,
    /// What it does on the air.
    pub kind: InterfaceKind,
    /// Its hardware address; an access point of several links has its MLD address here.
    pub address: Address,
    /// The name of its network, any bytes; `None` while it has none (an access point that is not up).
    pub ssid: Option<Vec<u8>>,
    /// Whether it carries frames of four addresses (WDS).
    pub four_addresses: bool,
    /// Where it is on the air; an access point of several links says it link by link instead.
    pub channel: Option<Channel>,
    /// Its links, by id (IEEE 802.11be); empty on all others.
    pub links: Vec<InterfaceLink>,
}

/// What an interface does on the air.
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

/// Where something is on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The primary channel's frequency in MHz.
    pub frequency_mhz: u32,
    pub width: Option<Width>,
    /// The middle of the whole channel in MHz.
    pub centre_mhz: Option<u32>,
    /// The middle of the second half in MHz, of an 80+80 MHz channel.
    pub second_centre_mhz: Option<u32>,
}

/// One link of an interface that has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceLink {
    /// Its number, 0 to 14.
    pub id: u8,
    pub address: Option<Address>,
    /// Where it is on the air; kernels before 6.9 do not say.
    pub channel: Option<Channel>,
}

/// Reads one message; an interface without a network device (a P2P device) has no index and is `None`.
pub fn interface(payload: &[u8]) -> Option<Interface> {
    let attributes = generic_attributes(payload);
    let find = |kind| attributes.clone().find(kind);
    let number = |kind| find(kind)?.as_u32();
    let links = find(ATTR_MLO_LINKS).map(|links| links.nested().filter_map(link).collect());
    Some(Interface {
        index: number(ATTR_IFINDEX)?,
        name: find(ATTR_IFNAME)?.as_text()?,
        wiphy: number(ATTR_WIPHY)?,
        kind: number(ATTR_IFTYPE)?.into(),
        address: first(find(ATTR_MAC)?.payload)?,
        ssid: find(ATTR_SSID).map(|ssid| ssid.payload.to_vec()),
        four_addresses: find(ATTR_4ADDR).is_some_and(|flag| flag.payload.first() == Some(&1)),
        channel: channel(&attributes),
        links: links.unwrap_or_default(),
    })
}

fn link(nest: Attribute<'_>) -> Option<InterfaceLink> {
    let attributes = nest.nested();
    Some(InterfaceLink {
        id: *attributes.clone().find(ATTR_MLO_LINK_ID)?.payload.first()?,
        address: attributes.clone().find(ATTR_MAC).and_then(|address| first(address.payload)),
        channel: channel(&attributes),
    })
}

fn channel(attributes: &Attributes<'_>) -> Option<Channel> {
    let number = |kind| attributes.clone().find(kind)?.as_u32();
    Some(Channel {
        frequency_mhz: number(ATTR_WIPHY_FREQ)?,
        width: number(ATTR_CHANNEL_WIDTH).and_then(Width::of_channel),
        centre_mhz: number(ATTR_CENTER_FREQ1),
        second_centre_mhz: number(ATTR_CENTER_FREQ2).filter(|frequency| *frequency != 0),
    })
}
