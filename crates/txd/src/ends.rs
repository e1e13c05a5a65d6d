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

use model::completion::PERIODS;
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
/// Frames may wait in the sink's socket for some hundreds of milliseconds, bytes.
const SINK_ROOM: usize = 16 << 20;

/// What the ends and anyone who runs them tell each other.
#[derive(Debug, Default)]
pub struct Talk {
    /// The source is to end.
    pub quiet: AtomicBool,
    /// The sink is to end.
    pub stop: AtomicBool,
    /// Frames that the source has sent.
    pub offered: AtomicU64,
    /// The source's thread; 0 before it runs.
    pub source: AtomicU32,
    /// When the first frame was due, ns; 0 before.
    pub begun_ns: AtomicU64,
    /// Frames that came out so far, as the path's observer counts them.
    pub emitted: AtomicU64,
    /// Frames that the sink has seen.
    pub received: AtomicU64,
    /// Latencies count now.
    pub recording: AtomicBool,
}

/// What a source sends.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Frames a second; 0: as fast as they are taken.
    pub rate: u32,
    /// Bytes of a frame.
    pub bytes: usize,
}

impl Flow {
    /// How long so many frames take at this rate, ns; `None` without one.
    fn takes_ns(self, frames: u64) -> Option<u64> {
        let ns = u128::from(frames) * 1_000_000_000;
        ns.checked_div(self.rate.into()).map(|ns| ns as u64)
    }

    /// The first moment from `now_ns` on that lies midway between two frames of a flow that began at `begun_ns`: a
    /// window that opens then has no frame at its edge.
    pub fn between_frames_ns(self, begun_ns: u64, now_ns: u64) -> u64 {
        let passed = u128::from(now_ns.saturating_sub(begun_ns)) * u128::from(self.rate);
        let Some(half) = self.takes_ns(1).map(|interval| interval / 2) else { return now_ns };
        let next = (passed / 1_000_000_000) as u64;
        let midway = |frame| self.takes_ns(frame).map(|due| begun_ns + due + half);
        [next, next + 1].into_iter().filter_map(midway).find(|at| *at >= now_ns).unwrap_or(now_ns)
    }

    /// A part of a window: the longest whole number of frames' intervals that `PERIODS` of go into it, at least one.
    pub fn period_ns(self, window_ns: u64) -> u64 {
        let part = window_ns / PERIODS;
        let frames = u128::from(part) * u128::from(self.rate) / 1_000_000_000;
        self.takes_ns((frames as u64).max(1)).unwrap_or(part)
    }
}

/// Sends frames until it is told to stop.
///
/// # Errors
///
/// The system's, where the interface has gone.
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
