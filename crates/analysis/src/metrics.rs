//! The figures of a run as one table, and limits that are decided on it. Whatever kind of study a row is of, this is
//! all that a gate, an index or a CI reads of it.
//!
//! A limit is kept where the whole interval keeps it, broken where the whole interval breaks it, and else it was not
//! measured closely enough. Where a limit asks about the worst, the median or a percentile of several points, that
//! one number decides.

pub mod baseline;
mod csv;
mod welch;

pub use model::figure::Measure;
use model::{
    figure::Figure,
    limit::{self, Asked, At, Known, Limit, Over, Side},
    plural::count,
    verdict::Verdict,
};
use serde::Serialize;

pub use self::csv::csv;

use self::baseline::Earlier;
use crate::{
    quantity::{ABSENT, Unit, cpu_unit, percent_of_core},
    stats::{Estimate, Interval, median, nearest_rank},
};

/// One figure at one point of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// Where, as people read it: `threaded with stream, ap`; empty for the whole run.
    pub point: String,
    /// What limits may call the point.
    #[serde(skip)]
    pub places: Vec<String>,
    /// At so many clients, in a study of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// The variant, control or strategy; empty where it is of none.
    pub variant: String,
    pub name: String,
    pub unit: Measure,
    /// By block, or by trial.
    pub values: Vec<f64>,
    /// Over the values; `None` where there is none.
    pub estimate: Option<Estimate>,
    /// Whether the one value is all there is to know: a count, and no sample of anything.
    pub is_exact: bool,
    /// Why it is as it is, where the run's other figures tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Why it cannot be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absent: Option<Absent>,
}

/// Why a figure cannot be judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absent {
    /// A trial that it needs is missing or not valid: fewer trials are another experiment.
    Fault(String),
    /// There was nothing that could have kept or broken a limit.
    Nothing(String),
}

impl Absent {
    fn words(&self) -> &str {
        match self {
            Self::Fault(why) | Self::Nothing(why) => why,
        }
    }
}

impl Metric {
    /// A figure over blocks or trials.
    pub(crate) fn over(at: &Point, figure: Figure, estimate: Option<Estimate>) -> Self {
        Self::named(at, figure.name(), figure.unit(), estimate)
    }

    /// A figure that only some studies have.
    pub(crate) fn named(at: &Point, name: &str, unit: Measure, estimate: Option<Estimate>) -> Self {
        let Point { name: point, places, clients, variant } = at.clone();
        Self {
            point,
            places,
            clients,
            variant,
            name: name.to_owned(),
            unit,
            values: Vec::new(),
            estimate,
            is_exact: false,
            cause: None,
            absent: None,
        }
    }

    /// A figure over its values.
    pub(crate) fn of_values(at: &Point, figure: Figure, values: Vec<f64>) -> Self {
        Self::over(at, figure, Estimate::of(&values)).with_values(values)
    }

    /// A figure that is no sample.
    pub(crate) fn exact(at: &Point, figure: Figure, value: Option<f64>) -> Self {
        let values = value.into_iter().collect();
        Self { is_exact: true, ..Self::of_values(at, figure, values) }
    }

    /// With its values, by block or by trial.
    pub(crate) fn with_values(self, values: Vec<f64>) -> Self {
        Self { values, ..self }
    }

    /// With why it is as it is.
    pub(crate) fn because(self, cause: Option<String>) -> Self {
        Self { cause, ..self }
    }

    /// As nothing that can be judged, where that is so.
    pub(crate) fn unless(self, absent: Option<Absent>) -> Self {
        match absent {
            Some(_) => Self { estimate: None, values: Vec::new(), absent, ..self },
            None => self,
        }
    }

    /// What a limit is held against; `None` where there are too few repetitions to say.
    fn bounds(&self) -> Option<Interval> {
        let estimate = self.estimate.as_ref()?;
        let own = Interval { low: estimate.mean, high: estimate.mean };
        if self.is_exact { Some(own) } else { estimate.interval }
    }

