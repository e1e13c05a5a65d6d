//! Brings a file to the host, piece by piece.
//!
//! Reads the file, or the kernel's code from our own memory, and writes frames. Nothing is kept.

use std::{
    io::{self, Read},
    path::Path,
};

use linux::file;
use model::{
    instrument::{Piece, Wanted},
    wire::{Frame, Refusal},
};

use crate::{
    mapped_files::{VDSO, vdso},
    session::{End, Session},
};

const PIECE: u64 = 256 * 1024;

pub(crate) fn send(session: &mut Session, wanted: &Wanted) -> Result<(), End> {
    let path = match wanted {
        Wanted::File(path) => path.as_str(),
        Wanted::Vdso => VDSO,
        Wanted::KernelSymbols => "/proc/kallsyms",
    };
    let refused =
        |error: io::Error| Refusal::new(format!("cannot read `{path}` on the access point"), error);
    let mut source: Box<dyn Read> = match path {
        VDSO => Box::new(io::Cursor::new(vdso().map_err(refused)?)),
        // A pipe would never be open, and a device never end.
        path => Box::new(file::open(Path::new(path)).map_err(refused)?),
    };
    // One piece ahead, so that the last one can be told.
    let mut piece = read(&mut source).map_err(refused)?;
    loop {
        let next =
            if piece.is_empty() { Vec::new() } else { read(&mut source).map_err(refused)? };
        let last = next.is_empty();
        session.send(&Frame::Piece(Piece { bytes: piece, last }))?;
        if last {
            return Ok(());
        }
        piece = next;
    }
}

fn read(source: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut piece = Vec::new();
    source.take(PIECE).read_to_end(&mut piece)?;
    Ok(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_read_in_whole_pieces() {
        let mut source = io::Cursor::new(vec![7; PIECE as usize + 1]);
        let lengths: Vec<usize> = (0..3).map(|_| read(&mut source).unwrap().len()).collect();
        assert_eq!(lengths, [PIECE as usize, 1, 0]);
    }
}
