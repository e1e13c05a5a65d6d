//! Settings of a device that figures need: set before the first trial, and restored after the last.
//!
//! Talks to the agent, which sets them back by itself too, however it ends. What is not as it was is said, here and in the
//! run.

use std::collections::BTreeMap;

use model::{
    event::Event,
    settings::{Set, Settings},
    wire::{Frame, Order},
};

use crate::{Error, Lab, device::ask, remote::Remote};

#[derive(Debug, Default)]
pub(super) struct DeviceSettings {
    asked: Settings,
    /// Whether they were set: another agent is asked again.
    is_set: bool,
    /// What each setting was before the first agent came.
    were: BTreeMap<String, String>,
    /// What an earlier agent was to restore and did not, each once.
    left: Vec<String>,
}

impl DeviceSettings {
    pub(super) fn asking(asked: &Settings) -> Self {
        Self { asked: asked.clone(), ..Self::default() }
    }

    /// Sets them; what cannot be set is said, and no error.
    pub(super) fn set(&mut self, lab: &Lab, agent: &mut Remote) -> Result<(), Error> {
        if self.asked.is_empty() {
            return Ok(());
        }
        let became = ordered(agent, &self.asked)?;
        for failed in became.iter().filter(|one| one.why_not.is_some()).filter(|_| !self.is_set) {
            lab.emit(Event::Doubt { text: failed.to_string() });
        }
        self.is_set = true;
        became.iter().for_each(|one| self.look_back(one));
        Ok(())
    }

    /// Sets them again, for an agent that came in the place of another one.
    pub(super) fn set_again(&mut self, lab: &Lab, agent: &mut Remote) -> Result<(), Error> {
        if self.is_set { self.set(lab, agent) } else { Ok(()) }
    }

    /// Whether the agent before this one set everything back.
    fn look_back(&mut self, one: &Set) {
        let Set { what, was, .. } = one;
        match self.were.get(what) {
            None => drop(self.were.insert(what.clone(), was.clone())),
            Some(then) if then == was => {}
            Some(then) => {
                let left = format!("{what} was {then} before the run and is {was} after it");
                if !self.left.contains(&left) {
                    self.left.push(left);
                }
            }
        }
    }

    pub(super) fn is_set(&self) -> bool {
        self.is_set
    }

    /// Sets everything back; answers what is not as it was.
    pub(super) fn set_back(&mut self, lab: &Lab, agent: &mut Remote) -> Result<Vec<String>, Error> {
        // An agent that came in the place of the one before knows nothing of what that one set: it is asked again, and
        // what it finds says whether the other one has set it back.
        self.set(lab, agent)?;
        let became = ordered(agent, &Settings::default())?;
        self.is_set = false;
        let mut left = std::mem::take(&mut self.left);
        left.extend(became.iter().filter(|one| one.why_not.is_some()).map(Set::to_string));
        Ok(left)
    }
}

fn ordered(agent: &mut Remote, settings: &Settings) -> Result<Vec<Set>, Error> {
    ask(agent, &Order::Set(settings.clone()), "what became of settings", |frame| match frame {
        Frame::Settings(became) => Ok(became),
        frame => Err(frame),
    })
}