    /// Whether it is one of these.
    pub fn is_among(&self, at: &At, figure: &str) -> bool {
        let At { variant, clients, places } = at;
        let is_of = variant.as_ref().is_none_or(|variant| *variant == self.variant);
        let is_at = clients.is_none_or(|clients| self.clients == Some(clients));
        let is_here = places.iter().all(|one| self.places.contains(one));
        self.name == figure && is_of && is_at && is_here
    }

    fn words(&self) -> String {
        let Some(estimate) = &self.estimate else { return ABSENT.to_owned() };
        match estimate.interval.filter(|_| !self.is_exact) {
            Some(_) if self.unit == Measure::Cpu => {
                let unit = cpu_unit(estimate.mean).with_interval(estimate);
                format!("{unit}, {} % of a core", percent_of_core(estimate))
            }
            Some(_) if self.unit == Measure::Rate => {
                format!("{}/s", Unit::ONE.with_interval(estimate))
            }
            Some(Interval { low, high }) => self.unit.with_interval(estimate.mean, [low, high]),
            None => self.unit.words(estimate.mean),
        }
    }

    /// The figure and where it is, or why it is absent.
    fn at_place(&self) -> String {
        match (&self.absent, self.place()) {
            (Some(absent), _) => absent.words().to_owned(),
            (None, place) if place.is_empty() => self.words(),
            (None, place) => format!("{}: {place}", self.words()),
        }
    }

    /// The variant and the point, as people read them.
    pub fn place(&self) -> String {
        let parts = [self.variant.as_str(), self.point.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(", ")
    }
}

/// The estimate of a figure among the rows of one point.
pub(crate) fn estimate(rows: &[Metric], figure: Figure) -> Option<Estimate> {
    rows.iter().find(|row| row.name == figure.name())?.estimate
}

/// Where figures are of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Point {
    pub(crate) name: String,
    pub(crate) places: Vec<String>,
    pub(crate) clients: Option<u32>,
    pub(crate) variant: String,
}

/// What can be asked of a run.
#[derive(Clone, Copy)]
pub struct Asks<'a> {
    /// What limits of its study can speak of.
    pub known: &'a Known,
    /// Whether a limit is on something that the command line did not leave out.
    pub is_asked: &'a dyn Fn(&Limit) -> bool,
}

/// Decides every limit on a table, in their order.
pub fn judge<'a>(
    limits: impl IntoIterator<Item = &'a String>,
    asks: Asks<'_>,
    table: &[Metric],
    earlier: &Earlier<'_>,
) -> Vec<Target> {
    limits.into_iter().map(|text| target(text, asks, table, earlier)).collect()
}

pub(crate) fn target(
    text: &str,
    asks: Asks<'_>,
    table: &[Metric],
    earlier: &Earlier<'_>,
) -> Target {
    let limit = match limit::parse(text) {
        Ok(limit) => limit,
        Err(why) => return Target::invalid(text, why),
    };
    let Asks { known, is_asked } = asks;
    if known.has_figure(&limit.asked).is_ok() && !is_asked(&limit) {
        // It decides nothing.
        let found = "not asked: what it is on was left out of this run".to_owned();
        return Target { verdict: Verdict::Measured, ..Target::invalid(&limit.text, found) };
    }
    if let Err(why) = known.check(&limit) {
        return Target::invalid(&limit.text, why);
    }
    let (metric, side, value) = match &limit.asked {
        Asked::Bound { metric, side, value } => (metric, side, value),
        Asked::NoSlower { .. } => return earlier.judge(&limit, known.key, table),
    };
    let measured = rows_of(&limit, &metric.to_string(), table);
    let Some(first) = measured.first() else {
        return Target::invalid(&limit.text, "no trial of this run gives the figure".to_owned());
    };
    let bound = Bound { side: *side, value: *value, unit: first.unit };
    match limit.over {
        Over::Every => bound.on_every(&limit, &measured),
        over => bound.on_one(&limit, &measured, over),
    }
}

/// The rows of a figure that a limit speaks of, and that say something.
fn rows_of<'a>(limit: &Limit, figure: &str, table: &'a [Metric]) -> Vec<&'a Metric> {
    let says = |row: &&Metric| row.estimate.is_some() || row.absent.is_some();
    table.iter().filter(|row| row.is_among(&limit.at, figure)).filter(says).collect()
}

