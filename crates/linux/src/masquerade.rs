//! Translated source addresses: one table of nf_tables with one rule, made and removed.
//!
//! All packets that leave the calling thread's network namespace get the address of the link; connections are tracked.
//!
//! Formats: `include/uapi/linux/netfilter/{nfnetlink,nf_tables}.h`. Minimum kernel: 3.18 (`nft_masq`).

use rustix::io::Errno;

use crate::netlink::{Error, NLM_F_ACK, Protocol, Request, Socket, unless};

/// In the upper byte of a type, and as a batch names it.
const NF_TABLES: u16 = libc::NFNL_SUBSYS_NFTABLES as u16;
const NEWTABLE: u16 = NF_TABLES << 8 | libc::NFT_MSG_NEWTABLE as u16;
const DELTABLE: u16 = NF_TABLES << 8 | libc::NFT_MSG_DELTABLE as u16;
const NEWCHAIN: u16 = NF_TABLES << 8 | libc::NFT_MSG_NEWCHAIN as u16;
const NEWRULE: u16 = NF_TABLES << 8 | libc::NFT_MSG_NEWRULE as u16;

/// `struct nfgenmsg`: family, version, and which subsystem, in network order.
const BATCH: [u8; 4] = [0, 0, 0, NF_TABLES as u8];
const IPV4: [u8; 4] = [2, 0, 0, 0];

const TABLE: &str = "headroom";
const CHAIN: &str = "out";

/// Translates from now on.
/// Fails with [`Error::Refused`]: `ENOENT` and `EOPNOTSUPP` where the kernel lacks it, `EPERM` without the right.
pub fn add() -> Result<(), Error> {
    let table = Request::new("NFT_MSG_NEWTABLE", NEWTABLE).fixed(&IPV4).text(1, TABLE);
    let hook = Request::new("hook", 0)
        .attribute(1, &libc::NF_INET_POST_ROUTING.to_be_bytes())
        .attribute(2, &libc::NF_IP_PRI_NAT_SRC.to_be_bytes());
    let chain = Request::new("NFT_MSG_NEWCHAIN", NEWCHAIN)
        .fixed(&IPV4)
        .text(1, TABLE)
        .text(3, CHAIN)
        .nest(4, &hook)
        .text(7, "nat");
    let expression = Request::new("expression", 0).text(1, "masq");
    let expressions = Request::new("expressions", 0).nest(1, &expression);
    let rule = Request::new("NFT_MSG_NEWRULE", NEWRULE)
        .flags(libc::NLM_F_APPEND as u16)
        .fixed(&IPV4)
        .text(1, TABLE)
        .text(2, CHAIN)
        .nest(4, &expressions);
    act("NFT_MSG_NEWRULE", &[table, chain, rule], libc::NLM_F_CREATE as u16)
}

/// Translates no more; where it never did that is success.
pub fn remove() -> Result<(), Error> {
    let table = Request::new("NFT_MSG_DELTABLE", DELTABLE).fixed(&IPV4).text(1, TABLE);
    unless(Errno::NOENT, act("NFT_MSG_DELTABLE", &[table], 0))
}

/// Sends requests as one batch, which is carried out whole or not at all; only the last is acknowledged.
fn act(name: &'static str, requests: &[Request], flags: u16) -> Result<(), Error> {
    // All have the number that a new conversation begins with.
    let edge = |kind: i32| Request::new(name, kind as u16).fixed(&BATCH).bytes(0, 1);
    let mut batch = edge(libc::NFNL_MSG_BATCH_BEGIN);
    for (place, request) in (1..).zip(requests) {
        let ask = if place == requests.len() { NLM_F_ACK } else { 0 };
        batch.extend(request.bytes(flags | ask, 1));
    }
    batch.extend(edge(libc::NFNL_MSG_BATCH_END));
    Socket::open(Protocol::Netfilter)?.walk(name, &mut batch, |_| {}).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_made_and_removed_in_a_namespace_of_its_own() {
        let made = std::thread::spawn(|| {
            crate::link::enter_new_network_namespace().map_err(|error| error.to_string())?;
            add().map_err(|error| crate::error::chain(&error))?;
            remove().unwrap();
            remove().unwrap();
            Ok::<(), String>(())
        });
        if let Err(why) = made.join().unwrap() {
            skip::skip!("addresses cannot be translated here: {why}");
        }
    }
}
