//! A board's disk: what lies where on it, and how it is made from an image.
//!
//! A GPT with named partitions, which U-Boot and the kernel find by their names. Nothing is mounted and no right of root is
//! needed: file systems are made by `mke2fs`, from folders.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
    os::unix::fs::FileExt,
    path::Path,
    process::Command,
};

use model::boot_state::{BootState, COPIES};

use super::{Shape, image_file::BoardImage};
use crate::{Error, host, tool};

const MIB: u64 = 1 << 20;

/// The partitions in their order, and their sizes, MiB. What nobody writes takes no room of the host's.
const PARTITIONS: [(&str, u64); 7] = [
    (BOOT, 8),
    (STATE, 1),
    (KERNEL_A, 32),
    (ROOT_A, 96),
    ("kernel_b", 32),
    ("root_b", 96),
    (OVERLAY, 128),
];
const BOOT: &str = "boot";
const STATE: &str = "state";
const KERNEL_A: &str = "kernel_a";
const ROOT_A: &str = "root_a";
const OVERLAY: &str = "overlay";

/// U-Boot's script, with a place for what the kernel is told.
const SCRIPT: &str = include_str!("boot.cmd");
const WORDS: &str = "@WORDS@";

/// A machine that panics starts again, so that U-Boot counts it.
const KERNEL_WORDS: &str = "console=ttyAMA0 quiet loglevel=1 oops=panic panic=5 cryptomgr.notests headroom.console=shell headroom.forward=yes";

/// The tools that it takes.
pub(super) fn require_tools() -> Result<(), Error> {
    host::require("sfdisk", "fdisk")?;
    host::require("mke2fs", "e2fsprogs")?;
    host::require("mkimage", "u-boot-tools")
}

/// A board's disk.
pub(super) struct Disk<'a> {
    pub(super) path: &'a Path,
}

impl Disk<'_> {
    /// Makes it, with an image in its first slot.
    pub(super) fn make(&self, image: &BoardImage) -> Result<(), Error> {
        self.partition()?;
        self.make_file_system(OVERLAY, &[], None)?;
        self.write_slot(image).map_err(Error::file("write", self.path))
    }

    /// Makes the board's own partition anew, from what is in this folder and a script for U-Boot.
    pub(super) fn write_boot(&self, content: &Path, shape: Shape) -> Result<(), Error> {
        write_script(content, shape)?;
        // Read only, and the only one that U-Boot reads.
        let plain = ["-O", "^has_journal,^metadata_csum,^64bit"];
        self.make_file_system(BOOT, &plain, Some(content))
    }

    fn partition(&self) -> Result<(), Error> {
        let size = PARTITIONS.iter().map(|(_, size)| size + 1).sum::<u64>() + 1;
        let made = File::create_new(self.path).and_then(|file| file.set_len(size * MIB));
        made.map_err(Error::file("write", self.path))?;
        let table = self.path.with_extension("table");
        fs::write(&table, partition_table()).map_err(Error::file("write", &table))?;
        let input = File::open(&table).map_err(Error::file("read", &table))?;
        let mut sfdisk = Command::new(host::find("sfdisk").unwrap_or_default());
        sfdisk.args(["--quiet", "--no-reread", "--no-tell-kernel"]).arg(self.path);
        tool::run(sfdisk.stdin(input))?;
        fs::remove_file(&table).map_err(Error::file("remove", table))
    }

    fn make_file_system(
        &self,
        name: &str,
        options: &[&str],
        content: Option<&Path>,
    ) -> Result<(), Error> {
        let Place { start, size } = place(name);
        let mut mke2fs = Command::new(host::find("mke2fs").unwrap_or_default());
        mke2fs.args(["-q", "-F", "-t", "ext4", "-L", name]).args(options);
        mke2fs.args(["-E", &format!("offset={start},root_owner=0:0")]);
        if let Some(content) = content {
            mke2fs.arg("-d").arg(content);
        }
        tool::run(mke2fs.arg(self.path).arg(format!("{}k", size / 1024))).map(drop)
    }

    fn write_slot(&self, image: &BoardImage) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(self.path)?;
        for (name, part) in [(KERNEL_A, &image.kernel), (ROOT_A, &image.root)] {
            let Place { start, size } = place(name);
            if part.size > size {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            file.seek(SeekFrom::Start(start))?;
            io::copy(&mut part.open(image)?, &mut file)?;
        }
        file.write_all_at(&BootState::NEW.encode(), place(STATE).start + COPIES[0])?;
        file.flush()?;
        file.sync_all()
    }
}

fn write_script(folder: &Path, Shape { clients, radios }: Shape) -> Result<(), Error> {
    let text = folder.join("boot.cmd");
    let words = format!("{KERNEL_WORDS} headroom.clients={clients} headroom.radios={radios}");
    fs::write(&text, SCRIPT.replace(WORDS, &words)).map_err(Error::file("write", &text))?;
    let mut mkimage = Command::new("mkimage");
    mkimage.args(["-A", "arm64", "-T", "script", "-C", "none", "-d"]).arg(&text);
    tool::run(mkimage.arg(folder.join("boot.scr"))).map(drop)
}

/// Where a partition is, bytes.
struct Place {
    start: u64,
    size: u64,
}

/// Each partition begins at a whole MiB; the first one belongs to the table.
fn place(name: &str) -> Place {
    let before = PARTITIONS.iter().take_while(|(other, _)| *other != name);
    let start = before.map(|(_, size)| size).sum::<u64>() + 1;
    let size = PARTITIONS.iter().find(|(other, _)| *other == name).map_or(0, |(_, size)| *size);
    Place { start: start * MIB, size: size * MIB }
}

/// What sfdisk reads. U-Boot looks for its script on the partition that is marked.
fn partition_table() -> String {
    let line = |(name, size): &(&str, u64)| {
        let marked = if *name == BOOT { ", attrs=LegacyBIOSBootable" } else { "" };
        format!("start={}KiB, size={size}MiB, name={name}{marked}\n", place(name).start / 1024)
    };
    format!("label: gpt\n{}", PARTITIONS.iter().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_follow_each_other_and_the_first_is_marked() {
        let table = partition_table();
        assert!(table.starts_with(
            "label: gpt\nstart=1024KiB, size=8MiB, name=boot, attrs=LegacyBIOSBootable\nstart=9216KiB, size=1MiB"
        ));
        assert_eq!(table.matches("LegacyBIOSBootable").count(), 1);
        let ends: Vec<u64> =
            PARTITIONS.iter().map(|(name, _)| place(name).start + place(name).size).collect();
        let starts: Vec<u64> = PARTITIONS.iter().map(|(name, _)| place(name).start).collect();
        assert_eq!(starts[1..], ends[..6]);
    }

    #[test]
    fn u_boots_script_has_a_place_for_the_kernels_words() {
        assert_eq!(SCRIPT.matches(WORDS).count(), 1);
    }
}
