//! What a board says of itself: which slot it runs from, what is in it, and what the state says that starts next.
//!
//! Answers of a device are not trusted: what is read of them are numbers, sums and words that we know.

use std::{collections::BTreeMap, time::Duration};

use model::{
    boot_state::{BootState, COPY, Slot},
    inert,
    name::Sha256Hex,
};
use serde::Serialize;

use super::{
    failure::Failure,
    shell::{Answer, Shell},
};
use crate::Error;

const LOOK: &str = include_str!("look.sh");
const OVERLAY: &str = include_str!("overlay.sh");

/// To hash a slot takes an emulated board some seconds.
const LIMIT: Duration = Duration::from_secs(60);
const HASHING: Duration = Duration::from_secs(180);

/// So many files of an overlay are listed.
pub const MOST_FILES: usize = 1000;

#[derive(Clone, Debug)]
pub(super) struct Board {
    /// Another one after each start.
    pub(super) boot: String,
    pub(super) slot: Slot,
    /// The number of its overlay.
    overlay: u32,
    /// The device of its root.
    rom: String,
    /// The state, and which copy is to be written next.
    pub(super) state: BootState,
    pub(super) next: usize,
    /// Both copies, as hexadecimal digits.
    pub(super) copies: String,
    partitions: BTreeMap<String, Partition>,
}

/// A partition of a board.
#[derive(Clone, Debug, Default)]
pub(super) struct Partition {
    /// Its device below `/dev`.
    pub(super) device: String,
    /// Its size, bytes.
    pub(super) size: u64,
    /// Its first sector.
    head: Vec<u8>,
}

/// What a slot may have already.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// Its first sector.
    pub(super) head: &'a [u8],
    /// Its length, bytes.
    pub(super) size: u64,
    /// Its SHA-256, hexadecimal.
    pub(super) sha256: &'a str,
}

impl Partition {
    /// A line of shell that hashes so many bytes of it, from the disk and not from memory.
    fn sum(&self, size: u64) -> String {
        let read = format!("dd if=/dev/{} bs=1048576 iflag=direct 2>/dev/null", self.device);
        format!("{read} | head -c {size} | sha256sum\n")
    }
}

/// The content of what a board runs from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Content {
    pub slot: String,
    /// SHA-256 of its kernel.
    pub kernel: Sha256Hex,
    /// SHA-256 of the root that is mounted.
    pub root: Sha256Hex,
}

/// A file of a board's overlay, and what it does to the image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OverlayFile {
    /// `hides` a file of the image, `removes` one, or `adds` one that the image has not.
    pub effect: &'static str,
    pub path: String,
}

impl Board {
    /// Asks a board.
    ///
    /// # Errors
    ///
    /// Those of [`Shell::run`]; [`Failure::NoSlots`] of another device, and [`Failure::NoAnswer`].
    pub(super) fn ask(shell: Shell<'_>, device: &str) -> Result<Self, Error> {
        Ok(Said::by(shell, device)?.board(device)?)
    }

    /// A partition of a slot; there is one, or [`Board::ask`] had failed.
    pub(super) fn partition(&self, part: &str, slot: Slot) -> Partition {
        self.partitions.get(&format!("{part}_{slot}")).cloned().unwrap_or_default()
    }

    /// The device of the state.
    pub(super) fn state_device(&self) -> &str {
        self.partitions.get("state").map_or("", |partition| &partition.device)
    }

    /// Whether a slot has this content already, as after a flash that went to and fro. It is hashed only where it begins so.
    pub(super) fn has(
        &self,
        shell: Shell<'_>,
        partition: &Partition,
        wanted: Wanted<'_>,
    ) -> Result<bool, Error> {
        if partition.head != wanted.head {
            return Ok(false);
        }
        let Answer { output, .. } = shell.run(&partition.sum(wanted.size), HASHING)?;
        Ok(output.split(' ').next() == Some(wanted.sha256))
    }

