//! The two ends of a trial: a source that sends frames at a rate, and a sink that checks them.
//!
//! Both use packet sockets, in namespaces of their own, so that nothing else is on the way. The sink looks into its
//! socket from time to time only: latency is measured where frames come out, and a wake-up for each frame would be a
//! cost that the transmit path does not have.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

use model::card::PERIODS;
use rustix::{
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send, sockopt::set_socket_recv_buffer_size_force},
};

use crate::{
    frames::{self, Ledger, Proof},
    wait::clock::{monotonic_ns, sleep_until_ns},
};

/// Without a rate, this many frames may be on their way through the path, and this many on their way to the sink's look.
const AHEAD: (u64, u64) = (128, 4096);
/// Without a rate, and where this many are on their way, it looks again after this, ns.
const AHEAD_NS: u64 = 1_000_000;
/// The sink looks into its socket so often, ns.
const POLLS_NS: u64 = 20_000_000;
/// A flow is slower than its rate by one part in this many. A kernel's tick comes 250 times a second: of 440 frames a
/// second every 44th would meet every 25th tick in the same moment of its way, so that either each of these ticks is
/// charged to the driver, or none. A flow that slides along the tick meets it in all moments.
const SLIDES: u128 = 997;
/// Frames may wait in the sink's socket for some hundreds of milliseconds, bytes.
const SINK_ROOM: usize = 16 << 20;

/// What the ends and anyone who runs them tell each other.
#[derive(Debug, Default)]
pub struct Talk {
    pub quiet: AtomicBool,
    pub stop: AtomicBool,
    pub offered: AtomicU64,
    /// The source's thread; 0 before it runs.
    pub source: AtomicU32,
    /// When the first frame was due, ns; 0 before.
    pub begun_ns: AtomicU64,
    /// Frames that came out so far, as the path's observer counts them.
    pub emitted: AtomicU64,
    pub received: AtomicU64,
    /// Latencies count now.
    pub recording: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Frames a second; 0: as fast as they are taken.
    pub rate: u32,
    pub bytes: usize,
}

impl Flow {
    /// How long so many frames take, ns; `None` without a rate.
    fn takes_ns(self, frames: u64) -> Option<u64> {
        let ns = u128::from(frames) * 1_000_000_000 * (SLIDES + 1);
        ns.checked_div(u128::from(self.rate) * SLIDES).map(|ns| ns as u64)
    }

    /// How many frames' intervals have passed after so long.
    fn intervals(self, ns: u64) -> u64 {
        (u128::from(ns) * u128::from(self.rate) * SLIDES / (1_000_000_000 * (SLIDES + 1))) as u64
    }

    /// The first moment from `now_ns` on that lies midway between two frames of a flow that began at `begun_ns`: a
    /// window that opens then has no frame at its edge.
    pub fn between_frames_ns(self, begun_ns: u64, now_ns: u64) -> u64 {
        let Some(half) = self.takes_ns(1).map(|interval| interval / 2) else { return now_ns };
        let next = self.intervals(now_ns.saturating_sub(begun_ns));
        let midway = |frame| self.takes_ns(frame).map(|due| begun_ns + due + half);
        [next, next + 1].into_iter().filter_map(midway).find(|at| *at >= now_ns).unwrap_or(now_ns)
    }

    /// A part of a window: whole intervals of frames, at least one, and of the window a tenth or a little less.
    pub fn period_ns(self, window_ns: u64) -> u64 {
        let part = window_ns / PERIODS;
        self.takes_ns(self.intervals(part).max(1)).unwrap_or(part)
    }
}

