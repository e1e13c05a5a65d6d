//! What a run says, for programs: its verdict, what was decided, its figures and its doubts, in words that the report uses
//! too. Every kind of run fills it; `headroom mcp` hands it out.

use analysis::{Doubt, metrics::Metric, profiles::ProfileFigures};
use model::plural::count;
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::check::Decision;

/// More figures than this are no answer but a table, which the report has.
pub(crate) const MOST_FIGURES: usize = 200;

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// The verdict on the run: measured, pass, fail or invalid
    pub(crate) verdict: String,
    /// Why, one sentence
    pub(crate) sentence: String,
    /// The run in one sentence; names in backticks
    pub(crate) headline: String,
    /// Gates, comparisons and pauses, decided
    pub(crate) decided: Vec<Decision>,
    /// Every figure, at most 200
    pub(crate) figures: Vec<Figure>,
    /// Figures beyond these, which the report has
    pub(crate) figures_left_out: usize,
    /// What weakens the answer, and what to do about it
    pub(crate) doubts: Vec<Doubtful>,
    /// Flame graphs, which are resources in their own right
    pub(crate) flames: Vec<Flame>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Figure {
    /// The variant, control or strategy; empty where it is of none
    pub(crate) variant: String,
    /// Where, as `114 clients`; empty for the whole run
    pub(crate) point: String,
    /// Its name in limits
    pub(crate) name: String,
    /// The mean, in the metric's own unit (CPU: µs a second); absent where nothing was measured
    pub(crate) mean: Option<f64>,
    /// The lower end of its 95 % interval
    pub(crate) low: Option<f64>,
    /// The upper end
    pub(crate) high: Option<f64>,
    /// The mean in words, with its unit
    pub(crate) words: Option<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Flame {
    /// Of what, as `found at 114 clients`
    pub(crate) of: String,
    /// The name of its file in the run's folder
    pub(crate) file: String,
    /// The picture, until it is a file.
    #[serde(skip)]
    pub(crate) svg: String,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Doubtful {
    /// What it is, one sentence
    pub(crate) sentence: String,
    /// What to do about it
    pub(crate) advice: String,
}

/// Flame graphs of these profiles.
pub(crate) fn flames(profiles: &[ProfileFigures]) -> Vec<Flame> {
    let flame = |(number, profile): (usize, &ProfileFigures)| {
        let of = of(profile);
        let svg = report::flame_svg(profile, &of)?;
        Some(Flame { of, file: format!("flame-{}.svg", number + 1), svg })
    };
    profiles.iter().enumerate().filter_map(flame).collect()
}

fn of(profile: &ProfileFigures) -> String {
    let at = profile.clients.map(|clients| format!(" at {}", count(clients, "client")));
    format!("{}{}", profile.variant, at.unwrap_or_default())
}

impl Doubtful {
    pub(crate) fn of(doubt: &Doubt) -> Self {
        Self { sentence: doubt.to_string(), advice: doubt.advice.clone() }
    }
}

impl Figure {
    pub(crate) fn of(metric: &Metric) -> Self {
        let estimate = metric.estimate.as_ref();
        let mean = estimate.map(|estimate| estimate.mean);
        let interval = estimate.and_then(|estimate| estimate.interval);
        Self {
            variant: metric.variant.clone(),
            point: metric.point.clone(),
            name: metric.name.clone(),
            mean,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            words: mean.map(|mean| metric.unit.words(mean)),
        }
    }
}
