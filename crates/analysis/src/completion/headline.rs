//! The headline of a completion run: what the first strategy takes of a core, and what the cheapest other one does.

use model::{card::Strategy, run::Run};

use super::{Completion, Point, answer::heaviest};
use crate::{
    headline::{Bar, Headline, against},
    quantity::rounded,
};

/// At the study's first place, with its largest frames at the lowest rate.
pub(super) fn of(run: &Run, completion: &Completion) -> Headline {
    let nothing = || Headline::plain("No result yet: no trial that counts is done.".to_owned());
    let places = super::places(&run.study);
    let Some(place) = places.first() else { return nothing() };
    let base = super::strategies(&run.study).first().copied().unwrap_or(Strategy::Busy);
    let point = |strategy| heaviest(completion, &place.name, strategy);
    let others = || Strategy::ALL.into_iter().filter(move |one| *one != base).filter_map(point);
    let percent = |point: &Point| format!("{} %", rounded(100.0 * point.path.mean));
    let at = |point: &Point| format!("at {} frames/s of {} bytes", point.rate, point.bytes);
    let cheapest = others().min_by(|a, b| a.path.mean.total_cmp(&b.path.mean));
    let side = |point: &Point| {
        Bar::new(point.strategy.name(), point.path.mean, format!("{} of a core", percent(point)))
    };
    if let Some((base, other)) = point(base).zip(cheapest)
        && let Some(less) = against(other.path.mean, base.path.mean, "CPU")
    {
        return Headline {
            sentence: format!(
                "Transmitting with `{}` uses {less} `{}` {} ({} against {} of a core).",
                other.strategy.name(),
                base.strategy.name(),
                at(other),
                percent(other),
                percent(base)
            ),
            of: format!("CPU of the transmit path {}", at(base)),
            bars: vec![side(base), side(other)],
        };
    }
    let Some(one) = point(base).or(cheapest) else { return nothing() };
    Headline::plain(format!(
        "Transmitting with `{}` uses {} of a core {}.",
        one.strategy.name(),
        percent(one),
        at(one)
    ))
}
