//! The loop: one thread that waits in one place for everything that can happen.
//!
//! Brings together the engine, the faces, the queue of moments and the signals, and knows nothing of
//! what they say to each other.
//!
//! ```text
//! wait ─► events ─► engine.ready, rpc, http ─► moments ─► notifications ─► doors ─► wait
//! ```
//!
//! # Design constraints
//!
//! - Doors are looked after last: a place that became free in a turn is not given away in the same turn,
//!   so that what the kernel still says of its former holder reaches no one else.
//! - The sockets that it made are removed when it is dropped.

pub mod once;
pub mod start;

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use linux::{
    seccomp::{self, Purpose},
    system::boottime_ns,
};
use listen::{Hosts, ListenError, Listener};

#[cfg(feature = "ubus")]
use crate::ubus::Ubus;
use crate::{
    engine::Engine,
    http::Http,
    metrics::own::Own,
    net::{
        Turn,
        poller::{Interest, Poller},
        server::Server,
        timeouts::Timeouts,
        token::Token,
    },
    options::{Metrics, Options},
    rpc::Rpc,
    tally::Tally,
    trace::Level,
};

/// A door that could not let anybody in for want of descriptors is tried again after so long.
const NO_ROOM_NS: u64 = 100_000_000;

/// What the loop needs of the kernel: bytes over what is open, sockets to a hostapd that begins again, memory, clocks,
/// and to remove its sockets at the end. It opens no file, starts no program and no thread.
const PURPOSES: [Purpose; 6] = [
    Purpose::Transfer,
    Purpose::UnixSockets,
    Purpose::Memory,
    Purpose::Process,
    Purpose::End,
    Purpose::Remove,
];

/// The daemon cannot begin, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No one could reach it.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The kernel does not let it wait.
    #[error("cannot wait for descriptors")]
    Wait(#[source] io::Error),
}

#[derive(Debug)]
pub struct Daemon {
    engine: Engine,
    poller: Poller,
    timeouts: Timeouts,
    tally: Tally,
    own: Own,
    rpc: Server<Rpc>,
    http: Option<Server<Http>>,
    #[cfg(feature = "ubus")]
    ubus: Option<Ubus>,
    signals: OwnedFd,
    /// Whether the kernel is to refuse what the loop does not need.
    seccomp: bool,
    /// The engine's descriptors may not be those that are waited for.
    is_settling: bool,
}

/// Whether the loop goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goes {
    On,
    Ends,
}

impl Daemon {
    /// Opens the doors. `signals` becomes readable when the daemon is to end.
    ///
    /// # Errors
    ///
    /// [`Error`]: a door that is taken, or a kernel that refuses.
    pub fn open(options: &Options, engine: Engine, signals: OwnedFd) -> Result<Self, Error> {
        let http = match &options.metrics {
            Metrics::Off => None,
            Metrics::Tcp(address) => {
                Some((Listener::tcp(*address)?, Hosts::named(options.hosts.iter().cloned())))
            }
            // No browser opens a UNIX socket.
            Metrics::Unix(path) => Some((Listener::unix(path, options.socket_mode)?, Hosts::any())),
        };
        // The last one: who waits for it finds the metrics there too.
        let listener = Listener::unix(&options.socket, options.socket_mode)?;
        let max_age_ns = options.max_age.as_nanos() as u64;
        let daemon = Self {
            engine,
            poller: Poller::new().map_err(wait)?,
            timeouts: Timeouts::default(),
            tally: Tally::default(),
            own: Own::new(boottime_ns()),
            rpc: Rpc::server(listener, max_age_ns),
            http: http.map(|(listener, hosts)| Http::server(listener, hosts, max_age_ns)),
            #[cfg(feature = "ubus")]
            ubus: options.ubus.clone().map(|path| Ubus::new(path, options.ubus_names, max_age_ns)),
            signals,
            seccomp: options.seccomp,
            is_settling: true,
        };
        daemon.watch().map_err(wait)?;
        Ok(daemon)
    }

    fn watch(&self) -> rustix::io::Result<()> {
        let add = |source: &dyn AsFd, token: Token| {
            self.poller.add(source.as_fd(), token.number(), Interest::Read)
        };
        add(&self.signals, Token::Signal)?;
        add(self.rpc.listener(), Token::RpcListener)?;
        match &self.http {
            Some(http) => add(http.listener(), Token::HttpListener),
            None => Ok(()),
        }
    }

    /// Serves until a signal comes.
    pub fn run(&mut self) -> Result<(), Error> {
        if self.seccomp {
            self.confine();
        }
        #[cfg(feature = "ubus")]
        self.on_ubus(boottime_ns(), Ubus::connect);
        while self.turn().map_err(wait)? == Goes::On {}
        Ok(())
    }

    /// From here on everything is open: what else the kernel offers is only of use to anyone who would take this
    /// process over.
    fn confine(&mut self) {
        let (zone, trace) = ("daemon", self.engine.trace());
        match confine() {
            Ok(()) => trace.event(zone, Level::Info, format_args!("seccomp: the filter is set")),
            Err(error) => trace.event(
                zone,
                Level::Warning,
                format_args!(
                    "seccomp: no system call is refused: {error} (seccomp=off says no more of it)"
                ),
            ),
        }
    }

