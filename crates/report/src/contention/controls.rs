//! What the controls of a study are, and how each looks: one mark for a control in every picture.
//!
//! Reads the study only. Families matter for pictures: controls of one kind have one mark.

use model::{study::Study, traffic::Control};

/// The control that is none.
pub(crate) const NONE: &str = "none";
/// What controls have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    /// No control.
    None,
    /// A weight, or idle class, which is the last of the weights.
    Weight,
    /// A quota of CPU time.
    Quota,
    /// A rule that follows the load, as fixed headroom or freezing.
    Rule,
    /// Wi-Fi's threads are made nicer, alone or with more.
    Nice,
    Guard,
}

impl Family {
    /// Every family, in the order of legends.
    pub(crate) const ALL: [Family; 6] =
        [Family::None, Family::Weight, Family::Quota, Family::Rule, Family::Nice, Family::Guard];

    /// Which of the page's marks it has; see [`crate::marks`].
    pub(crate) const fn style(self) -> usize {
        match self {
            Family::None => 0,
            Family::Weight => 4,
            Family::Quota => 2,
            Family::Rule => 5,
            Family::Nice => 1,
            Family::Guard => 3,
        }
    }

    /// What a legend calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Family::None => "no control",
            Family::Weight => "fixed weights and idle class",
            Family::Quota => "fixed quotas",
            Family::Rule => "rules that follow the load",
            Family::Nice => "nicer packet threads, with a weight or without",
            Family::Guard => "guard’s settings",
        }
    }
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
