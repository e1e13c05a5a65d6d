//! Limits as people say them: one figure on one side of one value, in every variant and at every count that
//! they speak of.

use model::{
    limit::{self, Asked, Limit, Metric, Side},
    study::Variant,
    trial::{Purpose, TrialId},
};

use super::{
    Baselines, Bound, CellId, Evidence, Part, baseline, cpu_words, memory::Kind, nothing, together,
    unknown,
};
use crate::{
    Part as Whose,
    figures::TrialFigures,
    quantity::{Unit, cpu_unit},
    stats::Estimate,
    verdicts::Gate,
};

pub(super) fn gate(evidence: &Evidence, text: &str, baselines: &Baselines) -> Gate {
    let limit = match limit::parse(text) {
        Ok(limit) => limit,
        Err(why) => return nothing(text, &why),
    };
    // A run of a part of its study has not all that its limits speak of.
    if let Err(why) = evidence.run.study.known().check(&limit) {
        return nothing(&limit.text, &why);
    }
    let cells = Cells { evidence, limit: &limit };
    let parts = match &limit.asked {
        Asked::NoSlower { file, by } => {
            match baseline::usable(&baseline::measured(&evidence.run.study), file, baselines) {
                Ok(earlier) => cells.each(Purpose::Cpu, |_, cell| {
                    Some(baseline::no_slower(evidence, earlier, cell, *by))
                }),
                Err(why) => return nothing(&limit.text, &why),
            }
        }
        Asked::Bound { metric, side, value } => {
            cells.bound(metric, Bound { side: *side, value: *value })
        }
    };
    if parts.is_empty() {
        return nothing(&limit.text, "no trial of this run gives the figure");
    }
    together(&limit.text, "figure", parts)
}

/// The cells that a limit speaks of.
struct Cells<'a> {
    evidence: &'a Evidence<'a>,
    limit: &'a Limit,
}

