//! The same image, built otherwise: every file has the same content and is unpacked in another order and behind
//! padding, so that it lies elsewhere in the guest's memory.
//!
//! For the perturbed state `image`. What is inside a file stays: the packages are Debian's builds.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    path::Path,
};

use linux::file;

use super::{
    IMAGE, Image,
    initramfs::{CHARACTER_DEVICE, Content, Entry, FILE, FOLDER, Initramfs, LINK, TYPE, entries},
    sum,
};
use crate::{
    Error, Lab,
    cache::{self, Name},
};

/// How it is built: a part of its key.
const HOW: &str = "files in reverse, behind 1052 KiB";
/// What comes before all other files: a MiB and seven pages, so that what is behind it begins at another alignment of
/// large pages, too.
const PADDING: &str = "etc/headroom/padding";
const PADDED: usize = (256 + 7) * 4096;
/// An image is about 110 MB.
const LONGEST: u64 = 4 << 30;

/// The other build of an image, found in the cache or made.
pub(crate) fn of(lab: &Lab, image: &Image) -> Result<Image, Error> {
    let key = key(image);
    let entry = lab.cache.obtain(Name { kind: IMAGE, key: &key }, |folder| make(image, folder))?;
    lab.report_damage(&entry);
    open(image, &entry.path)
}

/// The same, where the cache has it.
pub(crate) fn cached(lab: &Lab, image: &Image) -> Option<Image> {
    let entry = lab.cache.find(Name { kind: IMAGE, key: &key(image) })?;
    open(image, &entry).ok()
}

fn key(image: &Image) -> String {
    cache::key([image.id.as_str(), HOW])
}

fn open(image: &Image, entry: &Path) -> Result<Image, Error> {
    let id = sum(entry)?[..32].to_owned();
    let (kernel, root) = (entry.join("kernel"), entry.join("root.cpio"));
    Ok(Image { id, kernel, root, ..image.clone() })
}

fn make(image: &Image, folder: &Path) -> Result<(), Error> {
    let to = folder.join("kernel");
    fs::copy(&image.kernel, &to).map_err(Error::file("write", to))?;
    let root = file::bytes(&image.root, LONGEST).map_err(Error::file("read", &image.root))?;
    let path = folder.join("root.cpio");
    let write = || {
        let out = io::BufWriter::new(fs::File::create(&path)?);
        rebuild(&root, out)?.flush()
    };
    write().map_err(Error::file("write", &path))
}

/// Folders and links keep their order, because files are unpacked through them; files come in reverse behind the
/// padding. Of two with one name the later one counts, as for the kernel.
fn rebuild<W: Write>(archives: &[u8], out: W) -> io::Result<W> {
    let (mut files, ways): (Vec<_>, Vec<_>) =
        entries(archives)?.into_iter().partition(|entry| entry.mode & TYPE == FILE);
    let mut root = Initramfs::new(out);
    ways.iter().try_for_each(|entry| write(&mut root, entry))?;
    root.file(PADDING, false, &[b'x'; PADDED])?;
    files.reverse();
    let mut seen = BTreeSet::new();
    for entry in &files {
        if seen.insert(&entry.name) {
            write(&mut root, entry)?;
        }
    }
    root.finish()
}

fn write(root: &mut Initramfs<impl Write>, entry: &Entry) -> io::Result<()> {
    let Entry { name, mode, device: (major, minor), content } = entry;
    match mode & TYPE {
        FOLDER => root.folder(name),
        LINK => root.link(name, &String::from_utf8_lossy(content)),
        CHARACTER_DEVICE => root.device(name, *major, *minor),
        _ => {
            let (size, bytes) = (content.len() as u64, content.as_slice());
            root.stream(name, *mode, &mut Content { size, bytes })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_the_same_in_another_order_and_the_later_of_two_counts() {
        let mut base = Initramfs::new(Vec::new());
        base.folder("etc").unwrap();
        base.device("dev/console", 5, 1).unwrap();
        base.file("etc/hosts", false, b"one").unwrap();
        base.link("bin", "usr/bin").unwrap();
        base.file("bin/agent", true, b"old").unwrap();
        let mut top = Initramfs::new(base.finish().unwrap());
        top.file("bin/agent", true, b"new").unwrap();
        let archives = top.finish().unwrap();
        let rebuilt = rebuild(&archives, Vec::new()).unwrap();
        assert_eq!(rebuilt, rebuild(&archives, Vec::new()).unwrap());
        let all = entries(&rebuilt).unwrap();
        let names: Vec<_> = all.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["etc", "dev/console", "bin", PADDING, "bin/agent", "etc/hosts"]);
        assert_eq!(all[1].device, (5, 1));
        assert_eq!(
            (all[2].content.as_slice(), all[4].content.as_slice()),
            (&b"usr/bin"[..], &b"new"[..])
        );
        assert_eq!((all[4].mode, all[5].mode), (FILE | 0o755, FILE | 0o644));
    }
}
