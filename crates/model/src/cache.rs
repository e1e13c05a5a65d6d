//! The cache model: the geometry of the caches that a study asks for, and what they counted.
//!
//! The counts are modelled and not measured: a plugin of the emulator passes every access of the virtual
//! access point through caches of this geometry (`docs/design/cache-model.md` has what it leaves out).
//! Here are the nouns only; who runs the model is `lab::cache_model`.

use std::{fmt, ops::Add, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The units of a size, longest first, with their length in bytes.
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
    /// So many bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The longest unit that divides the size, so that printing loses nothing.
        let whole = |(_, bytes): &(&str, u64)| self.0 != 0 && self.0.is_multiple_of(*bytes);
        let (unit, bytes) = UNITS.into_iter().find(whole).unwrap_or(("B", 1));
        write!(f, "{}{unit}", self.0 / bytes)
    }
}

/// A geometry that no cache has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCache {
    #[error("`{0}` is not a size: write a whole number and one of B, KiB, MiB, as in `32KiB`")]
    Size(String),
    /// The lines of a cache are too short, too long or no power of two.
    #[error(
        "lines of {0} B cannot be modelled: write a power of two from 16 to 1024, as in `line = 64`"
    )]
    Line(u32),
    /// The ways of a set are none or too many.
    #[error("a cache of {0} ways cannot be modelled: write 1 to 64, as in `ways = 8`")]
    Ways(u32),
    /// Size, ways and lines do not go together.
    #[error(
        "{size} in {ways} ways and lines of {line} B is no cache: size / (ways × line) must be a power of \
         two, as in 32KiB / (8 × 64 B) = 64 sets, and the size at most 256MiB"
    )]
    Sets { size: Size, ways: u32, line: u32 },
    /// The caches have lines of different lengths.
    #[error("the caches have lines of {l1i}, {l1d} and {l2} B: the model needs one length for all")]
    Lines { l1i: u32, l1d: u32, l2: u32 },
}

impl FromStr for Size {
    type Err = NoCache;

    fn from_str(text: &str) -> Result<Self, NoCache> {
        let refuse = || NoCache::Size(text.to_owned());
        let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(refuse)?;
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| refuse())?;
        let bytes = UNITS.into_iter().find(|(name, _)| *name == unit.trim()).ok_or_else(refuse)?.1;
        number.checked_mul(bytes).map(Self).ok_or_else(refuse)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_u64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
        } else {
            u64::deserialize(deserializer).map(Self)
        }
    }
}

/// One set-associative cache; in a study `{ size = "32KiB", ways = 8, line = 64 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenCache")]
pub struct Cache {
    size: Size,
    ways: u32,
    line: u32,
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
    /// A cache of this size, with so many ways a set and lines of so many bytes.
    ///
    /// # Errors
    ///
    /// [`NoCache`] where the sets, which size / (ways × line) is, are no power of two.
    pub fn new(size: Size, ways: u32, line: u32) -> Result<Self, NoCache> {
        if !line.is_power_of_two() || !LINES.contains(&line) {
            return Err(NoCache::Line(line));
        }
        if !(1..=MOST_WAYS).contains(&ways) {
            return Err(NoCache::Ways(ways));
        }
        let set = u64::from(ways) * u64::from(line);
        let whole = size.bytes().is_multiple_of(set) && (size.bytes() / set).is_power_of_two();
        if !whole || size.bytes() > MOST_BYTES {
            return Err(NoCache::Sets { size, ways, line });
        }
        Ok(Self { size, ways, line })
    }

    /// All of its lines together.
    pub const fn size(&self) -> Size {
        self.size
    }

    /// Lines in a set.
    pub const fn ways(&self) -> u32 {
        self.ways
    }

    pub const fn line(&self) -> u32 {
        self.line
    }
}

impl TryFrom<WrittenCache> for Cache {
    type Error = NoCache;

    fn try_from(WrittenCache { size, ways, line }: WrittenCache) -> Result<Self, NoCache> {
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
    l1i: Cache,
    l1d: Cache,
    l2: Cache,
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
    /// These caches together.
    ///
    /// # Errors
    ///
    /// [`NoCache::Lines`] where their lines differ in length.
    pub fn new(l1i: Cache, l1d: Cache, l2: Cache) -> Result<Self, NoCache> {
        if l1i.line != l2.line || l1d.line != l2.line {
            return Err(NoCache::Lines { l1i: l1i.line, l1d: l1d.line, l2: l2.line });
        }
        Ok(Self { l1i, l1d, l2 })
    }

    /// The first-level instruction cache.
    pub const fn l1i(&self) -> Cache {
        self.l1i
    }

    /// The first-level data cache.
    pub const fn l1d(&self) -> Cache {
        self.l1d
    }

    /// The second level, shared by all CPUs, for instructions and data.
    pub const fn l2(&self) -> Cache {
        self.l2
    }
}

impl TryFrom<WrittenGeometry> for Geometry {
    type Error = NoCache;

    fn try_from(WrittenGeometry { l1i, l1d, l2 }: WrittenGeometry) -> Result<Self, NoCache> {
        Self::new(l1i, l1d, l2)
    }
}

/// How often a cache was asked, and how often it had not what was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Accesses {
    /// Times that it was asked.
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
    /// The caches that it was counted with.
    pub geometry: Geometry,
    /// Of instructions in the lower half of the addresses: programs.
    pub user: Counts,
    /// Of instructions in the upper half: the kernel.
    pub kernel: Counts,
}

impl Window {
    /// Programs and kernel together.
    pub fn total(&self) -> Counts {
        self.user + self.kernel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"l1i":{"size":"32KiB","ways":2,"line":64},"l1d":{"size":"32KiB","ways":4,"line":64},"l2":{"size":"1MiB","ways":16,"line":64}}"#;

    fn refusal(text: &str) -> String {
        serde_json::from_str::<Geometry>(text).unwrap_err().to_string()
    }

    #[test]
    fn a_geometry_is_read_as_people_write_it_and_printed_the_same() {
        let geometry: Geometry = serde_json::from_str(TEXT).unwrap();
        assert_eq!(geometry.l1d().to_string(), "32KiB, 4 ways, 64 B lines");
        assert_eq!(geometry.l2().size().bytes(), 1 << 20);
        assert_eq!(serde_json::to_string(&geometry).unwrap(), TEXT);
        assert_eq!("12 KiB".parse(), Ok(Size::from_bytes(12 << 10)));
    }

    #[test]
    fn what_is_no_cache_is_refused_in_one_line() {
        let with = |from: &str, to: &str| refusal(&TEXT.replacen(from, to, 1));
        assert!(
            with("32KiB", "48KiB").starts_with("48KiB in 2 ways and lines of 64 B is no cache")
        );
        assert!(with("32KiB", "32KB").starts_with("`32KB` is not a size"));
        assert!(
            with("32KiB", "99999999999999MiB").starts_with("`99999999999999MiB` is not a size")
        );
        assert!(with("32KiB", "0B").contains("is no cache"));
        assert!(with("32KiB", "512MiB").contains("at most 256MiB"));
        assert!(with(r#""line":64"#, r#""line":48"#).starts_with("lines of 48 B"));
        assert!(
            with(r#""line":64"#, r#""line":32"#).starts_with("the caches have lines of 32, 64")
        );
        assert!(with(r#""ways":2"#, r#""ways":0"#).starts_with("a cache of 0 ways"));
        assert!(with(r#""ways":2"#, r#""way":2"#).contains("unknown field `way`"));
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
