//! The kernel's files that guard writes: what text each takes, when it holds what was wanted, and which other
//! files change with it.
//!
//! Facts of the kernel only; which value is wanted is `act`'s question. Formats:
//! <https://docs.kernel.org/admin-guide/cgroup-v2.html>,
//! <https://docs.kernel.org/scheduler/sched-bwc.html>, <https://docs.kernel.org/filesystems/resctrl.html>.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Knob {
    /// A number or a word that is read as it was written: `cpu.shares`, quota and period of version 1, `cpu.max`,
    /// `threaded`.
    Plain,
    /// `cpu.weight`, which the kernel keeps as shares and may give back rounded.
    Weight,
    /// `cpu.idle`, which takes the weight with it.
    Idle,
    /// A list of CPUs or memory nodes.
    List,
    /// Bytes, kept in pages: `memory.high`.
    Bytes,
    /// `cgroup.subtree_control`: written as differences.
    Controllers,
    /// resctrl's `schemata`: written a resource at a time.
    Schemata,
    /// The nice value of a thread, which is no file: its path is `/proc/TID/nice`.
    Nice,
}

/// Bytes of a value: a page, which is what the kernel gives of most files.
const LONGEST_TEXT: usize = 4096;

/// The largest page of a device that guard runs on, bytes.
const LARGEST_PAGE: u64 = 64 * 1024;

impl Knob {
    /// What is written so that `now` becomes `wanted`.
    pub(crate) fn text(self, now: &str, wanted: &str) -> String {
        if self != Self::Controllers {
            // An empty write would not reach the kernel at all.
            return format!("{}\n", wanted.trim_end());
        }
        let has = |text: &str, one: &str| text.split_whitespace().any(|other| other == one);
        let more =
            wanted.split_whitespace().filter(|one| !has(now, one)).map(|one| format!("+{one}"));
        let less =
            now.split_whitespace().filter(|one| !has(wanted, one)).map(|one| format!("-{one}"));
        format!("{}\n", more.chain(less).collect::<Vec<_>>().join(" "))
    }

    /// Whether a file of this kind can read so: a bound on length and letters for what comes out of a journal.
    pub(crate) fn takes(self, text: &str) -> bool {
        let number = |text: &str| text.len() <= 20 && text.parse::<u64>().is_ok();
        let of = |letter: fn(char) -> bool| text.trim().chars().all(letter);
        let (short, text) = (text.len() <= LONGEST_TEXT, text.trim());
        let letters = match self {
            Self::Plain => {
                let first = |word: &&str| number(word) || matches!(*word, "-1" | "max");
                let words: Vec<&str> = text.split(' ').take(3).collect();
                words.len() <= 2
                    && words.first().is_some_and(first)
                    && words[1..].iter().all(|word| number(word))
            }
            Self::Weight | Self::Idle => number(text),
            Self::Bytes => text == "max" || number(text),
            Self::List => of(|c| c.is_ascii_digit() || matches!(c, ',' | '-')),
            Self::Controllers => of(|c| c.is_ascii_lowercase() || matches!(c, '_' | ' ')),
            Self::Schemata => of(|c| {
                c.is_ascii_alphanumeric()
                    || matches!(c, ':' | '=' | ';' | ',' | '_' | '-' | ' ' | '\n')
            }),
            Self::Nice => text.parse().is_ok_and(|nice: i32| (-20..=19).contains(&nice)),
        };
        short && letters
    }

    /// Whether a file that reads `now` holds what was `wanted`, as the kernel keeps it.
    pub(crate) fn holds(self, wanted: &str, now: &str) -> bool {
        let (wanted, now) = (wanted.trim(), now.trim());
        if wanted == now {
            return true;
        }
        let numbers = || Some((wanted.parse::<u64>().ok()?, now.parse::<u64>().ok()?));
        match self {
            Self::Plain | Self::Idle | Self::Nice => false,
            Self::Weight => numbers().is_some_and(|(wanted, now)| wanted.abs_diff(now) <= 1),
            Self::Bytes => {
                numbers().is_some_and(|(wanted, now)| now <= wanted && wanted - now < LARGEST_PAGE)
            }
            Self::List => list(wanted).is_some_and(|wanted| Some(wanted) == list(now)),
            Self::Controllers => sorted(wanted) == sorted(now),
            Self::Schemata => schemata_hold(wanted, now),
        }
    }

