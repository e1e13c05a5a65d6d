//! What a run decides, as figures and sentences: comparisons, pauses, gates, and what it all took.

use model::{
    topology::Correction,
    trial::TrialId,
    verdict::{Difference, Expect, Verdict},
};
use serde::Serialize;

use crate::{figures::Part, stats::Estimate};

/// What a comparison found, whatever it was to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// The variant costs more, or its steady cost is higher: the interval excludes 0.
    Dearer,
    /// The variant costs less, whatever rare events may add.
    Cheaper,
    /// Both cost the same: the interval at 1 − 2α lies within the margin, and does include 0; so do rare events.
    Equivalent,
    /// Neither can be said with these pairs.
    Undecided,
    /// None of the functions that the variant changes was executed.
    NoOp,
    /// The sides differ in more than what the comparison names, or there are no usable pairs.
    NotComparable,
    /// What was found as it is does not hold in some perturbed state, or could not be measured there.
    Unstable,
}

/// Events of one side: periods that cost it far more than the other side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Events {
    pub count: u32,
    /// What one of them adds on average, µs of CPU; `None` where there is none.
    pub mean_us: Option<f64>,
    pub largest_us: Option<f64>,
}

/// A difference as steady cost and rare events, `variant − base`: `total` is always `steady` and `events` together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Split {
    /// A round of the load, s.
    pub period_s: f64,
    /// Periods of each side, all pairs together.
    pub periods: u32,
    /// What most periods differ by.
    pub steady: Estimate,
    pub events: Estimate,
    pub total: Estimate,
    pub variant: Events,
    pub base: Events,
    /// The smallest p of three tests whether events differ: in what they add to each pair, in their number, and in their
    /// sizes by rank.
    pub p: f64,
    /// Whether that is at most 0.05, at whichever level the comparison itself is decided. Where it is not, they are not
    /// alike for that: what they may add is in the interval of `events`.
    pub differ: bool,
}

/// Subject, load and others together, where the subject alone is judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Together {
    /// What they differ by, µs of CPU a second.
    pub absolute: Estimate,
    /// The same as a share of the base.
    pub relative: Option<Estimate>,
    pub finding: Finding,
    /// Whether this is why the verdict is no pass: the subject is cheap because others pay.
    pub pays: bool,
}

/// A verdict on one thing that was checked, as whether replies are true, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conclusion {
    pub verdict: Verdict,
    /// Why, without a point at its end.
    pub sentence: String,
}

impl Conclusion {
    pub(crate) fn fail(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fail, sentence: why.into() }
    }

    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::Invalid, sentence: why.into() }
    }

    /// The same with words in front of it.
    pub(crate) fn after(self, words: &str) -> Self {
        Self { sentence: format!("{words}{}", self.sentence), ..self }
    }
}

/// What both sides do after their windows, when the load has ended: work that was put off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Deferred {
    /// The base, mean of a trial, µs of CPU.
    pub base_us: f64,
    pub variant_us: f64,
    /// `variant − base`, pair by pair, µs of CPU for each window.
    pub difference: Estimate,
    /// The share of what the variant saves in its window that it spends after it; `None` where it saves nothing.
    pub share_of_saving: Option<f64>,
    /// Whether this is why the verdict is no pass: a saving is put off.
    pub takes_back: bool,
}

/// Which difference decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The steady one: events are not shown to differ, or the total says nothing.
    Steady,
    /// The total: events differ.
    Total,
    /// The means of the windows, for this reason.
    Mean(NoPeriods),
}

/// Why windows are not compared period by period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoPeriods {
    /// Time is real, so that the sides of a pair are not in step.
    RealTime,
    /// The sides' loads have rounds of different lengths, or samples do not divide a round.
    OutOfStep,
    /// A window holds fewer than four rounds.
    TooFew,
    /// What is compared has no rounds.
    NoRounds,
}

impl NoPeriods {
    /// The reason, as it stands behind “means are compared: ”.
    pub const fn why(self) -> &'static str {
        match self {
            Self::RealTime => "time is real, so periods of the two sides are not in step",
            Self::OutOfStep => "periods of the two sides are not in step",
            Self::TooFew => "a window holds fewer than four rounds of the load",
            Self::NoRounds => "what is compared has no rounds",
        }
    }
}

/// What one state says of a question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InState {
    /// Its name; the first one is `as is`.
    pub state: String,
    /// What is different in it.
    pub changes: String,
    /// How the question is decided by this state alone.
    pub verdict: Verdict,
    pub finding: Finding,
    pub pairs: u32,
    /// The base, µs of CPU a second.
    pub before: Option<Estimate>,
    pub after: Option<Estimate>,
    /// The difference that decides, as a share of the base.
    pub relative: Option<Estimate>,
    /// Exact two-sided p of the sign-flip test over the pairs.
    pub p: Option<f64>,
    /// Whether it says what the state says that is measured anyway.
    pub holds: bool,
    /// Why nothing was measured in it, where nothing was.
    pub why: Option<String>,
    /// Its own verdict and the reason.
    pub sentence: String,
}

/// What two sides are compared by, and the unit of all figures of their comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// CPU, µs a second.
    Cpu,
    /// Time that a task takes, s.
    Time,
    /// Wi-Fi that arrives, Mb/s: more of it is better, and what keeps more is the cheaper one.
    Wifi,
}