pub fn source(socket: &OwnedFd, flow: Flow, talk: &Arc<Talk>) -> io::Result<()> {
    let mut frame = frames::blank(flow.bytes);
    talk.source.store(rustix::thread::gettid().as_raw_nonzero().get() as u32, Ordering::SeqCst);
    let begun = monotonic_ns();
    talk.begun_ns.store(begun, Ordering::SeqCst);
    let mut number = 0;
    while !talk.quiet.load(Ordering::Relaxed) {
        match flow.rate {
            0 if is_ahead(number, talk) => {
                sleep_until_ns(monotonic_ns() + AHEAD_NS);
                continue;
            }
            0 => {}
            _ => {
                let due = begun + flow.takes_ns(number).unwrap_or(0);
                if monotonic_ns() < due {
                    sleep_until_ns(due);
                }
            }
        }
        frames::sign(&mut frame, Proof { number, made_ns: monotonic_ns() });
        match send(socket, &frame, SendFlags::empty()) {
            // The interface's queue is full: the frame is lost on this side, as with any sender.
            Ok(_) | Err(Errno::NOBUFS) => {}
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        }
        number += 1;
        talk.offered.store(number, Ordering::Relaxed);
    }
    Ok(())
}

/// Whether as many frames are on their way as may be.
fn is_ahead(number: u64, talk: &Talk) -> bool {
    let behind = |count: &AtomicU64| number.saturating_sub(count.load(Ordering::Relaxed));
    behind(&talk.emitted) >= AHEAD.0 || behind(&talk.received) >= AHEAD.1
}

/// Gives a sink's socket its room; before the first frame, because a sink's thread may start late.
pub fn prepare(socket: &OwnedFd) {
    // Where this is refused the usual room does, for less time.
    let _ = set_socket_recv_buffer_size_force(socket, SINK_ROOM);
}

/// Takes frames until it is told to stop and none is left. It looks for them midway between two frames that are due: at
/// 440 frames a second every fifth look would else meet the same moment of a frame's way, and its timer's interrupt is
/// charged to whoever runs then.
pub fn sink(socket: &OwnedFd, flow: Flow, talk: &Arc<Talk>) -> Ledger {
    let mut ledger = Ledger::default();
    let mut buffer = vec![0; frames::LONGEST + 64];
    loop {
        let last = talk.stop.load(Ordering::SeqCst);
        while let Ok((length, _)) = recv(socket, &mut buffer[..], RecvFlags::DONTWAIT) {
            ledger.take(&buffer[..length]);
        }
        talk.received.store(ledger.received + ledger.damaged, Ordering::SeqCst);
        if last {
            return ledger;
        }
        let begun = talk.begun_ns.load(Ordering::SeqCst);
        sleep_until_ns(flow.between_frames_ns(begun, monotonic_ns() + POLLS_NS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_opens_midway_between_two_frames() {
        let flow = Flow { rate: 440, bytes: 66 };
        let interval = flow.takes_ns(1).unwrap();
        for now in [1_000, 1_000 + interval / 2, 1_001 + interval / 2, 100_000_000] {
            let at = flow.between_frames_ns(1_000, now);
            let off = (at - 1_000) % interval;
            assert!((now..=now + interval).contains(&at), "{now}: {at}");
            assert!(off.abs_diff(interval / 2) < 100, "{now}: {off} of {interval}");
        }
        assert_eq!(Flow { rate: 0, bytes: 66 }.between_frames_ns(1_000, 77), 77);
    }

    #[test]
    fn the_parts_of_a_window_are_whole_frames() {
        let part = |rate, window_ns| Flow { rate, bytes: 66 }.period_ns(window_ns);
        assert_eq!(part(0, 500_000_000), 50_000_000);
        let twenty_one = Flow { rate: 440, bytes: 66 }.takes_ns(21).unwrap();
        assert_eq!(part(440, 500_000_000), twenty_one);
        assert!(500_000_000 / twenty_one >= PERIODS);
        assert_eq!(part(1, 500_000_000), Flow { rate: 1, bytes: 66 }.takes_ns(1).unwrap());
    }

    #[test]
    fn a_flow_meets_the_kernels_tick_in_all_moments() {
        const TICK_NS: u64 = 4_000_000;
        let flow = Flow { rate: 440, bytes: 66 };
        let mut moments: Vec<u64> =
            (0..880).map(|frame| flow.takes_ns(frame).unwrap() % TICK_NS).collect();
        moments.sort_unstable();
        let widest = moments.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        // 25 moments that come again and again would be 160 µs apart.
        assert!(widest < 30_000, "{widest} ns");
    }
}
