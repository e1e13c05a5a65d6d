//! The kernel's records, as far as a recorder must look into them; `None` for what is too short or of another type.
//!
//! Formats: `enum perf_event_type` of `include/uapi/linux/perf_event.h`.

use crate::maps::FileId;

pub mod kind {
    /// Code was mapped, without its file.
    pub const MMAP: u32 = 1;
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    /// The event fired too often and was stopped for a while.
    pub const THROTTLE: u32 = 5;
    pub const FORK: u32 = 7;
    pub const SAMPLE: u32 = 9;
    pub const MMAP2: u32 = 10;
}

/// Length of the header: type, what it is about, length.
pub const HEADER: usize = 8;

pub fn kind_of(record: &[u8]) -> Option<u32> {
    u32_at(record, 0)
}

/// Records that were lost, as a record of that says: the event's number and how many.
pub fn lost(record: &[u8]) -> Option<(u64, u64)> {
    (kind_of(record)? == kind::LOST).then_some(())?;
    Some((u64_at(record, 8)?, u64_at(record, 16)?))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fork {
    pub tid: u32,
    pub parent: u32,
    pub time_ns: u64,
}

pub fn fork(record: &[u8]) -> Option<Fork> {
    (kind_of(record)? == kind::FORK).then_some(())?;
    Some(Fork {
        tid: u32_at(record, 16)?,
        parent: u32_at(record, 20)?,
        time_ns: u64_at(record, 24)?,
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMapping<'a> {
    pub pid: u32,
    pub file: FileId,
    pub executable: bool,
    /// Its path, or a name.
    pub name: &'a [u8],
}

pub fn mapped(record: &[u8]) -> Option<FileMapping<'_>> {
    (kind_of(record)? == kind::MMAP2).then_some(())?;
    let name = record.get(72..)?;
    let end = name.iter().position(|&byte| byte == 0)?;
    Some(FileMapping {
        pid: u32_at(record, 8)?,
        file: FileId {
            major: u32_at(record, 40)?,
            minor: u32_at(record, 44)?,
            inode: u64_at(record, 48)?,
        },
        executable: u32_at(record, 64)? & libc::PROT_EXEC as u32 != 0,
        name: &name[..end],
    })
}

pub fn u32_at(record: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*record.get(at..)?.first_chunk()?))
}

pub fn u64_at(record: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*record.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(kind in 0_u32..12, body: Vec<u8>) {
            let record: Vec<u8> = kind.to_ne_bytes().into_iter().chain(body).collect();
            let _ = (lost(&record), fork(&record), mapped(&record));
        }
    }
}