    fn turn(&mut self) -> rustix::io::Result<Goes> {
        self.watch_engine()?;
        self.poller.wait(self.patience_ns())?;
        let now_ns = boottime_ns();
        let mut listeners = [false; 2];
        let mut place = 0;
        while let Some(number) = self.poller.ready(place) {
            place += 1;
            match Token::of(number) {
                Some(Token::Signal) => return Ok(Goes::Ends),
                Some(Token::RpcListener) => listeners[0] = true,
                Some(Token::HttpListener) => listeners[1] = true,
                #[cfg(feature = "ubus")]
                Some(Token::Broker) => self.on_ubus(now_ns, Ubus::ready),
                Some(token) => self.ready(token, now_ns),
                None => {}
            }
        }
        self.moments(now_ns)?;
        self.notify(now_ns);
        self.accept(listeners, now_ns);
        Ok(Goes::On)
    }

    /// The engine's descriptors change only while it asks around.
    fn watch_engine(&mut self) -> rustix::io::Result<()> {
        let settling = self.engine.is_settling();
        if settling || self.is_settling {
            for descriptor in self.engine.descriptors() {
                self.poller.add(descriptor, Token::Engine.number(), Interest::Read)?;
            }
        }
        self.is_settling = settling;
        Ok(())
    }

    fn patience_ns(&self) -> Option<u64> {
        let next = self.timeouts.next().into_iter().chain(self.engine.due()).min()?;
        Some(next.saturating_sub(boottime_ns()))
    }

    fn ready(&mut self, token: Token, now_ns: u64) {
        let (mut turn, rpc, http) = self.parts(now_ns);
        match (token, http) {
            (Token::Engine, _) => turn.engine.ready(now_ns),
            (Token::Rpc(place), _) => rpc.ready(place, &mut turn),
            (Token::Http(place), Some(http)) => http.ready(place, &mut turn),
            _ => {}
        }
    }

    fn moments(&mut self, now_ns: u64) -> rustix::io::Result<()> {
        if self.engine.due().is_some_and(|due| due <= now_ns) {
            self.engine.tick(now_ns);
        }
        while let Some(number) = self.timeouts.due(now_ns) {
            #[cfg(feature = "ubus")]
            if Token::of(number) == Some(Token::Broker) {
                self.on_ubus(now_ns, Ubus::late);
                continue;
            }
            let (mut turn, rpc, http) = self.parts(now_ns);
            match (Token::of(number), http) {
                (Some(Token::Rpc(place)), _) => rpc.late(place, &mut turn),
                (Some(Token::Http(place)), Some(http)) => http.late(place, &mut turn),
                (Some(Token::RpcListener), _) => {
                    turn.poller.add(rpc.listener(), number, Interest::Read)?;
                }
                (Some(Token::HttpListener), Some(http)) => {
                    turn.poller.add(http.listener(), number, Interest::Read)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Tells those who follow the events what has happened.
    fn notify(&mut self, now_ns: u64) {
        let (mut turn, rpc, _) = self.parts(now_ns);
        rpc.stream_events(&mut turn);
        #[cfg(feature = "ubus")]
        self.on_ubus(now_ns, Ubus::publish);
    }

    /// Something that concerns the bus, where stationd is on it.
    #[cfg(feature = "ubus")]
    fn on_ubus(&mut self, now_ns: u64, happens: fn(&mut Ubus, &mut Turn<'_>)) {
        // It is out of the daemon while it works with the rest of it.
        if let Some(mut ubus) = self.ubus.take() {
            happens(&mut ubus, &mut self.parts(now_ns).0);
            self.ubus = Some(ubus);
        }
    }

    fn accept(&mut self, [rpc_listener, http_listener]: [bool; 2], now_ns: u64) {
        let (mut turn, rpc, http) = self.parts(now_ns);
        if rpc_listener && !rpc.open(&mut turn) {
            rest_listener(rpc.listener(), Token::RpcListener, &mut turn);
        }
        if let Some(http) = http
            && http_listener
            && !http.open(&mut turn)
        {
            rest_listener(http.listener(), Token::HttpListener, &mut turn);
        }
    }

    fn parts(&mut self, now_ns: u64) -> (Turn<'_>, &mut Server<Rpc>, Option<&mut Server<Http>>) {
        let Self { engine, poller, timeouts, tally, own, rpc, http, .. } = self;
        (Turn { engine, poller, timeouts, tally, own, now_ns }, rpc, http.as_mut())
    }
}

/// A door without room is not waited for: it would be ready at once, again and again.
fn rest_listener(listener: &Listener, token: Token, turn: &mut Turn<'_>) {
    turn.poller.remove(listener);
    turn.timeouts.add(turn.now_ns + NO_ROOM_NS, token.number());
}

/// Lets the kernel refuse this thread what the loop does not need, to the thread's end.
pub(crate) fn confine() -> io::Result<()> {
    seccomp::allow_only(&PURPOSES)
}

fn wait(error: rustix::io::Errno) -> Error {
    Error::Wait(error.into())
}
