//! Stopping the machine at an instruction of our own choosing, where its snapshot is taken.
//!
//! A stop that the host asks for comes at a moment of the host's time, and no two snapshots would be
//! alike. QEMU's pvpanic device pauses the machine in the very instruction that writes to it (the
//! host runs it with `-action panic=pause`), so the moment is a matter of the guest's time alone. A PC has
//! the device on a port, other machines on the PCI bus.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path, thread, time::Duration};

use linux::pci;

use super::error::{Doing, Error};

/// Where pvpanic listens, and the event that pauses (QEMU's `docs/specs/pvpanic.rst`).
const PORT: u64 = 0x505;
const VENDOR: u16 = 0x1b36;
const DEVICE: u16 = 0x0011;
const PANICKED: u8 = 1;

/// The agent has introduced itself long before: its hello takes a few hundredths of this.
const SETTLED: Duration = Duration::from_secs(2);

/// Stops the machine. When this returns, it has been restored and goes on.
///
/// # Errors
///
/// Where the kernel has no `/dev/port`, or the bus no pvpanic.
pub(super) fn stop_here() -> Result<(), Error> {
    thread::sleep(SETTLED);
    if cfg!(target_arch = "x86_64") { through_port() } else { through_bus() }
}

fn through_port() -> Result<(), Error> {
    let ports = File::options().write(true).open("/dev/port").doing(|| "open /dev/port".into())?;
    ports.write_all_at(&[PANICKED], PORT).doing(|| "write to /dev/port".into())
}

fn through_bus() -> Result<(), Error> {
    let step = || "write to pvpanic on the PCI bus".to_owned();
    let found = pci::find(Path::new(pci::DEVICES), VENDOR, DEVICE).doing(step)?;
    let device = found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)).doing(step)?;
    pci::write_first(&device, PANICKED).doing(step)
}
