//! The daemon's loop: one thread that waits for the engine, the faces and the signals.
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

use std::{io, os::fd::OwnedFd};

use linux::{seccomp, system::boottime_ns};
use listen::{Hosts, ListenError, Listener};

#[cfg(feature = "ubus")]
use crate::ubus::Ubus;
use crate::{
    engine::Engine,
    http::Http,
    metrics::own::Own,
    net::{
        Hub,
        poller::{Poller, READ},
        server::Server,
        token,
    },
    options::{Metrics, Options},
    rpc::Rpc,
    tally::Tally,
    trace::Level,
};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("cannot wait for descriptors")]
    Wait(#[from] rustix::io::Errno),
}

#[derive(Debug)]
pub struct Daemon {
    hub: Hub,
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

impl Daemon {
    /// Opens the doors. `signals` becomes readable when the daemon is to end.
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
        let now_ns = boottime_ns();
        let hub = Hub {
            engine,
            poller: Poller::new()?,
            tally: Tally::default(),
            own: Own::new(now_ns),
            max_age_ns: options.max_age.as_nanos() as u64,
            now_ns,
        };
        let daemon = Self {
            hub,
            rpc: Server::new(listener, Rpc),
            http: http.map(|(listener, hosts)| Http::server(listener, hosts)),
            #[cfg(feature = "ubus")]
            ubus: options.ubus.clone().map(|path| Ubus::new(path, options.ubus_names)),
            signals,
            seccomp: options.seccomp,
            is_settling: true,
        };
        let poller = &daemon.hub.poller;
        poller.watch(&daemon.signals, token::SIGNAL, READ)?;
        daemon.rpc.open(poller)?;
        daemon.http.as_ref().map_or(Ok(()), |http| http.open(poller))?;
        Ok(daemon)
    }

    pub fn run(&mut self) -> Result<(), Error> {
        if self.seccomp {
            self.confine();
        }
        self.hub.now_ns = boottime_ns();
        #[cfg(feature = "ubus")]
        self.on_ubus(Ubus::connect);
        while self.turn()? {}
        Ok(())
    }

    /// From here on everything is open: what else the kernel offers is only of use to anyone who would take this
    /// process over.
    fn confine(&mut self) {
        let (level, what) = match confine() {
            Ok(()) => (Level::Info, "the filter is set".to_owned()),
            Err(error) => {
                let what = "no system call is refused";
                (Level::Warning, format!("{what}: {error} (seccomp=off says no more of it)"))
            }
        };
        self.hub.engine.trace().event("daemon", level, format_args!("seccomp: {what}"));
    }

    /// Whether there is to be another.
    fn turn(&mut self) -> rustix::io::Result<bool> {
        self.watch_engine()?;
        let due = self.due();
        self.hub.poller.wait(due.map(|due| due.saturating_sub(boottime_ns())))?;
        self.hub.now_ns = boottime_ns();
        let (mut place, mut doors) = (0, [false; 2]);
        while let Some(token) = self.hub.poller.ready(place) {
            place += 1;
            let connection = token as u32 as usize;
            match token {
                token::SIGNAL => return Ok(false),
                token::RPC_LISTENER => doors[0] = true,
                token::HTTP_LISTENER => doors[1] = true,
                #[cfg(feature = "ubus")]
                token::BROKER => self.on_ubus(Ubus::ready),
                token::ENGINE => self.hub.engine.ready(self.hub.now_ns),
                token::HTTP.. => {
                    self.http.iter_mut().for_each(|http| http.ready(connection, &mut self.hub));
                }
                _ => self.rpc.ready(connection, &mut self.hub),
            }
        }
        self.moments()?;
        self.rpc.stream_events(&mut self.hub);
        #[cfg(feature = "ubus")]
        self.on_ubus(Ubus::publish);
        if doors[0] {
            self.rpc.accept(&mut self.hub);
        }
        if let Some(http) = self.http.as_mut().filter(|_| doors[1]) {
            http.accept(&mut self.hub);
        }
        Ok(true)
    }

    /// The engine's descriptors change only while it asks around.
    fn watch_engine(&mut self) -> rustix::io::Result<()> {
        let Hub { engine, poller, .. } = &self.hub;
        let settling = engine.is_settling();
        if settling || self.is_settling {
            for descriptor in engine.descriptors() {
                poller.watch(descriptor, token::ENGINE, READ)?;
            }
        }
        self.is_settling = settling;
        Ok(())
    }

    fn due(&self) -> Option<u64> {
        let (rpc, http) = (self.rpc.due(), self.http.as_ref().and_then(Server::due));
        let due = self.hub.engine.due().into_iter().chain(rpc).chain(http);
        #[cfg(feature = "ubus")]
        let due = due.chain(self.ubus.as_ref().and_then(Ubus::due));
        due.min()
    }

    fn moments(&mut self) -> rustix::io::Result<()> {
        let now_ns = self.hub.now_ns;
        if self.due().is_none_or(|due| due > now_ns) {
            return Ok(());
        }
        if self.hub.engine.due().is_some_and(|due| due <= now_ns) {
            self.hub.engine.tick(now_ns);
        }
        #[cfg(feature = "ubus")]
        self.on_ubus(Ubus::late);
        self.rpc.late(&mut self.hub)?;
        self.http.as_mut().map_or(Ok(()), |http| http.late(&mut self.hub))
    }

    #[cfg(feature = "ubus")]
    fn on_ubus(&mut self, happens: fn(&mut Ubus, &mut Hub)) {
        self.ubus.iter_mut().for_each(|ubus| happens(ubus, &mut self.hub));
    }
}

/// Lets the kernel refuse this thread what the loop does not need, to the thread's end.
pub(crate) fn confine() -> io::Result<()> {
    seccomp::serve_only()
}
