//! Questions to hostapd's control interface, one datagram each way.
//!
//! Asks `STA <address>`, which is dear: hostapd asks the kernel in its turn. So it is asked once for each
//! association, one question at a time on each interface, and never waited for.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, ErrorKind},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixDatagram,
    },
    path::{Path, PathBuf},
};

use linux::nl80211::Address;
use rustix::net::{SocketAddrUnix, bind};

use crate::{
    address,
    identity::Identity,
    points::Points,
    pull::Cost,
    table::{PointId, Slot},
};

const MS: u64 = 1_000_000;
/// hostapd answers within its event loop; silence for this long means that it will not.
const PATIENCE_NS: u64 = 1000 * MS;
/// A hostapd that is absent or begins again is looked for so often.
const AGAIN_NS: u64 = 2000 * MS;
/// A station that gives no identity after this many questions keeps none.
const MOST_TRIES: u8 = 5;
/// No answer is longer: hostapd's own buffer.
const LONGEST_ANSWER: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    pub slot: Slot,
    pub address: Address,
    /// Not before this moment, ns since boot.
    pub from_ns: u64,
    pub tries: u8,
}

#[derive(Debug)]
pub struct Hostapd {
    /// Where the control sockets are; `None`: hostapd is not asked.
    folder: Option<PathBuf>,
    lines: BTreeMap<PointId, Line>,
}

#[derive(Debug, Default)]
struct Line {
    /// Why it could not be spoken to, to be told once.
    fault: Option<io::Error>,
    reported: bool,
    socket: Option<UnixDatagram>,
    waiting: VecDeque<Question>,
    pending: Option<Pending>,
    /// Not before this moment, after hostapd was not there.
    again_ns: u64,
}

/// The question that hostapd has not answered yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    address: Address,
    /// `None` once no one wants the answer any more.
    question: Option<Question>,
    at_ns: u64,
}

impl Hostapd {
    pub fn new(folder: Option<&Path>) -> Self {
        Self { folder: folder.map(Path::to_owned), lines: BTreeMap::new() }
    }

    /// Descriptors that are readable when an answer has come.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.lines.values().filter_map(|line| line.socket.as_ref().map(AsFd::as_fd))
    }

    pub fn is_busy(&self) -> bool {
        self.lines.values().any(|line| line.pending.is_some() || !line.waiting.is_empty())
    }

    /// Puts a question behind the others of the interface.
    pub fn want(&mut self, point: PointId, question: Question) {
        if self.folder.is_some() {
            self.lines.entry(point).or_default().waiting.push_back(question);
        }
    }

    /// A station has left: no one wants to know any more who it was. Its slot may get another.
    pub fn withdraw(&mut self, point: PointId, slot: Slot) {
        let Some(line) = self.lines.get_mut(&point) else { return };
        line.waiting.retain(|question| question.slot != slot);
        if let Some(pending) = &mut line.pending {
            pending.question = pending.question.filter(|question| question.slot != slot);
        }
    }

    pub fn forget(&mut self, point: PointId) {
        self.lines.remove(&point);
    }

    /// When [`Hostapd::advance`] wants to be called next, ns since boot.
    pub fn due(&self) -> Option<u64> {
        self.lines.values().filter_map(Line::due).min()
    }

    /// Asks what can be asked now, and gives up what was not answered.
    pub fn advance(&mut self, points: &Points, now_ns: u64, cost: &mut Cost) {
        let Some(folder) = &self.folder else { return };
        for (id, line) in &mut self.lines {
            line.give_up(now_ns, cost);
            if let (Some(place), Some(point)) = (line.next(now_ns), points.get(*id)) {
                line.ask(place, &folder.join(&point.name), now_ns);
                cost.hostapd_requests += u64::from(line.pending.is_some());
            }
        }
    }

    /// Access points about which hostapd does not let us ask, each once, and why.
    pub fn faults(&mut self) -> impl Iterator<Item = (PointId, io::Error)> {
        self.lines.iter_mut().filter_map(|(point, line)| Some((*point, line.fault.take()?)))
    }

    pub fn answers(&mut self, now_ns: u64, mut take: impl FnMut(Question, Identity)) {
        for line in self.lines.values_mut() {
            while let Some((question, answer)) = line.answer() {
                let is_named = named(&answer) == Some(question.address);
                let identity = Identity::parse(&answer).filter(|_| is_named);
                // During the handshake hostapd does not know everything yet.
                if !identity.as_ref().is_some_and(|identity| identity.has("AUTHORIZED")) {
                    line.once_more(question, now_ns);
                }
                identity.into_iter().for_each(|identity| take(question, identity));
            }
        }
    }
}

impl Line {
    fn due(&self) -> Option<u64> {
        match &self.pending {
            Some(pending) => Some(pending.at_ns + PATIENCE_NS),
            None => {
                let first = self.waiting.iter().map(|question| question.from_ns).min()?;
                Some(first.max(self.again_ns))
            }
        }
    }

    fn give_up(&mut self, now_ns: u64, cost: &mut Cost) {
        if self.pending.is_some_and(|pending| now_ns >= pending.at_ns + PATIENCE_NS) {
            cost.hostapd_timeouts += 1;
            // A new socket, so that an answer that comes after all is not taken for another's.
            self.socket = None;
            if let Some(question) = self.pending.take().and_then(|pending| pending.question) {
                self.once_more(question, now_ns);
            }
        }
    }

