//! The keys of `[witness]`: replies that are checked inside the measured window, and work that is put off.

use serde::{Deserialize, Serialize};

use crate::span::Span;

/// What is checked in every window whose CPU is the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct WitnessShape {
    /// So many rounds of the load are checked in each window.
    pub rounds: u32,
    /// No value of a reply may be older.
    pub age: Span,
    /// The subject is still counted for so long once the window has closed and the load has ended.
    pub drain: Span,
    /// What the rounds are drawn from, with the repetition; without one it is made of the study's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Whether hostapd is asked as well as nl80211; where hostapd is the subject, that would cost it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hostapd: bool,
}

impl Default for WitnessShape {
    fn default() -> Self {
        Self {
            rounds: 4,
            age: Span::from_secs(1),
            drain: Span::from_secs(3),
            seed: None,
            hostapd: false,
        }
    }
}
