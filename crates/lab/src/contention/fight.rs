//! One bout on one place: the order in, the record out, and what the caches of it were.
//!
//! Every bout has an access point of its own, restored for it, or on this machine an agent of its own: what one
//! bout leaves behind is no other's.

use std::{fs, path::Path, time::Duration};

use model::{
    cache::{Geometry, Window},
    contention::{Bout, Outcome, Record},
    wire::{Frame, Order},
};

use crate::{
    Error, Lab,
    cache_model::{self, Attached},
    device::Device,
    remote::{Address, Remote},
    vm::{Failure, Machine, Start, Surroundings, snapshot::Snapshot},
};

/// How a bout ended.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) outcome: Outcome,
    pub(super) caches: Option<Window>,
}

impl End {
    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self { outcome: Outcome::Failed(why.into()), caches: None }
    }

    /// What goes wrong with the place is the bout's end; what goes wrong with the host is an error.
    fn of(ended: Result<Record, Error>) -> Result<Self, Error> {
        match ended {
            Ok(record) => Ok(Self { outcome: Outcome::Fought(Box::new(record)), caches: None }),
            Err(Error::Machine(failure)) => Ok(Self::failed(failure.to_string())),
            Err(error) => Err(error),
        }
    }
}

/// On a virtual access point; `at` is where its console and the counts of its caches go, without an ending.
pub(super) fn on_vm(
    lab: &Lab,
    snapshot: &Snapshot,
    (bout, geometry): (&Bout, Option<Geometry>),
    at: &Path,
) -> Result<End, Error> {
    let Some(geometry) = geometry.filter(|_| bout.marks) else {
        let start = Start::Restore(&snapshot.memory);
        return End::of(in_machine(lab, snapshot, (bout, start), at));
    };
    let counts = at.with_extension("caches");
    let model = Attached::new(lab, geometry, &counts)?;
    let start = Start::Modelled(&snapshot.memory, &model);
    let end = End::of(in_machine(lab, snapshot, (bout, start), at))?;
    if let Outcome::Failed(_) = end.outcome {
        return Ok(end);
    }
    let window = cache_model::window(&counts);
    let _ = fs::remove_file(&counts);
    Ok(match window {
        Ok(window) => End { caches: Some(window), ..end },
        Err(unread) => End::failed(unread.to_string()),
    })
}

fn in_machine(
    lab: &Lab,
    snapshot: &Snapshot,
    (bout, start): (&Bout, Start<'_>),
    at: &Path,
) -> Result<Record, Error> {
    let console_log = at.with_extension("log");
    let around = Surroundings {
        console_log: &console_log,
        folder: at.parent().unwrap_or(Path::new(".")),
        patience: lab.settings.patience + silence(bout),
        cancel: &lab.cancel,
    };
    let mut machine = Machine::start(&snapshot.shape, start, around)?;
    machine.begin(&order(bout), snapshot.shape.mode)?;
    listen(&mut machine)
}

/// Why no bout can be fought on this machine, if none can.
pub(super) fn host_refuses() -> Option<&'static str> {
    let why = "a bout on this machine makes namespaces and control groups: run headroom as root";
    (!rustix::process::geteuid().is_root()).then_some(why)
}

/// On this machine, by an agent that lives for this bout.
pub(super) fn on_host(lab: &Lab, bout: &Bout) -> Result<End, Error> {
    let fought = || {
        let mut device = Remote::reach(lab, &Address::Local)?;
        device.order(&order(bout))?;
        listen(&mut device)
    };
    End::of(fought())
}

fn order(bout: &Bout) -> Order {
    Order::Contend(Box::new(bout.clone()))
}

/// The record, when the agent has said its last word.
fn listen(device: &mut dyn Device) -> Result<Record, Error> {
    let mut record = None;
    loop {
        match device.frame("the bout's record")? {
            Frame::Contended(told) => record = Some(*told),
            Frame::Done => {
                return record.ok_or_else(|| Failure::Lacks("record of the bout").into());
            }
            // An agent introduces itself before it is asked.
            _ => {}
        }
    }
}

/// How long a bout is silent at most, beyond what an access point may be: the agent says nothing between its
/// order and its record, and a guest whose caches are modelled on a busy host takes half a minute for a second.
fn silence(bout: &Bout) -> Duration {
    const SLOWEST: u32 = 30;
    let spans = [bout.offset, bout.warm_up, bout.window];
    spans.into_iter().map(Duration::from).sum::<Duration>() * SLOWEST
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    struct Told(VecDeque<Frame>);

    impl Device for Told {
        fn order(&mut self, _: &Order) -> Result<(), Failure> {
            Ok(())
        }

        fn frame(&mut self, _: &'static str) -> Result<Frame, Error> {
            self.0.pop_front().ok_or_else(|| Failure::Lacks("frames").into())
        }
    }

    fn heard(frames: impl IntoIterator<Item = Frame>) -> Result<Record, Error> {
        listen(&mut Told(frames.into_iter().collect()))
    }

    #[test]
    fn a_record_is_whole_when_the_agent_has_said_its_last_word() {
        let record = || Frame::Contended(Box::new(Record { window_ns: 7, ..Record::default() }));
        let census = || Frame::Census(model::wire::Census::default());
        assert_eq!(heard([census(), record(), Frame::Done]).unwrap().window_ns, 7);
        heard([record()]).unwrap_err();
        heard([census(), Frame::Done]).unwrap_err();
    }

    #[test]
    fn what_fails_at_the_place_is_the_bouts_end_and_what_fails_here_is_an_error() {
        let end = End::of(Err(Failure::Lacks("record of the bout").into())).unwrap();
        assert!(matches!(end.outcome, Outcome::Failed(_)));
        assert!(matches!(End::of(Err(Error::Interrupted)), Err(Error::Interrupted)));
    }
}
