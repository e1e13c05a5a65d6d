//! Takes orders from a virtual machine's mailbox, and stops the machine where its snapshot is taken.
//!
//! Both take no moment of the host's time. Bytes of the stream come in when QEMU's main loop reads them, a few
//! instructions sooner or later; the mailbox is memory, written while the machine stands still. A stop that the host
//! asks for comes at a moment of the host's, and no two snapshots would be alike; QEMU's pvpanic device pauses the
//! machine in the very instruction that writes to it (the host runs it with `-action panic=pause`). A device has no
//! mailbox, and is never stopped.

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

/// All around has settled long before: the agent's hello takes a few hundredths of this.
const SETTLED: Duration = Duration::from_secs(2);

/// The order in the mailbox, which is empty from then on; `None` where there is no mailbox.
pub(crate) fn waiting(session: &Session) -> Option<Order> {
    take(&mut mailbox(session)?)
}

/// Stops the machine. When this returns, it has been restored and goes on.
/// Fails with [`End::Order`] with what lies in the mailbox then; [`Refusal`] where this is no machine of
/// headroom's.
pub(crate) fn stop(session: &mut Session) -> Result<Option<Frame>, End> {
    let refused = |why: io::Error| Refusal::plain(format!("cannot stop the machine: {why}"));
    let mut mailbox = mailbox(session).ok_or_else(|| refused(io::ErrorKind::NotFound.into()))?;
    session.sleep_until(monotonic_ns() + SETTLED.as_nanos() as u64)?;
    region(PVPANIC, 0, 1).and_then(|mut pvpanic| pvpanic.write_byte(PANICKED)).map_err(refused)?;
    take(&mut mailbox).map_or(Ok(None), |order| Err(End::Order(order.into())))
}

/// On a device nothing is looked for: to read such memory it would have to be enabled, which is another's to do.
fn mailbox(session: &Session) -> Option<Region> {
    if !session.is_on_port() {
        return None;
    }
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
    let head = mailbox.read_word(Mailbox::ORDER).ok()?;
    let length = u32::from_le_bytes(*head.first_chunk()?) as usize;
    if length == 0 || length > LONGEST_ORDER {
        return None;
    }
    let words = (size_of::<u32>() + length).div_ceil(Region::WORD);
    let mut decoder = Decoder::default();
    for word in 0..words {
        decoder.push(&mailbox.read_word(Mailbox::ORDER + word * Region::WORD).ok()?);
    }
    // All of it: an order may hold what nobody else is to know.
    for word in 0..words {
        mailbox.write_word(Mailbox::ORDER + word * Region::WORD, [0; Region::WORD]).ok()?;
    }
    decoder.take().ok()?
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::FileExt};

    use model::wire::encode;
    use tempfile::TempDir;

    use super::*;

    /// A device with a region of memory, and the region.
    fn shared(content: &[u8]) -> (TempDir, Region) {
        let folder = tempfile::tempdir().unwrap();
        let none = "0x0 0x0 0x0\n".repeat(MEMORY);
        let end = 0x1000 + Mailbox::LENGTH - 1;
        let resources = format!("{none}0x1000 {end:#x} 0x40200\n");
        fs::write(folder.path().join("resource"), resources).unwrap();
        let memory = fs::File::create(folder.path().join("resource2")).unwrap();
        memory.set_len(Mailbox::LENGTH as u64).unwrap();
        memory.write_all_at(content, Mailbox::ORDER as u64).unwrap();
        let region = Region::open(folder.path(), MEMORY, Mailbox::LENGTH).unwrap();
        (folder, region)
    }

    #[test]
    fn an_order_is_taken_once() {
        for order in [Order::Hold, Order::Locate(vec!["hostapd".repeat(9_000)])] {
            let (folder, mut mailbox) = shared(&encode(&order).unwrap());
            assert_eq!(take(&mut mailbox), Some(order));
            assert_eq!(take(&mut mailbox), None);
            let all = fs::read(folder.path().join("resource2")).unwrap();
            assert!(all.iter().all(|byte| *byte == 0), "an order that was taken is still there");
        }
    }

    #[test]
    fn what_is_no_order_is_left_alone() {
        let long = (LONGEST_ORDER as u32 + 1).to_le_bytes();
        for content in [&[0; 16][..], &[0xff; 64], &[3, 0, 0, 0, 0xfe, 0xfe, 0xfe], &long] {
            let (_folder, mut mailbox) = shared(content);
            assert_eq!(take(&mut mailbox), None, "{content:?}");
        }
    }
}
