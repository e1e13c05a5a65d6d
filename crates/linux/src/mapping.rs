//! Memory that the kernel or a device shares with us, or that is ours alone, mapped as long as a value lives.
//!
//! It knows where the memory is and how long it is; what lies there, and who else writes it, is its user's to know.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, RawFd},
    ptr::NonNull,
};

use rustix::io::Errno;

#[derive(Debug)]
pub(crate) struct Mapping {
    pub(crate) base: NonNull<u8>,
    pub(crate) length: usize,
}

impl Mapping {
    /// The first `length` bytes of what a descriptor stands for.
    pub(crate) fn of(descriptor: impl AsFd, length: usize) -> io::Result<Self> {
        Self::map(descriptor.as_fd().as_raw_fd(), libc::MAP_SHARED, length)
    }

    pub(crate) fn private(length: usize) -> io::Result<Self> {
        Self::map(-1, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, length)
    }

    fn map(fd: RawFd, flags: libc::c_int, length: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses an address that is free; the result is checked.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, fd, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { base, length })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and what borrows from it borrows from its owner, who
        // has it until now.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}
