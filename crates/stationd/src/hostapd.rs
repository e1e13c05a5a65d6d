//! Questions to hostapd's control interface, one datagram each way.
//!
//! Asks `STA <address>`, which is dear: hostapd asks the kernel in its turn. So it is asked once for each
//! association, one question at a time on each interface, and never waited for; [`Hostapd::ask_now`] is
//! the exception, for the field's way of reading each station at each poll. It reads no answer's meaning
//! ([`crate::identity`] does) and changes nothing in hostapd.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use linux::nl80211::Address;

use crate::{cost::Cost, identity::Identity, table::Slot};

const MS: u64 = 1_000_000;
/// hostapd answers within its event loop; silence for this long means that it will not.
const PATIENCE_NS: u64 = 1000 * MS;
/// A hostapd that is absent or begins again is looked for so often.
const AGAIN_NS: u64 = 2000 * MS;
/// How long the field's way waits for one answer.
const PATIENCE_NOW: Duration = Duration::from_millis(200);
/// A station that gives no identity after so many questions keeps none.
const MOST_TRIES: u8 = 5;
/// No answer is longer: hostapd's own buffer.
const LONGEST_ANSWER: usize = 4096;

/// A question about one station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its place in the table.
    pub slot: Slot,
    /// Its address.
    pub address: Address,
    /// Not before this moment, ns since boot.
    pub from_ns: u64,
    tries: u8,
}

impl Question {
    /// A first question.
    pub fn new(slot: Slot, address: Address, from_ns: u64) -> Self {
        Self { slot, address, from_ns, tries: 0 }
    }
}

/// Conversations with hostapd, one for each interface.
#[derive(Debug)]
pub struct Hostapd {
    /// Where the control sockets are; `None`: hostapd is not asked.
    folder: Option<PathBuf>,
    lines: BTreeMap<String, Line>,
    buffer: Vec<u8>,
}

/// The conversation about one interface.
#[derive(Debug, Default)]
struct Line {
    socket: Option<UnixDatagram>,
    waiting: VecDeque<Question>,
    asked: Option<(Question, u64)>,
    /// Not before this moment, after hostapd was not there.
    again_ns: u64,
}

impl Hostapd {
    /// Conversations through the sockets in this folder.
    pub fn new(folder: Option<&Path>) -> Self {
        Self {
            folder: folder.map(Path::to_owned),
            lines: BTreeMap::new(),
            buffer: vec![0; LONGEST_ANSWER],
        }
    }

    /// Descriptors that are readable when an answer has come.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.lines.values().filter_map(|line| line.socket.as_ref().map(AsFd::as_fd))
    }

    /// Whether any question is open.
    pub fn is_busy(&self) -> bool {
        self.lines.values().any(|line| line.asked.is_some() || !line.waiting.is_empty())
    }

    /// Puts a question behind the others of the interface.
    pub fn want(&mut self, interface: &str, question: Question) {
        if self.folder.is_none() {
            return;
        }
        if !self.lines.contains_key(interface) {
            self.lines.insert(interface.to_owned(), Line::default());
        }
        if let Some(line) = self.lines.get_mut(interface) {
            line.waiting.push_back(question);
        }
    }

    /// Forgets what was to be asked about an interface.
    pub fn forget(&mut self, interface: &str) {
        self.lines.remove(interface);
    }

    /// When [`Hostapd::advance`] wants to be called next, ns since boot.
    pub fn due(&self) -> Option<u64> {
        self.lines.values().filter_map(Line::due).min()
    }

    /// Asks what can be asked now, and gives up what was not answered.
    pub fn advance(&mut self, now_ns: u64, cost: &mut Cost) {
        let Some(folder) = &self.folder else { return };
        for (interface, line) in &mut self.lines {
            line.give_up(now_ns, cost);
            line.ask(&folder.join(interface), now_ns, cost);
        }
    }

    /// Takes the answers that have come.
    pub fn answers(&mut self, now_ns: u64, mut take: impl FnMut(Question, Identity)) {
        for line in self.lines.values_mut() {
            while let Some((question, answer)) = line.answer(&mut self.buffer) {
                match Identity::parse(&answer) {
                    // One that is still shaking hands has not told everything yet.
                    Some(identity) if identity.has("AUTHORIZED") => take(question, identity),
                    Some(identity) => {
                        take(question, identity);
                        line.once_more(question, now_ns);
                    }
                    None => line.once_more(question, now_ns),
                }
            }
        }
    }

    /// Asks about one station and waits for the answer: the field's way.
    pub fn ask_now(
        &mut self,
        interface: &str,
        address: Address,
        cost: &mut Cost,
    ) -> Option<Identity> {
        let folder = self.folder.as_ref()?;
        let line = self.lines.entry(interface.to_owned()).or_default();
        if line.socket.is_none() {
            line.socket = connect(&folder.join(interface)).ok();
        }
        let socket = line.socket.as_ref()?;
        cost.hostapd_requests += 1;
        let answer = exchange(socket, &command(address), &mut self.buffer);
        match answer {
            Ok(length) => Identity::parse(&String::from_utf8_lossy(&self.buffer[..length])),
            Err(_) => {
                cost.hostapd_timeouts += 1;
                line.socket = None;
                None
            }
        }
    }
}