/// One side of one value.
#[derive(Clone, Copy)]
struct Bound {
    side: Side,
    value: f64,
    unit: Measure,
}

impl Bound {
    fn is_kept(self, value: f64) -> bool {
        match self.side {
            Side::AtMost => value <= self.value,
            Side::AtLeast => value >= self.value,
        }
    }

    fn of(self, row: &Metric) -> Verdict {
        match row.absent {
            Some(Absent::Fault(_)) => Verdict::Invalid,
            Some(Absent::Nothing(_)) => Verdict::Measured,
            None => self.of_interval(row.bounds()),
        }
    }

    fn undecided(row: &Metric) -> Option<String> {
        let why = match (&row.absent, row.bounds()) {
            (Some(_), _) => return None,
            (None, None) => "one repetition has no interval",
            (None, Some(_)) => "the limit lies within the interval: take more repetitions",
        };
        Some(why.to_owned())
    }

    fn of_interval(self, interval: Option<Interval>) -> Verdict {
        let Some(Interval { low, high }) = interval else { return Verdict::Invalid };
        match (self.is_kept(low), self.is_kept(high)) {
            (true, true) => Verdict::Pass,
            (false, false) => Verdict::Fail,
            _ => Verdict::Invalid,
        }
    }

    /// How far inside of the limit the nearest end is; negative outside, and of what has no interval.
    fn margin(self, row: &Metric) -> f64 {
        row.bounds().map_or(f64::NEG_INFINITY, |Interval { low, high }| match self.side {
            Side::AtMost => self.value - high,
            Side::AtLeast => low - self.value,
        })
    }

    fn words(self) -> String {
        let sign = if self.side == Side::AtMost { "≤" } else { "≥" };
        format!("{sign} {}", self.unit.words(self.value))
    }

    /// Every row by its bounds; the one nearest to missing it is reported.
    fn on_every(self, limit: &Limit, rows: &[&Metric]) -> Target {
        let verdict = Verdict::of_all(rows.iter().map(|row| self.of(row)));
        let of_verdict = rows.iter().filter(|row| self.of(row) == verdict);
        let nearest =
            of_verdict.min_by(|one, other| self.margin(one).total_cmp(&self.margin(other)));
        let kept = rows.iter().filter(|row| self.of(row) == Verdict::Pass).count();
        let found = nearest.map_or(ABSENT.to_owned(), |row| match rows.len() {
            1 => row.at_place(),
            _ if verdict == Verdict::Measured => row.at_place(),
            all => {
                let nearest = if row.absent.is_some() { "" } else { "nearest " };
                format!("{kept} of {}; {nearest}{}", count(all as u32, "figure"), row.at_place())
            }
        });
        let how = if rows.iter().all(|row| row.is_exact) { "" } else { ", by its bounds" };
        let cause = nearest.and_then(|row| match verdict {
            Verdict::Fail => row.cause.clone(),
            Verdict::Invalid => Self::undecided(row),
            _ => None,
        });
        let limit_words = format!("{}{how}", self.words());
        Target { name: limit.text.clone(), limit: limit_words, found, verdict, cause }
    }

    /// One number of all rows.
    fn on_one(self, limit: &Limit, rows: &[&Metric], over: Over) -> Target {
        let means = || rows.iter().filter_map(|row| Some((*row, row.estimate.as_ref()?.mean)));
        let (what, found) = match over {
            Over::Median => ("the median", median(means().map(|(_, mean)| mean).collect())),
            Over::P90 => {
                let values = rows.iter().flat_map(|row| row.values.iter().copied()).collect();
                ("the 90th percentile", nearest_rank(values, 0.9))
            }
            Over::Worst | Over::Every => ("the worst", self.worst(means()).map(|(_, mean)| mean)),
        };
        let worst = self.worst(means()).filter(|_| over == Over::Worst);
        let place = worst.map(|(row, _)| format!(": {}", row.place())).unwrap_or_default();
        let verdict = match found {
            None => Verdict::Invalid,
            Some(found) if self.is_kept(found) => Verdict::Pass,
            Some(_) => Verdict::Fail,
        };
        let cause = self.worst(means()).and_then(|(row, _)| row.cause.clone());
        Target {
            name: limit.text.clone(),
            limit: format!("{}, {what} of {}", self.words(), count(rows.len() as u32, "figure")),
            found: found.map_or(ABSENT.to_owned(), |found| self.unit.words(found) + &place),
            verdict,
            cause: cause.filter(|_| verdict == Verdict::Fail),
        }
    }

