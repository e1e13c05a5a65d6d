//! One consumer that the monitor plays: a connection to one of stationd's faces, and what it has seen there.

use std::{io, path::Path};

#[cfg(feature = "ubus")]
use super::bus::{self, Bus};
use super::{
    check::Checker,
    flags::{Face, Reply},
    reply::{Got, Object, Station},
    socket::{self, Socket},
};

#[derive(Debug)]
pub(super) struct Consumer {
    face: Connection,
    /// What was seen of each access point.
    checkers: Vec<Checker>,
}

#[derive(Debug)]
enum Connection {
    Socket(Socket),
    #[cfg(feature = "ubus")]
    Bus(Bus),
}

/// The access points that are named, or else those that this face has, once it is there.
///
/// # Errors
///
/// No one is there, or it says something else.
pub(super) fn access_points(face: &Face, named: &[String]) -> io::Result<Vec<String>> {
    let are_named = !named.is_empty();
    match face {
        Face::Socket(path) if are_named => socket::connect(path).map(|_| named.to_vec()),
        Face::Socket(path) => socket::interfaces(&mut socket::connect(path)?),
        #[cfg(feature = "ubus")]
        Face::Ubus(path) if are_named => bus::connected(path).map(|_| named.to_vec()),
        #[cfg(feature = "ubus")]
        Face::Ubus(path) => bus::access_points(path),
    }
}

impl Consumer {
    /// One that asks for these access points, and is not connected yet.
    pub(super) fn new(face: &Face, points: &[String], reply: Reply) -> Self {
        let connection = match face {
            Face::Socket(_) => Connection::Socket(Socket::new(points, reply)),
            #[cfg(feature = "ubus")]
            Face::Ubus(_) => Connection::Bus(Bus::new(points, reply)),
        };
        Self { face: connection, checkers: points.iter().map(|_| Checker::default()).collect() }
    }

    /// Asks for all of them. Connects first where it must.
    ///
    /// # Errors
    ///
    /// No one is there, or does not take the questions.
    pub(super) fn ask(&mut self, path: &Path) -> io::Result<()> {
        match &mut self.face {
            Connection::Socket(socket) => socket.ask(path),
            #[cfg(feature = "ubus")]
            Connection::Bus(bus) => bus.connect(path),
        }
    }

    /// Takes the answers, and tells each fault.
    pub(super) fn take(&mut self, got: &mut Got, mut report: impl FnMut(String)) {
        let mut checkers = std::mem::take(&mut self.checkers);
        self.hear(got, |place, heard| match heard {
            Ok(stations) => checkers[place].check(stations, &mut report),
            Err(wrong) => report(wrong),
        });
        self.checkers = checkers;
    }

    /// Takes the answers: the stations of each access point, by its place, or what is wrong with its reply.
    /// After an answer that does not come there are no more.
    pub(super) fn hear(
        &mut self,
        got: &mut Got,
        each: impl FnMut(usize, Result<&[Station<'_>], String>),
    ) {
        match &mut self.face {
            Connection::Socket(socket) => socket.hear(got, each),
            #[cfg(feature = "ubus")]
            Connection::Bus(bus) => bus.hear(got, each),
        }
    }

    /// As [`Self::hear`], but each station with all that was told of it.
    pub(super) fn hear_whole(
        &mut self,
        got: &mut Got,
        each: impl FnMut(usize, Result<Vec<Object>, String>),
    ) {
        match &mut self.face {
            Connection::Socket(socket) => socket.hear_whole(got, each),
            #[cfg(feature = "ubus")]
            Connection::Bus(bus) => bus.hear_whole(got, each),
        }
    }

    /// Stations that began to count anew.
    pub(super) fn returned(&self) -> u64 {
        self.checkers.iter().map(|checker| checker.returned).sum()
    }
}
