//! nl80211: wireless devices, their interfaces, and the stations that are associated.
//!
//! Talks to the generic-netlink family `nl80211` over [`crate::netlink`]. It reads the few attributes
//! that headroom needs and skips all others; it neither scans, associates nor listens to events.
//!
//! Attributes: `include/uapi/linux/nl80211.h`.

use std::os::fd::{AsRawFd, BorrowedFd};

use crate::netlink::{
    Attribute, Attributes, Error, Protocol, Request, Socket, generic_attributes, u32_at,
};

const CMD_GET_WIPHY: u8 = 1;
const CMD_GET_INTERFACE: u8 = 5;
const CMD_NEW_INTERFACE: u8 = 7;
const CMD_DEL_INTERFACE: u8 = 8;
const CMD_GET_STATION: u8 = 17;
const CMD_SET_WIPHY_NETNS: u8 = 49;
const CMD_SET_POWER_SAVE: u8 = 61;

const ATTR_WIPHY: u16 = 1;
const ATTR_WIPHY_NAME: u16 = 2;
const ATTR_IFINDEX: u16 = 3;
const ATTR_IFNAME: u16 = 4;
const ATTR_IFTYPE: u16 = 5;
const ATTR_MAC: u16 = 6;
const ATTR_STA_INFO: u16 = 21;
const ATTR_PS_STATE: u16 = 93;
const ATTR_SPLIT_WIPHY_DUMP: u16 = 174;
const ATTR_NETNS_FD: u16 = 219;

const STA_INFO_STA_FLAGS: u16 = 17;
/// `NL80211_STA_FLAG_AUTHORIZED` is flag number 1.
const AUTHORISED: u32 = 1 << 1;

const IFTYPE_STATION: u32 = 2;
const IFTYPE_AP: u32 = 3;
const IFTYPE_MONITOR: u32 = 6;

/// A hardware address.
pub type Address = [u8; 6];

/// A wireless device, in hwsim one per radio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wiphy {
    /// Its number, in the order in which the devices were registered.
    pub index: u32,
    /// Its name, such as `phy0`.
    pub name: String,
}

/// An interface of a wireless device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number in the network namespace.
    pub index: u32,
    /// Its name, such as `wlan0`.
    pub name: String,
    /// The device that it belongs to.
    pub wiphy: u32,
    /// What it does on the air.
    pub kind: InterfaceKind,
    /// Its hardware address.
    pub address: Address,
}

/// What an interface does on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterfaceKind {
    /// A client.
    Station,
    /// An access point.
    AccessPoint,
    /// A listener.
    Monitor,
    /// Any other `NL80211_IFTYPE_…`, by its number.
    Other(u32),
}

impl From<u32> for InterfaceKind {
    fn from(number: u32) -> Self {
        match number {
            IFTYPE_STATION => Self::Station,
            IFTYPE_AP => Self::AccessPoint,
            IFTYPE_MONITOR => Self::Monitor,
            other => Self::Other(other),
        }
    }
}

/// A conversation with nl80211, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Nl80211 {
    socket: Socket,
    family: u16,
}

impl Nl80211 {
    /// Opens the conversation; refused where the kernel has no cfg80211.
    pub fn open() -> Result<Self, Error> {
        let mut socket = Socket::open(Protocol::Generic)?;
        let family = socket.family("nl80211")?;
        Ok(Self { socket, family })
    }

    /// All wireless devices of the namespace, by number.
    pub fn wiphys(&mut self) -> Result<Vec<Wiphy>, Error> {
        // Unless split, a device with many capabilities does not fit the dump's message.
        let request =
            self.request("GET_WIPHY", CMD_GET_WIPHY).attribute(ATTR_SPLIT_WIPHY_DUMP, &[]);
        let mut found = self.socket.dump(request, wiphy)?;
        found.sort_by_key(|wiphy| wiphy.index);
        found.dedup_by_key(|wiphy| wiphy.index);
        Ok(found)
    }

    /// All wireless interfaces of the namespace that have a network device, by number.
    pub fn interfaces(&mut self) -> Result<Vec<Interface>, Error> {
        let request = self.request("GET_INTERFACE", CMD_GET_INTERFACE);
        let mut found = self.socket.dump(request, interface)?;
        found.sort_by_key(|interface| interface.index);
        Ok(found)
    }

    /// How many stations of this interface may exchange data.
    ///
    /// On an access point these are its clients; on a station it is 1 once it is connected.
    pub fn authorised_stations(&mut self, index: u32) -> Result<u32, Error> {
        let request = self.request("GET_STATION", CMD_GET_STATION).number(ATTR_IFINDEX, index);
        let found = self
            .socket
            .dump(request, |payload| is_authorised(generic_attributes(payload)).then_some(()))?;
        Ok(u32::try_from(found.len()).unwrap_or(u32::MAX))
    }

    /// Adds a station interface to a device and returns its number.
    pub fn add_station_interface(
        &mut self,
        wiphy: u32,
        name: &str,
        address: Address,
    ) -> Result<u32, Error> {
        const REQUEST: &str = "NEW_INTERFACE";
        let request = self
            .request(REQUEST, CMD_NEW_INTERFACE)
            .number(ATTR_WIPHY, wiphy)
            .text(ATTR_IFNAME, name)
            .number(ATTR_IFTYPE, IFTYPE_STATION)
            .attribute(ATTR_MAC, &address);
        let made = self.socket.ask(request, interface)?;
        let what = "no interface";
        made.first().map(|made| made.index).ok_or(Error::Malformed { request: REQUEST, what })
    }

    /// Removes an interface.
    pub fn delete_interface(&mut self, index: u32) -> Result<(), Error> {
        let request = self.request("DEL_INTERFACE", CMD_DEL_INTERFACE).number(ATTR_IFINDEX, index);
        self.socket.act(request)
    }

