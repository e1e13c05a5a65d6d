//! Registers of devices on the PCI bus that no driver has taken, through `/sys/bus/pci`.
//!
//! Finds a device by its numbers and writes into its first region, which must be memory. It reads nothing from a
//! device and keeps no mapping; whoever calls it knows what the register means.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rustix::io::Errno;

use crate::mapping::Mapping;

/// Where the kernel lists the devices.
pub const DEVICES: &str = "/sys/bus/pci/devices";

/// A device by its maker's number and its own; `None` where the bus has none below `devices`.
///
/// # Errors
///
/// The system's, of the folder.
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

/// Writes a byte into a device's first register, which is enabled first.
///
/// # Errors
///
/// `EINVAL` where the first region is not memory, and the system's.
pub fn write_first(device: &Path, value: u8) -> io::Result<()> {
    fs::write(device.join("enable"), "1")?;
    let resources = fs::read_to_string(device.join("resource"))?;
    let begin = first_region(&resources).ok_or(Errno::INVAL)?;
    let registers = File::options().read(true).write(true).open(device.join("resource0"))?;
    let page = crate::system::page_size();
    // A region that is smaller than a page begins somewhere in it.
    let at = (begin % page) as usize;
    let mapping = Mapping::of(&registers, usize::try_from(page).map_err(|_| Errno::INVAL)?)?;
    // SAFETY: `at` lies within the page, which is mapped for writing until `mapping` is dropped, and which nothing in
    // this program has a reference to. Volatile, because a device does something when it is written to.
    unsafe { mapping.base.as_ptr().add(at).write_volatile(value) };
    Ok(())
}

/// Where the first region begins; `None` where it is absent, or made of ports.
fn first_region(resources: &str) -> Option<u64> {
    const MEMORY: u64 = 0x200;
    let line = resources.lines().next()?;
    let mut numbers = line.split_ascii_whitespace().map(hexadecimal);
    let (begin, _, flags) = (numbers.next()??, numbers.next()?, numbers.next()??);
    (flags & MEMORY != 0).then_some(begin)
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

    const MEMORY: &str = "0x0000000010004010 0x0000000010004011 0x0000000000040200\n0x0 0x0 0x0\n";

    #[test]
    fn a_device_is_found_by_its_numbers_alone() {
        let bus = bus(MEMORY);
        let found = find(bus.path(), 0x1b36, 0x11).unwrap().unwrap();
        assert!(found.ends_with("0000:00:03.0"));
        assert_eq!(find(bus.path(), 0x1b36, 0x12).unwrap(), None);
        assert!(find(&bus.path().join("absent"), 0x1b36, 0x11).is_err());
    }

    #[test]
    fn the_byte_goes_where_the_region_begins_in_its_page() {
        let bus = bus(MEMORY);
        let device = find(bus.path(), 0x1b36, 0x11).unwrap().unwrap();
        write_first(&device, 7).unwrap();
        let registers = fs::read(device.join("resource0")).unwrap();
        assert_eq!(registers.iter().position(|byte| *byte != 0), Some(0x10));
        assert_eq!((registers[0x10], fs::read(device.join("enable")).unwrap()), (7, b"1".to_vec()));
    }

    #[test]
    fn ports_and_malformed_lines_are_refused() {
        for resource in ["", "\n", "0x10 0x11", "10 11 200", "0x505 0x505 0x101", "x"] {
            let bus = bus(resource);
            let device = find(bus.path(), 0x1b36, 0x11).unwrap().unwrap();
            let refused = write_first(&device, 7).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EINVAL), "{resource:?}");
        }
    }
}
