//! The kernel's part: tells the world in messages of nl80211, and unasked what happens in it.
//!
//! It decides nothing; faults are the world's.

use std::os::{
    fd::{AsFd, BorrowedFd},
    unix::net::UnixDatagram,
};

use linux::{
    netlink::{Patience, Reply, Request, Script, Transport, generic_attributes},
    nl80211::{Mlme, Nl80211},
};
use rustix::io::Errno;

use crate::world::{Fault, Interface, Shared, Station, World};

const FAMILY: u16 = 28;
const GENL_ID_CTRL: u16 = 0x10;
const NLM_F_MULTI: u16 = 2;
const NLM_F_DUMP_INTR: u16 = 0x10;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// This many stations fit the reader's buffer for sure.
const AT_ONCE: usize = 20;

const NEW_INTERFACE: u8 = 7;
const DEL_INTERFACE: u8 = 8;
const NEW_STATION: u8 = 19;
const DEL_STATION: u8 = 20;

pub(crate) fn nl80211(world: &Shared) -> Nl80211 {
    let world = world.clone();
    Nl80211::over(Script::new(move |request| answer(&world, request)).unwrap()).unwrap()
}

pub(crate) fn mlme(world: &Shared) -> Mlme {
    let ear = Ear { world: world.clone(), socket: UnixDatagram::unbound().unwrap() };
    Mlme::over(ear, FAMILY)
}

/// The socket of events; its descriptor stands for one that the daemon would wait for.
#[derive(Debug)]
struct Ear {
    world: Shared,
    socket: UnixDatagram,
}