    /// Moves a device and its interfaces into the network namespace that the descriptor names.
    pub fn set_wiphy_netns_fd(&mut self, wiphy: u32, fd: BorrowedFd<'_>) -> Result<(), Error> {
        let request = self
            .request("SET_WIPHY_NETNS", CMD_SET_WIPHY_NETNS)
            .number(ATTR_WIPHY, wiphy)
            .attribute(ATTR_NETNS_FD, &fd.as_raw_fd().to_ne_bytes());
        self.socket.act(request)
    }

    /// Lets an interface sleep between beacons, or keeps it awake.
    pub fn set_power_save(&mut self, index: u32, on: bool) -> Result<(), Error> {
        let request = self
            .request("SET_POWER_SAVE", CMD_SET_POWER_SAVE)
            .number(ATTR_IFINDEX, index)
            .number(ATTR_PS_STATE, u32::from(on));
        self.socket.act(request)
    }

    fn request(&self, name: &'static str, command: u8) -> Request {
        Request::generic(name, self.family, command)
    }
}

fn wiphy(payload: &[u8]) -> Option<Wiphy> {
    let attributes = generic_attributes(payload);
    Some(Wiphy {
        index: attributes.clone().find(ATTR_WIPHY)?.as_u32()?,
        name: attributes.find(ATTR_WIPHY_NAME)?.as_text()?,
    })
}

/// An interface without a network device (a P2P device) has no index and is passed over.
fn interface(payload: &[u8]) -> Option<Interface> {
    let attributes = generic_attributes(payload);
    let number = |kind| attributes.clone().find(kind)?.as_u32();
    Some(Interface {
        index: number(ATTR_IFINDEX)?,
        name: attributes.clone().find(ATTR_IFNAME)?.as_text()?,
        wiphy: number(ATTR_WIPHY)?,
        kind: number(ATTR_IFTYPE)?.into(),
        address: *attributes.clone().find(ATTR_MAC)?.payload.first_chunk()?,
    })
}

/// Flags come as two words, which of them are known and which of those are set.
fn is_authorised(attributes: Attributes<'_>) -> bool {
    let flags = |info: Attribute<'_>| u32_at(info.nested().find(STA_INFO_STA_FLAGS)?.payload, 4);
    attributes.find(ATTR_STA_INFO).and_then(flags).is_some_and(|set| set & AUTHORISED != 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One attribute as it stands in a message.
    fn attribute(kind: u16, payload: &[u8]) -> Vec<u8> {
        let mut bytes = ((payload.len() + 4) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(payload);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn message(attributes: &[Vec<u8>]) -> Vec<u8> {
        [vec![7, 1, 0, 0], attributes.concat()].concat()
    }

    fn wlan0() -> Vec<Vec<u8>> {
        vec![
            attribute(ATTR_IFINDEX, &4_u32.to_ne_bytes()),
            attribute(ATTR_IFNAME, b"wlan0\0"),
            attribute(ATTR_WIPHY, &1_u32.to_ne_bytes()),
            attribute(ATTR_IFTYPE, &3_u32.to_ne_bytes()),
            attribute(0xdead & 0x3fff, &[1, 2, 3]),
            attribute(ATTR_MAC, &[2, 0, 0, 0, 1, 9]),
        ]
    }

    fn station(set: u32) -> Vec<u8> {
        let flags = [u32::MAX.to_ne_bytes(), set.to_ne_bytes()].concat();
        attribute(ATTR_STA_INFO, &attribute(STA_INFO_STA_FLAGS, &flags))
    }

    #[test]
    fn an_interface_is_read_among_unknown_attributes() {
        let expected = Interface {
            index: 4,
            name: "wlan0".into(),
            wiphy: 1,
            kind: InterfaceKind::AccessPoint,
            address: [2, 0, 0, 0, 1, 9],
        };
        assert_eq!(interface(&message(&wlan0())), Some(expected));
    }

    #[test]
    fn an_interface_without_one_of_its_attributes_is_absent() {
        for missing in [0, 1, 2, 3, 5] {
            let mut attributes = wlan0();
            attributes.remove(missing);
            assert_eq!(interface(&message(&attributes)), None, "without attribute {missing}");
        }
    }

    #[test]
    fn a_short_address_is_not_read_past_its_end() {
        let mut attributes = wlan0();
        attributes[5] = attribute(ATTR_MAC, &[2, 0, 0]);
        assert_eq!(interface(&message(&attributes)), None);
    }

    #[test]
    fn a_device_has_a_number_and_a_name() {
        let index = attribute(ATTR_WIPHY, &3_u32.to_ne_bytes());
        let bytes = message(&[index.clone(), attribute(ATTR_WIPHY_NAME, b"phy3\0")]);
        assert_eq!(wiphy(&bytes), Some(Wiphy { index: 3, name: "phy3".into() }));
        assert_eq!(wiphy(&message(&[index])), None);
    }

    #[test]
    fn a_station_counts_only_with_the_authorised_flag() {
        assert!(is_authorised(Attributes::new(&station(AUTHORISED | 1 << 7))));
        assert!(!is_authorised(Attributes::new(&station(1 << 7))), "associated, not authorised");
        assert!(!is_authorised(Attributes::new(&[])), "no station information");
        let cut = attribute(ATTR_STA_INFO, &attribute(STA_INFO_STA_FLAGS, &[0xff; 4]));
        assert!(!is_authorised(Attributes::new(&cut)), "half of the flags");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let _ = (interface(&bytes), wiphy(&bytes), is_authorised(Attributes::new(&bytes)));
        }
    }
}
