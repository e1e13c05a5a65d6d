//! What is done about the application, but for guard: settings that stay, and rules that look again and again.
//!
//! A study may ask for several together. What holds the application back is taken away before it is asked to end;
//! the nice values of packet threads are the tidier's to restore.

mod freezer;
mod headroom;

use model::{contention::Control, wire::Refusal};

use self::{freezer::Freezer, headroom::Headroom};
use super::{group::Group, renice};

/// The control at work.
#[derive(Debug, Default)]
pub(super) struct Rule {
    headroom: Option<Headroom>,
    freezer: Option<Freezer>,
    has_quota: bool,
}

impl Rule {
    /// Sets what stays, and begins the rules.
    ///
    /// # Errors
    ///
    /// [`Refusal::Contention`] where the group cannot be bounded.
    pub(super) fn begin(control: &Control, group: &Group, now: u64) -> Result<Self, Refusal> {
        let mut rule = Self::default();
        control.parts().iter().try_for_each(|part| rule.take(part, group, now))?;
        Ok(rule)
    }

    fn take(&mut self, part: &Control, group: &Group, now: u64) -> Result<(), Refusal> {
        match part {
            Control::None | Control::Guard(_) | Control::Together(_) => {}
            Control::Weight(shares) => group.set_weight(*shares)?,
            Control::Idle => group.set_idle()?,
            Control::Quota(share) => {
                group.set_quota(Some(*share))?;
                self.has_quota = true;
            }
            Control::Headroom(share) => {
                self.headroom = Some(Headroom::begin(*share, group, now)?);
                self.has_quota = true;
            }
            Control::PacketNice(nice) => renice::set_all(i32::from(*nice))?,
            Control::FreezeAbove(packets) => self.freezer = Some(Freezer::begin(*packets, now)),
        }
        Ok(())
    }

    /// When one of the rules decides next.
    pub(super) fn due_ns(&self) -> u64 {
        let headroom = self.headroom.as_ref().map_or(u64::MAX, Headroom::due_ns);
        headroom.min(self.freezer.as_ref().map_or(u64::MAX, Freezer::due_ns))
    }

    /// Decides where that is due.
    ///
    /// # Errors
    ///
    /// [`Refusal::Contention`] where the group cannot be bounded.
    pub(super) fn advance(&mut self, group: &Group, now: u64) -> Result<(), Refusal> {
        self.headroom.as_mut().map_or(Ok(()), |rule| rule.advance(group, now))?;
        self.freezer.as_mut().map_or(Ok(()), |rule| rule.advance(group, now))
    }

    /// Lets the application go, so that it can end when it is asked to.
    ///
    /// # Errors
    ///
    /// [`Refusal::Contention`] where the kernel says no.
    pub(super) fn let_go(&mut self, group: &Group) -> Result<(), Refusal> {
        if self.freezer.take().is_some_and(|freezer| freezer.has_frozen()) {
            group.set_frozen(false)?;
        }
        self.headroom = None;
        if std::mem::take(&mut self.has_quota) { group.set_quota(None) } else { Ok(()) }
    }
}
