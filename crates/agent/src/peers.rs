//! Who talks to the subject: the processes at the other ends of its sockets.
//!
//! It sees what is connected as it looks: nothing that comes and goes between two looks or sends without connecting,
//! and no unix sockets where the kernel lacks `unix_diag`.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
};

use linux::{
    proc,
    sockets::{self, Tcp, Unix},
};
use model::pause::Peer;

/// All who have been seen to talk to the subject.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    subject: Vec<u32>,
    /// By name and way; the first process that was seen.
    seen: BTreeMap<(String, String), u32>,
}

impl Peers {
    pub(crate) fn new(subject: &[u32]) -> Self {
        Self { subject: subject.to_vec(), seen: BTreeMap::new() }
    }

    pub(crate) fn look(&mut self) {
        for peer in of(&self.subject) {
            self.seen.entry((peer.name, peer.through)).or_insert(peer.pid);
        }
    }

    /// Everybody, each once by name and way, in order.
    pub(crate) fn all(self) -> Vec<Peer> {
        let peer = |((name, through), pid)| Peer { name, pid, through };
        self.seen.into_iter().map(peer).collect()
    }
}

/// The processes that talk to these now, without these and ourselves.
pub(crate) fn of(subject: &[u32]) -> Vec<Peer> {
    owners(&ends_of(subject), subject)
}

/// Through what the subject is now a client of one of these processes; `None` where it is of none.
pub(crate) fn asked(subject: &[u32], consumer: &[u32]) -> Option<String> {
    let ends = ends_of(subject);
    let mut held = consumer.iter().flat_map(|&pid| sockets::inodes_of(pid));
    held.find_map(|inode| ends.get(&inode).filter(|way| way.serves)).map(|way| way.name.clone())
}

fn ends_of(subject: &[u32]) -> Ends {
    let held: BTreeSet<u32> = subject.iter().flat_map(|&pid| sockets::inodes_of(pid)).collect();
    let Some(&first) = subject.first().filter(|_| !held.is_empty()) else { return Ends::new() };
    // Absent where the kernel cannot tell.
    let unix = sockets::unix_of(first).unwrap_or_default();
    let mut ends = unix_ends(&held, &unix);
    ends.extend(tcp_ends(&held, &sockets::tcp_of(first)));
    // Both ends may be the subject's own.
    ends.retain(|inode, _| !held.contains(inode));
    ends
}

/// The other ends of these sockets, and the way there.
type Ends = BTreeMap<u32, Way>;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Way {
    /// As `unix /run/stationd.sock`.
    name: String,
    /// Whether the other end is the server's: that somebody listens at, or that is sent to.
    serves: bool,
}

/// The other ends of unix sockets: those that ours send to, and those that send to ours.
fn unix_ends(held: &BTreeSet<u32>, all: &[Unix]) -> Ends {
    let known: BTreeMap<u32, &Unix> = all.iter().map(|one| (one.inode, one)).collect();
    let name = |inode: u32| known.get(&inode)?.name.as_deref();
    let listens = |inode: u32| {
        name(inode).is_some_and(|name| {
            all.iter().any(|one| one.peer.is_none() && one.name.as_deref() == Some(name))
        })
    };
    let mut ends = Ends::new();
    for one in all {
        let Some(peer) = one.peer else { continue };
        let (ours, theirs) = match (held.contains(&one.inode), held.contains(&peer)) {
            (true, false) => (one.inode, peer),
            (false, true) => (peer, one.inode),
            _ => continue,
        };
        // Of a connection the subject's end names the way, as a server's does; of a socket that only sends,
        // the one that it sends to: its own name, if any, is a temporary one.
        let mutual = known.get(&peer).is_some_and(|other| other.peer == Some(one.inode));
        let (first, second) = if mutual { (ours, theirs) } else { (peer, one.inode) };
        let name = name(first).or_else(|| name(second)).unwrap_or("without a name");
        let serves = if mutual { listens(theirs) } else { theirs == peer };
        ends.insert(theirs, Way { name: format!("unix {name}"), serves });
    }
    ends
}

/// The other ends of TCP connections that stay on this machine.
fn tcp_ends(held: &BTreeSet<u32>, all: &[Tcp]) -> Ends {
    let connected: BTreeMap<(SocketAddr, SocketAddr), u32> = all
        .iter()
        .filter(|one| one.established)
        .map(|one| ((one.local, one.remote), one.inode))
        .collect();
    let listens = |port: u16| all.iter().any(|one| one.listens && one.local.port() == port);
    let ours = all.iter().filter(|one| one.established && held.contains(&one.inode));
    ours.filter_map(|one| {
        let theirs = *connected.get(&(one.remote, one.local)).filter(|&&inode| inode != 0)?;
        // The end that somebody waits at is the one that people know.
        let serves = listens(one.remote.port()) && !listens(one.local.port());
        let server = if serves { one.remote } else { one.local };
        Some((theirs, Way { name: format!("tcp {server}"), serves }))
    })
    .collect()
}

