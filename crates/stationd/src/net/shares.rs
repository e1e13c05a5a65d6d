//! Fair shares: who gives way when what all share runs out.
//!
//! A user holds what its processes hold, so that no one gets more by starting more of them. Pure.

use std::collections::BTreeMap;

use linux::sockets::Peer;

/// Whose connection is closed for a newcomer's: one of the process that holds most, of the user who holds most.
/// `None` where the newcomer would then hold as many as it.
pub(super) fn gives_way(newcomer: Peer, holders: &[Peer]) -> Option<Peer> {
    let users = counted(holders.iter().map(|one| (one.uid, 1)));
    let (greediest, most) = largest(&users)?;
    let own = users.get(&newcomer.uid).copied().unwrap_or_default();
    // Who holds as many as anybody may still have processes that hold more than others.
    let uid = if own + 1 < most { greediest } else { newcomer.uid };
    let of_user = holders.iter().filter(|one| one.uid == uid);
    let processes = counted(of_user.map(|one| (one.pid, 1)));
    let (pid, most) = largest(&processes)?;
    let own = processes.get(&newcomer.pid).copied().unwrap_or_default();
    (uid != newcomer.uid || own + 1 < most).then_some(Peer { uid, pid })
}

/// Whose connection is dropped where all of them leave too much unread: the one that leaves most, of the user who
/// leaves most. `None` where at most one leaves anything: a single reply may be long.
pub(super) fn leaves_most(unread: &[(u32, Peer, usize)]) -> Option<u32> {
    if unread.len() < 2 {
        return None;
    }
    let users = counted(unread.iter().map(|(_, peer, bytes)| (peer.uid, *bytes)));
    let (uid, _) = largest(&users)?;
    let of_user = unread.iter().filter(|(_, peer, _)| peer.uid == uid);
    of_user.max_by_key(|(_, _, bytes)| *bytes).map(|(place, _, _)| *place)
}

fn counted<K: Ord>(held: impl Iterator<Item = (K, usize)>) -> BTreeMap<K, usize> {
    let mut sums = BTreeMap::new();
    for (holder, amount) in held {
        *sums.entry(holder).or_default() += amount;
    }
    sums
}

fn largest<K: Ord + Copy>(sums: &BTreeMap<K, usize>) -> Option<(K, usize)> {
    sums.iter().max_by_key(|(_, amount)| **amount).map(|(holder, amount)| (*holder, *amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(uid: u32, pid: u32) -> Peer {
        Peer { uid, pid: Some(pid) }
    }

    #[test]
    fn the_process_that_holds_most_of_the_user_who_holds_most_gives_way() {
        let holders = [peer(1, 10), peer(1, 10), peer(1, 11), peer(2, 20)];
        assert_eq!(gives_way(peer(3, 30), &holders), Some(peer(1, 10)));
        assert_eq!(gives_way(peer(2, 21), &holders), Some(peer(1, 10)));
    }

    #[test]
    fn no_one_gives_way_to_who_holds_as_many() {
        let holders = [peer(1, 10), peer(1, 10), peer(2, 20), peer(2, 21)];
        assert_eq!(gives_way(peer(1, 10), &holders), None);
        assert_eq!(gives_way(peer(2, 22), &holders), None);
        assert_eq!(gives_way(peer(1, 11), &holders[..3]), Some(peer(1, 10)), "its own user's");
        assert_eq!(gives_way(peer(3, 30), &[peer(1, 10), peer(2, 20)]), None);
        assert_eq!(gives_way(peer(3, 30), &[]), None);
    }

    #[test]
    fn who_leaves_most_unread_is_dropped_and_a_single_one_is_not() {
        let unread = [(0, peer(1, 10), 600), (1, peer(2, 20), 500), (2, peer(2, 20), 400)];
        assert_eq!(leaves_most(&unread), Some(1));
        assert_eq!(leaves_most(&unread[..2]), Some(0));
        assert_eq!(leaves_most(&unread[..1]), None);
    }
}
