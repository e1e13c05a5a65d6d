//! Bringing a file from the access point: piece by piece into a file here, hashed as it comes.
//!
//! A peer may send no more than it announced; of what it did not announce, no more than any file of the kind
//! has. What the files are is [`crate::objects`]'s.

use std::{fs::File, io::Write, path::Path};

use linux::file;
use model::{
    instrument::Wanted,
    name::Sha256Hex,
    wire::{Frame, Order},
};
use sha2::{Digest, Sha256};

use crate::{
    Error,
    device::Device,
    exchange::{Preamble, unexpected},
    vm::Failure,
};

/// The longest file that is brought, bytes: programs with all their debug information are shorter.
pub(crate) const LONGEST: u64 = 1 << 30;

/// The code that the kernel maps into every process is no longer, bytes; x86's has two pages.
const LONGEST_VDSO: u64 = 1 << 20;

pub(crate) fn most(wanted: &Wanted) -> u64 {
    match wanted {
        Wanted::File(_) => LONGEST,
        Wanted::KernelSymbols => file::KERNEL_SYMBOLS,
        Wanted::Vdso => LONGEST_VDSO,
    }
}

/// Brings what is wanted into a file and answers its SHA-256. `announced` is its length, where
/// the access point has told it, bytes.
pub(crate) fn fetch(
    device: &mut dyn Device,
    wanted: &Wanted,
    announced: Option<u64>,
    to: &Path,
) -> Result<Sha256Hex, Error> {
    const AWAITED: &str = "a piece of a file";
    let most = announced.unwrap_or(u64::MAX).min(most(wanted));
    let mut file = File::create(to).map_err(Error::file("write", to))?;
    let (mut hash, mut came, mut preamble) = (Sha256::new(), 0, Preamble::default());
    device.order(&Order::Fetch(wanted.clone()))?;
    loop {
        match device.frame(AWAITED)? {
            Frame::Piece(piece) if piece.bytes.is_empty() && !piece.last => {
                let why = "a piece of a file with nothing in it".to_owned();
                return Err(Failure::Excess(why).into());
            }
            Frame::Piece(piece) => {
                came += piece.bytes.len() as u64;
                if came > most {
                    let why = format!("more than the {most} bytes that a file may have");
                    return Err(Failure::Excess(why).into());
                }
                file.write_all(&piece.bytes).map_err(Error::file("write", to))?;
                hash.update(&piece.bytes);
                if piece.last {
                    return Ok(Sha256Hex::of(&hash.finalize().into()));
                }
            }
            frame if came == 0 => preamble.take(&frame, AWAITED)?,
            frame => return Err(unexpected(&frame, AWAITED).into()),
        }
    }
}