fn owners(ends: &Ends, subject: &[u32]) -> Vec<Peer> {
    let mut peers = Vec::new();
    if ends.is_empty() {
        return peers;
    }
    let own = std::process::id();
    let pids = proc::pids().unwrap_or_default();
    for pid in pids.into_iter().filter(|pid| *pid != own && !subject.contains(pid)) {
        let ways: BTreeSet<&String> = sockets::inodes_of(pid)
            .iter()
            .filter_map(|inode| ends.get(inode).map(|way| &way.name))
            .collect();
        if ways.is_empty() {
            continue;
        }
        // One that has just ended has no name any more, and nothing to answer for.
        let Ok(comm) = proc::read(format!("/proc/{pid}/comm")) else { continue };
        let name = String::from_utf8_lossy(&comm).trim_end().to_owned();
        peers.extend(ways.into_iter().map(|way| Peer {
            name: name.clone(),
            pid,
            through: way.clone(),
        }));
    }
    peers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unix(inode: u32, peer: u32, name: &str) -> Unix {
        Unix {
            inode,
            peer: (peer != 0).then_some(peer),
            name: (!name.is_empty()).then(|| name.to_owned()),
        }
    }

    fn tcp(local: &str, remote: &str, inode: u32) -> Tcp {
        let listens = remote.ends_with(":0");
        let (local, remote) = (local.parse().unwrap(), remote.parse().unwrap());
        Tcp { local, remote, established: !listens, listens, inode }
    }

    fn ends(all: &[(u32, &str, bool)]) -> Ends {
        let way = |name: &str, serves| Way { name: name.to_owned(), serves };
        all.iter().map(|&(inode, name, serves)| (inode, way(name, serves))).collect()
    }

    #[test]
    fn the_other_end_of_a_unix_socket_is_found_by_the_way_that_people_know() {
        // 1 listens, 2 was accepted and is connected with 3.
        let server = [unix(1, 0, "/run/s"), unix(2, 3, "/run/s"), unix(3, 2, "")];
        let named = [unix(1, 0, "/run/s"), unix(2, 3, "/run/s"), unix(3, 2, "@client")];
        let datagram = [unix(1, 0, "/run/hostapd/wlan0"), unix(2, 1, "/tmp/wpa_ctrl_9")];
        let pairs = [unix(1, 2, ""), unix(2, 1, ""), unix(5, 6, ""), unix(6, 5, "")];
        for (all, held, expected) in [
            (&server[..], &[1, 2][..], (3, "unix /run/s", false)),
            (&server, &[3], (2, "unix /run/s", true)),
            (&named, &[2], (3, "unix /run/s", false)),
            // Whatever has a name is not a server by that.
            (&named, &[3], (2, "unix @client", true)),
            (&datagram, &[1], (2, "unix /run/hostapd/wlan0", false)),
            (&datagram, &[2], (1, "unix /run/hostapd/wlan0", true)),
            (&pairs, &[1], (2, "unix without a name", false)),
        ] {
            let held: BTreeSet<u32> = held.iter().copied().collect();
            assert_eq!(unix_ends(&held, all), ends(&[expected]), "{held:?}");
        }
        assert_eq!(unix_ends(&[1, 2].into(), &pairs), Ends::new(), "its own ends are not peers");
    }

    #[test]
    fn a_connection_over_the_machine_itself_has_two_ends() {
        let all = [
            tcp("127.0.0.1:9100", "0.0.0.0:0", 1),
            tcp("127.0.0.1:9100", "127.0.0.1:40000", 2),
            tcp("127.0.0.1:40000", "127.0.0.1:9100", 3),
            tcp("192.168.1.1:9100", "192.168.1.7:5000", 4),
        ];
        let way = "tcp 127.0.0.1:9100";
        assert_eq!(tcp_ends(&[1, 2, 4].into(), &all), ends(&[(3, way, false)]));
        assert_eq!(tcp_ends(&[3].into(), &all), ends(&[(2, way, true)]));
        assert_eq!(tcp_ends(&[9].into(), &all), Ends::new());
    }

    #[test]
    fn without_sockets_there_are_no_peers() {
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[u32::MAX]), []);
        assert_eq!(asked(&[u32::MAX], &[u32::MAX]), None);
    }
}