    /// Hashes what it runs from: of the length that kernel and root say themselves.
    pub(super) fn content(&self, shell: Shell<'_>, device: &str) -> Result<Content, Error> {
        let no_answer =
            |why: &str| Failure::NoAnswer { device: device.to_owned(), why: why.to_owned() };
        let (kernel, root) =
            (self.partition("kernel", self.slot), self.partition("root", self.slot));
        if self.rom != root.device {
            let why = format!("/rom is {}, and slot {} has {}", self.rom, self.slot, root.device);
            return Err(no_answer(&why).into());
        }
        let sizes = fit_size(&kernel.head).zip(squashfs_size(&root.head));
        let (kernel_size, root_size) = sizes.ok_or_else(|| no_answer("its slot holds no image"))?;
        let script = kernel.sum(kernel_size) + &root.sum(root_size);
        let Answer { output, said, .. } = shell.run(&script, HASHING)?;
        let mut sums = output.lines().filter_map(|line| line.split(' ').next()?.parse().ok());
        match (sums.next(), sums.next()) {
            (Some(kernel), Some(root)) => Ok(Content { slot: self.slot.to_string(), kernel, root }),
            _ => Err(no_answer(&said).into()),
        }
    }

    /// The files of the overlay that it runs with, at most [`MOST_FILES`].
    pub(super) fn overlay_files(&self, shell: Shell<'_>) -> Result<Vec<OverlayFile>, Error> {
        let script = OVERLAY.replace("$OVERLAY", &format!("{:x}", self.overlay));
        let script = script.replace("$MOST", &MOST_FILES.to_string());
        Ok(shell.run(&script, LIMIT)?.output.lines().filter_map(overlay_file).collect())
    }
}

fn overlay_file(line: &str) -> Option<OverlayFile> {
    let (effect, path) = line.split_once(' ')?;
    let effect = ["hides", "removes", "adds"].into_iter().find(|known| *known == effect)?;
    Some(OverlayFile { effect, path: inert::line(path).into_owned() })
}

#[derive(Default)]
pub(super) struct Said {
    /// What `uname -m` says.
    pub(super) machine: Option<String>,
    boot: Option<String>,
    slot: Option<Slot>,
    overlay: Option<u32>,
    rom: Option<String>,
    copies: Vec<Vec<u8>>,
    partitions: BTreeMap<String, Partition>,
}

impl Said {
    pub(super) fn by(shell: Shell<'_>, device: &str) -> Result<Self, Error> {
        let Answer { output, said, .. } = shell.run(LOOK, LIMIT)?;
        let mut read = Self::default();
        for line in output.lines() {
            if read.line(line).is_none() {
                let why = if said.is_empty() { inert::line(line).into_owned() } else { said };
                return Err(Failure::NoAnswer { device: device.to_owned(), why }.into());
            }
        }
        Ok(read)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let (word, value) = line.split_once(' ')?;
        match word {
            "machine" => self.machine = Some(inert::line(value).into_owned()),
            "boot" => self.boot = Some(value.to_owned()),
            "slot" => self.slot = Some(value.parse().ok()?),
            "overlay" => self.overlay = Some(u32::from_str_radix(value, 16).ok()?),
            "rom" => self.rom = Some(device(value)?),
            "copy" => self.copies.push(bytes(value)?),
            "head" => {
                let (name, head) = value.split_once(' ')?;
                self.partitions.entry(name.to_owned()).or_default().head = bytes(head)?;
            }
            "partition" => {
                let mut words = value.split(' ');
                let partition = self.partitions.entry(words.next()?.to_owned()).or_default();
                partition.device = device(words.next()?)?;
                partition.size = words.next()?.parse().ok()?;
            }
            _ => return None,
        }
        Some(())
    }

    /// The board that it is.
    pub(super) fn board(self, device: &str) -> Result<Board, Failure> {
        let lacks = |what: &str| Failure::NoSlots {
            device: device.to_owned(),
            why: format!("{what} is missing"),
        };
        for name in ["state", "kernel_a", "root_a", "kernel_b", "root_b"] {
            if !self.partitions.contains_key(name) {
                return Err(lacks(&format!("the partition `{name}`")));
            }
        }
        let [first, second] = self.copies.as_slice() else { return Err(lacks("the boot state")) };
        let newest = BootState::newest([first, second]);
        let (state, next) = newest.ok_or_else(|| lacks("a boot state that is whole"))?;
        let hexadecimal =
            |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Ok(Board {
            boot: self.boot.ok_or_else(|| lacks("its boot identity"))?,
            slot: self.slot.ok_or_else(|| lacks("the slot that it runs from"))?,
            overlay: self.overlay.ok_or_else(|| lacks("its overlay"))?,
            rom: self.rom.ok_or_else(|| lacks("the root of its slot"))?,
            state,
            next,
            copies: hexadecimal(first) + &hexadecimal(second),
            partitions: self.partitions,
        })
    }
}

