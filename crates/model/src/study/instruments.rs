//! What a study records beside CPU time: stacks, calls, pauses, parity, and replies that are checked.

use serde::{Deserialize, Serialize};

use super::{Variant, number};
use crate::{instrument::Scope, pause, span::Span};

/// Trials in which a consumer is paused: it runs, is stopped, runs, a process of the agent's own is stopped in
/// its place, and it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pause {
    /// The consumer: a process by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// In place of `process`: a control group, by its path below the hierarchy's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The variants in which that is done; empty is the first with a load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// Client counts out of the study's; empty is the largest alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<u32>,
    /// Trials of each variant at each count.
    #[serde(default = "number::<6>")]
    pub repetitions: u32,
    /// Each of the five spans; a whole number of samples.
    #[serde(default = "Span::seconds::<10>")]
    pub span: Span,
    /// The beginning of each span that is in no figure: a poll under way ends in it.
    #[serde(default = "Span::seconds::<2>")]
    pub settle: Span,
}

impl Pause {
    pub fn target(&self) -> Option<pause::Target> {
        let process = self.process.clone().map(pause::Target::Process);
        process.or_else(|| self.group.clone().map(pause::Target::Group))
    }
}

/// What is asked of every variant once its window has closed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ParityShape {
    /// A command that prints how many clients the subject knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<String>,
    /// Commands that print what it says of them, each value of which an independent reading must confirm.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// Cause some frames from and to each client first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub traffic: bool,
    /// Send one client away, and see everybody count one less.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub leave: bool,
    /// The variants that are asked; empty is every one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
}

impl ParityShape {
    /// What is asked of a variant, which may have commands of its own.
    pub fn of(&self, variant: &Variant) -> Self {
        let own = variant.parity.clone().unwrap_or_default();
        Self {
            clients: own.clients.or_else(|| self.clients.clone()),
            values: own.values.unwrap_or_else(|| self.values.clone()),
            ..self.clone()
        }
    }
}

/// How a variant is asked, in place of the study's commands: another program tells its clients otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct VariantParity {
    /// A command that prints how many clients the subject knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<String>,
    /// Commands that print what it says of them; an empty list asks for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

/// Trials that record stacks: every variant, at these client counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Profile {
    /// Trials of every variant at each count; 0 records none.
    pub repetitions: u32,
    /// Client counts out of the study's; empty is the largest alone.
    pub clients: Vec<u32>,
    /// Names of the variants that are recorded; empty is every one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// Samples in a second of CPU time.
    pub frequency: u32,
    /// The most that is copied of a user stack, bytes.
    pub stack_bytes: u32,
    pub scope: Scope,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            repetitions: 3,
            clients: Vec::new(),
            variants: Vec::new(),
            // Off the beat of every timer that ticks in whole milliseconds.
            frequency: 499,
            stack_bytes: 32 * 1024,
            scope: Scope::default(),
        }
    }
}

/// Trials that count calls: every variant, at these client counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Count {
    #[serde(default = "number::<2>")]
    pub repetitions: u32,
    /// Client counts out of the study's; empty is the largest alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<u32>,
    /// Names of the variants that are counted; empty is every one that has something to count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    #[serde(rename = "function")]
    pub functions: Vec<Function>,
}

/// A function whose calls are counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Function {
    /// Its name in the report.
    pub name: String,
    /// Its symbol in a program or library, mangled or as people write it; or `0x` and an address that is
    /// the start of a function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// The program or library: a name or a path on the access point; without one, the subject's program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// In place of `symbol`: a function of the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The name of another function of this list: calls for each of its calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<String>,
    /// Record how long each call took.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub census: bool,
    /// Group the census by this argument, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<u8>,
}

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