impl Line {
    fn due(&self) -> Option<u64> {
        match &self.asked {
            Some((_, at_ns)) => Some(at_ns + PATIENCE_NS),
            None => {
                let first = self.waiting.iter().map(|question| question.from_ns).min()?;
                Some(first.max(self.again_ns))
            }
        }
    }

    fn give_up(&mut self, now_ns: u64, cost: &mut Cost) {
        if self.asked.is_some_and(|(_, at_ns)| now_ns >= at_ns + PATIENCE_NS) {
            cost.hostapd_timeouts += 1;
            // A new socket, so that an answer that comes after all is not taken for another's.
            self.socket = None;
            if let Some((question, _)) = self.asked.take() {
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

    fn ask(&mut self, path: &Path, now_ns: u64, cost: &mut Cost) {
        if self.asked.is_some() || now_ns < self.again_ns {
            return;
        }
        let is_due = |question: &Question| now_ns >= question.from_ns;
        let Some(place) = self.waiting.iter().position(is_due) else { return };
        if self.socket.is_none() {
            self.socket = connect(path).ok();
        }
        let question = self.waiting[place];
        let sent = self.socket.as_ref().map(|socket| socket.send(&command(question.address)));
        match sent {
            Some(Ok(_)) => {
                self.waiting.remove(place);
                self.asked = Some((question, now_ns));
                cost.hostapd_requests += 1;
            }
            Some(Err(_)) | None => {
                self.socket = None;
                self.again_ns = now_ns + AGAIN_NS;
            }
        }
    }

    fn answer(&mut self, buffer: &mut [u8]) -> Option<(Question, String)> {
        let length = self.socket.as_ref()?.recv(buffer).ok()?;
        let answer = String::from_utf8_lossy(&buffer[..length]).into_owned();
        // What nobody asked for, such as an event, is nobody's answer.
        let (question, _) = self.asked.take()?;
        Some((question, answer))
    }
}

fn command(address: Address) -> Vec<u8> {
    let [a, b, c, d, e, f] = address;
    format!("STA {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}").into_bytes()
}

/// A socket with an abstract name: it leaves no file behind, and needs no folder to write to.
fn connect(path: &Path) -> io::Result<UnixDatagram> {
    let interface = path.file_name().unwrap_or_default().to_string_lossy();
    for attempt in 0..16 {
        let name = format!("stationd-{}-{interface}-{attempt}", std::process::id());
        match UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error),
            Ok(socket) => {
                socket.connect(path)?;
                socket.set_nonblocking(true)?;
                return Ok(socket);
            }
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

fn exchange(socket: &UnixDatagram, command: &[u8], buffer: &mut [u8]) -> io::Result<usize> {
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(PATIENCE_NOW))?;
    socket.send(command)?;
    let length = socket.recv(buffer);
    socket.set_nonblocking(true)?;
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: Address = [2, 0, 0, 0, 1, 0];
    const ANSWER: &str = "02:00:00:00:01:00\nflags=[AUTH][ASSOC][AUTHORIZED]\naid=1\n";

    /// A control socket, as hostapd has it, in a folder of its own.
    struct There {
        folder: tempfile::TempDir,
        socket: UnixDatagram,
    }

    impl There {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let socket = UnixDatagram::bind(folder.path().join("wlan0")).unwrap();
            Self { folder, socket }
        }

        fn answer(&self, text: &str) -> String {
            let mut bytes = [0; 64];
            let (length, from) = self.socket.recv_from(&mut bytes).unwrap();
            self.socket.send_to_addr(text.as_bytes(), &from).unwrap();
            String::from_utf8_lossy(&bytes[..length]).into_owned()
        }
    }

    fn identities(hostapd: &mut Hostapd, now_ns: u64) -> Vec<(Slot, Option<u16>)> {
        let mut found = Vec::new();
        hostapd.answers(now_ns, |question, identity| found.push((question.slot, identity.aid)));
        found
    }

    #[test]
    fn a_station_is_asked_for_and_its_identity_comes_back() {
        let there = There::new();
        let mut hostapd = Hostapd::new(Some(there.folder.path()));
        let mut cost = Cost::default();
        hostapd.want("wlan0", Question::new(7, STATION, 100));
        assert_eq!(hostapd.due(), Some(100));
        hostapd.advance(99, &mut cost);
        assert_eq!(cost.hostapd_requests, 0, "not yet");
        hostapd.advance(100, &mut cost);
        assert_eq!(there.answer(ANSWER), "STA 02:00:00:00:01:00");
        assert_eq!(identities(&mut hostapd, 101), [(7, Some(1))]);
        assert!(!hostapd.is_busy());
    }

    #[test]
    fn a_station_that_still_shakes_hands_is_asked_again() {
        let there = There::new();
        let mut hostapd = Hostapd::new(Some(there.folder.path()));
        hostapd.want("wlan0", Question::new(7, STATION, 0));
        hostapd.advance(0, &mut Cost::default());
        there.answer("02:00:00:00:01:00\nflags=[AUTH][ASSOC]\naid=1\n");
        assert_eq!(identities(&mut hostapd, 5), [(7, Some(1))]);
        assert_eq!(hostapd.due(), Some(5 + AGAIN_NS));
    }

    #[test]
    fn an_absent_hostapd_is_looked_for_again_and_costs_nothing_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let mut hostapd = Hostapd::new(Some(folder.path()));
        let mut cost = Cost::default();
        hostapd.want("wlan0", Question::new(7, STATION, 0));
        hostapd.advance(0, &mut cost);
        assert_eq!((cost.hostapd_requests, hostapd.due()), (0, Some(AGAIN_NS)));
        let there = UnixDatagram::bind(folder.path().join("wlan0")).unwrap();
        hostapd.advance(AGAIN_NS, &mut cost);
        assert_eq!(cost.hostapd_requests, 1);
        drop(there);
    }

    #[test]
    fn a_hostapd_that_does_not_answer_is_given_up_after_some_questions() {
        let there = There::new();
        let mut hostapd = Hostapd::new(Some(there.folder.path()));
        let mut cost = Cost::default();
        hostapd.want("wlan0", Question::new(7, STATION, 0));
        while let Some(due) = hostapd.due() {
            hostapd.advance(due, &mut cost);
        }
        assert_eq!(cost.hostapd_requests, u64::from(MOST_TRIES));
        assert_eq!(cost.hostapd_timeouts, u64::from(MOST_TRIES));
    }

    #[test]
    fn the_fields_way_waits_for_the_answer() {
        let there = There::new();
        let mut hostapd = Hostapd::new(Some(there.folder.path()));
        let mut cost = Cost::default();
        std::thread::scope(|scope| {
            scope.spawn(|| there.answer(ANSWER));
            assert_eq!(hostapd.ask_now("wlan0", STATION, &mut cost).unwrap().aid, Some(1));
        });
        assert_eq!(hostapd.ask_now("wlan9", STATION, &mut cost), None);
    }
}
