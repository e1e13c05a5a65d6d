//! Registers of devices on the PCI bus that no driver has taken, through `/sys/bus/pci`.
//!
//! Finds a device by its numbers and maps one of its regions, which must be memory. Whoever calls it knows what lies
//! there.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rustix::io::Errno;

use crate::mapping::Mapping;

pub const DEVICES: &str = "/sys/bus/pci/devices";

/// A device by its maker's number and its own; `None` where the bus has none below `devices`.
pub fn find(devices: &Path, vendor: u16, device: u16) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(devices)? {
        let path = entry?.path();
        let number = |name: &str| hexadecimal(fs::read_to_string(path.join(name)).ok()?.trim());
        if number("vendor") == Some(vendor.into()) && number("device") == Some(device.into()) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

#[derive(Debug)]
pub struct Region {
    mapping: Mapping,
    /// Where it begins in the first page of the mapping.
    offset: usize,
    length: usize,
}

impl Region {
    /// What is read and written at once, bytes. A device's memory need not take what is not aligned.
    pub const WORD: usize = size_of::<u64>();

    /// The first `length` bytes of a region by its number; the device is enabled first.
    /// Fails with `EINVAL` where the region is shorter or not memory.
    pub fn open(device: &Path, number: usize, length: usize) -> io::Result<Self> {
        fs::write(device.join("enable"), "1")?;
        let resources = fs::read_to_string(device.join("resource"))?;
        let (begin, whole) = memory(&resources, number).ok_or(Errno::INVAL)?;
        let resource = device.join(format!("resource{number}"));
        let file = File::options().read(true).write(true).open(resource)?;
        let page = crate::system::page_size();
        // A region that is smaller than a page begins somewhere in it.
        let offset = (begin % page) as usize;
        let pages = (offset + length).div_ceil(page as usize) * page as usize;
        if length as u64 > whole {
            return Err(Errno::INVAL.into());
        }
        Ok(Self { mapping: Mapping::of(&file, pages)?, offset, length })
    }

    /// Writes a byte at its beginning.
    /// Fails with `EINVAL` where the region has none.
    pub fn write_byte(&mut self, value: u8) -> io::Result<()> {
        let place = self.place::<u8>(0)?;
        // SAFETY: `place` lies within the mapping, which is for writing and lives as long as `self`, and which nothing in
        // this program has a reference to. Volatile, because a device does something when it is written to.
        unsafe { place.write_volatile(value) };
        Ok(())
    }

    /// Writes eight bytes at a multiple of eight.
    /// Fails with `EINVAL` beyond its end, and where `at` is no such multiple.
    pub fn write_word(&mut self, at: usize, value: [u8; Self::WORD]) -> io::Result<()> {
        let place = self.place::<u64>(at)?;
        // SAFETY: as in `write_byte`; the place is aligned.
        unsafe { place.write_volatile(u64::from_ne_bytes(value)) };
        Ok(())
    }

    /// Reads eight bytes at a multiple of eight.
    pub fn read_word(&self, at: usize) -> io::Result<[u8; Self::WORD]> {
        let place = self.place::<u64>(at)?;
        // SAFETY: as in `write_word`.
        Ok(unsafe { place.read_volatile() }.to_ne_bytes())
    }

    /// Where so much of the region begins, checked and aligned.
    fn place<T>(&self, at: usize) -> io::Result<*mut T> {
        let within = at.checked_add(size_of::<T>()).is_some_and(|end| end <= self.length);
        if !within || !(self.offset + at).is_multiple_of(align_of::<T>()) {
            return Err(Errno::INVAL.into());
        }
        // `place` is within the mapping, whose base is that of a page.
        Ok(self.mapping.base.as_ptr().wrapping_add(self.offset + at).cast())
    }
}

/// Where a region of memory begins, and how long it is; `None` where it is absent, or made of ports.
fn memory(resources: &str, number: usize) -> Option<(u64, u64)> {
    const MEMORY: u64 = 0x200;
    let line = resources.lines().nth(number)?;
    let mut numbers = line.split_ascii_whitespace().map(hexadecimal);
    let (begin, end, flags) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let length = end.checked_sub(begin)?.checked_add(1)?;
    (flags & MEMORY != 0).then_some((begin, length))
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bus with one device, whose registers are a file.
    fn bus(resource: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("0000:00:03.0");
        fs::create_dir(&device).unwrap();
        let write = |name: &str, text: &[u8]| fs::write(device.join(name), text).unwrap();
        write("vendor", b"0x1b36\n");
        write("device", b"0x0011\n");
        write("resource", resource.as_bytes());
        write("resource0", &[0; 4096]);
        folder
    }

    const MEMORY: &str = "0x0000000010004010 0x000000001000402f 0x0000000000040200\n0x0 0x0 0x0\n";

    #[test]
    fn a_device_is_found_by_its_numbers_alone() {
        let bus = bus(MEMORY);
        let found = find(bus.path(), 0x1b36, 0x11).unwrap().unwrap();
        assert!(found.ends_with("0000:00:03.0"));
        assert_eq!(find(bus.path(), 0x1b36, 0x12).unwrap(), None);
        assert!(find(&bus.path().join("absent"), 0x1b36, 0x11).is_err());
    }

    #[test]
    fn what_is_written_lies_where_the_region_begins_in_its_page() {
        let bus = bus(MEMORY);
        let device = find(bus.path(), 0x1b36, 0x11).unwrap().unwrap();
        let mut region = Region::open(&device, 0, 32).unwrap();
        region.write_byte(7).unwrap();
        region.write_word(8, *b"headroom").unwrap();
        assert_eq!(region.read_word(8).unwrap(), *b"headroom");
        let registers = fs::read(device.join("resource0")).unwrap();
        assert_eq!(registers.iter().position(|byte| *byte != 0), Some(0x10));
        assert_eq!((registers[0x10], &registers[0x18..0x20]), (7, &b"headroom"[..]));
        assert_eq!(fs::read(device.join("enable")).unwrap(), b"1");
    }

    #[test]
    fn nothing_lies_beyond_the_end_of_a_region_or_between_two_words() {
        let bus = bus(MEMORY);
        let device = find(bus.path(), 0x1b36, 0x11).unwrap().unwrap();
        let mut region = Region::open(&device, 0, 20).unwrap();
        for at in [4, 16, 32, usize::MAX] {
            let refused = [region.read_word(at).map(drop), region.write_word(at, [1; 8])];
            let is_invalid = |error: io::Error| error.raw_os_error() == Some(libc::EINVAL);
            assert!(refused.into_iter().all(|one| one.is_err_and(is_invalid)), "{at}");
        }
        assert!(Region::open(&device, 0, 33).is_err(), "the region has 32 bytes");
        assert!(Region::open(&device, 0, 0).unwrap().write_byte(1).is_err());
    }

    #[test]
    fn ports_and_malformed_lines_are_refused() {
        for resource in
            ["", "\n", "0x10 0x11", "10 11 200", "0x505 0x505 0x101", "x", "0x2 0x1 0x200"]
        {
            let bus = bus(resource);
            let device = find(bus.path(), 0x1b36, 0x11).unwrap().unwrap();
            let refused = Region::open(&device, 0, 1).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EINVAL), "{resource:?}");
        }
    }
}
