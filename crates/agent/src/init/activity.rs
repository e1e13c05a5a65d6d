//! Makes clients send, roam, leave and join at fixed moments, until they are asked to be still.
//!
//! A program of its own, for windows of measurement on the virtual access point: `headroom-agent --move-clients`.
//! Each client sends a small packet to its access point, which answers, so that every counter moves both ways; one
//! client after another roams, and one after another leaves and joins again. A client's radio can tune to one channel
//! and its siblings share it, so a roam leads back to the same access point: an authentication and a reassociation
//! that hostapd and the kernel take for a new association. The moments lie between the polls of a load of whole
//! seconds. At the end everybody is brought back.

use std::{
    fs,
    net::Ipv4Addr,
    os::fd::OwnedFd,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use linux::{
    link::Links, namespace::Network, nl80211::Nl80211, packet, process::Signals,
    system::monotonic_ns,
};
use model::span::Span;
use rustix::process::Signal;

use super::{
    error::{Doing, Error},
    mounts::STATE,
    namespace::CLIENTS,
    supplicant,
    topology::{Client, Topology, access_point_address},
};

use crate::{control::Control, identity};

pub const WORD: &str = "--move-clients";

/// All clients must be back within this at the end.
const PATIENCE: Duration = Duration::from_secs(8);
const LOOK: Duration = Duration::from_millis(50);
/// Where in a second packets are sent, clients roam and leave, ns: polls are at its beginning.
const MOMENTS_NS: [u64; 3] = [250_000_000, 500_000_000, 600_000_000];
/// A client that leaves is away for this long, ns.
const AWAY_NS: u64 = 2_000_000_000;

/// What happens again and again.
const KEYS: [&str; 3] = ["packets", "roams", "leaves"];

/// How often each of [`KEYS`] happens, from words as `packets=1s`; `None` never does.
fn rates(words: &[&str]) -> Result<[Option<Span>; 3], Error> {
    let mut rates = [None; 3];
    for word in words {
        let wrong = || Error::new(format!("{word}: write packets=SPAN, roams=SPAN or leaves=SPAN"));
        let (key, value) = word.split_once('=').ok_or_else(wrong)?;
        let place = KEYS.iter().position(|known| *known == key).ok_or_else(wrong)?;
        let span: Span = value.parse().map_err(|_| wrong())?;
        rates[place] = Some(span).filter(|span| span.as_nanos() > 0);
    }
    Ok(rates)
}

#[derive(Clone, Copy, Debug)]
struct Repeated {
    every_ns: u64,
    next_ns: u64,
}

impl Repeated {
    fn new(every: Option<Span>, first_ns: u64) -> Option<Self> {
        Some(Self { every_ns: every?.as_nanos(), next_ns: first_ns })
    }

    /// Whether its moment has come; the next one is set then.
    fn take(this: &mut Option<Self>, now_ns: u64) -> bool {
        let Some(this) = this.as_mut().filter(|this| this.next_ns <= now_ns) else { return false };
        this.next_ns += this.every_ns;
        true
    }
}

#[derive(Debug)]
struct MovedClient {
    client: Client,
    radio: usize,
    socket: OwnedFd,
    packet: Vec<u8>,
}

/// All clients, and the supplicants that give them orders.
struct Clients {
    all: Vec<MovedClient>,
    /// The supplicant of each radio, and the address of its access point.
    radios: Vec<(Control, String)>,
    /// Clients that are away, and until when, ns.
    away: Vec<(usize, u64)>,
    roamed: usize,
    left: usize,
}

/// Moves clients until SIGTERM.
/// Fails for words that are none, without clients, and where a client did not come back.
pub fn run(words: &[&str]) -> Result<(), Error> {
    let [packets, roams, leaves] = rates(words)?;
    let signals =
        Signals::block(&[Signal::TERM, Signal::INT]).doing(|| "ask for signals".into())?;
    let line = fs::read_to_string("/proc/cmdline").doing(|| "read /proc/cmdline".into())?;
    let topology = Topology::from_command_line(&line)?;
    let mut clients = Clients::open(&topology)?;
    let begun_ns = monotonic_ns();
    let mut packets = Repeated::new(packets, begun_ns + MOMENTS_NS[0]);
    let mut roams = Repeated::new(roams, begun_ns + MOMENTS_NS[1]);
    let mut leaves = Repeated::new(leaves, begun_ns + MOMENTS_NS[2]);
    while signals.next().is_none() {
        let now_ns = monotonic_ns();
        if Repeated::take(&mut packets, now_ns) {
            clients.send();
        }
        if Repeated::take(&mut roams, now_ns) {
            clients.roam()?;
        }
        if Repeated::take(&mut leaves, now_ns) {
            clients.leave(now_ns + AWAY_NS)?;
        }
        clients.bring_back(now_ns)?;
        let moments = [packets, roams, leaves].into_iter().flatten().map(|one| one.next_ns);
        let next_ns = moments.chain(clients.away.iter().map(|(_, until)| *until)).min();
        let left = next_ns.map_or(LOOK, |next| Duration::from_nanos(next.saturating_sub(now_ns)));
        sleep(left.min(LOOK));
    }
    clients.bring_back(u64::MAX)?;
    clients.wait_for_all()
}

impl Clients {
    fn open(topology: &Topology) -> Result<Self, Error> {
        let points = access_points()?;
        let clients = Network::open(Path::new(CLIENTS)).and_then(|network| network.enter());
        clients.doing(|| format!("enter {CLIENTS}"))?;
        let mut links = Links::open().doing(|| "open rtnetlink".into())?;
        let (mut all, mut radios) = (Vec::new(), Vec::new());
        for radio in 0..topology.radios {
            let name = format!("wlan{radio}");
            let point = points.iter().find(|(found, _)| *found == name);
            let (_, point) = point.ok_or_else(|| Error::new(format!("there is no link {name}")))?;
            if topology.clients_of(radio).next().is_none() {
                continue;
            }
            let there = supplicant::global(radio);
            let own = format!("{STATE}/move-clients-{radio}");
            let control =
                Control::connect(own, Path::new(&there)).doing(|| format!("ask {there}"))?;
            for client in topology.clients_of(radio) {
                let name = client.interface();
                let index =
                    links.index(&name).doing(|| format!("find {name}"))?.unwrap_or_default();
                let socket = packet::open(index, None).doing(|| format!("send from {name}"))?;
                let packet = echo_request(client, *point, access_point_address(radio));
                all.push(MovedClient { client, radio: radios.len(), socket, packet });
            }
            radios.push((control, identity::address(*point)));
        }
        match all.is_empty() {
            true => Err(Error::new("no client is there to be moved".to_owned())),
            false => Ok(Self { all, radios, away: Vec::new(), roamed: 0, left: 0 }),
        }
    }

    fn send(&self) {
        for moved in &self.all {
            // One who is away cannot send, and is none the worse for it.
            let _ = rustix::io::write(&moved.socket, &moved.packet);
        }
    }

    /// The next from the front roams.
    fn roam(&mut self) -> Result<(), Error> {
        let place = self.roamed % self.all.len();
        self.roamed += 1;
        if self.away.iter().any(|(away, _)| *away == place) {
            return Ok(());
        }
        let point = self.radios[self.all[place].radio].1.clone();
        self.order(place, &format!("ROAM {point}"))
    }

    /// The next from the back leaves.
    fn leave(&mut self, until_ns: u64) -> Result<(), Error> {
        let place = self.all.len() - 1 - self.left % self.all.len();
        self.left += 1;
        self.away.push((place, until_ns));
        self.order(place, "DISCONNECT")
    }

    /// Those that have been away for long enough join again.
    fn bring_back(&mut self, now_ns: u64) -> Result<(), Error> {
        let (back, away): (Vec<_>, Vec<_>) =
            self.away.iter().copied().partition(|(_, until)| *until <= now_ns);
        self.away = away;
        back.into_iter().try_for_each(|(place, _)| self.order(place, "RECONNECT"))
    }

    fn order(&self, place: usize, order: &str) -> Result<(), Error> {
        let name = self.all[place].client.interface();
        let control = &self.radios[self.all[place].radio].0;
        control.order(&format!("IFNAME={name} {order}")).doing(|| format!("move {name}"))
    }

    fn wait_for_all(&self) -> Result<(), Error> {
        let until = Instant::now() + PATIENCE;
        for moved in &self.all {
            let name = moved.client.interface();
            let question = format!("IFNAME={name} STATUS");
            while !self.radios[moved.radio].0.ask(&question).is_ok_and(|status| is_back(&status)) {
                if Instant::now() > until {
                    return Err(Error::new(format!("{name} did not come back")));
                }
                sleep(LOOK);
            }
        }
        Ok(())
    }
}

fn is_back(status: &str) -> bool {
    status.lines().any(|line| line == "wpa_state=COMPLETED")
}

fn access_points() -> Result<Vec<(String, [u8; 6])>, Error> {
    let listed = Nl80211::open().and_then(|mut nl80211| nl80211.interfaces());
    let all = listed.doing(|| "list the interfaces".into())?;
    Ok(all.into_iter().map(|one| (one.name, one.address)).collect())
}

/// An Ethernet frame with an echo request (RFC 792) of 16 bytes; the kernel of the access point answers it.
fn echo_request(client: Client, point: [u8; 6], to: Ipv4Addr) -> Vec<u8> {
    let mut icmp = vec![8, 0, 0, 0, 0x68, 0x72, 0, 1];
    icmp.extend([0x2a; 16]);
    let sum = checksum(&icmp);
    icmp[2..4].copy_from_slice(&sum);
    // Version and length, service, length, number, fragments, hops, protocol ICMP, checksum.
    let mut ip = vec![0x45, 0, 0, 20 + icmp.len() as u8, 0, 0, 0x40, 0, 64, 1, 0, 0];
    ip.extend(client.address().octets());
    ip.extend(to.octets());
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum);
    [&point[..], &client.hardware_address(), &[8, 0], &ip, &icmp].concat()
}

