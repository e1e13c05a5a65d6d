//! How often a lab calls the same thing different: its false-alarm rate, from an A/A run.
//!
//! Draws many comparisons of six pairs out of the run's pairs and asks the rule that decides real ones. The
//! draws share pairs, so the rate is that of these pairs and no finer than they are many. Pure: draws are
//! seeded, and where there are few enough, every one is taken.

use model::plural::count;
use model::{run::Run, trial::Trial, verdict::FEWEST_PAIRS};
use serde::{Deserialize, Serialize};

use crate::{
    draws::sixes,
    judge::{ERROR, Effect, Evidence, PairValues, Question, finding},
    measured::Measured,
    quantity::percent,
    verdicts::Finding,
};

/// Draws at most; fewer where there are not so many.
const DRAWS: usize = 2000;

/// How often the lab called the same thing different.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FalseAlarms {
    /// Pairs of the A/A run.
    pub pairs: u32,
    /// Comparisons of six pairs that were drawn.
    pub draws: u32,
    /// Of them, those that were called cheaper or dearer.
    pub called: u32,
    pub rate: f64,
    /// The largest relative effect of any of them, whichever its sign.
    pub spread: f64,
}

impl FalseAlarms {
    pub fn sentence(&self) -> String {
        let Self { pairs, draws, called, .. } = self;
        let (rate, spread) = (percent(self.rate), percent(self.spread));
        format!(
            "of {draws} comparisons of {FEWEST_PAIRS} pairs drawn from {pairs} of the same twice, {called} ({rate}) were called different, and none of them was off by more than {spread}",
            pairs = count(pairs, "pair")
        )
    }
}

/// From the pairs of an A/A run; `None` where the run compares nothing or has fewer than six valid pairs.
pub fn of(run: &Run, trials: &[Trial]) -> Option<FalseAlarms> {
    let measured = Measured::of(run, trials);
    let question = Question::of(&measured, run.versus.as_ref()?);
    let evidence = Evidence::of(&measured, &question);
    (evidence.judged.whole.len() >= FEWEST_PAIRS as usize).then(|| among(&evidence.judged))
}

fn among(values: &PairValues) -> FalseAlarms {
    let pairs = values.whole.len();
    let drawn = sixes(pairs, DRAWS);
    let (mut called, mut spread) = (0, 0.0_f64);
    for six in &drawn {
        let Some(paired) = Effect::of(values, six, ERROR).paired else { continue };
        let found = finding(&paired.absolute, false);
        called += u32::from(matches!(found, Finding::Cheaper | Finding::Dearer));
        spread = spread.max(paired.relative.map_or(0.0, |relative| relative.mean.abs()));
    }
    let draws = drawn.len() as u32;
    let rate = f64::from(called) / f64::from(draws.max(1));
    FalseAlarms { pairs: pairs as u32, draws, called, rate, spread }
}

#[cfg(test)]
mod tests {
    use model::random::Random;

    use super::*;

    #[test]
    fn the_same_twice_is_seldom_called_different_and_a_second_side_that_is_dearer_always() {
        let of = |pairs: Vec<(f64, f64)>| among(&Evidence::of_means(pairs).judged);
        let mut random = Random::seeded(11);
        let noise = (0..20).map(|_| (1e4 + random.normal(), 1e4 + random.normal()));
        let found = of(noise.collect());
        assert_eq!((found.pairs, found.draws), (20, DRAWS as u32));
        assert!(found.rate < 0.15, "{found:?}");
        assert!(found.spread > 0.0 && found.spread < 1e-3, "{found:?}");
        assert!(found.sentence().starts_with("of 2000 comparisons of 6 pairs drawn from 20 pairs"));
        let dearer = of((0..8).map(|at| (101.0 + f64::from(at % 3) / 10.0, 100.0)).collect());
        assert_eq!((dearer.draws, dearer.called, dearer.rate), (28, 28, 1.0));
        let equal = of((0..7).map(|at| (f64::from(at) + 9.0, f64::from(at) + 9.0)).collect());
        assert_eq!((equal.called, equal.spread), (0, 0.0));
    }
}
