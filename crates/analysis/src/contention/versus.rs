//! Controls against each other, second by second: which one keeps more Wi-Fi, decided as `headroom compare` decides.
//!
//! Both sides of a pair are of one block and start in one state. What is judged is what arrived, so more is better; a
//! second in which a side carried far less than its pair's others is an event of that side.

use model::{
    contention::{Record, Run},
    share::Share,
    verdict::{Difference, Expect, Verdict},
};
use serde::Serialize;

use super::{
    arms::NONE,
    blocks::{self, Block},
    seconds,
};
use crate::{
    figures::Part,
    judge::{self, Better, Evidence, InStep, Look, PairValues},
    metrics::Target,
    quantity::{ABSENT, Unit, count, percent},
    stats::Estimate,
    steady::{FEWEST_PERIODS, Periods},
    verdicts::{Basis, Finding, Judgement, NoPeriods},
};

/// Differences below this share of the base do not matter, where nothing else is said.
const MARGIN: f64 = 0.01;
/// Samples are a second apart.
const SECOND_NS: u64 = 1_000_000_000;
/// Bursts of which so many rounds are no whole number of seconds are in no step with samples.
const MOST_ROUNDS: u64 = 10;
/// kb/s of Mb/s: the judge counts in kilobits, whose tenth of a packet is no event.
const KILO: f64 = 1e3;

/// What one control carries against another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carries {
    /// It is shown to carry more.
    More,
    /// It is shown to carry less.
    Less,
    /// Both carry the same, within the margin.
    Same,
    /// These pairs do not say.
    Undecided,
}

/// One control against another in the same blocks of one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Versus {
    pub base: String,
    pub variant: String,
    pub pairs: u32,
    /// What arrived under both, Mb/s.
    pub before: Option<Estimate>,
    /// The variant's.
    pub after: Option<Estimate>,
    /// `variant − base`, Mb/s, by the part that decides.
    pub difference: Option<Estimate>,
    /// The same as a share of the base.
    pub relative: Option<Estimate>,
    /// Exact two-sided p of the sign-flip test.
    pub p: Option<f64>,
    /// Which difference decides, or why means do.
    pub basis: Basis,
    /// Why means are compared, in words.
    pub means_because: Option<&'static str>,
    /// The difference as steady one and events; `None` where means are compared.
    pub split: Option<Split>,
    pub carries: Carries,
    /// What was to be shown.
    pub expect: Expect,
    /// Whether it is what was to be shown.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub sentence: String,
}

/// A difference in parts, `variant − base`, Mb/s: `total` is always `steady` and `events` together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Split {
    /// A period, s.
    pub period_s: f64,
    /// Periods of each side, all pairs together.
    pub periods: u32,
    /// What most periods differ by.
    pub steady: Estimate,
    pub events: Estimate,
    /// The whole windows.
    pub total: Estimate,
    /// Periods in which the base carried far less.
    pub base_events: u32,
    /// Periods in which the variant did.
    pub variant_events: u32,
    /// The smallest p of the tests whether events differ.
    pub p: f64,
    /// Whether they are shown to.
    pub differ: bool,
}

