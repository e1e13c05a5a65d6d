//! Stopping the machine at an instruction of our own choosing, where its snapshot is taken.
//!
//! A stop that the host asks for comes at a moment of the host's time, and no two snapshots would be
//! alike. QEMU's pvpanic device pauses the machine in the very instruction that writes to it (the
//! host runs it with `-action panic=pause`), so the moment is a matter of the guest's time alone.

use std::{fs::File, os::unix::fs::FileExt, thread, time::Duration};

use super::error::{Doing, Error};

/// Where pvpanic listens, and the event that pauses (QEMU's `docs/specs/pvpanic.rst`).
const PORT: u64 = 0x505;
const PANICKED: u8 = 1;

/// The agent has introduced itself long before: its hello takes a few hundredths of this.
const SETTLED: Duration = Duration::from_secs(2);

/// Stops the machine. When this returns, it has been restored and goes on.
///
/// # Errors
///
/// Where the kernel has no `/dev/port`.
pub(super) fn stop_here() -> Result<(), Error> {
    thread::sleep(SETTLED);
    let ports = File::options().write(true).open("/dev/port").doing(|| "open /dev/port".into())?;
    ports.write_all_at(&[PANICKED], PORT).doing(|| "write to /dev/port".into())
}
