//! The kernel proper, out of the self-extracting file that Debian ships.
//!
//! Unpacking itself costs an emulated guest 10 to 15 s at every boot; QEMU starts the plain ELF file
//! by its PVH entry (`CONFIG_PVH`). Layout of the file: the kernel's `Documentation/arch/x86/boot.rst`.

use std::{
    io::{self, Read, Write},
    process::{Command, Stdio},
    thread,
};

use crate::{Error, host};

/// Offsets in the boot header.
const SETUP_SECTORS: usize = 0x1f1;
const MAGIC: usize = 0x202;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;

const SECTOR: usize = 512;
const XZ: &[u8] = b"\xfd7zXZ\0";

/// The compressed kernel in a boot file, without the length that the build puts behind it; `None` if
/// this is no such file, or another compression.
fn payload(file: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| Some(u32::from_le_bytes(*file.get(at..)?.first_chunk()?) as usize);
    if file.get(MAGIC..MAGIC + 4)? != b"HdrS" {
        return None;
    }
    // A count of 0 means 4, for the sake of very old kernels.
    let sectors = match file.get(SETUP_SECTORS)? {
        0 => 4,
        sectors => usize::from(*sectors),
    };
    let begin = ((sectors + 1) * SECTOR).checked_add(number(PAYLOAD_OFFSET)?)?;
    let end = begin.checked_add(number(PAYLOAD_LENGTH)?)?.checked_sub(4)?;
    file.get(begin..end).filter(|payload| payload.starts_with(XZ))
}

/// The kernel that QEMU starts quickest: unpacked where that is possible, else the file as it is.
///
/// # Errors
///
/// [`Error::MissingProgram`] or [`Error::Program`] of `xz`.
pub(super) fn unpack(file: Vec<u8>) -> Result<Vec<u8>, Error> {
    match payload(&file) {
        Some(packed) => decompress(packed),
        None => Ok(file),
    }
}

fn decompress(packed: &[u8]) -> Result<Vec<u8>, Error> {
    host::require("xz", "xz-utils")?;
    let failed = |why: io::Error| Error::Program {
        program: "xz".to_owned(),
        status: "cannot unpack the kernel".to_owned(),
        tail: why.to_string(),
    };
    let mut xz = Command::new("xz")
        .args(["--decompress", "--stdout"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (input, output) = (xz.stdin.take(), xz.stdout.take());
    let mut plain = Vec::new();
    // Both ends at the same time: either pipe would fill up otherwise.
    let read = thread::scope(|scope| {
        scope.spawn(move || input.map(|mut input| input.write_all(packed)));
        output.map_or(Ok(0), |mut output| output.read_to_end(&mut plain))
    });
    read.map_err(failed)?;
    let status = xz.wait().map_err(failed)?;
    if status.success() { Ok(plain) } else { Err(failed(io::Error::other(status.to_string()))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A boot file with one setup sector and this payload.
    fn boot_file(payload: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 2 * SECTOR];
        file[SETUP_SECTORS] = 1;
        file[MAGIC..MAGIC + 4].copy_from_slice(b"HdrS");
        file[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 4].copy_from_slice(&0x30_u32.to_le_bytes());
        let length = (payload.len() + 4) as u32;
        file[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&length.to_le_bytes());
        file.extend([0; 0x30]);
        file.extend(payload);
        file.extend([0; 4]);
        file
    }

    #[test]
    fn the_payload_is_found_where_the_header_says() {
        let packed = [XZ, b"rest"].concat();
        assert_eq!(payload(&boot_file(&packed)), Some(&*packed));
    }

    #[test]
    fn what_is_packed_otherwise_is_left_as_it_is() {
        let file = boot_file(b"\x1f\x8bgzip");
        assert_eq!(unpack(file.clone()).unwrap(), file);
        assert_eq!(unpack(b"\x7fELF".to_vec()).unwrap(), b"\x7fELF");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_have_a_payload_or_none(mut bytes: Vec<u8>, fill in 0_usize..2000) {
            bytes.resize(fill, 7);
            payload(&bytes);
        }
    }
}
