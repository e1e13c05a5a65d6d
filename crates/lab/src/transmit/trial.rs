//! One trial at one place: the order in, the counters out.
//!
//! Every trial has an access point of its own, restored for it, or on this machine an agent of its own: what one
//! trial leaves behind is no other's.

use std::{path::Path, time::Duration};

use model::{
    transmit::{Measured, Order, Outcome},
    wire::{self, Frame},
};

use crate::{
    Error, Lab,
    device::Device,
    remote::{Address, Remote},
    vm::{Failure, Machine, Start, Surroundings, snapshot::Snapshot},
};

/// What goes wrong with the place is the trial's outcome; what goes wrong with the host is an error.
fn outcome(ended: Result<Measured, Error>) -> Result<Outcome, Error> {
    match ended {
        Ok(measured) => Ok(Outcome::Measured(Box::new(measured))),
        Err(Error::Machine(failure)) => Ok(Outcome::Failed(failure.to_string())),
        Err(error) => Err(error),
    }
}

/// On a virtual access point; `console` is where its console goes, without an ending.
pub(super) fn on_vm(
    lab: &Lab,
    snapshot: &Snapshot,
    order: &Order,
    console: &Path,
) -> Result<Outcome, Error> {
    let console_log = console.with_extension("log");
    let around = Surroundings {
        console_log: &console_log,
        folder: console.parent().unwrap_or(Path::new(".")),
        patience: lab.settings.patience + silence(order),
        cancel: &lab.cancel,
    };
    let measured = || {
        let mut machine =
            Machine::start(&snapshot.shape, Start::Restore(&snapshot.memory), around)?;
        machine.begin(&given(order), snapshot.shape.mode)?;
        listen(&mut machine)
    };
    outcome(measured())
}

/// Why no trial can be made on this machine, if none can.
pub(super) fn host_refuses() -> Option<&'static str> {
    let why = "txd makes namespaces and interfaces on this machine: run headroom as root";
    (!rustix::process::geteuid().is_root()).then_some(why)
}

/// On this machine, by an agent that lives for this trial.
pub(super) fn on_host(lab: &Lab, order: &Order) -> Result<Outcome, Error> {
    let measured = || {
        let mut device = Remote::reach(lab, &Address::Local)?;
        device.order(&given(order))?;
        listen(&mut device)
    };
    outcome(measured())
}

fn given(order: &Order) -> wire::Order {
    wire::Order::Transmit(Box::new(order.clone()))
}

/// The counters, when the agent has said its last word.
fn listen(device: &mut dyn Device) -> Result<Measured, Error> {
    let mut measured = None;
    loop {
        match device.frame("the trial's counters")? {
            Frame::Transmitted(told) => measured = Some(*told),
            Frame::Done => {
                return measured.ok_or_else(|| Failure::Lacks("counters of the trial").into());
            }
            // An agent introduces itself before it is asked.
            _ => {}
        }
    }
}

/// How long a trial is silent at most, beyond what an access point may be: the agent says nothing between its order
/// and the figures. A task beside frames ends later than alone, and a guest on a busy host is slow.
fn silence(order: &Order) -> Duration {
    const SLOWEST: u32 = 30;
    const LONGEST_TASK: Duration = Duration::from_secs(60);
    let spans = [order.offset_ns, order.warm_up_ns, order.window_ns].map(Duration::from_nanos);
    let task = order.task_rounds.map_or(Duration::ZERO, |_| LONGEST_TASK);
    (spans.into_iter().sum::<Duration>() + task) * SLOWEST
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    struct Told(VecDeque<Frame>);

    impl Device for Told {
        fn order(&mut self, _: &wire::Order) -> Result<(), Failure> {
            Ok(())
        }

        fn frame(&mut self, _: &'static str) -> Result<Frame, Error> {
            self.0.pop_front().ok_or_else(|| Failure::Lacks("frames").into())
        }
    }

    fn heard(frames: impl IntoIterator<Item = Frame>) -> Result<Measured, Error> {
        listen(&mut Told(frames.into_iter().collect()))
    }

    #[test]
    fn counters_are_whole_when_the_agent_has_said_its_last_word() {
        let told = || {
            let measured = Measured { window_ns: 7, ..Measured::default() };
            Frame::Transmitted(Box::new(measured))
        };
        let census = || Frame::Census(wire::Census::default());
        assert_eq!(heard([census(), told(), Frame::Done]).unwrap().window_ns, 7);
        heard([told()]).unwrap_err();
        heard([census(), Frame::Done]).unwrap_err();
    }

    #[test]
    fn what_fails_at_the_place_is_the_trials_outcome_and_what_fails_here_is_an_error() {
        let failed = outcome(Err(Failure::Lacks("counters of the trial").into())).unwrap();
        assert!(matches!(failed, Outcome::Failed(_)));
        assert!(matches!(outcome(Err(Error::Interrupted)), Err(Error::Interrupted)));
    }
}
