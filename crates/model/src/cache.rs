//! The cache model: the geometry of the caches that a study asks for, and what they counted.
//!
//! The counts are modelled and not measured: a plugin of the emulator passes every access of the virtual
//! access point through caches of this geometry (`docs/design/cache-model.md` has what it leaves out).
//! Here are the nouns only; who runs the model is `lab::cache_model`.

use std::{fmt, ops::Add, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::span::{in_units, of_units, text_for_people};

const UNITS: [(&str, u64); 3] = [("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// A cache may have no more ways than this; none that is built has.
const MOST_WAYS: u32 = 64;

/// Lines may be so long, bytes.
const LINES: std::ops::RangeInclusive<u32> = 16..=1024;

/// A cache may be no larger than this, bytes: the model keeps a word for each of its lines.
const MOST_BYTES: u64 = 256 << 20;

/// Instructions that the whole machine executed in a window, as its emulator counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    pub programs: u64,
    pub kernel: u64,
}

impl Executed {
    pub const fn total(self) -> u64 {
        self.programs + self.kernel
    }
}

/// What cuts one window out of all that a machine executes: numbers that the host draws for a trial, and that nobody in the
/// guest knows but the agent. Each is as long as every other, so that none takes more instructions.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    pub open: [u8; Self::LENGTH],
    pub close: [u8; Self::LENGTH],
}

impl Marks {
    /// The length of each, bytes.
    pub const LENGTH: usize = 8;
}

/// Secret: no failure and no log shows them.
impl fmt::Debug for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Marks")
    }
}

/// A size as people write it in a study file: `32KiB`, `1 MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u64);

impl Size {
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&in_units(self.0, &UNITS, "B"))
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        of_units(text, &UNITS).map(Self).ok_or_else(|| {
            format!(
                "`{text}` is not a size: write a whole number and one of B, KiB, MiB, as in `32KiB`"
            )
        })
    }
}

text_for_people!(Size);

/// One set-associative cache; in a study `{ size = "32KiB", ways = 8, line = 64 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenCache")]
pub struct Cache {
    /// All of its lines together.
    pub size: Size,
    /// Lines in a set.
    pub ways: u32,
    /// Bytes of a line.
    pub line: u32,
}

/// A cache before it was looked at.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct WrittenCache {
    size: Size,
    ways: u32,
    line: u32,
}

impl Cache {
    /// A cache of this size, with these ways per set and bytes per line; the error says in one line why there can be none.
    pub fn new(size: Size, ways: u32, line: u32) -> Result<Self, String> {
        if !line.is_power_of_two() || !LINES.contains(&line) {
            return Err(format!(
                "lines of {line} B cannot be modelled: write a power of two from 16 to 1024, as in `line = 64`"
            ));
        }
        if !(1..=MOST_WAYS).contains(&ways) {
            return Err(format!(
                "a cache of {ways} ways cannot be modelled: write 1 to 64, as in `ways = 8`"
            ));
        }
        let set = u64::from(ways) * u64::from(line);
        let is_whole = size.0.is_multiple_of(set) && (size.0 / set).is_power_of_two();
        if !is_whole || size.0 > MOST_BYTES {
            return Err(format!(
                "{size} in {ways} ways and lines of {line} B is no cache: size / (ways × line) must be a power of \
                 two, as in 32KiB / (8 × 64 B) = 64 sets, and the size at most 256MiB"
            ));
        }
        Ok(Self { size, ways, line })
    }
}

impl TryFrom<WrittenCache> for Cache {
    type Error = String;

    fn try_from(WrittenCache { size, ways, line }: WrittenCache) -> Result<Self, String> {
        Self::new(size, ways, line)
    }
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} ways, {} B lines", self.size, self.ways, self.line)
    }
}

/// The caches of an access point: two for each CPU, and one behind them that all share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenGeometry")]
pub struct Geometry {
    /// The first level's, for instructions.
    pub l1i: Cache,
    /// The first level's, for data.
    pub l1d: Cache,
    /// The second level, for both.
    pub l2: Cache,
}

/// A geometry before it was looked at.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct WrittenGeometry {
    l1i: Cache,
    l1d: Cache,
    l2: Cache,
}

impl Geometry {
    /// These caches together; else why the model cannot have them, in one line.
    pub fn new(l1i: Cache, l1d: Cache, l2: Cache) -> Result<Self, String> {
        let lines = [l1i, l1d, l2].map(|cache| cache.line);
        match lines {
            [a, b, c] if a != c || b != c => Err(format!(
                "the caches have lines of {a}, {b} and {c} B: the model needs one length for all"
            )),
            _ => Ok(Self { l1i, l1d, l2 }),
        }
    }
}

impl TryFrom<WrittenGeometry> for Geometry {
    type Error = String;

    fn try_from(WrittenGeometry { l1i, l1d, l2 }: WrittenGeometry) -> Result<Self, String> {
        Self::new(l1i, l1d, l2)
    }
}

/// How often a cache was asked, and how often it had not what was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Accesses {
    pub accesses: u64,
    /// Times of these that it had to be brought from further away.
    pub misses: u64,
}

