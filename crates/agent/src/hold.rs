//! Orders that lie in a virtual machine's mailbox, and stopping the machine where its snapshot is taken.
//!
//! Both take no moment of the host's time. Bytes of the stream come in when QEMU's main loop reads them, a few
//! instructions sooner or later; the mailbox is memory, written while the machine stands still. A stop that the host
//! asks for comes at a moment of the host's, and no two snapshots would be alike; QEMU's pvpanic device pauses the machine in
//! the very instruction that writes to it (the host runs it with `-action panic=pause`). A device has no mailbox, and
//! is never stopped.

use std::{io, path::Path, time::Duration};

use linux::{
    pci::{self, Region},
    system::monotonic_ns,
};
use model::wire::{Decoder, Frame, LONGEST_ORDER, Mailbox, Order, Refusal};

use crate::session::{End, Session};

/// A device by its maker's number and its own (QEMU's `docs/specs/pci-ids.rst`).
type Numbers = [u16; 2];

/// Shared memory, and the region that it is.
const IVSHMEM: Numbers = [0x1af4, 0x1110];
const MEMORY: usize = 2;

/// What pauses the machine, and the event that does (QEMU's `docs/specs/pvpanic.rst`).
const PVPANIC: Numbers = [0x1b36, 0x0011];
const PANICKED: u8 = 1;

const WORD: usize = 8;

/// Where an order begins: behind the mark.
const ORDER: usize = Mailbox::MARK.len();

/// All around has settled long before: the agent's hello takes a few hundredths of this.
const SETTLED: Duration = Duration::from_secs(2);

/// The order in the mailbox, which is empty from then on; `None` where there is no mailbox.
pub(crate) fn waiting() -> Option<Order> {
    take(&mut mailbox()?)
}

/// Stops the machine. When this returns, it has been restored and goes on.
///
/// # Errors
///
/// [`End::Order`] with what lies in the mailbox then; [`Refusal::Machine`] where this is no machine of headroom's.
pub(crate) fn stop(session: &mut Session) -> Result<Option<Frame>, End> {
    let refused = |why: io::Error| Refusal::Machine(format!("cannot stop the machine: {why}"));
    let mut mailbox = mailbox().ok_or_else(|| refused(io::ErrorKind::NotFound.into()))?;
    session.sleep_until(monotonic_ns() + SETTLED.as_nanos() as u64)?;
    region(PVPANIC, 0, 1).and_then(|mut pvpanic| pvpanic.write_byte(PANICKED)).map_err(refused)?;
    take(&mut mailbox).map_or(Ok(None), |order| Err(End::Order(order.into())))
}

fn mailbox() -> Option<Region> {
    let region = region(IVSHMEM, MEMORY, Mailbox::LENGTH).ok()?;
    (region.read_word(0).ok()? == Mailbox::MARK).then_some(region)
}

fn region([vendor, device]: Numbers, number: usize, length: usize) -> io::Result<Region> {
    let found = pci::find(Path::new(pci::DEVICES), vendor, device)?;
    let device = found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    Region::open(&device, number, length)
}

/// What headroom did not write is no order.
fn take(mailbox: &mut Region) -> Option<Order> {
    let head = mailbox.read_word(ORDER).ok()?;
    let length = u32::from_le_bytes(*head.first_chunk()?) as usize;
    if length == 0 || length > LONGEST_ORDER {
        return None;
    }
    let words = (size_of::<u32>() + length).div_ceil(WORD);
    let mut decoder = Decoder::default();
    for word in 0..words {
        decoder.push(&mailbox.read_word(ORDER + word * WORD).ok()?);
    }
    mailbox.write_word(ORDER, [0; WORD]).ok()?;
    decoder.take().ok()?
}
