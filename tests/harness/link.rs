//! A link to a server of the loopback: it has a speed, can be cut, can fall silent, and comes back.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU8, Ordering},
    },
    thread,
    time::Duration,
};

use super::{processes::free_port, ssh::Client};

const CARRIES: u8 = 0;
/// Connections are refused.
const CUT: u8 = 1;
/// What is sent is lost without an error.
const SILENT: u8 = 2;
/// The link was dropped.
const GONE: u8 = 3;

/// Between two looks of a silent link.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) struct Link {
    port: u16,
    state: Arc<AtomicU8>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Link {
    /// With this speed in each direction, bytes a second.
    pub(crate) fn to(server: u16, speed: usize) -> Self {
        let port = free_port();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        // What it has not carried yet shall not look as if it had: connections have their listener's buffer.
        rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 64 * 1024).unwrap();
        let (state, streams) = (Arc::<AtomicU8>::default(), Arc::<Mutex<Vec<_>>>::default());
        let (now, all) = (Arc::clone(&state), Arc::clone(&streams));
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                match now.load(Ordering::Relaxed) {
                    GONE => return,
                    CUT => continue,
                    _ => {}
                }
                // A device that is off answers no one.
                let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) else { continue };
                let ends = || [&near, &far].map(|stream| stream.try_clone().unwrap());
                all.lock().unwrap().extend(ends());
                let [back_to, back_from] = ends();
                let (there, back) = (Arc::clone(&now), Arc::clone(&now));
                thread::spawn(move || carry(near, far, speed, &there));
                thread::spawn(move || carry(back_from, back_to, speed, &back));
            }
        });
        Self { port, state, streams }
    }

    /// What this address leads over.
    pub(crate) fn named(self, client: &Client, address: &str) -> Self {
        client.name(address.strip_prefix("ssh:").unwrap(), self.port, "");
        self
    }

    /// Ends every connection, and takes no other.
    pub(crate) fn cut(&self) {
        self.be(CUT);
        self.end_all();
    }

    /// Carries nothing any more, and says so to no one.
    pub(crate) fn fall_silent(&self) {
        self.be(SILENT);
    }

    /// Carries new connections again; what it lost before is lost.
    pub(crate) fn repair(&self) {
        self.end_all();
        self.be(CARRIES);
    }

    fn be(&self, state: u8) {
        self.state.store(state, Ordering::Relaxed);
    }

    fn end_all(&self) {
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.be(GONE);
        self.end_all();
        // It waits for one more.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
    }
}

/// Carries bytes in one direction until either end is closed.
fn carry(mut from: TcpStream, mut to: TcpStream, speed: usize, state: &AtomicU8) {
    let mut buffer = [0; 32 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        while state.load(Ordering::Relaxed) == SILENT {
            thread::sleep(LOOK);
        }
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
        thread::sleep(Duration::from_secs_f64(length as f64 / speed as f64));
    }
    // The end of a connection gets lost as well.
    while state.load(Ordering::Relaxed) == SILENT {
        thread::sleep(LOOK);
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}