impl Accesses {
    /// Misses of all accesses, 1 is all; `None` where there was no access.
    pub fn miss_share(&self) -> Option<f64> {
        (self.accesses > 0).then(|| self.misses as f64 / self.accesses as f64)
    }
}

impl Add for Accesses {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            accesses: self.accesses.saturating_add(other.accesses),
            misses: self.misses.saturating_add(other.misses),
        }
    }
}

/// What the modelled caches counted. An access that touches two lines is one access, and one miss at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Executed instructions, the unit of counted time.
    pub instructions: u64,
    /// Instruction fetches: as many as instructions.
    pub l1i: Accesses,
    /// Loads from memory; of a device none.
    #[serde(alias = "l1d-loads")]
    pub l1d_loads: Accesses,
    /// Stores to memory; a line that is not there is fetched, too.
    #[serde(alias = "l1d-stores")]
    pub l1d_stores: Accesses,
    /// What the L1i did not have.
    #[serde(alias = "l2-fetches")]
    pub l2_fetches: Accesses,
    /// What the L1d did not have for a load.
    #[serde(alias = "l2-loads")]
    pub l2_loads: Accesses,
    /// What the L1d did not have for a store.
    #[serde(alias = "l2-stores")]
    pub l2_stores: Accesses,
}

impl Counts {
    /// What the second level was asked for by the L1d's load misses and the L1i's misses, both of which are
    /// reads of it.
    pub fn l2_reads(&self) -> Accesses {
        self.l2_fetches + self.l2_loads
    }

    /// Everything that the second level was asked for.
    pub fn l2(&self) -> Accesses {
        self.l2_reads() + self.l2_stores
    }

    /// Every load and store.
    pub fn l1d(&self) -> Accesses {
        self.l1d_loads + self.l1d_stores
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            instructions: self.instructions.saturating_add(other.instructions),
            l1i: self.l1i + other.l1i,
            l1d_loads: self.l1d_loads + other.l1d_loads,
            l1d_stores: self.l1d_stores + other.l1d_stores,
            l2_fetches: self.l2_fetches + other.l2_fetches,
            l2_loads: self.l2_loads + other.l2_loads,
            l2_stores: self.l2_stores + other.l2_stores,
        }
    }
}

/// What was counted from a window's beginning to its end, on all CPUs and for whatever ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Window {
    pub geometry: Geometry,
    /// Of instructions in the lower half of the addresses: programs.
    pub user: Counts,
    /// Of instructions in the upper half: the kernel.
    pub kernel: Counts,
}

impl Window {
    pub fn total(&self) -> Counts {
        self.user + self.kernel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"l1i":{"size":"32KiB","ways":2,"line":64},"l1d":{"size":"32KiB","ways":4,"line":64},"l2":{"size":"1MiB","ways":16,"line":64}}"#;

    #[test]
    fn a_geometry_is_read_as_people_write_it_and_printed_the_same() {
        let geometry: Geometry = serde_json::from_str(TEXT).unwrap();
        assert_eq!(geometry.l1d.to_string(), "32KiB, 4 ways, 64 B lines");
        assert_eq!(geometry.l2.size.bytes(), 1 << 20);
        assert_eq!(serde_json::to_string(&geometry).unwrap(), TEXT);
        assert_eq!("12 KiB".parse(), Ok(Size::from_bytes(12 << 10)));
    }

    #[test]
    fn what_is_no_cache_is_refused_in_one_line() {
        for (from, to, why) in [
            ("32KiB", "48KiB", "48KiB in 2 ways and lines of 64 B is no cache"),
            ("32KiB", "32KB", "`32KB` is not a size"),
            ("32KiB", "99999999999999MiB", "`99999999999999MiB` is not a size"),
            ("32KiB", "0B", "is no cache"),
            ("32KiB", "512MiB", "at most 256MiB"),
            (r#""line":64"#, r#""line":48"#, "lines of 48 B"),
            (r#""line":64"#, r#""line":32"#, "the caches have lines of 32, 64"),
            (r#""ways":2"#, r#""ways":0"#, "a cache of 0 ways"),
            (r#""ways":2"#, r#""way":2"#, "unknown field `way`"),
        ] {
            let refused = serde_json::from_str::<Geometry>(&TEXT.replacen(from, to, 1));
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(why), "{to}: {refused}");
        }
    }

    #[test]
    fn shares_are_of_what_was_asked_and_absent_where_nothing_was() {
        assert_eq!(Accesses { accesses: 8, misses: 2 }.miss_share(), Some(0.25));
        assert_eq!(Accesses::default().miss_share(), None);
    }

    #[test]
    fn sums_are_of_their_parts() {
        let one = |accesses, misses| Accesses { accesses, misses };
        let counts = Counts {
            instructions: 100,
            l1i: one(100, 3),
            l1d_loads: one(30, 4),
            l1d_stores: one(10, 2),
            l2_fetches: one(3, 1),
            l2_loads: one(4, 2),
            l2_stores: one(2, 2),
        };
        assert_eq!(counts.l1d(), one(40, 6));
        assert_eq!(counts.l2_reads(), one(7, 3));
        assert_eq!(counts.l2(), one(9, 5));
        assert_eq!((counts + counts).l2(), one(18, 10));
    }
}
