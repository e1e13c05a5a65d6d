//! What a device runs from, by content, and what of it its overlay changes.
//!
//! An image is known by its parts: the file as a whole, the entries of a tar, and every squashfs in it. What a device runs
//! from is the squashfs that its root is, or what the `content` command of its file prints; its SHA-256 has to be that of
//! a part. Answers of a device are not trusted: what is read of them are sums and words that we know.

use std::{
    collections::BTreeSet,
    io::{self, Read},
    path::Path,
    time::Duration,
};

use linux::file;
use model::{inert, name::Sha256Hex};
use serde::Serialize;

use super::Target;
use crate::{Error, cache, device_file, host_command::HostCommand};

/// The length of each squashfs is `$SIZES`.
const ROOT: &str = include_str!("root.sh");
const OVERLAY: &str = include_str!("overlay.sh");

const LISTING: Duration = Duration::from_secs(60);
/// To hash a root takes a slow device a minute.
const HASHING: Duration = Duration::from_secs(180);

const LARGEST: u64 = 1 << 30;

pub const MOST_FILES: usize = 1000;

/// A file of a device's overlay, and what it does to the image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OverlayFile {
    /// `hides` a file of the image, `removes` one, or `adds` one that the image has not.
    pub effect: &'static str,
    pub path: String,
}

#[derive(Debug, Default)]
pub(super) struct Parts {
    sums: BTreeSet<Sha256Hex>,
    /// The length of each squashfs in it, bytes.
    roots: BTreeSet<u64>,
}

impl Parts {
    pub(super) fn of(image: &Path) -> Result<Self, Error> {
        let bytes = file::bytes(image, LARGEST).map_err(Error::file("read", image))?;
        let mut parts = Self::default();
        parts.sums.insert(cache::sum(&bytes));
        // What is no tar has no entries.
        let _ = parts.take_entries(&bytes);
        for at in memchr::memmem::find_iter(&bytes, b"hsqs") {
            if let Some(root) = squashfs(&bytes[at..]) {
                parts.sums.insert(cache::sum(root));
                parts.roots.insert(root.len() as u64);
            }
        }
        Ok(parts)
    }

    fn take_entries(&mut self, bytes: &[u8]) -> io::Result<()> {
        for entry in tar::Archive::new(bytes).entries()? {
            let entry = entry?;
            let size = entry.size();
            self.sums.insert(cache::sum_of(entry.take(size))?);
        }
        Ok(())
    }
}

/// The squashfs at the beginning of these bytes: version 4.0 and its `bytes_used`, as `fs/squashfs/squashfs_fs.h` of the
/// kernel has them. What fills its last block is no part of it.
fn squashfs(bytes: &[u8]) -> Option<&[u8]> {
    let used = u64::from_le_bytes(*bytes.get(40..48)?.first_chunk()?);
    let is_version_4 = bytes.get(28..32)? == [4, 0, 0, 0];
    bytes.get(..usize::try_from(used).ok()?).filter(|root| is_version_4 && root.len() >= 96)
}

impl Target<'_> {
    /// SHA-256 of what the device runs from, held against the image; empty where nothing there proves it.
    pub(super) fn proved(&self, parts: &Parts) -> Result<Vec<Sha256Hex>, Error> {
        let flash = self.device.flash.as_ref();
        let (found, is_whole) = match flash.and_then(|flash| flash.content.as_ref()) {
            Some(command) => (self.printed(command)?, true),
            None => (self.roots(parts)?, false),
        };
        let (known, other): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|sum| parts.sums.contains(sum));
        match other.first() {
            // Of a root every length is tried that the image has.
            Some(found) if is_whole || known.is_empty() => {
                let what = format!("it runs from {found} (SHA-256), which is no part of the image");
                Err(Error::Failed(format!("the image did not come up on {}: {what}", self.device)))
            }
            _ => Ok(known),
        }
    }

    fn printed(&self, command: &device_file::Command) -> Result<Vec<Sha256Hex>, Error> {
        let command = HostCommand::of(self.device, "[flash] content", command);
        let output = command.run(&self.lab.cancel)?;
        let sums = output.lines().map(|line| line.split(' ').next().unwrap_or_default().parse());
        let sums: Option<Vec<_>> = sums.map(Result::ok).collect();
        sums.filter(|sums| !sums.is_empty()).ok_or_else(|| {
            let why = "`[flash] content` prints no SHA-256 at the beginning of a line";
            Error::Environment(format!("{} does not say what it runs from: {why}", self.device))
        })
    }

    fn roots(&self, parts: &Parts) -> Result<Vec<Sha256Hex>, Error> {
        let sizes: Vec<_> = parts.roots.iter().map(u64::to_string).collect();
        let output = self.output(&ROOT.replace("$SIZES", &sizes.join(" ")), HASHING)?;
        Ok(output.lines().filter_map(|line| line.split(' ').next()?.parse().ok()).collect())
    }

    pub(super) fn overlay_files(&self) -> Result<Vec<OverlayFile>, Error> {
        let script = OVERLAY.replace("$MOST", &MOST_FILES.to_string());
        let output = self.output(&script, LISTING)?;
        Ok(output.lines().filter_map(overlay_file).collect())
    }
}

fn overlay_file(line: &str) -> Option<OverlayFile> {
    let (effect, path) = line.split_once(' ')?;
    let effect = ["hides", "removes", "adds"].into_iter().find(|known| *known == effect)?;
    Some(OverlayFile { effect, path: inert::line(path).into_owned() })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A squashfs of so many bytes as its superblock says it.
    fn root(length: usize) -> Vec<u8> {
        let mut root = vec![7; length];
        root[..4].copy_from_slice(b"hsqs");
        root[28..32].copy_from_slice(&[4, 0, 0, 0]);
        root[40..48].copy_from_slice(&(length as u64).to_le_bytes());
        root
    }

    fn parts(bytes: &[u8]) -> Parts {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        fs::write(&path, bytes).unwrap();
        Parts::of(&path).unwrap()
    }

    #[test]
    fn an_image_consists_of_its_file_of_a_tars_entries_and_of_each_whole_squashfs_in_it() {
        let image = [&b"a kernel, hsqs"[..], &[0; 100], &root(5000), &[0xff; 3192]].concat();
        let whole = parts(&image);
        assert_eq!(whole.roots, [5000].into());
        assert_eq!(whole.sums, [cache::sum(&image), cache::sum(&root(5000))].into());
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(8);
        tar.append_data(&mut header, "board/kernel", &b"a kernel"[..]).unwrap();
        let cut_off = parts(&[&tar.into_inner().unwrap()[..], &root(5000)[..4999]].concat());
        assert!(cut_off.sums.contains(&cache::sum(b"a kernel")) && cut_off.roots.is_empty());
    }

    #[test]
    fn files_of_an_overlay_come_with_what_they_do() {
        let file = overlay_file("hides usr/sbin/stationd").unwrap();
        assert_eq!((file.effect, file.path.as_str()), ("hides", "usr/sbin/stationd"));
        assert_eq!(overlay_file("eats all"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_have_parts(bytes: Vec<u8>) {
            proptest::prop_assert!(!parts(&bytes).sums.is_empty());
        }
    }
}