    fn worst<'a>(
        self,
        means: impl Iterator<Item = (&'a Metric, f64)>,
    ) -> Option<(&'a Metric, f64)> {
        match self.side {
            Side::AtMost => means.max_by(|one, other| one.1.total_cmp(&other.1)),
            Side::AtLeast => means.min_by(|one, other| one.1.total_cmp(&other.1)),
        }
    }
}

/// What was to be shown, and whether it was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Target {
    pub name: String,
    /// What decides, in words.
    pub limit: String,
    pub found: String,
    pub verdict: Verdict,
    /// The cause, where it was missed or cannot be decided.
    pub cause: Option<String>,
}

impl Target {
    pub(crate) fn invalid(limit: &str, why: String) -> Self {
        let name = limit.to_owned();
        Self { name, limit: String::new(), found: why, verdict: Verdict::Invalid, cause: None }
    }

    /// The figure and what it was to be, as one sentence.
    pub fn sentence(&self) -> String {
        let Self { limit, found, cause, .. } = self;
        let limit = if limit.is_empty() { String::new() } else { format!(" ({limit})") };
        let cause = cause.as_ref().map(|cause| format!("; {cause}")).unwrap_or_default();
        format!("{found}{limit}{cause}.")
    }
}

/// Trials of a plan that were not made, where there are some: without them nothing passes.
pub(crate) fn missing<P: PartialEq>(plan: &[P], made: &[&P]) -> Option<Target> {
    let missing = plan.iter().filter(|planned| !made.contains(planned)).count();
    let (name, all) = ("every trial is made", count(plan.len() as u32, "trial"));
    let found = format!("{missing} of {all} {} missing", if missing == 1 { "is" } else { "are" });
    (missing > 0).then(|| Target::invalid(name, found))
}

/// The verdict on all limits, and why: invalid where nothing counts. Where nothing was asked it is measured.
pub fn overall(targets: &[Target], counted: u32) -> (Verdict, String) {
    if counted == 0 {
        return (Verdict::Invalid, "No valid trial yet.".to_owned());
    }
    let of = |verdict| targets.iter().filter(|target| target.verdict == verdict).count();
    let (kept, broken, unknown) = (of(Verdict::Pass), of(Verdict::Fail), of(Verdict::Invalid));
    let verdict = Verdict::of_all(targets.iter().map(|target| target.verdict));
    let sentence = match targets.len() {
        0 => {
            format!("{} count. Nothing was asked that could pass or fail.", count(counted, "trial"))
        }
        all => format!(
            "{kept} of {} kept, {broken} broken, {unknown} not measured closely enough.",
            count(all as u32, "limit")
        ),
    };
    (verdict, sentence)
}

#[cfg(test)]
mod tests {
    use model::run::LabIdentity;

    use super::*;

    fn known() -> Known {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Known {
            figures: words(&["kept", "protect", "faults"]),
            variants: words(&["none", "guard"]),
            points: limit::Points::Places(words(&["harmed", "ap", "host"])),
            ..Known::default()
        }
    }

    fn row(place: &str, variant: &str, values: &[f64]) -> Metric {
        let places = vec![place.to_owned(), "harmed".to_owned()];
        let (name, variant) = (format!("full, {place}"), variant.to_owned());
        let point = Point { name, places, variant, ..Point::default() };
        Metric::of_values(&point, Figure::Kept, values.to_vec())
    }