    fn once_more(&mut self, question: Question, now_ns: u64) {
        let tries = question.tries + 1;
        if tries < MOST_TRIES {
            self.waiting.push_back(Question { tries, from_ns: now_ns + AGAIN_NS, ..question });
        }
    }

    fn next(&self, now_ns: u64) -> Option<usize> {
        let may_ask = self.pending.is_none() && now_ns >= self.again_ns;
        let place = self.waiting.iter().position(|question| now_ns >= question.from_ns);
        place.filter(|_| may_ask)
    }

    fn ask(&mut self, place: usize, path: &Path, now_ns: u64) {
        let question = self.waiting[place];
        let address = question.address;
        let command = [b"STA ", &address::lower(address)[..]].concat();
        if self.connected(path).is_some_and(|socket| socket.send(&command).is_ok()) {
            self.waiting.remove(place);
            self.pending = Some(Pending { address, question: Some(question), at_ns: now_ns });
        } else {
            self.socket = None;
            self.again_ns = now_ns + AGAIN_NS;
        }
    }

    fn connected(&mut self, path: &Path) -> Option<&UnixDatagram> {
        if self.socket.is_none() {
            self.socket = connect(path).map_err(|error| self.refused(error)).ok();
        }
        self.socket.as_ref()
    }

    /// A hostapd that is not there is ordinary; one that does not let us ask wants a person.
    fn refused(&mut self, error: io::Error) {
        if error.kind() == ErrorKind::PermissionDenied && !self.reported {
            (self.fault, self.reported) = (Some(error), true);
        }
    }

    fn answer(&mut self) -> Option<(Question, String)> {
        loop {
            let answer = receive(self.socket.as_ref()?).ok()?;
            // What no one asked for, such as an event or a late answer, is no one's answer.
            let is_other =
                |pending: &Pending| named(&answer).is_some_and(|it| it != pending.address);
            let answered = self.pending.take_if(|pending| !is_other(pending));
            if let Some(question) = answered.and_then(|pending| pending.question) {
                return Some((question, answer));
            }
        }
    }
}

/// The station that an answer names in its first line; a refusal names none.
fn named(answer: &str) -> Option<Address> {
    address::parse(answer.lines().next()?)
}

/// A socket with an abstract name that the kernel chooses: it leaves no file behind, needs no folder to
/// write to, and no one can have taken its name before.
pub(crate) fn connect(path: &Path) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    // Connected first: from then on only hostapd can send to it.
    socket.connect(path).or_else(|error| in_own_folder(&socket, path, error))?;
    bind(&socket, &SocketAddrUnix::new_unnamed())?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Where each interface has a folder of its own (`ctrl_interface=/run/hostapd/wlan0`), its socket is in there. Connecting to a
/// folder is refused as to a socket that nobody has, and finding out which needs no other system call.
fn in_own_folder(socket: &UnixDatagram, path: &Path, refused: io::Error) -> io::Result<()> {
    let Some(name) = path.file_name().filter(|_| refused.kind() == ErrorKind::ConnectionRefused)
    else {
        return Err(refused);
    };
    match socket.connect(path.join(name)) {
        Err(error) if error.kind() == ErrorKind::NotADirectory => Err(refused),
        connected => connected,
    }
}

/// One answer. Of one that fills the buffer the last line may have been cut, and is left out.
fn receive(socket: &UnixDatagram) -> io::Result<String> {
    let mut buffer = [0; LONGEST_ANSWER];
    let length = socket.recv(&mut buffer)?;
    let mut answer = String::from_utf8_lossy(&buffer[..length]).into_owned();
    if length == buffer.len() {
        answer.truncate(answer.rfind('\n').unwrap_or(0));
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: Address = [2, 0, 0, 0, 1, 0];

    #[test]
    fn a_station_that_still_shakes_hands_is_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(folder.path().join("wlan0")).unwrap();
        let (mut hostapd, mut points) = (Hostapd::new(Some(folder.path())), Points::default());
        points.update(&[crate::points::tests::access_point(3, "wlan0")]);
        hostapd.want(0, Question { slot: 7, address: STATION, from_ns: 0, tries: 0 });
        hostapd.advance(&points, 0, &mut Cost::default());
        let (_, from) = socket.recv_from(&mut [0; 64]).unwrap();
        let answer = b"02:00:00:00:01:00\nflags=[AUTH][ASSOC]\naid=1\n";
        socket.send_to_addr(answer, &from).unwrap();
        let mut found = Vec::new();
        hostapd.answers(5, |question, identity| found.push((question.slot, identity.aid)));
        assert_eq!((found, hostapd.due()), (vec![(7, Some(1))], Some(5 + AGAIN_NS)));
    }

    #[test]
    fn the_socket_may_be_in_a_folder_of_the_interface() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("wlan0");
        std::fs::create_dir(&own).unwrap();
        assert_eq!(connect(&own).unwrap_err().kind(), ErrorKind::NotFound);
        let socket = UnixDatagram::bind(own.join("wlan0")).unwrap();
        connect(&own).unwrap().send(b"PING").unwrap();
        assert_eq!(socket.recv(&mut [0; 16]).unwrap(), 4);
        drop(socket);
        assert_eq!(connect(&own).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        // A socket that nobody has any more, in no folder of its own.
        let stale = folder.path().join("wlan1");
        drop(UnixDatagram::bind(&stale).unwrap());
        assert_eq!(connect(&stale).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
}
