//! The way to a device for as long as a run needs it: an agent there, and another one after the link broke or the device
//! was booted.
//!
//! Talks to [`crate::remote`]. What is lost with an agent, as files that were put there, whoever asked for it brings
//! again; [`Connection::agent`] says when.

use std::time::{Duration, Instant};

use model::{
    census::Census,
    event::Event,
    facts::Facts,
    wire::{Frame, Order},
};

use crate::{
    Error, Lab, device::Device, device_file::DeviceFile, exchange::unexpected, power,
    remote::Remote, vm::Failure,
};

/// From the first try to come back to the second; each pause after it is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// No pause is longer: a device boots in half a minute.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A device that is lost in the last trial is looked for once more for so long: nothing but its settings waits for it.
const SOON: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct Connection {
    named: DeviceFile,
    agent: Option<Remote>,
    /// Whether the device was lost, and not let go.
    is_lost: bool,
    pub(super) facts: Facts,
    pub(super) census: Census,
}

type Introduction = (Facts, Census);

impl Connection {
    pub(super) fn open(lab: &Lab, named: &DeviceFile) -> Result<Self, Error> {
        let (agent, (facts, census)) = reached(lab, named)?;
        Ok(Self { named: named.clone(), agent: Some(agent), is_lost: false, facts, census })
    }

    /// The agent there. Where there is none any more, the device is waited for, for as long as patience lasts, and `again`
    /// does with the new one what was done with the first.
    pub(super) fn agent(
        &mut self,
        lab: &Lab,
        again: impl FnOnce(&mut Remote) -> Result<(), Error>,
    ) -> Result<&mut Remote, Error> {
        self.agent_within(lab, lab.settings.patience, again)
    }

    /// An agent on a device that was lost, if it is back soon.
    pub(super) fn look_again(&mut self, lab: &Lab) -> Result<&mut Remote, Error> {
        self.agent_within(lab, SOON.min(lab.settings.patience), |_| Ok(()))
    }

    fn agent_within(
        &mut self,
        lab: &Lab,
        patience: Duration,
        again: impl FnOnce(&mut Remote) -> Result<(), Error>,
    ) -> Result<&mut Remote, Error> {
        let agent = match self.agent.take() {
            Some(agent) => agent,
            None => {
                let mut agent = self.come_back(lab, patience)?;
                again(&mut agent)?;
                agent
            }
        };
        Ok(self.agent.insert(agent))
    }

    /// Whether there is an agent; where not, the device was lost.
    pub(super) fn is_open(&self) -> bool {
        self.agent.is_some()
    }

    pub(super) fn lose(&mut self, lab: &Lab, why: &Error) {
        if self.agent.take().is_some() {
            self.is_lost = true;
            let named = &self.named;
            lab.emit(Event::Doubt { text: format!("{named} is lost ({why}); it is waited for") });
        }
    }

    /// Lets an agent end in good order, because the device is going to be restarted.
    pub(super) fn let_go(&mut self) {
        self.agent = None;
    }

    pub(super) fn named(&self) -> &DeviceFile {
        &self.named
    }

    fn come_back(&mut self, lab: &Lab, patience: Duration) -> Result<Remote, Error> {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let why = match reached(lab, &self.named) {
                Ok((agent, introduction)) => {
                    self.welcome(lab, introduction, began.elapsed());
                    return Ok(agent);
                }
                Err(error) if is_of_device(&error) => error,
                Err(error) => return Err(error),
            };
            if began.elapsed() + pause > patience {
                let (device, waited_s) = (&self.named, began.elapsed().as_secs());
                return Err(Error::Environment(format!(
                    "{device} did not come back within {waited_s} s: {why}; what is finished is kept, and `headroom run \
                     --resume RUN --on DEVICE` goes on once it is there"
                )));
            }
            lab.cancel.wait(pause)?;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn welcome(&mut self, lab: &Lab, (facts, census): Introduction, took: Duration) {
        if std::mem::take(&mut self.is_lost) {
            let was_booted = self.facts.boot.is_some() && self.facts.boot != facts.boot;
            let booted = if was_booted { ": it rebooted" } else { "" };
            let (named, took) = (&self.named, took.as_secs());
            lab.emit(Event::Doubt { text: format!("{named} is back after {took} s{booted}") });
        }
        (self.facts, self.census) = (facts, census);
    }
}

/// Whether an error says that a device, or the way to it, failed: another try may succeed.
pub(super) fn is_of_device(error: &Error) -> bool {
    match error {
        Error::Machine(Failure::Protocol(_) | Failure::Start(_) | Failure::LongOrder(_)) => false,
        Error::Machine(_) | Error::Unreachable(_) => true,
        _ => false,
    }
}

fn reached(lab: &Lab, named: &DeviceFile) -> Result<(Remote, Introduction), Error> {
    let mut agent = Remote::reach(lab, &power::on(lab, named)?)?;
    let introduction = introduced(&mut agent)?;
    Ok((agent, introduction))
}

pub(super) fn census_now(agent: &mut Remote) -> Result<Census, Error> {
    agent.order(&Order::Introduce { subject: None })?;
    introduced(agent).map(|(_, census)| census)
}

fn introduced(agent: &mut dyn Device) -> Result<Introduction, Error> {
    let (hello, census) = ("the agent's hello", "the agent's census");
    let facts = match agent.frame(hello)? {
        Frame::Hello { facts, .. } => *facts,
        frame => return Err(unexpected(&frame, hello).into()),
    };
    match agent.frame(census)? {
        Frame::Census(census) => Ok((facts, census)),
        frame => Err(unexpected(&frame, census).into()),
    }
}