    /// The files that change with this one when it goes from `now` to `wanted`, and what each will read.
    ///
    /// The idle class has a weight of its own, and leaving it sets the weight to the default: 6.18,
    /// `sched_group_set_idle` in kernel/sched/fair.c.
    pub(crate) fn effects(
        self,
        path: &Path,
        now: &str,
        wanted: &str,
    ) -> Vec<(PathBuf, Self, String)> {
        if self != Self::Idle || now.trim() == wanted.trim() {
            return Vec::new();
        }
        let idle = wanted.trim() == "1";
        let shares =
            (path.with_file_name("cpu.shares"), Self::Plain, if idle { "3" } else { "1024" });
        let weight =
            (path.with_file_name("cpu.weight"), Self::Weight, if idle { "0" } else { "100" });
        [shares, weight].map(|(path, knob, text)| (path, knob, text.to_owned())).to_vec()
    }
}

/// The numbers of a list as `0-2,5`; `None` for what is no list.
pub(crate) fn list(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        // No kernel has more CPUs than this; a larger range is no list of CPUs.
        if last < first || last - first > 1 << 16 {
            return None;
        }
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

/// A list as the kernel prints it.
pub(crate) fn listed(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let part = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

fn sorted(words: &str) -> Vec<&str> {
    let mut words: Vec<&str> = words.split_whitespace().collect();
    words.sort_unstable();
    words
}

/// Whether each line that was written is among those that are read; the kernel adds spaces, leading zeros and
/// the other resources.
fn schemata_hold(wanted: &str, now: &str) -> bool {
    let lines = |text: &str| -> Vec<(String, Vec<(u32, u64)>)> {
        text.lines().filter_map(schema).collect()
    };
    let now = lines(now);
    let wanted = lines(wanted);
    !wanted.is_empty() && wanted.iter().all(|line| now.contains(line))
}

/// `L3:0=ff;1=f0`: the resource, and a mask for each of its caches.
pub(crate) fn schema(line: &str) -> Option<(String, Vec<(u32, u64)>)> {
    let (resource, masks) = line.trim().split_once(':')?;
    let mask = |part: &str| {
        let (cache, mask) = part.split_once('=')?;
        Some((cache.trim().parse().ok()?, u64::from_str_radix(mask.trim(), 16).ok()?))
    };
    Some((resource.to_owned(), masks.split(';').map(mask).collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_printed_as_the_kernel_does() {
        assert_eq!(list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(list("5,0-2"), list("0-2,5"));
        assert_eq!(list("\n"), Some(Vec::new()));
        for wrong in ["x", "3-1", "0-4294967295", "1-"] {
            assert_eq!(list(wrong), None, "{wrong}");
        }
        assert_eq!(listed(&[0, 1, 2, 5]), "0-2,5");
        assert_eq!(listed(&[]), "");
    }

    #[test]
    fn rounding_of_the_kernel_is_no_refusal_and_another_value_is() {
        assert!(Knob::Weight.holds("50", "49\n"));
        assert!(!Knob::Weight.holds("50", "100\n"));
        assert!(Knob::Bytes.holds("10000000", "9998336\n"));
        assert!(!Knob::Bytes.holds("10000000", "max\n"));
        assert!(Knob::List.holds("0,1", "0-1\n"));
        assert!(!Knob::List.holds("0,1", "0\n"));
        assert!(!Knob::Plain.holds("512", "3\n"));
        assert!(Knob::Schemata.holds("L3:0=f", "    MB:0=100\n    L3:0=0000f\n"));
        assert!(!Knob::Schemata.holds("L3:0=f", "L3:0=ff\n"));
        assert!(!Knob::Schemata.holds("", "L3:0=ff\n"));
    }

    #[test]
    fn controllers_are_switched_by_their_difference() {
        assert_eq!(Knob::Controllers.text("memory\n", "cpu memory"), "+cpu\n");
        assert_eq!(Knob::Controllers.text("cpu memory", "memory\n"), "-cpu\n");
        assert!(Knob::Controllers.holds("cpu memory", "memory cpu\n"));
    }

    #[test]
    fn nothing_is_written_as_an_empty_line() {
        assert_eq!(Knob::List.text("0-1\n", "\n"), "\n");
        assert_eq!(Knob::Plain.text("1", "512"), "512\n");
    }

    #[test]
    fn the_idle_class_takes_the_weight_with_it() {
        let path = Path::new("/g/cpu.idle");
        let effects = Knob::Idle.effects(path, "0\n", "1");
        assert_eq!(effects[0], ("/g/cpu.shares".into(), Knob::Plain, "3".to_owned()));
        assert_eq!(Knob::Idle.effects(path, "1\n", "0")[1].2, "100");
        assert!(Knob::Idle.effects(path, "1\n", "1").is_empty());
        assert!(Knob::Plain.effects(path, "0", "1").is_empty());
    }
}
