//! Queues in front of network interfaces (qdiscs): what waits in them, what they dropped.
//!
//! Talks to rtnetlink over [`crate::netlink`] and changes no queue. Only the root of each interface is
//! told: one with children (`mq`, `htb`) sums them up itself. A driver's own queues, and those of mac80211,
//! which stands behind `noqueue`, are not seen here.
//!
//! Layout: `include/uapi/linux/rtnetlink.h`, `pkt_sched.h`, `gen_stats.h`.

use libc::{RTM_GETQDISC, TCA_KIND, TCA_STATS2};

use crate::netlink::{Attributes, Error, NLM_F_DUMP, Protocol, Request, Socket, u32_at};

const GET_QDISC: &str = "RTM_GETQDISC";

/// `struct tcmsg`: family and padding, then interface, handle, parent, info.
const TCMSG: usize = 20;
const TC_H_ROOT: u32 = u32::MAX;

const TCA_STATS_QUEUE: u16 = 3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    pub interface: u32,
    /// Whether it is one that queues at all; `noqueue` and `noop` do not.
    pub queues: bool,
    pub backlog_bytes: u32,
    pub backlog_packets: u32,
    /// Packets that it dropped since it was made (32 bits, wraps).
    pub drops: u32,
    /// Times that it held packets back since it was made, by a rate of its own (32 bits, wraps). Queues without
    /// one, and some that count otherwise (`fq`), leave it at 0.
    pub overlimits: u32,
}

/// A conversation about queues, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Queues {
    socket: Socket,
    request: Vec<u8>,
}

impl Queues {
    pub fn open() -> Result<Self, Error> {
        let request = Request::new(GET_QDISC, RTM_GETQDISC).fixed(&[0; TCMSG]);
        let socket = Socket::open(Protocol::Route)?;
        Ok(Self { socket, request: request.bytes(NLM_F_DUMP, 0) })
    }

    /// Shows `each` interface's queue; interfaces that are down have none. It allocates nothing.
    /// Fails with [`Error::Refused`] with `EOPNOTSUPP` where the kernel has no traffic control.
    pub fn roots(&mut self, mut each: impl FnMut(Queue)) -> Result<(), Error> {
        let read = |payload: &[u8]| root(payload).into_iter().for_each(&mut each);
        self.socket.walk(GET_QDISC, &mut self.request, read).map(drop)
    }
}

/// Reads one message; `None` where it is of a queue below another, or counts nothing.
pub fn root(payload: &[u8]) -> Option<Queue> {
    let interface = u32_at(payload, 4)?;
    if u32_at(payload, 12)? != TC_H_ROOT {
        return None;
    }
    let attributes = Attributes::new(payload.get(TCMSG..)?);
    let kind = attributes.clone().find(TCA_KIND)?.payload;
    let kind = kind.split(|&byte| byte == 0).next()?;
    let queues = !matches!(kind, b"noqueue" | b"noop");
    // `struct gnet_stats_queue`: packets and bytes that wait, drops, requeues, times of holding back.
    let counts = attributes.find(TCA_STATS2)?.nested().find(TCA_STATS_QUEUE)?.payload;
    Some(Queue {
        interface,
        queues,
        backlog_packets: u32_at(counts, 0)?,
        backlog_bytes: u32_at(counts, 4)?,
        drops: u32_at(counts, 8)?,
        overlimits: u32_at(counts, 16)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(parent: u32, kind: &str, stats: Request) -> Vec<u8> {
        let mut fixed = [0; TCMSG];
        fixed[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        fixed[12..16].copy_from_slice(&parent.to_ne_bytes());
        let whole = Request::new("", 36).fixed(&fixed).text(TCA_KIND, kind);
        [whole.body(), stats.body()].concat()
    }

    fn stats(words: &[u32]) -> Request {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let inner = Request::new("", 0).attribute(TCA_STATS_QUEUE, &bytes);
        Request::new("", 0).nest(TCA_STATS2, &inner)
    }

    #[test]
    fn a_root_queue_reports_what_waits_and_what_it_dropped() {
        let queue = Queue {
            interface: 7,
            queues: true,
            backlog_bytes: 4500,
            backlog_packets: 3,
            drops: 17,
            overlimits: 9,
        };
        let told = |parent, kind| root(&message(parent, kind, stats(&[3, 4500, 17, 0, 9])));
        assert_eq!(told(TC_H_ROOT, "fq_codel"), Some(queue));
        assert_eq!(told(TC_H_ROOT, "noqueue").map(|queue| queue.queues), Some(false));
        assert_eq!(told(0x10_0000, "fq_codel"), None, "a child");
        assert_eq!(root(&message(TC_H_ROOT, "pfifo", stats(&[3, 4500, 17, 0]))), None, "cut");
    }

    #[test]
    fn this_kernel_answers() {
        let mut queues = Queues::open().unwrap();
        queues.roots(|queue| assert!(queue.interface > 0)).unwrap();
        queues.roots(|_| {}).expect("the same request again");
    }
}