impl Cells<'_> {
    fn variants(&self) -> impl Iterator<Item = &Variant> {
        let wanted = self.limit.variant.as_deref();
        // Of an idle variant's CPU no one asks for a share of a hundredth, unless they name it.
        let only_working = matches!(self.limit.asked, Asked::NoSlower { .. });
        let is = move |variant: &&Variant| match wanted {
            Some(name) => variant.name == name,
            None => !only_working || self.evidence.works(variant),
        };
        // A limit that names a variant means it, whichever others are judged.
        let all = || self.evidence.run.study.variants.iter().collect();
        wanted.map_or_else(|| self.evidence.variants(), |_| all()).into_iter().filter(is)
    }

    /// Judges each cell for which there are planned trials, all of which it needs.
    fn each(
        &self,
        purpose: Purpose,
        of: impl Fn(&Variant, CellId<'_>) -> Option<Part>,
    ) -> Vec<Part> {
        let mut parts = Vec::new();
        for variant in self.variants() {
            let ids = self.evidence.planned(purpose, &variant.name);
            for clients in Evidence::counts(&ids) {
                if self.limit.clients.is_some_and(|only| only != clients) {
                    continue;
                }
                let cell: Vec<&TrialId> =
                    ids.iter().copied().filter(|id| id.clients == clients).collect();
                match self.evidence.fault(&cell) {
                    Some(fault) => parts.push(Part::invalid(fault)),
                    None => parts.extend(of(variant, CellId { variant: &variant.name, clients })),
                }
            }
        }
        parts
    }

    fn bound(&self, metric: &Metric, bound: Bound) -> Vec<Part> {
        match metric {
            Metric::Cpu => self.cpu(Whose::Subject, bound),
            Metric::Sum => self.cpu(Whose::Sum, bound),
            Metric::Slope => self.slope(bound),
            Metric::Memory => self.each(Purpose::Cpu, |_, cell| Some(self.memory(cell, bound))),
            Metric::UnknownFrames => self.unknown(bound),
            // A study of clients has no such figure, and a limit on one was refused above.
            Metric::Figure(_) => Vec::new(),
            Metric::Rate(name) => self.each(Purpose::Counts, |variant, cell| {
                let study = &self.evidence.run.study;
                study.counts_in(variant).then(|| self.rate(cell, name, bound))
            }),
        }
    }

    fn cpu(&self, whose: Whose, bound: Bound) -> Vec<Part> {
        let (of_what, takes) = match whose {
            Whose::Sum => ("subject, load and others of ", "take"),
            _ => ("", "takes"),
        };
        self.each(Purpose::Cpu, |_, cell| {
            let place = format!("{of_what}{cell}");
            let values = self.evidence.values(cell, |trial| trial.part(whose));
            Some(judged(&values, &place, |estimate| {
                let words = format!("{place} {takes} {}", cpu_words(estimate));
                bound.decide(estimate, &words, &cpu_limit(bound.value))
            }))
        })
    }

    fn slope(&self, bound: Bound) -> Vec<Part> {
        let part = |variant: &Variant| {
            let ids = self.evidence.planned(Purpose::Cpu, &variant.name);
            if ids.is_empty() {
                return None;
            }
            if let Some(fault) = self.evidence.fault(&ids) {
                return Some(Part::invalid(fault));
            }
            let curves = &self.evidence.analysis.curves;
            let curve = curves.iter().find(|curve| curve.variant == variant.name)?;
            let Some(slope) = curve.slope(Whose::Subject) else {
                let why = curve.why_none.as_deref().unwrap_or("there is no line");
                return Some(Part::invalid(format!("`{}` has no slope: {why}", variant.name)));
            };
            let words =
                format!("each client costs `{}` {}", variant.name, cpu_words(&slope.per_client));
            Some(bound.decide(&slope.per_client, &words, &cpu_limit(bound.value)))
        };
        self.variants().filter_map(part).collect()
    }

    fn memory(&self, cell: CellId<'_>, bound: Bound) -> Part {
        let trials = self.evidence.analysis.trials.iter();
        let is_here = |trial: &&TrialFigures| cell.is(&trial.id.variant, trial.id.clients);
        let trials: Vec<&TrialFigures> = trials.filter(is_here).collect();
        let kind = Kind::of(&trials);
        let values: Vec<f64> =
            trials.iter().filter_map(|trial| kind.end(trial).map(|kib| kib as f64)).collect();
        judged(&values, &cell.to_string(), |estimate| {
            let unit = Unit::ONE.with_interval(estimate);
            let words = format!("{cell} has {unit} KiB of {} memory", kind.name());
            bound.decide(estimate, &words, &format!("{} KiB", bound.value))
        })
    }

    fn unknown(&self, bound: Bound) -> Vec<Part> {
        match bound.side {
            Side::AtMost => {
                let budget = model::share::Share::of(bound.value);
                unknown::parts(self.evidence, self.limit.variant.as_deref(), budget)
            }
            Side::AtLeast => Vec::new(),
        }
    }

    fn rate(&self, cell: CellId<'_>, name: &str, bound: Bound) -> Part {
        let counts = self.evidence.analysis.counts.iter();
        let mut here = counts.filter(|one| cell.is(&one.variant, one.clients));
        let place = format!("`{name}` in {cell}");
        let Some(found) = here.find(|one| one.name == name) else {
            return Part::invalid(format!("{place} was not counted"));
        };
        let words = format!(
            "{place} is called {} times a second",
            Unit::ONE.with_interval(&found.per_second)
        );
        bound.decide(&found.per_second, &words, &format!("{} a second", bound.value))
    }
}

/// Judges repetitions; none is none.
fn judged(values: &[f64], place: &str, of: impl Fn(&Estimate) -> Part) -> Part {
    let none = || Part::invalid(format!("{place}: no trial gives the figure"));
    Estimate::of(values).map_or_else(none, |estimate| of(&estimate))
}

/// A limit of CPU, as µs and as a share of a core.
fn cpu_limit(value: f64) -> String {
    let unit = cpu_unit(value);
    format!(
        "{} {} ({} % of a core)",
        tidy(unit.scale(value)),
        unit.name,
        tidy(Unit::CORE.scale(value))
    )
}

/// A number that a person wrote, without the digits that calculating adds.
fn tidy(value: f64) -> String {
    let digits = format!("{value:.6}");
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}
