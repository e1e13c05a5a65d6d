//! Thousands of comparisons of a lab that is made up, through the real judge: costs and bursts of known size are planted
//! in one side. **Synthetic**: what a round costs, and the lab's own events, are as measured in `bulk` at 114 clients.

use model::{
    random::Random,
    verdict::{Expect, Pairs},
};

use super::super::sequential::looked;
use super::*;

/// What a round of the load costs, µs, and the share of it by which pairs differ.
const ROUND_US: f64 = 4270.0;
const SPREAD: f64 = 0.003;
/// How often a round of either side has an event of the lab's own of so many µs.
const OWN: [(f64, f64); 2] = [(0.002, 757.0), (0.05, 56.0)];
const ROUNDS: usize = 20;
const MARGIN: f64 = 0.005;

/// What is planted in the variant, µs: in every round, and once in so many.
#[derive(Clone, Copy, Debug)]
struct Plant {
    steady: f64,
    burst: f64,
    every: usize,
    /// Whether each pair has it at a place of its own; else it is where windows hold the fewest.
    moves: bool,
}

const NOTHING: Plant = Plant { steady: 0.0, burst: 0.0, every: 1, moves: false };

impl Plant {
    /// What it costs in truth, as a share of a round.
    fn share(&self) -> f64 {
        (self.steady + self.burst / self.every as f64) / ROUND_US
    }
}

/// What a control group's counter of whole µs says of each round.
pub(super) fn counted(costs: &[f64], begin: f64) -> Vec<f64> {
    let mut count = begin;
    let step = |cost: &f64| {
        let before = count.floor();
        count += cost;
        count.floor() - before
    };
    costs.iter().map(step).collect()
}

fn pair(random: &mut Random, plant: Plant) -> Periods {
    let base = ROUND_US * (1.0 + SPREAD * random.normal());
    let phase = if plant.moves { random.below(plant.every as u64) as usize } else { 1 };
    let mut own = || -> f64 {
        OWN.iter().map(|(rate, size)| if random.unit() < *rate { *size } else { 0.0 }).sum()
    };
    let [mut after, mut before] = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        let burst = if (round + phase) % plant.every == 0 { plant.burst } else { 0.0 };
        after.push(base + plant.steady + burst + own());
        before.push(base + own());
    }
    for cost in after.iter_mut().chain(&mut before) {
        *cost += random.normal();
    }
    let [after, before] = [after, before].map(|costs| counted(&costs, random.unit()));
    let sum = |costs: &[f64]| costs.iter().sum::<f64>() / ROUNDS as f64;
    Periods { total: sum(&after) - sum(&before), each: after.into_iter().zip(before).collect() }
}

fn compare(random: &mut Random, plant: Plant, expect: Expect, pairs: Pairs) -> Judgement {
    let made: Vec<Periods> = (0..pairs.most()).map(|_| pair(random, plant)).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| {
        move |pair: &Periods| pair.each.iter().map(of).sum::<f64>() / ROUNDS as f64
    };
    let whole = made.iter().map(|pair| (mean(|one| one.0)(pair), mean(|one| one.1)(pair)));
    let judged = PairValues {
        whole: whole.collect(),
        quantity: Quantity::Cpu,
        periods: Ok(InStep { pairs: made, period_s: 1.0 }),
    };
    let question = Question {
        clients: 114,
        at: "at 114 clients".to_owned(),
        expect,
        margin: MARGIN,
        pairs,
        ..Question::of_sides(&fixture::run().study, ["before", "after"], "stationd")
    };
    let evidence = Evidence::of_pairs(judged, pairs.most());
    let order: Vec<usize> = (0..pairs.most() as usize).collect();
    looked(&question, &evidence, pairs, &order).judgement
}

/// What a hundred comparisons say.
#[derive(Debug, Default)]
struct Said {
    passed: u32,
    failed: u32,
    dearer: u32,
    cheaper: u32,
    /// The widest interval of those in which the steady part is claimed: half of it, share of the base.
    half: f64,
}