/// The study's question, or every control against none.
pub(super) fn all(run: &Run, blocks: &[Block<'_>], number: usize) -> Vec<Versus> {
    let asked = run.study.contention.versus.as_ref();
    let controls = run.study.controls.iter().map(|control| control.name.as_str());
    let sides: Vec<[&str; 2]> = match asked {
        Some(asked) => vec![[&asked.base, &asked.variant]],
        None => controls.filter(|name| *name != NONE).map(|name| [NONE, name]).collect(),
    };
    let of = |sides: [&str; 2]| {
        let pairs = blocks.iter().filter_map(|block| {
            let [base, variant] = sides.map(|side| block.under(side));
            Some([base?, variant?])
        });
        let pairs: Vec<[&Record; 2]> = pairs.collect();
        (!pairs.is_empty() || asked.is_some()).then(|| versus(run, number, sides, &pairs))
    };
    sides.into_iter().filter_map(of).collect()
}

fn versus(run: &Run, number: usize, sides: [&str; 2], pairs: &[[&Record; 2]]) -> Versus {
    let shape = &run.study.contention;
    let [base, variant] = sides;
    let question = judge::Question {
        base: base.to_owned(),
        variant: variant.to_owned(),
        clients: 0,
        subject: "Wi-Fi".to_owned(),
        part: Part::Subject,
        expect: shape.expect.unwrap_or(Expect::Faster),
        difference: Difference::Variants,
        margin: shape.margin.map_or(MARGIN, Share::get),
        pairs: None,
        changes: Vec::new(),
    };
    let rate = |record: &Record| seconds::received(record).map(kilobits);
    let whole = pairs.iter().copied().filter_map(|pair| {
        let [base, variant] = pair.map(rate);
        Some((pair, (variant?, base?)))
    });
    let (sides, whole): (Vec<_>, Vec<_>) = whole.unzip();
    let periods = in_step(run, number, &sides);
    let judged = PairValues { whole, better: Better::More, periods };
    let evidence = Evidence::of_pairs(judged, shape.blocks);
    let look = Look::only(evidence.judged.whole.len());
    Versus::of(judge::judge(&question, &evidence, look))
}

fn kilobits(bytes: f64) -> f64 {
    bytes * 8.0 / 1e3
}

/// The pairs second by second, or round by round of bursts; or why they are compared whole. Periods are of what did not
/// arrive, so that less is better.
fn in_step(run: &Run, number: usize, pairs: &[[&Record; 2]]) -> Result<InStep, NoPeriods> {
    if blocks::is_real_time(run, number) {
        return Err(NoPeriods::RealTime);
    }
    let steps = steps(run, number).ok_or(NoPeriods::OutOfStep)?;
    let cut = |[base, variant]: &[&Record; 2]| {
        let periods = |record: &Record| -> Vec<f64> {
            let period = |seconds: &[model::contention::Second]| {
                let bytes: u64 = seconds.iter().map(|second| second.received_bytes).sum();
                -kilobits(bytes as f64 / seconds.len() as f64)
            };
            record.seconds.chunks_exact(steps).map(period).collect()
        };
        let [of_base, of_variant] = [base, variant].map(|record| periods(record));
        let total = kilobits(seconds::received(base)?) - kilobits(seconds::received(variant)?);
        let each = of_variant.into_iter().zip(of_base).collect();
        (base.seconds.len() == variant.seconds.len()).then_some(Periods { each, total })
    };
    let pairs: Option<Vec<Periods>> = pairs.iter().map(cut).collect();
    let pairs = pairs.ok_or(NoPeriods::OutOfStep)?;
    if pairs.iter().any(|pair| pair.each.len() < FEWEST_PERIODS) {
        return Err(NoPeriods::TooFew);
    }
    Ok(InStep { pairs, period_s: steps as f64 })
}

/// Seconds that are whole rounds of the cell's bursts; one where traffic has none. `None` where there are none.
fn steps(run: &Run, number: usize) -> Option<usize> {
    let name = run.study.cells[number].traffic.as_ref()?;
    let traffic = run.study.traffics.iter().find(|traffic| traffic.name == *name)?;
    let Some((on, off)) = traffic.traffic.bursts else { return Some(1) };
    let round_ns = on.as_nanos() + off.as_nanos();
    let whole = (1..=MOST_ROUNDS).map(|rounds| rounds * round_ns);
    let whole = whole.into_iter().find(|ns| ns.is_multiple_of(SECOND_NS))?;
    usize::try_from(whole / SECOND_NS).ok().filter(|steps| *steps > 0)
}

fn signed(unit: Unit, one: &Estimate) -> String {
    let sign = if one.mean > 0.0 { "+" } else { "" };
    format!("{sign}{}", unit.with_interval(one))
}

impl Versus {
    /// What the judge said of kilobits that did not arrive, of megabits that did.
    fn of(judgement: Judgement) -> Self {
        let gained = |lost: &Estimate| lost.scaled(1.0 / KILO).turned();
        let split = judgement.split.as_ref().map(|split| Split {
            period_s: split.period_s,
            periods: split.periods,
            steady: gained(&split.steady),
            events: gained(&split.events),
            total: gained(&split.total),
            base_events: split.base.count,
            variant_events: split.variant.count,
            p: split.p,
            differ: split.differ,
        });
        let carries = match judgement.finding {
            Finding::Cheaper => Carries::More,
            Finding::Dearer => Carries::Less,
            Finding::Equivalent => Carries::Same,
            _ => Carries::Undecided,
        };
        let mut versus = Self {
            base: judgement.base,
            variant: judgement.variant,
            pairs: judgement.pairs,
            before: judgement.before.map(|rate| rate.scaled(1.0 / KILO)),
            after: judgement.after.map(|rate| rate.scaled(1.0 / KILO)),
            difference: judgement.absolute.as_ref().map(gained),
            relative: judgement.relative.map(Estimate::turned),
            p: judgement.p,
            basis: judgement.basis,
            means_because: judgement.basis.means_because(),
            split,
            carries,
            expect: judgement.expect,
            verdict: judgement.verdict,
            sentence: judgement.sentence,
        };
        // Too few pairs, or all the same: the judge has said so.
        if judgement.finding != Finding::NotComparable {
            versus.sentence = versus.said(judgement.margin);
        }
        versus
    }

    /// The comparison as what a run was to show.
    pub(super) fn target(&self) -> Target {
        let Self { base, variant, .. } = self;
        let how = match self.expect {
            Expect::Faster => format!("{variant} keeps more Wi-Fi than {base}"),
            Expect::NoSlower => format!("{variant} keeps no less Wi-Fi than {base}"),
            Expect::Same => format!("{variant} keeps as much Wi-Fi as {base}"),
        };
        Target {
            name: how,
            limit: "by the bounds of the difference".to_owned(),
            found: self
                .relative
                .as_ref()
                .map_or(ABSENT.to_owned(), |one| signed(Unit::PER_CENT, one)),
            verdict: self.verdict,
            cause: (self.verdict != Verdict::Pass).then(|| self.sentence.clone()),
        }
    }

    fn said(&self, margin: f64) -> String {
        let Self { base, variant, verdict, .. } = self;
        let claim = match self.carries {
            Carries::More => format!("more Wi-Fi arrives under `{variant}` than under `{base}`"),
            Carries::Less => format!("less Wi-Fi arrives under `{variant}` than under `{base}`"),
            Carries::Same => format!(
                "as much Wi-Fi arrives under `{variant}` as under `{base}`, within {}",
                percent(margin)
            ),
            Carries::Undecided => {
                format!("these pairs do not decide between `{variant}` and `{base}`")
            }
        };
        let effect = self.difference.as_ref().map(|one| {
            let relative = self.relative.as_ref().map(|one| signed(Unit::PER_CENT, one));
            let relative = relative.map(|relative| format!(", {relative}")).unwrap_or_default();
            format!(": {} Mb/s{relative}", signed(Unit::ONE, one))
        });
        let p = self.p.map(|p| format!(", exact p = {p:.3}")).unwrap_or_default();
        let pairs = count(self.pairs, "pair");
        format!(
            "{}: {claim}{} ({pairs}{p}; {})",
            verdict.name(),
            effect.unwrap_or_default(),
            self.parts()
        )
    }

    /// What the difference is made of, or why its means are compared.
    fn parts(&self) -> String {
        let Some(split) = &self.split else {
            let why = self.means_because.unwrap_or("there are no periods");
            return format!("means are compared: {why}");
        };
        let Split { periods, base_events, variant_events, p, .. } = split;
        let differ = if split.differ { "they differ" } else { "no difference shown" };
        format!(
            "rare events in {periods} periods of {} s each: {base_events} in `{}`, {variant_events} in `{}`: {differ}, \
             p = {p:.3}; steady {}, total {} Mb/s",
            split.period_s,
            self.base,
            self.variant,
            signed(Unit::ONE, &split.steady),
            signed(Unit::ONE, &split.total)
        )
    }
}
