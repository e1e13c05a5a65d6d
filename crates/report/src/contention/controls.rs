//! What the controls of a study are, and how each looks: one mark for a control in every picture.
//!
//! Reads the study only. Families matter for pictures: controls of one kind have one mark.

use model::{study::Study, traffic::Control, trial::NONE};

/// What controls have in common; its number is that of its mark, see [`crate::drawing::marks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// No control.
    None = 0,
    /// Wi-Fi's threads are made nicer, alone or with more.
    Nice = 1,
    /// A quota of CPU time.
    Quota = 2,
    Guard = 3,
    /// A weight, or idle class, which is the last of the weights.
    Weight = 4,
    /// A rule that follows the load, as fixed headroom or freezing.
    Rule = 5,
}

impl Family {
    /// Every family with its name, in the order of legends.
    pub(crate) const ALL: [(Self, &str); 6] = [
        (Self::None, "no control"),
        (Self::Weight, "fixed weights and idle class"),
        (Self::Quota, "fixed quotas"),
        (Self::Rule, "rules that follow the load"),
        (Self::Nice, "nicer packet threads, with a weight or without"),
        (Self::Guard, "guard’s settings"),
    ];
}

/// The family of a control by its name. A name that the study does not know is of none.
pub(crate) fn family(study: &Study, name: &str) -> Family {
    let known = study.variant(name);
    match known.map(|control| &control.control) {
        Some(Control::None) => Family::None,
        Some(Control::Weight(_) | Control::Idle) => Family::Weight,
        Some(Control::Quota(_)) => Family::Quota,
        Some(Control::Headroom(_) | Control::FreezeAbove(_)) => Family::Rule,
        Some(Control::PacketNice(_) | Control::Together(_)) => Family::Nice,
        Some(Control::Guard(_)) => Family::Guard,
        None if name == NONE => Family::None,
        None => Family::Rule,
    }
}

/// Whether it is the control that was reported from the field.
pub(crate) fn is_published(study: &Study, name: &str) -> bool {
    study.variant(name).is_some_and(|control| control.reported)
}

/// Whether it is a fixed setting, one of those among which the best other control is looked for.
pub(crate) fn is_candidate(study: &Study, name: &str) -> bool {
    study.variant(name).is_some_and(|control| control.candidate)
}
