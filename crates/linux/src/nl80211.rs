//! nl80211: wireless devices, their interfaces, and the stations that are associated.
//!
//! It reads the attributes that tell how stations fare and skips all others. [`Mlme`] hears who comes and goes.
//!
//! Attributes: `include/uapi/linux/nl80211.h`.

mod interface;
mod mlme;
mod rate;
mod station;
mod survey;

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use self::{interface::IFTYPE_STATION, station::Generations};
pub use self::{
    interface::{Channel, Interface, InterfaceKind, interface},
    mlme::{Membership, Mlme, membership},
    rate::{Rate, RateMode},
    station::{Chains, Count, StationFlags, StationReading, station, stations},
    survey::{SurveyReading, survey},
};
use crate::netlink::{
    BriefRequest, Error, NLM_F_ACK, NLM_F_DUMP, Protocol, ReadCost, Request, Socket, Transport,
    generic_attributes,
};

const CMD_GET_WIPHY: u8 = 1;
const CMD_GET_INTERFACE: u8 = 5;
const CMD_NEW_INTERFACE: u8 = 7;
const CMD_DEL_INTERFACE: u8 = 8;
const CMD_GET_STATION: u8 = 17;
const CMD_GET_SURVEY: u8 = 50;
const CMD_SET_WIPHY_NETNS: u8 = 49;
const CMD_SET_POWER_SAVE: u8 = 61;

const ATTR_WIPHY: u16 = 1;
const ATTR_WIPHY_NAME: u16 = 2;
const ATTR_IFINDEX: u16 = 3;
const ATTR_IFNAME: u16 = 4;
const ATTR_IFTYPE: u16 = 5;
const ATTR_MAC: u16 = 6;
const ATTR_STA_INFO: u16 = 21;
const ATTR_GENERATION: u16 = 46;
const ATTR_REASON_CODE: u16 = 54;
const ATTR_SURVEY_INFO: u16 = 84;
const ATTR_PS_STATE: u16 = 93;
const ATTR_SPLIT_WIPHY_DUMP: u16 = 174;
const ATTR_NETNS_FD: u16 = 219;
const ATTR_MLO_LINKS: u16 = 312;
const ATTR_MLO_LINK_ID: u16 = 313;
const ATTR_MLD_ADDR: u16 = 314;

const FAMILY: &str = "nl80211";
/// What errors call the requests that are made without a heap.
const GET_STATION: &str = "GET_STATION";
const GET_SURVEY: &str = "GET_SURVEY";

/// How often a list of stations is read that changes under its reader; values read are good anyway.
const STATION_ATTEMPTS: u32 = 4;

pub type Address = [u8; 6];

/// A wireless device, in hwsim one per radio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wiphy {
    /// Its number, in the order in which the devices were registered.
    pub index: u32,
    pub name: String,
}

/// A conversation with nl80211, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Nl80211 {
    socket: Socket,
    family: u16,
}

/// What the answer with a new interface's number is an answer to.
const NEW_INTERFACE: &str = "NEW_INTERFACE";

impl Nl80211 {
    /// Opens the conversation; refused where the kernel has no cfg80211.
    pub fn open() -> Result<Self, Error> {
        Self::over_socket(Socket::open(Protocol::Generic)?)
    }

    /// Opens the conversation over this instead of a new socket: a recording, a script.
    pub fn over(transport: impl Transport + 'static) -> Result<Self, Error> {
        Self::over_socket(Socket::over(transport))
    }

    fn over_socket(mut socket: Socket) -> Result<Self, Error> {
        let family = socket.family(FAMILY)?;
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
        let request = self.request(GET_STATION, CMD_GET_STATION).number(ATTR_IFINDEX, index);
        let found = self.socket.dump(request, |payload| {
            station(payload)?.flags.is_some_and(StationFlags::authorised).then_some(())
        })?;
        Ok(u32::try_from(found.len()).unwrap_or(u32::MAX))
    }

