//! A line of the journal: what is about to change, with a checksum, so that a torn line is no line.
//!
//! Text: sixteen hexadecimal digits of the checksum, a space, the record as JSON. Reads and prints; decides
//! nothing.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::knob::Knob;

/// What a line says. Each but the first and `Became` is written before the deed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Record {
    /// The first line.
    Begin {
        version: u32,
        /// The boot in which the rest is true.
        boot: String,
    },
    Change {
        path: PathBuf,
        /// Its inode; of a thread's nice value, when the thread started.
        inode: u64,
        knob: Knob,
        /// What it reads before.
        old: String,
        /// What it is to read.
        new: String,
    },
    /// What a value reads now, where the kernel keeps it otherwise than it was written, or where a change
    /// was refused.
    Became {
        path: PathBuf,
        text: String,
    },
    Made {
        folder: PathBuf,
    },
    /// A process moves from group to group.
    Moved {
        pid: u32,
        /// When it started, ticks since boot.
        born: u64,
        /// The folder of the group that it leaves.
        from: PathBuf,
        /// The folder of the group that it enters.
        to: PathBuf,
    },
    /// A file that was changed is not guard's any more: it is gone, or has all that it can be given back.
    Gone {
        path: PathBuf,
    },
}

/// The version that [`Record::Begin`] names.
pub(super) const VERSION: u32 = 1;

impl Record {
    /// The line, with its end.
    pub fn line(&self) -> Result<String, serde_json::Error> {
        let json = serde_json::to_string(self)?;
        Ok(format!("{:016x} {json}\n", checksum(json.as_bytes())))
    }

    /// Reads a line; `None` where it is torn or no one's.
    pub fn parse(line: &str) -> Option<Self> {
        let (sum, json) = line.split_once(' ')?;
        let whole =
            sum.len() == 16 && u64::from_str_radix(sum, 16).ok()? == checksum(json.as_bytes());
        if whole { serde_json::from_str(json).ok() } else { None }
    }
}

/// Lines of a journal that is read: one of guard's own has fewer, also after two were joined.
pub(super) const MOST_LINES: usize = 1 << 17;

/// Reads a journal. Lines that are torn are left out: a line is written before its deed, so what it would
/// have told was not done.
pub fn records(text: &str) -> Vec<Record> {
    text.lines().filter_map(Record::parse).collect()
}

/// What is to be said of lines that are damaged: the first is never torn, and any other that is has lost its end.
pub(super) fn damaged(text: &str) -> Option<String> {
    let is_whole = |(at, line): &(usize, &str)| *at == 0 || line.ends_with('}');
    let lines = text.lines().enumerate().filter(is_whole);
    match lines.filter(|(_, line)| Record::parse(line).is_none()).count() {
        0 => None,
        1 => Some("a damaged line".to_owned()),
        lines => Some(format!("{lines} damaged lines")),
    }
}

/// FNV-1a with 64 bits: <http://www.isthe.com/chongo/tech/comp/fnv/>. It finds torn lines, not forged ones.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn change() -> Record {
        Record::Change {
            path: "/sys/fs/cgroup/cpu/a b/cpu.shares".into(),
            inode: 7,
            knob: Knob::Plain,
            old: "1024\n".to_owned(),
            new: "512".to_owned(),
        }
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let line = change().line().unwrap();
        assert_eq!(Record::parse(line.trim_end()), Some(change()));
        assert_eq!(line.lines().count(), 1, "line ends of values are no line ends of the journal");
    }

    #[test]
    fn a_line_that_is_torn_anywhere_is_no_line() {
        let line = change().line().unwrap();
        for end in 0..line.len() - 1 {
            assert_eq!(Record::parse(&line[..end]), None, "{end}");
        }
    }

    #[test]
    fn a_torn_line_hides_none_of_the_others() {
        let line = change().line().unwrap();
        let text = format!("{}{}\n{line}", line, &line[..30]);
        assert_eq!(records(&text), [change(), change()]);
    }

    #[test]
    fn the_checksum_is_fnv_1a() {
        // From the test vectors on its page.
        assert_eq!(checksum(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(checksum(b"foobar"), 0x8594_4171_f739_67e8);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text: String) {
            let _ = records(&text);
        }
    }
}
