//! Round trips across the road, probed at fixed moments by two threads of our own.
//!
//! One thread sends small datagrams with a number, the other sends them back; both run above the endpoints, so that
//! what is waited for is the road. A probe that is not back within a second is lost. Times are of the monotonic clock.

use std::{
    io,
    net::UdpSocket,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use linux::{namespace::Network, sched, system::monotonic_ns};
use model::{traffic::RoundTrip, wire::Refusal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{refused, road::Road};

/// Above the endpoints.
pub(super) const PRIORITY: u8 = 2;

/// Where probes go.
const PORT: u16 = 5301;

/// So long a probe may take, ns.
pub(super) const PATIENCE_NS: u64 = 1_000_000_000;

/// Between two looks at whether it is over.
const LOOK: Duration = Duration::from_millis(50);

/// Bytes of a probe: its number.
type Probe = [u8; 8];

/// One probe, as it was: when it was sent, and how long it took, ns.
type Trip = (u64, Option<u64>);

/// The prober at work. Dropping it ends its threads.
#[derive(Debug)]
pub(super) struct Prober {
    over: Arc<AtomicBool>,
    /// Nothing is sent from this moment on, ns.
    until: Arc<AtomicU64>,
    probing: Option<JoinHandle<Vec<Trip>>>,
    echoing: Option<JoinHandle<()>>,
    threads: Vec<(&'static str, u32)>,
}

/// What its two threads share.
#[derive(Clone)]
struct Shared {
    over: Arc<AtomicBool>,
    until: Arc<AtomicU64>,
    born: mpsc::Sender<Result<u32, Refusal>>,
}

impl Prober {
    /// Starts probing so many times in a second.
    pub(super) fn start(road: &Road, hertz: u32, real_time: bool) -> Result<Option<Self>, Refusal> {
        if hertz == 0 {
            return Ok(None);
        }
        let (born, births) = mpsc::channel();
        let (over, until) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(u64::MAX)));
        let shared = Shared { over: over.clone(), until: until.clone(), born };
        let mut prober = Self { over, until, probing: None, echoing: None, threads: Vec::new() };
        let far = Seat::of(&road.lan, real_time)?;
        let (its, address) = (shared.clone(), road.receiver);
        prober.echoing = Some(spawned("echo", move || {
            let socket = its.take(&far, || UdpSocket::bind((address, PORT)));
            if let Some(socket) = socket {
                echo(&socket, &its.over);
            }
        })?);
        prober.threads.push(("echo", heard(&births)?));
        let near = Seat::of(&road.wan, real_time)?;
        let every_ns = 1_000_000_000 / u64::from(hertz);
        prober.probing = Some(spawned("prober", move || {
            let socket = shared.take(&near, || {
                let socket = UdpSocket::bind(("0.0.0.0", 0))?;
                socket.connect((address, PORT))?;
                socket.set_nonblocking(true)?;
                Ok(socket)
            });
            let trips = socket.map(|socket| Probing::new(socket, every_ns).run(&shared));
            trips.unwrap_or_default()
        })?);
        prober.threads.push(("prober", heard(&births)?));
        Ok(Some(prober))
    }

    /// Its threads, by name.
    pub(super) fn threads(&self) -> &[(&'static str, u32)] {
        &self.threads
    }

    /// Sends nothing after this moment, ns of the monotonic clock.
    pub(super) fn stop_at(&self, moment_ns: u64) {
        self.until.store(moment_ns, Ordering::Relaxed);
    }

    /// The round trips that began in a window, once the last is back or lost.
    pub(super) fn finish(mut self, opens_ns: u64, closes_ns: u64) -> Vec<RoundTrip> {
        let trips = self.probing.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let within = trips.into_iter().filter(|trip| (opens_ns..closes_ns).contains(&trip.0));
        let trip = |(sent_ns, took_ns): Trip| RoundTrip {
            at_ms: u32::try_from((sent_ns - opens_ns) / 1_000_000).unwrap_or(u32::MAX),
            took_us: took_ns.map(|took| u32::try_from(took / 1000).unwrap_or(u32::MAX)),
        };
        within.map(trip).collect()
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.until.store(0, Ordering::Relaxed);
        let _ = self.probing.take().map(JoinHandle::join);
        let _ = self.echoing.take().map(JoinHandle::join);
    }
}

/// Where a thread runs.
struct Seat {
    network: Network,
    real_time: bool,
}

impl Seat {
    fn of(network: &Network, real_time: bool) -> Result<Self, Refusal> {
        let network = network.again().map_err(refused("cannot hold a network namespace"))?;
        Ok(Self { network, real_time })
    }

    fn take(&self) -> io::Result<()> {
        self.network.enter()?;
        match self.real_time {
            true => sched::round_robin(0, PRIORITY, sched::Children::Normal),
            false => sched::normal(0),
        }
    }
}

impl Shared {
    /// Takes the thread's seat, opens its socket, and says that it is there.
    fn take(&self, seat: &Seat, open: impl FnOnce() -> io::Result<UdpSocket>) -> Option<UdpSocket> {
        let opened = seat.take().and_then(|()| open());
        let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let (reported, socket) = match opened {
            Ok(socket) => (Ok(tid), Some(socket)),
            Err(error) => (Err(refused("cannot probe the road")(error)), None),
        };
        // Nobody listens where the trial is given up.
        let _ = self.born.send(reported);
        socket
    }
}

fn spawned<T: Send + 'static>(
    name: &str,
    life: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Refusal> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(life)
        .map_err(refused("cannot start a thread"))
}

fn heard(births: &mpsc::Receiver<Result<u32, Refusal>>) -> Result<u32, Refusal> {
    let gone = |_| Refusal::plain("the prober's thread ended");
    births.recv().map_err(gone)?
}

/// Sends back what comes, until it is over.
fn echo(socket: &UdpSocket, over: &AtomicBool) {
    // Without it the thread could not look whether it is over.
    if socket.set_read_timeout(Some(LOOK)).is_err() {
        return;
    }
    let mut probe = [0; 64];
    while !over.load(Ordering::Relaxed) {
        if let Ok((length, from)) = socket.recv_from(&mut probe) {
            // A probe that cannot be sent back is a lost one.
            let _ = socket.send_to(&probe[..length], from);
        }
    }
}

/// Probes that are on their way, and those that were.
struct Probing {
    socket: UdpSocket,
    every_ns: u64,
    next_ns: u64,
    trips: Vec<Trip>,
    /// The first that may still come back.
    oldest: usize,
}

impl Probing {
    fn new(socket: UdpSocket, every_ns: u64) -> Self {
        Self { socket, every_ns, next_ns: monotonic_ns(), trips: Vec::new(), oldest: 0 }
    }

    fn run(mut self, shared: &Shared) -> Vec<Trip> {
        while !shared.over.load(Ordering::Relaxed) {
            let now = monotonic_ns();
            let until = shared.until.load(Ordering::Relaxed);
            self.forget(now);
            if self.next_ns >= until {
                if now >= until && self.oldest >= self.trips.len() {
                    break;
                }
            } else if now >= self.next_ns {
                self.send(now);
            }
            self.receive();
            self.wait(monotonic_ns(), until);
        }
        self.trips
    }

    /// Passes over those that are back or lost.
    fn forget(&mut self, now: u64) {
        let settled = |trip: &Trip| trip.1.is_some() || now > trip.0 + PATIENCE_NS;
        while self.trips.get(self.oldest).is_some_and(settled) {
            self.oldest += 1;
        }
    }

    fn send(&mut self, now: u64) {
        let probe: Probe = (self.trips.len() as u64).to_le_bytes();
        self.trips.push((now, None));
        // One that finds no room is a lost one.
        let _ = self.socket.send(&probe);
        self.next_ns += self.every_ns;
        if self.next_ns < now {
            // Held up for longer than a period: what was missed is not made up for.
            self.next_ns = now + self.every_ns;
        }
    }

    fn receive(&mut self) {
        let mut probe: Probe = [0; 8];
        while let Ok(8) = self.socket.recv(&mut probe) {
            let now = monotonic_ns();
            let number = usize::try_from(u64::from_le_bytes(probe)).unwrap_or(usize::MAX);
            if let Some((sent, took)) = self.trips.get_mut(number) {
                let passed = now.saturating_sub(*sent);
                *took = took.or(Some(passed).filter(|&passed| passed <= PATIENCE_NS));
            }
        }
    }

    fn wait(&self, now: u64, until: u64) {
        let look = now + LOOK.as_nanos() as u64;
        let moment = if self.next_ns < until { self.next_ns.min(look) } else { look };
        let left = moment.saturating_sub(now);
        let timeout = Timespec {
            tv_sec: (left / 1_000_000_000) as i64,
            tv_nsec: (left % 1_000_000_000) as _,
        };
        // A signal or a fault only makes the next look an early one.
        let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&timeout));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (UdpSocket, UdpSocket) {
        let far = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let near = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        near.connect(far.local_addr().unwrap()).unwrap();
        near.set_nonblocking(true).unwrap();
        (near, far)
    }

    #[test]
    fn a_probe_that_comes_back_has_taken_its_time_and_one_that_does_not_is_lost() {
        let (near, far) = pair();
        let mut probing = Probing::new(near, 1_000_000);
        let now = monotonic_ns();
        probing.send(now);
        probing.send(now);
        let mut probe = [0; 8];
        let (length, from) = far.recv_from(&mut probe).unwrap();
        far.send_to(&probe[..length], from).unwrap();
        while probing.trips[0].1.is_none() {
            probing.wait(monotonic_ns(), u64::MAX);
            probing.receive();
        }
        probing.forget(now);
        assert_eq!((probing.oldest, probing.trips[1]), (1, (now, None)));
        probing.forget(now + PATIENCE_NS + 1);
        assert_eq!(probing.oldest, 2);
    }
}