    /// Shows `each` station of an interface, and each link of a station that has several.
    ///
    /// Where the list changed while it was read, it is read again, and a station may be seen again with
    /// a greater [`StationReading::attempt`]. In the end the list is exactly those whose last attempt
    /// equals the cost's `restarts`; who is not among them has left, provided that the cost is
    /// `settled`. It is not where the list changed under each attempt: the readings are good then, and
    /// who is missing is not known.
    ///
    /// It allocates nothing. Refused with `ENODEV` where the interface is gone, also half-way.
    pub fn stations(
        &mut self,
        interface: u32,
        mut each: impl FnMut(&StationReading),
    ) -> Result<ReadCost, Error> {
        let mut total = ReadCost::default();
        for attempt in 0..STATION_ATTEMPTS {
            let mut generations = Generations::default();
            let mut request = self.station_request(NLM_F_DUMP, interface);
            let cost = self.socket.walk(GET_STATION, request.bytes(), |payload| {
                station::readings(payload, attempt, |reading| {
                    generations.note(reading.generation);
                    each(reading);
                });
            })?;
            total.bytes = total.bytes.saturating_add(cost.bytes);
            total.restarts = attempt;
            total.settled = cost.settled && generations.agree();
            if total.settled {
                break;
            }
        }
        Ok(total)
    }

    /// One station of an interface; `None` where it has no such station.
    ///
    /// It allocates nothing. Refused with `ENODEV` where the interface is gone.
    pub fn station(
        &mut self,
        interface: u32,
        address: Address,
    ) -> Result<Option<StationReading>, Error> {
        let mut found = None;
        let mut request = self.station_request(NLM_F_ACK, interface).attribute(ATTR_MAC, address);
        match self.socket.walk(GET_STATION, request.bytes(), |payload| found = station(payload)) {
            Ok(_) => Ok(found),
            Err(error) if error.is_refusal(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The floor under [`Self::stations`]: the same bytes are asked for and received, and only the
    /// messages' headers are read, to find the end.
    pub fn bare_dump(&mut self, interface: u32) -> Result<ReadCost, Error> {
        let mut request = self.station_request(NLM_F_DUMP, interface);
        self.socket.walk(GET_STATION, request.bytes(), |_| {})
    }

    /// Shows `each` channel that the interface's device knows the load of.
    ///
    /// It allocates nothing. Drivers that keep no survey refuse with `EOPNOTSUPP` or have no channels.
    pub fn survey(
        &mut self,
        interface: u32,
        mut each: impl FnMut(&SurveyReading),
    ) -> Result<ReadCost, Error> {
        let mut request = BriefRequest::new(self.family, CMD_GET_SURVEY, NLM_F_DUMP)
            .attribute(ATTR_IFINDEX, interface.to_ne_bytes());
        self.socket.walk(GET_SURVEY, request.bytes(), |payload| {
            if let Some(reading) = survey(payload) {
                each(&reading);
            }
        })
    }

    fn station_request(&self, flags: u16, interface: u32) -> BriefRequest {
        BriefRequest::new(self.family, CMD_GET_STATION, flags)
            .attribute(ATTR_IFINDEX, interface.to_ne_bytes())
    }

    /// Adds a station interface to a device and returns its number.
    pub fn add_station_interface(
        &mut self,
        wiphy: u32,
        name: &str,
        address: Address,
    ) -> Result<u32, Error> {
        let request = self
            .request(NEW_INTERFACE, CMD_NEW_INTERFACE)
            .number(ATTR_WIPHY, wiphy)
            .text(ATTR_IFNAME, name)
            .number(ATTR_IFTYPE, IFTYPE_STATION)
            .attribute(ATTR_MAC, &address);
        let made = self.socket.ask(request, interface)?;
        let what = "no interface";
        made.first().map(|made| made.index).ok_or(Error::Malformed { request: NEW_INTERFACE, what })
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_a_number_and_a_name() {
        let device = Request::generic("", 28, 3).number(ATTR_WIPHY, 3);
        assert_eq!(wiphy(device.body()), None);
        let named = device.text(ATTR_WIPHY_NAME, "phy3");
        assert_eq!(wiphy(named.body()), Some(Wiphy { index: 3, name: "phy3".into() }));
    }
}