/// The Internet's checksum (RFC 1071) of an even number of bytes.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes.chunks_exact(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    (!((folded & 0xffff) + (folded >> 16)) as u16).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_request_is_what_the_access_point_answers() {
        let topology = Topology::from_command_line("headroom.clients=6").unwrap();
        let client = topology.clients_of(1).next().unwrap();
        let frame = echo_request(client, [2, 0, 0, 0, 1, 0], access_point_address(1));
        assert_eq!(frame.len(), 14 + 20 + 24);
        assert_eq!(frame[..14], [2, 0, 0, 0, 1, 0, 2, 0, 0, 1, 0, 1, 8, 0]);
        assert_eq!(frame[26..34], [10, 1, 1, 1, 10, 1, 0, 1]);
        // A sum over what holds its own checksum is nothing.
        assert_eq!((checksum(&frame[14..34]), checksum(&frame[34..])), ([0, 0], [0, 0]));
    }

    #[test]
    fn words_say_how_often_and_a_wrong_one_what_would_be_right() {
        let [packets, roams, _] = rates(&["packets=1s", "leaves=500ms"]).unwrap();
        assert_eq!((packets, roams), (Some(Span::from_secs(1)), None));
        for wrong in ["packets", "packets=often", "dances=1s"] {
            assert!(rates(&[wrong]).unwrap_err().to_string().contains("write packets=SPAN"));
        }
    }

    #[test]
    fn moments_that_are_passed_are_made_up_for_one_by_one() {
        let mut repeated = Repeated::new(Some(Span::from_nanos(10)), 5);
        let taken: Vec<bool> =
            [4, 5, 14, 30, 30, 30].map(|now| Repeated::take(&mut repeated, now)).to_vec();
        assert_eq!(taken, [false, true, false, true, true, false]);
    }
}
