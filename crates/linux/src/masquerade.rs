//! Translated source addresses: one table of nf_tables with one rule, made and removed.
//!
//! Talks to netfilter over [`crate::netlink`], in the calling thread's network namespace. All packets that
//! leave over any link get that link's address; connections are tracked from then on. It knows no other rule
//! and touches no other table.
//!
//! Formats: `include/uapi/linux/netfilter/{nfnetlink,nf_tables}.h`. Minimum kernel: 3.18 (`nft_masq`).

use std::io;

use rustix::io::Errno;

use crate::netlink::{Error, Patience, Protocol, Request, Transport, Wire};

const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
/// `NFNL_SUBSYS_NFTABLES`, in the upper byte of a type, and as a batch names it.
const NF_TABLES: u16 = 10;
const NEWTABLE: u16 = NF_TABLES << 8;
const DELTABLE: u16 = NF_TABLES << 8 | 2;
const NEWCHAIN: u16 = NF_TABLES << 8 | 3;
const NEWRULE: u16 = NF_TABLES << 8 | 6;

const NLM_F_ACK: u16 = 0x04;
const NLM_F_CREATE: u16 = 0x400;
const NLM_F_APPEND: u16 = 0x800;

const NLMSG_ERROR: u16 = 2;

/// `struct nfgenmsg`: family, version, and which subsystem, in network order.
const BATCH: [u8; 4] = [0, 0, 0, NF_TABLES as u8];
const IPV4: [u8; 4] = [2, 0, 0, 0];

/// `NF_INET_POST_ROUTING`, and `NF_IP_PRI_NAT_SRC`.
const POST_ROUTING: u32 = 4;
const SOURCE_NAT: u32 = 100;

/// Our table.
const TABLE: &str = "headroom";
const CHAIN: &str = "out";

/// Translates from now on.
///
/// # Errors
///
/// [`Error::Refused`]: `ENOENT` and `EOPNOTSUPP` where the kernel lacks it, `EPERM` without the right.
pub fn add() -> Result<(), Error> {
    let table = Request::new("NFT_MSG_NEWTABLE", NEWTABLE).fixed(&IPV4).text(1, TABLE);
    let hook = Request::new("hook", 0)
        .attribute(1, &POST_ROUTING.to_be_bytes())
        .attribute(2, &SOURCE_NAT.to_be_bytes());
    let chain = Request::new("NFT_MSG_NEWCHAIN", NEWCHAIN)
        .fixed(&IPV4)
        .text(1, TABLE)
        .text(3, CHAIN)
        .nest(4, &hook)
        .text(7, "nat");
    let expression = Request::new("expression", 0).text(1, "masq");
    let expressions = Request::new("expressions", 0).nest(1, &expression);
    let rule = Request::new("NFT_MSG_NEWRULE", NEWRULE)
        .flags(NLM_F_APPEND)
        .fixed(&IPV4)
        .text(1, TABLE)
        .text(2, CHAIN)
        .nest(4, &expressions);
    act("NFT_MSG_NEWRULE", &[table, chain, rule], NLM_F_CREATE)
}

/// Translates no more; where it never did that is success.
///
/// # Errors
///
/// The kernel's refusal.
pub fn remove() -> Result<(), Error> {
    let table = Request::new("NFT_MSG_DELTABLE", DELTABLE).fixed(&IPV4).text(1, TABLE);
    match act("NFT_MSG_DELTABLE", &[table], 0) {
        Err(error) if error.is_refusal(Errno::NOENT) => Ok(()),
        result => result,
    }
}

/// Sends requests as one batch, which is carried out whole or not at all; only the last is acknowledged.
fn act(name: &'static str, requests: &[Request], flags: u16) -> Result<(), Error> {
    let failed = |errno: Errno| Error::Exchange { request: name, source: errno.into() };
    let mut wire = Wire::open(Protocol::Netfilter)?;
    let last = requests.len() as u32;
    let mut batch = Request::new(name, BATCH_BEGIN).fixed(&BATCH).bytes(0, 0);
    for (number, request) in (1..).zip(requests) {
        let ask = if number == last { NLM_F_ACK } else { 0 };
        batch.extend(request.bytes(flags | ask, number));
    }
    batch.extend(Request::new(name, BATCH_END).fixed(&BATCH).bytes(0, last + 1));
    wire.send(&batch).map_err(failed)?;
    let mut buffer = vec![0; 8192];
    let length = wire.receive(&mut buffer, Patience::Wait).map_err(failed)?;
    match answer(&buffer[..length.min(buffer.len())]) {
        Some(0) => Ok(()),
        Some(number) => {
            let source = io::Error::from_raw_os_error(-number);
            Err(Error::Refused { request: name, text: None, source })
        }
        None => Err(Error::Malformed { request: name, what: "no acknowledgement" }),
    }
}

/// The error number of an acknowledgement, which is the first word behind the header; 0 is none.
fn answer(datagram: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(*datagram.get(4..)?.first_chunk()?);
    let number = i32::from_ne_bytes(*datagram.get(16..)?.first_chunk()?);
    (kind == NLMSG_ERROR).then_some(number)
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

    #[test]
    fn an_answer_that_is_cut_or_none_is_not_success() {
        assert_eq!(answer(&[0; 8]), None);
        assert_eq!(answer(&[0; 32]), None);
        let mut refusal = [0; 32];
        refusal[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
        refusal[16..20].copy_from_slice(&(-2_i32).to_ne_bytes());
        assert_eq!(answer(&refusal), Some(-2));
    }
}
