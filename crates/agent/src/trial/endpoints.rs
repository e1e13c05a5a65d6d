//! Sender and receiver: iperf3, each at its end of the road.
//!
//! Bursts stop the sender and continue it where it sends as fast as it can; where it has a rate it is started
//! anew, because iperf3 makes up for time in which it was stopped. Nothing is read of what iperf3 counts: the
//! links count.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use linux::{place::Place, system::monotonic_ns};
use model::{
    traffic::{Endpoints, Flow, Traffic},
    wire::Refusal,
};
use rustix::process::Signal;

use super::{group::Group, refused, road::Road, start_program};
use crate::{
    companions::Companion,
    session::{End, Polling, Session},
};

/// The endpoints' priority in the round-robin class: the least.
const PRIORITY: u8 = 1;

/// So long the receiver may take to listen, and so often it is looked at, ns.
const LISTENS: Polling = Polling { for_ns: 10_000_000_000, every_ns: 10_000_000 };

/// Longer than any trial, s; the longest that iperf3 takes.
const LONG: &str = "86400";

/// Starts a program at one end. Its temporary files are made in `folder`: one that is killed leaves them.
fn endpoint(words: &[String], folder: &Path, place: Place) -> Result<Companion, Refusal> {
    let mut command = Command::new("iperf3");
    command.env("TMPDIR", folder);
    start_program(command, words, place)
}

/// Both ends at work. Dropping it ends them.
#[derive(Debug)]
pub(super) struct Senders {
    // Dropped first: the receiver is not told of a sender's end that it could complain about.
    sender: Option<Companion>,
    receiver: Companion,
    words: Vec<String>,
    folder: PathBuf,
    bursts: Option<Bursts>,
    stops: bool,
}

#[derive(Clone, Copy, Debug)]
struct Bursts {
    from_ns: u64,
    on_ns: u64,
    off_ns: u64,
}

impl Bursts {
    /// The next change after a moment, and whether traffic is on until then.
    fn next(self, now: u64) -> (u64, bool) {
        let period = (self.on_ns + self.off_ns).max(1);
        let since = now.saturating_sub(self.from_ns);
        let begun = self.from_ns + since / period * period;
        if now < begun + self.on_ns { (begun + self.on_ns, true) } else { (begun + period, false) }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Between<'a> {
    pub(super) road: &'a Road,
    /// The application's group, in which a sender may have to run.
    pub(super) group: Option<&'a Group>,
    pub(super) folder: &'a Path,
}

impl Senders {
    /// Starts the receiver, waits until it listens, and starts the sender.
    pub(super) fn start(
        session: &mut Session,
        traffic: &Traffic,
        between: Between<'_>,
    ) -> Result<Self, End> {
        let Between { road, group, folder } = between;
        let receiver = road.receiver.to_string();
        let words = ["-s", "-B", &receiver, "-i", "0", "--forceflush"].map(str::to_owned);
        let receiver = endpoint(&words, folder, place(road, group, traffic, true)?)?;
        let listens =
            session.until(LISTENS, || receiver.said().contains("listening").then_some(()))?;
        if listens.is_none() {
            let why = receiver.last_words();
            return Err(Refusal::new("the receiver does not listen", why).into());
        }
        let bursts = traffic.bursts.map(|(on, off)| Bursts {
            from_ns: monotonic_ns(),
            on_ns: on.as_nanos(),
            off_ns: off.as_nanos(),
        });
        let words = sender(traffic, &road.receiver.to_string());
        let stops = traffic.rate.is_none() || traffic.flow != Flow::Udp;
        let begun = endpoint(&words, folder, place(road, group, traffic, false)?)?;
        let folder = folder.to_owned();
        Ok(Self { sender: Some(begun), receiver, words, folder, bursts, stops })
    }

    pub(super) fn due_ns(&self) -> u64 {
        self.bursts.map_or(u64::MAX, |bursts| bursts.next(monotonic_ns()).0)
    }

    /// Whether traffic is on for all of a span.
    pub(super) fn is_on(&self, from_ns: u64, to_ns: u64) -> bool {
        self.bursts.is_none_or(|bursts| {
            let (until, on) = bursts.next(from_ns);
            on && until >= to_ns
        })
    }

    /// Stops, continues or starts the sender where that is due.
    pub(super) fn advance(
        &mut self,
        traffic: &Traffic,
        road: &Road,
        group: Option<&Group>,
    ) -> Result<(), Refusal> {
        let Some(bursts) = self.bursts else { return Ok(()) };
        let on = bursts.next(monotonic_ns()).1;
        match (&self.sender, on) {
            (Some(sender), on) if self.stops => {
                sender.signal(if on { Signal::CONT } else { Signal::STOP })
            }
            (Some(_), false) => self.sender = None,
            (None, true) => {
                let place = place(road, group, traffic, false)?;
                self.sender = Some(endpoint(&self.words, &self.folder, place)?);
            }
            _ => {}
        }
        Ok(())
    }

    /// Refuses where one of them has ended by itself.
    pub(super) fn look(&mut self) -> Result<(), Refusal> {
        self.sender.as_mut().map_or(Ok(()), |sender| sender.look("the sender"))?;
        self.receiver.look("the receiver")
    }

    /// Their processes, by what they are.
    pub(super) fn pids(&self) -> Vec<(&'static str, u32)> {
        let sender = self.sender.as_ref().map(|sender| ("sender", sender.child.id()));
        sender.into_iter().chain([("receiver", self.receiver.child.id())]).collect()
    }
}

fn sender(traffic: &Traffic, receiver: &str) -> Vec<String> {
    let mut words: Vec<String> =
        ["-c", receiver, "-t", LONG, "-i", "0"].map(str::to_owned).to_vec();
    match traffic.flow {
        Flow::Udp => {
            // 0 is “as fast as you can”.
            let rate = traffic.rate.unwrap_or(0).to_string();
            let length = traffic.bytes.to_string();
            words.extend(["-u", "-b", &rate, "-l", &length].map(str::to_owned));
        }
        Flow::Tcp(streams) => words.extend(["-P".to_owned(), streams.to_string()]),
    }
    words
}

/// The root group of every hierarchy, the right namespace, off the router's CPU.
fn place(
    road: &Road,
    group: Option<&Group>,
    traffic: &Traffic,
    far: bool,
) -> Result<Place, Refusal> {
    let what = "cannot place an endpoint";
    let network = if far { &road.lan } else { &road.wan };
    let roots = group.map(|group| group.roots().collect::<Vec<_>>()).unwrap_or_default();
    let place = Place::default().network(network).map_err(refused(what))?;
    let place = place.groups(roots).map_err(refused(what))?.cpus(&road.near).ends_with_us();
    Ok(match traffic.endpoints {
        Endpoints::RealTime => place.round_robin(PRIORITY),
        Endpoints::Normal => place,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_change_when_they_are_due() {
        let bursts = Bursts { from_ns: 100, on_ns: 10, off_ns: 5 };
        assert_eq!(bursts.next(100), (110, true));
        assert_eq!(bursts.next(109), (110, true));
        assert_eq!(bursts.next(110), (115, false));
        assert_eq!(bursts.next(115), (125, true));
    }
}