/// The name of a block device, and no path.
fn device(word: &str) -> Option<String> {
    let is_plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain.then(|| word.to_owned())
}

/// The bytes that hexadecimal digits say; a sector at most.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    if digits.len() > 2 * COPY || digits.len() % 2 == 1 || !digits.is_ascii() {
        return None;
    }
    let pairs = (0..digits.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect()
}

/// The length of a FIT image, a device tree: Devicetree Specification, section 5.2.
fn fit_size(head: &[u8]) -> Option<u64> {
    let size = head.strip_prefix(&[0xd0, 0x0d, 0xfe, 0xed])?.first_chunk()?;
    Some(u64::from(u32::from_be_bytes(*size)))
}

/// The length of a squashfs, whole blocks as `mksquashfs` writes them: `bytes_used` of its superblock, in the kernel's
/// `fs/squashfs/squashfs_fs.h`.
fn squashfs_size(head: &[u8]) -> Option<u64> {
    let used = head.strip_prefix(b"hsqs")?.get(36..44)?.first_chunk()?;
    Some(u64::from_le_bytes(*used).div_ceil(4096) * 4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> String {
        let state = BootState::NEW;
        let copy: String = state.encode().iter().map(|byte| format!("{byte:02x}")).collect();
        let zeros = "00".repeat(COPY);
        format!(
            "machine aarch64\nboot 1-2\nslot a\noverlay 0\nrom vda4\ncopy {copy}\ncopy {zeros}\npartition state vda2 1048576\n\
             head kernel_a d00dfeed00000100\npartition kernel_a vda3 1024\nhead root_a 68\npartition root_a vda4 1024\n\
             partition kernel_b vda5 1024\npartition root_b vda6 2048\n"
        )
    }

    fn read(text: &str) -> Result<Board, String> {
        let mut read = Said::default();
        for line in text.lines() {
            read.line(line).ok_or("no answer")?;
        }
        read.board("ap").map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_board_says_what_it_runs_from_and_what_starts_next() {
        let board = read(&answer()).unwrap();
        assert_eq!((board.slot, board.state, board.next), (Slot::A, BootState::NEW, 1));
        assert_eq!(board.partition("root", Slot::B).size, 2048);
        assert_eq!(fit_size(&board.partition("kernel", Slot::A).head), Some(256));
        assert_eq!((board.state_device(), board.copies.len()), ("vda2", 4 * COPY));
    }

    #[test]
    fn another_device_has_no_slots() {
        let of = |text: &str| read(text).map(drop).unwrap_err();
        assert_eq!(
            of("machine mips\n"),
            "ap has no slots of headroom's: the partition `state` is missing"
        );
        let torn = answer().replace("copy ", "copy 00");
        assert_eq!(of(&torn), "no answer");
        assert!(
            of(&answer().replace("slot a\n", "")).contains("the slot that it runs from is missing")
        );
        assert_eq!(of(&answer().replace("vda6", "../etc")), "no answer");
    }

    #[test]
    fn a_squashfs_says_how_long_it_is() {
        let mut head = vec![0; 96];
        head[..4].copy_from_slice(b"hsqs");
        head[40..48].copy_from_slice(&5000_u64.to_le_bytes());
        assert_eq!((squashfs_size(&head), squashfs_size(&[])), (Some(8192), None));
    }

    #[test]
    fn files_of_an_overlay_come_with_what_they_do() {
        let file = overlay_file("hides usr/sbin/stationd").unwrap();
        assert_eq!((file.effect, file.path.as_str()), ("hides", "usr/sbin/stationd"));
        assert_eq!(overlay_file("eats all"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_answer_is_a_board_or_none(text: String) {
            let _ = read(&text);
        }
    }
}