fn hundred(plant: Plant, expect: Expect, pairs: Pairs) -> Said {
    let mut random = Random::seeded(39);
    let mut said = Said::default();
    for _ in 0..100 {
        let found = compare(&mut random, plant, expect, pairs);
        said.passed += u32::from(found.verdict == Verdict::Pass);
        said.failed += u32::from(found.verdict == Verdict::Fail);
        said.dearer += u32::from(found.finding == Finding::Dearer);
        said.cheaper += u32::from(found.finding == Finding::Cheaper);
        let half = found.relative.and_then(|one| one.interval).map_or(0.0, |one| one.half());
        said.half = said.half.max(if found.basis == Basis::Steady { half } else { 0.0 });
    }
    said
}

const FIXED: Pairs = Pairs::Fixed(6);
const FEW_LOOKS: Pairs = Pairs::UpTo(16);
const USUAL: Pairs = Pairs::UpTo(48);

#[test]
fn no_burst_beyond_the_margin_passes_with_or_without_a_cheaper_round_and_looks() {
    let mut beyond = 0;
    for burst in [50.0, 200.0, 400.0, 800.0, 1336.0, 2000.0] {
        for every in [5, 10, 15, 20] {
            for (steady, moves) in [(0.0, true), (0.0, false), (-20.0, false), (14.2, false)] {
                let plant = Plant { steady, burst, every, moves };
                if plant.share() <= MARGIN {
                    continue;
                }
                beyond += 1;
                for pairs in [FIXED, FEW_LOOKS] {
                    for expect in [Expect::NoSlower, Expect::Faster] {
                        let said = hundred(plant, expect, pairs);
                        assert_eq!(said.passed, 0, "{plant:?} {expect:?} {pairs:?} {said:?}");
                        assert_eq!(said.cheaper, 0, "{plant:?} {expect:?} {pairs:?} {said:?}");
                    }
                }
            }
        }
    }
    assert!(beyond > 50, "{beyond}");
}

/// In `bulk`, 60 turns of a loop for each station.
#[test]
fn a_third_of_a_per_cent_in_every_round_is_found_and_passes_as_soon_as_the_total_is_known() {
    let loops = Plant { steady: 14.2, ..NOTHING };
    let said = hundred(loops, Expect::NoSlower, USUAL);
    assert_eq!((said.dearer, said.failed), (100, 0), "{said:?}");
    assert!(said.passed >= 85 && said.half < 0.0005, "{said:?}");
    let said = hundred(loops, Expect::NoSlower, FIXED);
    assert_eq!((said.dearer, said.failed), (100, 0), "{said:?}");
    let small = hundred(Plant { steady: 2.0, ..NOTHING }, Expect::NoSlower, FIXED);
    assert!(small.dearer >= 95 && small.half < 0.0005, "{small:?}");
    let cheaper = hundred(Plant { steady: -2.0, ..NOTHING }, Expect::Faster, USUAL);
    assert!(cheaper.passed >= 95, "{cheaper:?}");
}

#[test]
fn the_same_twice_is_seldom_called_different_and_passes_as_the_same() {
    for pairs in [FIXED, FEW_LOOKS, USUAL] {
        let said = hundred(NOTHING, Expect::Same, pairs);
        assert!(said.dearer + said.cheaper <= 5 && said.failed == 0, "{pairs:?} {said:?}");
        assert!(said.passed >= if pairs == FIXED { 60 } else { 95 }, "{pairs:?} {said:?}");
    }
}

/// 1.336 ms once in fifteen rounds, and nothing else: what was passed as +0.037 %.
#[test]
fn a_burst_in_fifteen_rounds_fails_with_and_without_looks_and_the_steady_part_is_said() {
    let plant = Plant { burst: 1336.0, every: 15, moves: true, ..NOTHING };
    for pairs in [FIXED, USUAL] {
        let said = hundred(plant, Expect::NoSlower, pairs);
        assert_eq!((said.passed, said.dearer), (0, 100), "{pairs:?} {said:?}");
        assert!(said.failed >= 99, "{pairs:?} {said:?}");
    }
    let found =
        compare(&mut Random::seeded(1), Plant { steady: 2.0, ..plant }, Expect::NoSlower, USUAL);
    let parts =
        ["stationd's steady CPU is 1.97 µs", "and with rare events stationd's total CPU is "];
    assert!(parts.iter().all(|part| found.sentence.contains(part)), "{}", found.sentence);
}
