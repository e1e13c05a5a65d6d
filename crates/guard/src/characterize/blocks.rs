//! What is measured in which order: the ladder of settings, and blocks of it with their own baselines.
//!
//! Pure. Each block has every setting once, in an order drawn from the seed, and is opened and closed by a
//! measurement with nothing bounded: figures are told against the two that embrace them, so that traffic that
//! changes slowly is not taken for an effect.

use model::random::Random;
use model::share::Share;

use crate::{
    bounds::{Bounds, FULL_WEIGHT, LEAST_WEIGHT},
    policy::Allow,
};

/// A setting of the ladder: bounds that every application has at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its name in tables, pictures and files.
    pub name: String,
    pub bounds: Bounds,
}

/// Weights of the ladder, each a half of the one before or less.
const WEIGHTS: [u32; 6] = [512, 256, 128, 64, 16, LEAST_WEIGHT];
/// Quotas of the ladder, as shares of all CPUs.
const QUOTAS: [f64; 3] = [0.5, 0.2, 0.1];

/// The settings that a policy allows on a device with this many CPUs, the mildest first, without the one that
/// bounds nothing.
pub fn ladder(allow: &Allow, cpus: u32) -> Vec<Setting> {
    let weights = WEIGHTS.map(|weight| Setting {
        name: format!("weight {weight}"),
        bounds: Bounds { weight, ..Bounds::default() },
    });
    let mut ladder = weights.to_vec();
    if allow.packing && cpus > 1 {
        let last = vec![cpus - 1];
        for weight in [FULL_WEIGHT, 128] {
            let packed = Bounds { weight, cpus: Some(last.clone()), ..Bounds::default() };
            let more =
                if weight == FULL_WEIGHT { String::new() } else { format!(", weight {weight}") };
            ladder.push(Setting { name: format!("one CPU{more}"), bounds: packed });
        }
    }
    if allow.idle {
        let idle = Bounds { idle: true, ..Bounds::default() };
        ladder.push(Setting { name: "idle class".to_owned(), bounds: idle });
    }
    if allow.quota {
        ladder.extend(QUOTAS.map(|share| Setting {
            name: format!("quota {:.0}%", share * 100.0),
            bounds: Bounds { quota: Some(Share::of(share * f64::from(cpus))), ..Bounds::default() },
        }));
    }
    ladder
}

/// One measurement of the plan: which setting, or none bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing is bounded.
    Baseline,
    /// The setting of this place in the ladder.
    Setting(usize),
}

/// The order of a block.
pub fn order(settings: usize, block: u32, seed: u64) -> Vec<Turn> {
    let mut places: Vec<usize> = (0..settings).collect();
    let seed = seed.wrapping_add(u64::from(block).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    Random::seeded(seed).shuffle(&mut places);
    let mut order = vec![Turn::Baseline];
    order.extend(places.into_iter().map(Turn::Setting));
    order.push(Turn::Baseline);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_has_what_the_policy_allows_and_nothing_else() {
        let names = |allow: &Allow, cpus| {
            ladder(allow, cpus).into_iter().map(|setting| setting.name).collect::<Vec<_>>()
        };
        let none = Allow { idle: false, packing: false, quota: false, ..Allow::default() };
        assert!(names(&none, 4).iter().all(|name| name.starts_with("weight")));
        let all = names(&Allow::default(), 2);
        assert!(all.contains(&"idle class".to_owned()) && all.contains(&"one CPU".to_owned()));
        // A single CPU leaves nothing to pack onto.
        assert!(!names(&Allow::default(), 1).contains(&"one CPU".to_owned()));
        let quotas: Vec<_> = ladder(&Allow::default(), 2)
            .into_iter()
            .filter_map(|setting| setting.bounds.quota)
            .map(Share::get)
            .collect();
        assert_eq!(quotas, [1.0, 0.4, 0.2]);
    }

    #[test]
    fn a_block_has_every_setting_once_between_two_baselines() {
        for block in 0..20 {
            let order = order(9, block, 7);
            assert_eq!((order[0], order[10]), (Turn::Baseline, Turn::Baseline));
            let mut places: Vec<_> = order[1..10].to_vec();
            places.sort_by_key(|turn| match turn {
                Turn::Baseline => usize::MAX,
                Turn::Setting(place) => *place,
            });
            assert_eq!(places, (0..9).map(Turn::Setting).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_seed_gives_its_order_again_and_blocks_differ() {
        assert_eq!(order(9, 0, 7), order(9, 0, 7));
        assert_ne!(order(9, 0, 7), order(9, 1, 7));
        assert_ne!(order(9, 0, 7), order(9, 0, 8));
    }
}