/// Two sides, decided: variants, controls, or ways to wait for a card.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    pub base: String,
    pub variant: String,
    pub clients: u32,
    /// Where they are compared, as its sentence has it: `at 60 clients`; empty where that is said elsewhere.
    pub at: String,
    pub quantity: Quantity,
    pub subject: String,
    /// Whose CPU: the subject's, or the sum where the subjects are different programs.
    pub part: Part,
    pub expect: Expect,
    pub difference: Difference,
    pub verdict: Verdict,
    pub finding: Finding,
    /// The verdict and its reason, one sentence.
    pub sentence: String,
    pub pairs: u32,
    pub basis: Basis,
    /// The difference as steady cost and events; `None` where means are compared.
    pub split: Option<Split>,
    /// Subject, load and others together; `None` where these are judged, or one of them is not counted.
    pub together: Option<Together>,
    /// Whether the replies of both sides are true, where rounds are checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<Conclusion>,
    /// Work that was put off until after the window, where that is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred: Option<Deferred>,
    /// What each pair differs by, by repetition; for a picture.
    pub differences: Vec<f64>,
    /// Means of both sides.
    pub before: Option<Estimate>,
    pub after: Option<Estimate>,
    /// The difference that decides, with the interval at the level of this look.
    pub absolute: Option<Estimate>,
    /// The same as a share of the base.
    pub relative: Option<Estimate>,
    /// The absolute effect for each client; `None` at 0 clients.
    pub per_client: Option<Estimate>,
    /// Exact two-sided p of the sign-flip test over the pairs.
    pub p: Option<f64>,
    /// p of the equivalence test (TOST) against the margin.
    pub p_equivalence: Option<f64>,
    /// The margin, share of the base.
    pub margin: f64,
    /// The smallest true relative effect that so many pairs with this spread find in 4 of 5 experiments.
    pub detectable: Option<f64>,
    /// Pairs that it would probably take to decide; `None` where it is decided or no one can tell.
    pub pairs_needed: Option<u32>,
    /// Error of its intervals: of 0.05 for all looks, this look's part, and half of that where the steady part and the total
    /// are both asked.
    pub level: f64,
    /// This look and all looks, where the comparison went on until it was decided.
    pub look: Option<(u32, u32)>,
    /// What differs besides what is named, one line each.
    pub strangers: Vec<String>,
    /// The functions that the variant changes, with their calls in one window.
    pub ran: Vec<Ran>,
    /// Rates of counted functions in both sides, for each second of the window: what the fix changed in how
    /// often things happen. Only those that are counted in both.
    pub rates: Vec<RateChange>,
    /// What each state says, the one as it is first; empty where the comparison was not repeated. The verdict, the
    /// finding and the sentence are of all of them together, every other figure is of the state as it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<InState>,
}

impl Basis {
    /// Why means are compared, where they are.
    pub const fn means_because(self) -> Option<&'static str> {
        match self {
            Self::Mean(why) => Some(why.why()),
            Self::Steady | Self::Total => None,
        }
    }
}

impl Judgement {
    /// Why means are compared, where they are.
    pub const fn means_because(&self) -> Option<&'static str> {
        self.basis.means_because()
    }
}

/// A function that a variant changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ran {
    pub function: String,
    /// Its calls in one window; `None` where it could not be counted.
    pub calls: Option<u64>,
}

/// Calls of one function on both sides, each second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateChange {
    pub function: String,
    pub before: f64,
    pub after: f64,
}

/// A consumer that was paused.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PauseFigures {
    pub variant: String,
    pub clients: u32,
    pub consumer: String,
    pub subject: String,
    pub trials: u32,
    /// The error of its intervals: the consumers that are paused in turn share one.
    pub level: f64,
    /// The subject's CPU while the consumer runs, µs a second; `None` where no trial gives an answer.
    pub running: Option<Estimate>,
    pub stopped: Option<Estimate>,
    /// While another process is stopped in its place.
    pub sham: Option<Estimate>,
    /// The share of the subject's CPU that the consumer causes: 1 − stopped ÷ running, pair by pair.
    pub share: Option<Estimate>,
    /// The same of the control; its interval must include 0, or be within a thousandth.
    pub sham_share: Option<Estimate>,
    /// Second by second of one trial, for a picture: seconds from the window's start, µs a second, and the
    /// state's name (`runs`, `stopped`, `sham`).
    pub series: Vec<(f64, f64, String)>,
    /// Pass where the share can be distinguished from 0 and the control did not move; invalid where the control
    /// moved, clients left, a trial is missing, or the subject's own period explains the share; fail where the
    /// share cannot be distinguished from 0.
    pub verdict: Verdict,
    pub sentence: String,
}

impl PauseFigures {
    /// The study's variant: where several consumers are paused in turn, each has a copy of it that has its name.
    pub fn of_variant(&self) -> &str {
        without_consumer(&self.variant, &self.consumer)
    }
}

pub(crate) fn without_consumer<'a>(variant: &'a str, consumer: &str) -> &'a str {
    variant.strip_suffix(&format!(".{}", consumer.to_lowercase())).unwrap_or(variant)
}

/// A limit, and whether it was kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gate {
    /// Short name: `monotonic`, `unknown-frames`, or the limit as it was written.
    pub name: String,
    pub verdict: Verdict,
    pub sentence: String,
}

/// A correction of the access point before a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Corrected {
    pub trial: TrialId,
    pub correction: Correction,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ledger {
    /// Trials that are on disk, and those of the plan.
    pub trials: (u32, u32),
    /// From the first trial's beginning to the last one's end, s of wall time.
    pub wall_s: f64,
    /// Of the trials themselves, added up, s of wall time.
    pub trials_s: f64,
    /// CPU time of the processes that were access points, s; `None` where none is known.
    pub cpu_s: Option<f64>,
    /// Time that passed on access points: offset, warm-up and window, s.
    pub device_s: f64,
    /// Time in which a consumer was stopped, s of access-point time.
    pub stopped_s: f64,
    /// Records of stacks, samples.
    pub samples: u64,
}
