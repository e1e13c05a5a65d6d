//! Numbers that look random and are the same everywhere, every time: for draws whose seed is fixed.
//!
//! SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). Not
//! for secrets, and nothing here asks the machine for randomness.

/// A stream of numbers that its seed decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Random(u64);

impl Random {
    pub const fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream of several numbers together.
    pub fn of(parts: [u64; 3]) -> Self {
        let mut stream = Self(0);
        for part in parts {
            stream.0 ^= part;
            stream.0 = stream.bits();
        }
        stream
    }

    /// 64 bits, each as likely set as not.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 where that is 0. The high half of a product, so that no end has a favourite beyond one
    /// part in 2^64.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u64
    }

    /// A number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Fisher and Yates, as Durstenfeld wrote it down (CACM 7, 1964, algorithm 235). The rest of a division by some
    /// tens is even enough for an order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.bits() % (last as u64 + 1);
            items.swap(last, other as usize);
        }
    }

    /// So many different numbers below `end`, rising: the first places of a shuffle.
    pub fn choose(&mut self, chosen: usize, end: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..end).collect();
        let chosen = chosen.min(end);
        for at in 0..chosen {
            let other = at + self.below((end - at) as u64) as usize;
            all.swap(at, other);
        }
        all.truncate(chosen);
        all.sort_unstable();
        all
    }

    /// A number of the standard normal distribution (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        // 53 bits, never 0: its logarithm is taken.
        let mut unit = || ((self.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let (radius, turn) = (unit(), unit());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_the_paper() {
        // The reference implementation's first numbers of the seed 1234567.
        let mut random = Random::seeded(1_234_567);
        let found = [random.bits(), random.bits(), random.bits()];
        assert_eq!(
            found,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn what_is_chosen_is_different_and_in_bounds() {
        let mut random = Random::seeded(7);
        for _ in 0..100 {
            let found = random.choose(6, 20);
            assert_eq!(found.len(), 6);
            assert!(found.is_sorted_by(|a, b| a < b) && found[5] < 20, "{found:?}");
        }
        assert_eq!(random.choose(3, 3), [0, 1, 2]);
    }

    #[test]
    fn normal_numbers_have_mean_0_and_spread_1() {
        let mut random = Random::seeded(3);
        let draws: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 2e4;
        let square = draws.iter().map(|draw| draw * draw).sum::<f64>() / 2e4;
        assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.04, "{mean} {square}");
    }
}
