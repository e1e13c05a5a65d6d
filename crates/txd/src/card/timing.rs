//! How long a card takes: spreads of completion times, airtime, and the numbers that they are drawn with.
//!
//! Pure and seeded: the same seed draws the same times.

pub use model::random::Random;

/// How completion times spread about the time that is given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Spread {
    #[default]
    Fixed,
    /// Evenly, up to this many ns less or more.
    Uniform(u64),
    /// At least the time that is given, and an exponential tail of this many ns on average.
    Tail(u64),
}

impl Spread {
    /// A time about this one, ns.
    pub fn draw(self, about_ns: u64, random: &mut Random) -> u64 {
        match self {
            Self::Fixed => about_ns,
            Self::Uniform(width) => {
                (about_ns + random.below(width.saturating_mul(2) + 1)).saturating_sub(width)
            }
            Self::Tail(mean) => {
                // The inverse of the distribution function; 1 − u is never 0.
                let tail = -(1.0 - random.unit()).ln() * mean as f64;
                about_ns.saturating_add(tail as u64)
            }
        }
    }
}

/// A rate of 802.11b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rate {
    /// 1 Mb/s.
    One,
    /// 2 Mb/s.
    Two,
    /// 5.5 Mb/s.
    FiveAndAHalf,
    /// 11 Mb/s.
    Eleven,
}

impl Rate {
    /// All of them, slowest first.
    pub const ALL: [Self; 4] = [Self::One, Self::Two, Self::FiveAndAHalf, Self::Eleven];

    pub fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Two => "2",
            Self::FiveAndAHalf => "5.5",
            Self::Eleven => "11",
        }
    }

    /// Time of this many bits, ns.
    fn of_bits(self, bits: u64) -> u64 {
        let tenths = match self {
            Self::One => 10,
            Self::Two => 20,
            Self::FiveAndAHalf => 55,
            Self::Eleven => 110,
        };
        (bits * 10_000).div_ceil(tenths)
    }
}

/// Long PLCP preamble and header, ns (IEEE 802.11-1999, 18.2.2: 144 + 48 µs at 1 Mb/s).
const PREAMBLE_NS: u64 = 192_000;
/// Between a frame and its acknowledgement, before a frame, and a slot of backoff, ns (802.11b, table 101).
const SIFS_NS: u64 = 10_000;
const DIFS_NS: u64 = 50_000;
const SLOT_NS: u64 = 20_000;
/// Slots of backoff are drawn from 0 to this (`aCWmin`).
const LARGEST_BACKOFF: u64 = 31;
/// What an Ethernet frame becomes on the air: 24 bytes of header, 8 of LLC/SNAP and 4 of check sequence instead
/// of 14 of header.
const MORE_ON_AIR: u64 = 24 + 8 + 4 - 14;
const ACK_BITS: u64 = 14 * 8;

/// How long an Ethernet frame of this many bytes and its acknowledgement take the air, ns, after this many slots of
/// backoff; no one else is on the air. DIFS + backoff + preamble + frame + SIFS + preamble + acknowledgement
/// (802.11-1999, 9.2; the basic rates are 1 and 2 Mb/s).
pub fn airtime_ns(bytes: u64, rate: Rate, slots: u64) -> u64 {
    let ack_rate = if rate == Rate::One { Rate::One } else { Rate::Two };
    let frame = PREAMBLE_NS + rate.of_bits(8 * (bytes + MORE_ON_AIR));
    let ack = PREAMBLE_NS + ack_rate.of_bits(ACK_BITS);
    DIFS_NS + slots * SLOT_NS + frame + SIFS_NS + ack
}

/// Draws the slots of a backoff without a collision before it.
pub fn backoff(random: &mut Random) -> u64 {
    random.below(LARGEST_BACKOFF + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_at_eleven_megabits_takes_two_milliseconds_on_average() {
        // 50 + 310 + 192 + 1536 × 8 / 11 + 10 + 192 + 56 µs, with 15.5 slots as 15.
        assert_eq!(airtime_ns(1514, Rate::Eleven, 15), 1_917_091);
        assert_eq!(airtime_ns(1514, Rate::One, 0), 192_000 * 2 + 60_000 + 12_288_000 + 112_000);
    }

    #[test]
    fn a_spread_stays_where_it_says() {
        let mut random = Random::seeded(7);
        let uniform: Vec<u64> =
            (0..1000).map(|_| Spread::Uniform(20).draw(100, &mut random)).collect();
        assert_eq!((uniform.iter().min(), uniform.iter().max()), (Some(&80), Some(&120)));
        let tail: Vec<u64> =
            (0..10_000).map(|_| Spread::Tail(1000).draw(500, &mut random)).collect();
        let mean = tail.iter().sum::<u64>() / 10_000;
        assert!(tail.iter().all(|&time| time >= 500) && (1450..1550).contains(&mean), "{mean}");
        assert_eq!(
            Spread::Uniform(50).draw(0, &mut Random::seeded(1)).max(50),
            50,
            "never below 0"
        );
        assert_eq!(Spread::Fixed.draw(77, &mut random), 77);
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let (mut one, mut other) = (Random::seeded(3), Random::seeded(3));
        assert!((0..100).all(|_| one.bits() == other.bits()));
        assert_eq!(Random::seeded(1).below(0), 0);
    }
}