impl AsFd for Ear {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Transport for Ear {
    fn send(&mut self, _: &[u8]) -> Result<(), Errno> {
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Patience) -> Result<usize, Errno> {
        let event = self.world.lock().events.pop_front().ok_or(Errno::AGAIN)??;
        buffer[..event.len()].copy_from_slice(&event);
        Ok(event.len())
    }
}

pub(crate) fn interface_event(is_new: bool, index: u32) -> Vec<u8> {
    let command = if is_new { NEW_INTERFACE } else { DEL_INTERFACE };
    Request::generic("", FAMILY, command).number(3, index).bytes(0, 0)
}

/// Kernels tell who, and no figures.
pub(crate) fn joined(station: &Station, generation: u32) -> Vec<u8> {
    head(NEW_STATION, station, generation).nest(21, &attributes()).bytes(0, 0)
}

pub(crate) fn left(station: &Station, generation: u32, narrow: bool) -> Vec<u8> {
    let message = head(DEL_STATION, station, generation).nest(21, &figures(station, narrow));
    message.attribute(54, &8_u16.to_ne_bytes()).bytes(0, 0)
}

fn attributes() -> Request {
    Request::new("", 0)
}

fn head(command: u8, station: &Station, generation: u32) -> Request {
    Request::generic("", FAMILY, command)
        .number(3, station.interface)
        .attribute(6, &station.address)
        .number(46, generation)
}

fn figures(station: &Station, narrow: bool) -> Request {
    let figures = attributes()
        .number(2, station.rx_bytes as u32)
        .number(3, station.tx_bytes as u32)
        .number(9, (station.rx_bytes / 100) as u32)
        .number(10, (station.tx_bytes / 100) as u32)
        .attribute(7, &station.signal.to_ne_bytes())
        .number(16, 5)
        .attribute(17, &[0xfe, 0, 0, 0, 0xfe, 0, 0, 0])
        .attribute(42, &station.since_ns.to_ne_bytes());
    if narrow {
        return figures;
    }
    figures
        .attribute(23, &station.rx_bytes.to_ne_bytes())
        .attribute(24, &station.tx_bytes.to_ne_bytes())
}

/// The station's message; of one with links, each has a tenth of the whole.
fn message(station: &Station, world: &World) -> Request {
    let message =
        head(NEW_STATION, station, world.generation).nest(21, &figures(station, world.narrow));
    let links = station.links.iter().fold(attributes(), |links, id| {
        let part = Station {
            rx_bytes: station.rx_bytes / 10,
            tx_bytes: station.tx_bytes / 10,
            since_ns: 0,
            ..station.clone()
        };
        let link = attributes().attribute(313, &[*id]).nest(21, &figures(&part, world.narrow));
        links.nest(u16::from(*id) + 1, &link)
    });
    if station.links.is_empty() { message } else { message.nest(312, &links) }
}

fn answer(world: &Shared, request: &[u8]) -> Vec<Reply> {
    let number = u32::from_ne_bytes(request[8..12].try_into().unwrap());
    if request[4..6] == GENL_ID_CTRL.to_ne_bytes() {
        let family = Request::generic("", GENL_ID_CTRL, 1).attribute(1, &FAMILY.to_ne_bytes());
        return vec![Ok(family.bytes(0, number)), Ok(refused(0).bytes(0, number))];
    }
    let world = &mut *world.lock();
    let find = |kind| generic_attributes(&request[16..]).find(kind);
    let interface = find(3).and_then(|attribute| attribute.as_u32());
    let said = match (request[16], interface) {
        (5, _) => lists(world),
        (17, Some(interface)) => dumps(world, interface),
        (50, Some(interface)) => surveys(world, interface),
        other => panic!("a request that nobody plays: {other:?}"),
    };
    let bytes = |message: &Request| message.bytes(NLM_F_MULTI, number);
    said.into_iter().map(|said| said.map(|all| all.iter().flat_map(bytes).collect())).collect()
}

/// The messages of one datagram, or why it cannot be received.
type Datagram = Result<Vec<Request>, Errno>;

fn done(code: i32) -> Request {
    Request::new("", NLMSG_DONE).fixed(&code.to_ne_bytes())
}

fn refused(code: i32) -> Request {
    Request::new("", NLMSG_ERROR).fixed(&code.to_ne_bytes())
}

fn refuses(errno: Errno) -> Vec<Datagram> {
    vec![Ok(vec![refused(-errno.raw_os_error())])]
}

fn lists(world: &mut World) -> Vec<Datagram> {
    world.asked.lists += 1;
    let mut messages: Vec<Request> = world.interfaces.iter().map(interface).collect();
    messages.push(done(0));
    vec![Ok(messages)]
}

fn interface(interface: &Interface) -> Request {
    Request::generic("", FAMILY, NEW_INTERFACE)
        .number(3, interface.index)
        .text(4, &interface.name)
        .number(5, interface.kind)
        .number(1, 0)
        .attribute(6, &interface.address)
        .attribute(52, b"net")
        .number(38, 5180)
}

fn is_there(world: &World, index: u32) -> bool {
    world.interfaces.iter().any(|one| one.index == index)
}

fn list(world: &World, interface: u32) -> Vec<Datagram> {
    let on = world.stations.iter().filter(|station| station.interface == interface);
    let messages: Vec<Request> = on.map(|station| message(station, world)).collect();
    messages.chunks(AT_ONCE).map(|chunk| Ok(chunk.to_vec())).collect()
}

fn dumps(world: &mut World, interface: u32) -> Vec<Datagram> {
    world.asked.dumps += 1;
    let fault = world.faults.pop_front();
    if let Some(Fault::Refused(errno)) = fault {
        return refuses(errno);
    }
    if !is_there(world, interface) {
        return refuses(Errno::NODEV);
    }
    let mut said = list(world, interface);
    let end = match fault {
        Some(Fault::Vanishes) => {
            world.remove(interface);
            Ok(vec![done(-Errno::NODEV.raw_os_error())])
        }
        Some(Fault::Overrun) => Err(Errno::NOBUFS),
        Some(Fault::Changes(change)) => {
            change(world);
            said.extend(list(world, interface));
            Ok(vec![done(0)])
        }
        Some(Fault::Flagged(change)) => {
            change(world);
            Ok(vec![done(0).flags(NLM_F_DUMP_INTR)])
        }
        Some(Fault::Refused(_)) | None => Ok(vec![done(0)]),
    };
    said.push(end);
    said
}

fn surveys(world: &mut World, interface: u32) -> Vec<Datagram> {
    world.asked.surveys += 1;
    if let Some(errno) = world.survey {
        return refuses(errno);
    }
    if !is_there(world, interface) {
        return refuses(Errno::NODEV);
    }
    let info = attributes().number(1, 5180).attribute(2, &[-95_i8 as u8]).attribute(3, &[]);
    let survey = Request::generic("", FAMILY, 51).number(3, interface).nest(84, &info);
    vec![Ok(vec![survey, done(0)])]
}
