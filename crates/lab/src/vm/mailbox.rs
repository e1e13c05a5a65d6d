//! The mailbox of a machine in counted mode, as headroom has it: memory without a name that QEMU maps too.
//!
//! It is a part of the guest's memory, so a snapshot has it, and a restore puts back what was in it.

use std::{fs::File, io, os::unix::fs::FileExt};

use model::wire;
use rustix::fs::{MemfdFlags, memfd_create};

#[derive(Debug)]
pub(super) struct Mailbox(File);

impl Mailbox {
    pub(super) fn new() -> io::Result<Self> {
        let file = File::from(memfd_create("mailbox", MemfdFlags::CLOEXEC)?);
        file.set_len(wire::Mailbox::LENGTH as u64)?;
        file.write_all_at(&wire::Mailbox::MARK, 0)?;
        Ok(Self(file))
    }

    /// Leaves an order there, as the stream has it. The machine must stand still, or not have been started.
    pub(super) fn put(&self, order: &[u8]) -> io::Result<()> {
        self.0.write_all_at(order, wire::Mailbox::ORDER as u64)
    }

    /// The memory for QEMU.
    pub(super) fn share(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}
