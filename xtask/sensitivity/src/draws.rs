//! Comparisons drawn from pairs, and the table of what they would have said.
//!
//! Draws are without replacement within a comparison and seeded; comparisons share pairs, so their number is
//! no number of independent experiments. That is why the disjoint ones are counted too.

use analysis::paired::{self, Paired};
use model::random::Random;

/// Comparisons of each size.
const COMPARISONS: usize = 100;
/// Pairs of a comparison, the fewest that there may be, and what equivalence may take.
const PAIRS: [usize; 2] = [6, 8];
/// The margin of the equivalence that is asked for.
const MARGIN: f64 = 0.001;
/// The error that is allowed.
const LEVEL: f64 = 0.05;

/// What comparisons of one planted size said.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    name: String,
    pairs: usize,
    /// Mean relative effect over all pairs, and the spread of a pair's.
    effect: (f64, f64),
    /// Of [`COMPARISONS`], by pairs: those that called it changed, and those that called it the same.
    said: [(usize, usize); 2],
    /// The same of disjoint comparisons of 6: changed, of so many.
    disjoint: (usize, usize),
}

impl Row {
    pub(super) fn of(name: &str, pairs: &[(f64, f64)]) -> Self {
        let ratios: Vec<f64> = pairs.iter().map(|(variant, base)| variant / base - 1.0).collect();
        let n = ratios.len().max(1) as f64;
        let mean = ratios.iter().sum::<f64>() / n;
        let spread = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>();
        let mut random = Random::seeded(0x5eed);
        let said = PAIRS.map(|size| {
            let drawn: Vec<_> = (0..COMPARISONS).map(|_| draw(&mut random, pairs, size)).collect();
            let count = |holds: fn(&[(f64, f64)]) -> bool| {
                drawn.iter().filter(|comparison| holds(comparison)).count()
            };
            (count(is_changed), count(is_same))
        });
        let apart: Vec<_> = pairs.chunks_exact(PAIRS[0]).collect();
        let changed = apart.iter().filter(|comparison| is_changed(comparison)).count();
        Self {
            name: name.to_owned(),
            pairs: pairs.len(),
            effect: (mean, (spread / (n - 1.0).max(1.0)).sqrt()),
            said,
            disjoint: (changed, apart.len()),
        }
    }

    fn is_unchanged(&self) -> bool {
        self.name == "unchanged"
    }

    /// Whether what the lab promises holds for this size.
    fn holds(&self) -> bool {
        let [(of_six, _), (_, same_of_eight)] = self.said;
        if self.is_unchanged() { of_six <= 5 && same_of_eight >= 95 } else { of_six >= 95 }
    }
}

fn is_changed(pairs: &[(f64, f64)]) -> bool {
    let interval = Paired::of(pairs, LEVEL).and_then(|paired| paired.absolute.interval);
    interval.is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0)
}

fn is_same(pairs: &[(f64, f64)]) -> bool {
    let paired = Paired::of(pairs, LEVEL);
    let p = paired.and_then(|paired| paired::equivalence(&paired.ratios, MARGIN));
    p.is_some_and(|p| p <= LEVEL)
}

/// Prints the table; whether every promise holds.
pub(super) fn print(rows: &[Row]) -> bool {
    println!(
        "\n  planted      pairs  effect %   spread of a pair %   changed of 100     same ±0.1 % of 100   disjoint"
    );
    println!("{:52}   6 pairs  8 pairs     6 pairs  8 pairs       6 pairs", "");
    for row in rows {
        let [(six, same_six), (eight, same_eight)] = row.said;
        println!(
            "  {:<11} {:>6} {:>+9.4} {:>20.4} {:>9} {:>8} {:>11} {:>8} {:>7} of {:<3} {}",
            row.name,
            row.pairs,
            row.effect.0 * 100.0,
            row.effect.1 * 100.0,
            six,
            eight,
            same_six,
            same_eight,
            row.disjoint.0,
            row.disjoint.1,
            if row.holds() { "holds" } else { "DOES NOT HOLD" },
        );
    }
    println!(
        "\n  promised: a planted cost is found in 95 of 100 with 6 pairs; an unchanged subject is called \
         changed in at most 5 of 100,\n  and the same within ±0.1 % in 95 of 100 with 8 pairs"
    );
    rows.iter().all(Row::holds)
}

/// So many different pairs.
fn draw(random: &mut Random, pairs: &[(f64, f64)], size: usize) -> Vec<(f64, f64)> {
    random.choose(size, pairs.len()).into_iter().map(|at| pairs[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs with a noise of a ten-thousandth that has no mean.
    fn pairs(effect: f64) -> Vec<(f64, f64)> {
        let mut random = Random::seeded(7);
        let noise: Vec<f64> =
            (0..120).map(|_| random.bits() as f64 / u64::MAX as f64 - 0.5).collect();
        let mean = noise.iter().sum::<f64>() / noise.len() as f64;
        noise.iter().map(|one| (100.0 * (1.0 + effect + (one - mean) * 2e-4), 100.0)).collect()
    }

    #[test]
    fn what_is_planted_is_found_and_what_is_not_is_not() {
        let row = Row::of("plus-0.1", &pairs(0.001));
        assert_eq!((row.said[0].0, row.disjoint), (100, (20, 20)));
        assert!((row.effect.0 - 0.001).abs() < 1e-9 && row.holds());
        let row = Row::of("unchanged", &pairs(0.0));
        assert!(row.said[0].0 <= 10 && row.said[1].1 == 100, "{row:?}");
    }

    #[test]
    fn a_draw_holds_each_pair_once() {
        let all: Vec<_> = (0..9).map(|one| (f64::from(one), 1.0)).collect();
        let mut drawn = draw(&mut Random::seeded(3), &all, 6);
        drawn.sort_by(|one, other| one.0.total_cmp(&other.0));
        drawn.dedup();
        assert_eq!(drawn.len(), 6);
    }
}
