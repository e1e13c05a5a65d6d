//! What the controls of a study are, and how each looks: one mark for a control in every picture.
//!
//! Reads the study only. Families matter for pictures: weights are one line, quotas another, guard's settings
//! a third; what is none of them stands alone.

use model::contention::{Control, Study};

/// The control that is none.
pub(super) const NONE: &str = "none";
/// What controls have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    /// No control.
    None,
    /// A weight, or idle class, which is the last of the weights.
    Weight,
    /// A quota of CPU time.
    Quota,
    /// A rule that follows the load, as fixed headroom.
    Rule,
    /// guard.
    Guard,
}

impl Family {
    /// Every family, in the order of legends.
    pub(super) const ALL: [Family; 5] =
        [Family::None, Family::Weight, Family::Quota, Family::Rule, Family::Guard];

    /// Which of the page's marks it has; see [`crate::marks`].
    pub(super) const fn style(self) -> usize {
        match self {
            Family::None => 0,
            Family::Weight => 4,
            Family::Quota => 2,
            Family::Rule => 5,
            Family::Guard => 3,
        }
    }

    /// How its line is drawn: dash and gap; empty is solid.
    pub(super) const fn dash(self) -> &'static str {
        match self {
            Family::Guard | Family::None => "",
            Family::Weight => "7 3",
            Family::Quota | Family::Rule => "2 3",
        }
    }

    /// What a legend calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Family::None => "no control",
            Family::Weight => "fixed weights and idle class",
            Family::Quota => "fixed quotas",
            Family::Rule => "rule of fixed headroom",
            Family::Guard => "guard’s settings",
        }
    }
}

/// The family of a control by its name. A name that the study does not know is of none.
pub(super) fn family(study: &Study, name: &str) -> Family {
    let known = study.controls.iter().find(|control| control.name == name);
    match known.map(|control| &control.control) {
        Some(Control::None) => Family::None,
        Some(Control::Weight(_) | Control::Idle) => Family::Weight,
        Some(Control::Quota(_)) => Family::Quota,
        Some(Control::Headroom(_)) => Family::Rule,
        Some(Control::Guard(_)) => Family::Guard,
        None if name == NONE => Family::None,
        None => Family::Rule,
    }
}

/// Whether it is the control that was reported from the field.
pub(super) fn is_published(study: &Study, name: &str) -> bool {
    study.controls.iter().any(|control| control.name == name && control.reported)
}

/// A control in words: `cpu.weight 256`, as its table explains it.
pub(super) fn explained(control: &Control) -> String {
    match control {
        Control::None => "nothing is done".to_owned(),
        Control::Weight(weight) => format!("the application’s group weighs {weight} against 1024"),
        Control::Idle => "the application’s group is of idle class".to_owned(),
        Control::Quota(share) => {
            format!("the application gets at most {share} of all CPUs’ time, in periods of 10 ms")
        }
        Control::Headroom(share) => {
            format!(
                "each second the application’s quota is set to what leaves {share} of all CPUs idle"
            )
        }
        Control::Guard(_) => "guard runs, with its policy in the study file below".to_owned(),
    }
}
