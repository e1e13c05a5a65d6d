//! What a run says, for programs: its verdict, what was decided, its figures and its doubts, in words that the report uses
//! too. Every kind of run fills it; `headroom mcp` hands it out.

use analysis::{Doubt, metrics::Metric, profiles::ProfileFigures};
use model::plural::count;
use report::{Overall, verdict_lines::VerdictLine};
use schemars::JsonSchema;
use serde::Serialize;

/// More figures than this are no answer but a table, which the report has.
const MOST_FIGURES: usize = 200;

/// What a run says.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// The verdict on the run: measured, pass, fail or invalid
    pub(crate) verdict: String,
    /// Why, one sentence
    pub(crate) sentence: String,
    /// The run in one sentence; names in backticks
    pub(crate) headline: String,
    /// Gates, comparisons and pauses, decided
    pub(crate) decided: Vec<Decided>,
    /// Every figure, at most 200
    pub(crate) figures: Vec<Figure>,
    /// Figures beyond these, which the report has
    pub(crate) figures_left_out: usize,
    /// What weakens the answer, and what to do about it
    pub(crate) doubts: Vec<Doubtful>,
    /// Flame graphs, which are resources in their own right
    pub(crate) flames: Vec<Flame>,
}

/// One decision.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Decided {
    /// What was decided: gate, comparison, pause or run
    pub(crate) kind: String,
    /// Which
    pub(crate) name: String,
    /// How: pass, fail, invalid or measured
    pub(crate) verdict: String,
    /// Whether it counts for the run's verdict
    pub(crate) counts: bool,
    /// The figure and its interval, where one figure decides
    pub(crate) effect: Option<String>,
    /// Why, one sentence
    pub(crate) sentence: String,
}

/// One figure.
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

/// One flame graph.
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

/// One doubt.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Doubtful {
    /// What it is, one sentence
    pub(crate) sentence: String,
    /// What to do about it
    pub(crate) advice: String,
}

impl Answer {
    /// Of a run that was decided so.
    pub(crate) fn of(overall: &Overall, lines: &[VerdictLine], headline: &str) -> Self {
        Self {
            verdict: overall.verdict.to_string(),
            sentence: overall.sentence.clone(),
            headline: headline.to_owned(),
            decided: lines.iter().map(Decided::of).collect(),
            figures: Vec::new(),
            figures_left_out: 0,
            doubts: Vec::new(),
            flames: Vec::new(),
        }
    }

    /// With these figures.
    pub(crate) fn with_figures(self, table: &[Metric]) -> Self {
        let figures: Vec<Figure> = table.iter().take(MOST_FIGURES).map(Figure::of).collect();
        Self { figures_left_out: table.len() - figures.len(), figures, ..self }
    }

    /// With flame graphs of these profiles.
    pub(crate) fn with_flames(self, profiles: &[ProfileFigures]) -> Self {
        let flame = |(number, profile): (usize, &ProfileFigures)| {
            let of = of(profile);
            let svg = report::flame_svg(profile, &of)?;
            Some(Flame { of, file: format!("flame-{}.svg", number + 1), svg })
        };
        Self { flames: profiles.iter().enumerate().filter_map(flame).collect(), ..self }
    }

    /// With these doubts.
    pub(crate) fn with_doubts(self, doubts: &[Doubt]) -> Self {
        let said =
            |doubt: &Doubt| Doubtful { sentence: doubt.to_string(), advice: doubt.advice.clone() };
        Self { doubts: doubts.iter().map(said).collect(), ..self }
    }
}

/// What a profile is of, as `found at 114 clients`.
fn of(profile: &ProfileFigures) -> String {
    let at = profile.clients.map(|clients| format!(" at {}", count(clients, "client")));
    format!("{}{}", profile.variant, at.unwrap_or_default())
}

impl Decided {
    fn of(line: &VerdictLine) -> Self {
        Self {
            kind: line.kind.name().to_owned(),
            name: line.name.clone(),
            verdict: line.verdict.to_string(),
            counts: line.counts,
            effect: line.effect.clone(),
            sentence: line.sentence.clone(),
        }
    }
}

impl Figure {
    fn of(metric: &Metric) -> Self {
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