    fn decided(text: &str, table: &[Metric]) -> Target {
        let none = baseline::Baselines::new();
        let lab = LabIdentity::default();
        let earlier = Earlier::of(&(), &lab, &none);
        judge([&text.to_owned()], Asks { known: &known(), is_asked: &|_| true }, table, &earlier)
            .remove(0)
    }

    #[test]
    fn a_limit_has_three_ends_by_bounds() {
        let table = [row("ap", "guard", &[0.96, 0.97, 0.98]), row("ap", "none", &[0.4, 0.5, 0.6])];
        let verdict = |text: &str| decided(text, &table).verdict;
        assert_eq!(verdict("guard: kept >= 90%"), Verdict::Pass);
        assert_eq!(verdict("guard: kept >= 99.9%"), Verdict::Fail);
        assert_eq!(verdict("guard: kept >= 97%"), Verdict::Invalid, "not closely enough");
        assert_eq!(verdict("kept >= 90%"), Verdict::Fail, "every variant is asked");
        let single = [row("ap", "guard", &[0.97])];
        assert_eq!(decided("kept >= 90%", &single).verdict, Verdict::Invalid, "one block");
    }

    #[test]
    fn places_choose_points_and_the_nearest_is_reported() {
        let table = [row("ap", "guard", &[0.96, 0.961]), row("host", "guard", &[0.91, 0.911])];
        let target = decided("guard: kept at harmed cells >= 90%", &table);
        assert_eq!(target.verdict, Verdict::Pass);
        assert!(
            target.found.contains("2 of 2 figures; nearest 91.1 % [90.4, 91.7]"),
            "{}",
            target.found
        );
        assert!(target.found.ends_with("guard, full, host"), "{}", target.found);
        assert_eq!(decided("kept at ap and harmed >= 95%", &table).verdict, Verdict::Pass);
    }

    #[test]
    fn one_number_of_several_points_decides_by_itself() {
        let table = [
            row("ap", "guard", &[0.9, 0.9]),
            row("ap", "guard", &[0.8, 0.8]),
            row("ap", "guard", &[0.5, 0.5]),
        ];
        assert_eq!(decided("median kept >= 80%", &table).verdict, Verdict::Pass);
        assert_eq!(decided("worst kept >= 80%", &table).verdict, Verdict::Fail);
        let p90 = decided("p90 kept <= 80%", &table);
        assert_eq!((p90.verdict, p90.found.as_str()), (Verdict::Fail, "90.0 %"));
    }

    #[test]
    fn a_count_is_no_sample_and_what_is_absent_is_never_a_pass() {
        let point = Point::default();
        let six = [Metric::exact(&point, Figure::Faults, Some(6.0))];
        assert_eq!(decided("faults >= 6", &six).verdict, Verdict::Pass);
        assert_eq!(decided("faults >= 7", &six).verdict, Verdict::Fail);
        let none = [Metric::exact(&point, Figure::Faults, None)];
        assert_eq!(decided("faults >= 0", &none).verdict, Verdict::Invalid);
        assert_eq!(decided("protect <= 1s", &six).verdict, Verdict::Invalid);
        assert!(decided("kpet >= 1", &six).found.contains("unknown figure `kpet`"));
    }

    #[test]
    fn never_is_longer_than_any_time() {
        let point = Point::default();
        let values = vec![0.2, 0.4, f64::INFINITY];
        let row = Metric::over(&point, Figure::Protect, Estimate::of(&[0.3])).with_values(values);
        let target = decided("p90 protect <= 1s", &[row]);
        assert_eq!((target.verdict, target.found.as_str()), (Verdict::Fail, "never"));
    }

    #[test]
    fn a_run_of_which_nothing_counts_is_invalid_and_one_that_asks_nothing_is_measured() {
        assert_eq!(overall(&[], 0).0, Verdict::Invalid);
        assert_eq!(overall(&[], 3).0, Verdict::Measured);
        let table = [row("ap", "guard", &[0.96, 0.961])];
        let targets = ["kept >= 90%", "kept >= 99%"].map(|text| decided(text, &table));
        assert_eq!(overall(&targets, 3).0, Verdict::Fail);
        assert!(overall(&targets, 3).1.starts_with("1 of 2 limits kept, 1 broken"));
    }
}
