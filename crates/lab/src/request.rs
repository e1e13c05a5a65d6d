//! One order to a place of its own, and its one answer.
//!
//! Every request has an access point of its own, restored for it, or on this machine an agent of its own: what one
//! leaves behind is no other's. What is ordered, and what becomes of the answer, is its kind's to know.

use std::{path::Path, time::Duration};

use model::{
    cache::Marks,
    contention::Machine as On,
    share::Share,
    study::Mode,
    wire::{Frame, Order},
};

use crate::{
    Error, Lab,
    cache_model::Attached,
    device::Device,
    exchange::{Preamble, unexpected},
    idle,
    remote::{Address, Remote},
    vm::{Failure, Machine, Start, Surroundings, snapshot::Snapshot},
};

/// What is asked of a place, and known of the answer.
pub(crate) trait Request {
    type Answer;
    /// What comes back, in words with their article, as failures name it.
    const ANSWER: &'static str;
    /// What it does on this machine that only root may, in words.
    const AT_HOST: &'static str;

    /// What the agent is ordered, with marks for its window where that is counted from outside.
    fn order(&self, marks: Option<Marks>) -> Order;

    /// The answer, or the frame that is not it.
    fn answer(frame: Frame) -> Result<Self::Answer, Frame>;
}

/// Where requests are made.
#[derive(Debug)]
pub struct Places {
    /// The virtual access points, one for each way that time passes.
    pub(crate) snapshots: Vec<Snapshot>,
    /// So idle this machine is before a request in real time, if it can be waited for.
    pub(crate) idle_gate: Share,
    /// So long it is waited for; then the request is made, and says how idle it was.
    pub(crate) patience: Duration,
}

/// Where and how one request is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    pub(crate) lab: &'a Lab,
    pub(crate) on: On,
    pub(crate) mode: Mode,
    /// Where the console of its access point goes.
    pub(crate) console_log: &'a Path,
    /// The caches of its access point, where they are modelled.
    pub(crate) model: Option<&'a Attached>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ran<T> {
    /// The answer, or in words why the place gave none.
    pub(crate) answer: Result<T, String>,
    /// The share of the second before that this machine was idle; `None` in counted time.
    pub(crate) idle_before: Option<Share>,
}

impl<T> Ran<T> {
    /// It was not run.
    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Self { answer: Err(why.into()), idle_before: None }
    }
}

impl Places {
    /// Makes a request at a place.
    ///
    /// # Errors
    ///
    /// [`Error`] of the host. What goes wrong with the place is the request's end.
    pub(crate) fn run<Q: Request>(
        &self,
        at: &At<'_>,
        request: &Q,
    ) -> Result<Ran<Q::Answer>, Error> {
        let At { lab, on, mode, console_log, model } = *at;
        if on == On::Host && !rustix::process::geteuid().is_root() {
            let why = format!("{} on this machine: run headroom as root", Q::AT_HOST);
            return Ok(Ran::refused(why));
        }
        let gate = || idle::gate(self.idle_gate, self.patience, &lab.cancel);
        let idle_before = if mode == Mode::RealTime { gate()? } else { None };
        let ended = match on {
            On::Host => on_host(lab, request),
            On::Vm => {
                let Some(snapshot) = self.snapshots.iter().find(|one| one.shape.mode == mode)
                else {
                    return Ok(Ran::refused("there is no snapshot of its place"));
                };
                let memory = &snapshot.memory;
                let start =
                    model.map_or(Start::Restore(memory), |one| Start::Modelled(memory, one));
                let around = Surroundings::of(lab, console_log);
                let machine = Machine::start(&snapshot.shape, start, around);
                let order = request.order(model.map(Attached::marks));
                machine.and_then(|mut machine| {
                    machine.begin(&order)?;
                    listen::<Q>(&mut machine)
                })
            }
        };
        Ok(Ran { answer: outcome(ended)?, idle_before })
    }
}

/// By an agent that lives for this request.
fn on_host<Q: Request>(lab: &Lab, request: &Q) -> Result<Q::Answer, Error> {
    let mut device = Remote::reach(lab, &Address::Local)?;
    device.order(&request.order(None))?;
    listen::<Q>(&mut device)
}

/// What goes wrong with the place is the request's end; what goes wrong with the host is an error.
fn outcome<T>(ended: Result<T, Error>) -> Result<Result<T, String>, Error> {
    match ended {
        Ok(answer) => Ok(Ok(answer)),
        Err(Error::Machine(failure)) => Ok(Err(failure.to_string())),
        Err(error) => Err(error),
    }
}

/// The answer, when the agent has said its last word.
fn listen<Q: Request>(device: &mut dyn Device) -> Result<Q::Answer, Error> {
    const LAST: &str = "the agent's last word";
    let mut preamble = Preamble::default();
    let answer = loop {
        match Q::answer(device.frame(Q::ANSWER)?) {
            Ok(answer) => break answer,
            Err(Frame::Done) => {
                return Err(Failure::Lacks(Q::ANSWER.trim_start_matches("the ")).into());
            }
            Err(frame) => preamble.take(&frame, Q::ANSWER)?,
        }
    };
    match device.frame(LAST)? {
        Frame::Done => Ok(answer),
        frame => Err(unexpected(&frame, LAST).into()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    struct Scripted(VecDeque<Frame>);

    impl Device for Scripted {
        fn order(&mut self, _: &Order) -> Result<(), Error> {
            Ok(())
        }

        fn frame(&mut self, _: &'static str) -> Result<Frame, Error> {
            self.0.pop_front().ok_or_else(|| Failure::Lacks("frames").into())
        }
    }

    /// Wants to know whom it speaks with.
    struct Asked;

    impl Request for Asked {
        type Answer = u16;
        const ANSWER: &'static str = "the name";
        const AT_HOST: &'static str = "nothing is asked";

        fn order(&self, _: Option<Marks>) -> Order {
            Order::Introduce { subject: None }
        }

        fn answer(frame: Frame) -> Result<u16, Frame> {
            match frame {
                Frame::Located(found) => Ok(found.len() as u16),
                frame => Err(frame),
            }
        }
    }

    fn heard(frames: impl IntoIterator<Item = Frame>) -> Result<u16, String> {
        listen::<Asked>(&mut Scripted(frames.into_iter().collect())).map_err(|why| why.to_string())
    }

    #[test]
    fn an_answer_is_whole_when_the_agent_has_said_its_last_word() {
        let answer = || Frame::Located(Vec::new());
        let hello = || Frame::Hello { protocol: model::wire::PROTOCOL, facts: Box::default() };
        assert_eq!(heard([hello(), answer(), Frame::Done]), Ok(0));
        heard([answer()]).unwrap_err();
        assert!(heard([hello(), Frame::Done]).unwrap_err().ends_with("holds no name"));
        let twice = heard([answer(), answer(), Frame::Done]).unwrap_err();
        assert!(twice.starts_with("the agent sent where programs are while"), "{twice}");
        heard([Frame::Peers(Vec::new()), answer(), Frame::Done]).unwrap_err();
    }

    #[test]
    fn what_fails_at_the_place_is_the_outcome_and_what_fails_here_is_an_error() {
        let failed = outcome::<()>(Err(Failure::Lacks("name").into())).unwrap();
        assert!(failed.is_err());
        assert!(matches!(outcome::<()>(Err(Error::Interrupted)), Err(Error::Interrupted)));
    }
}
