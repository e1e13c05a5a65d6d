//! Kernel modules: which files are needed, in which order they load. Where their bytes come from is the caller's.

use std::{
    collections::BTreeMap,
    io::{self, Read, Seek, SeekFrom},
};

use object::{Object, ObjectSection};

use super::packed::Format;
use crate::Error;

const LARGEST: u64 = 64 << 20;

/// Where a file lies in a tar.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Its path in the root, without a leading slash.
    pub(super) path: String,
    pub(super) offset: u64,
    pub(super) size: u64,
}

pub(super) struct Module {
    /// Its path in the root, without a leading slash.
    pub(super) path: String,
    pub(super) content: Vec<u8>,
}

/// All modules of the tar, by name (`mac80211`), with `-` as `_`.
pub(super) type Index = BTreeMap<String, Place>;

/// The name that the kernel knows a module file by, which may be packed.
pub(super) fn name_of(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    let name = [".ko", ".ko.xz", ".ko.zst", ".ko.gz"].iter().find_map(|end| file.strip_suffix(end));
    Some(name?.replace('-', "_"))
}

impl Place {
    pub(super) fn read(&self, tar: &mut (impl Read + Seek)) -> io::Result<Vec<u8>> {
        let mut content = vec![0; self.size as usize];
        tar.seek(SeekFrom::Start(self.offset))?;
        tar.read_exact(&mut content)?;
        Ok(content)
    }
}

/// What reads a module's bytes, packed or not.
pub(super) type Source<'a> = dyn FnMut(&Place) -> io::Result<Vec<u8>> + 'a;

/// The wanted modules and all they depend on, each after what it depends on. A wanted module that the
/// kernel has built in is not among the files, and is left out; a dependency that is nowhere is [`Error::ImageLacks`].
pub(super) fn in_load_order(
    wanted: &[&str],
    index: &Index,
    source: &mut Source<'_>,
) -> Result<Vec<Module>, Error> {
    let mut loader = Loader { index, source, order: Vec::new(), seen: Vec::new() };
    for name in wanted {
        let name = name.replace('-', "_");
        if index.contains_key(&name) {
            loader.add(&name)?;
        }
    }
    Ok(loader.order)
}

struct Loader<'a, 's> {
    index: &'a Index,
    source: &'a mut Source<'s>,
    order: Vec<Module>,
    seen: Vec<String>,
}

impl Loader<'_, '_> {
    /// Depth first; `seen` also ends a circle, which a sound kernel does not have.
    fn add(&mut self, name: &str) -> Result<(), Error> {
        if self.seen.iter().any(|seen| seen == name) {
            return Ok(());
        }
        self.seen.push(name.to_owned());
        let lacks = || Error::ImageLacks(format!("kernel module {name}"));
        let place = self.index.get(name).ok_or_else(lacks)?.clone();
        let content = content(&place, self.source)?;
        for dependency in depends(&content).ok_or_else(lacks)? {
            self.add(&dependency)?;
        }
        self.order.push(Module { path: place.path, content });
        Ok(())
    }
}

pub(super) fn content(place: &Place, source: &mut Source<'_>) -> Result<Vec<u8>, Error> {
    let content = source(place).map_err(Error::file("read", &place.path))?;
    match Format::of(&content) {
        Some(format) => format.bytes(&content, LARGEST),
        None => Ok(content),
    }
}

/// What a module says it depends on, in `.modinfo`; `None` if it is no module.
fn depends(content: &[u8]) -> Option<Vec<String>> {
    let line = information(content, "depends=")?.unwrap_or_default();
    Some(
        line.split(',')
            .filter(|name| !name.is_empty())
            .map(|name| name.replace('-', "_"))
            .collect(),
    )
}

/// The kernel's release that a module was built for; `None` where it does not say so.
pub(super) fn release(content: &[u8]) -> Option<String> {
    let magic = information(content, "vermagic=").flatten()?;
    magic.split(' ').next().map(str::to_owned)
}

/// A line of `.modinfo`, without its name; the outer `None` for what is no module.
fn information(content: &[u8], name: &str) -> Option<Option<String>> {
    let file = object::File::parse(content).ok()?;
    let info = file.section_by_name(".modinfo")?.data().ok()?;
    let mut lines = info.split(|byte| *byte == 0);
    Some(
        lines.find_map(|line| Some(std::str::from_utf8(line).ok()?.strip_prefix(name)?.to_owned())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_known_by_its_file() {
        assert_eq!(name_of("lib/modules/6/kernel/crypto/aes-x.ko").unwrap(), "aes_x");
        assert_eq!(name_of("lib/modules/6/virtio-pci.ko.xz").unwrap(), "virtio_pci");
        assert_eq!(name_of("lib/modules/6/modules.order"), None);
    }

    #[test]
    fn what_is_no_module_has_no_dependencies() {
        assert!(depends(b"").is_none());
        assert!(depends(b"\x7fELF and then nothing").is_none());
    }
}
