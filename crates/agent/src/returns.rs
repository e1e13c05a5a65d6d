//! Says where a call's return cannot be watched without harm.
//!
//! To see a function return the kernel puts an address of its own in place of the caller's. Programs that look
//! at their own stacks trip over it, and so do sandboxes on kernels where it leads to a system call. Such a
//! census is refused; calls alone can be counted there.

use std::io::{self, Read};

use linux::system;

/// What every program of Go has in it (`debug/buildinfo`). Its runtime moves stacks, finds the kernel's address in
/// one, and ends the program.
const GO: &[u8] = b"\xff Go buildinf:";

/// A file is read in pieces of so many bytes.
const PIECE: usize = 1 << 16;

/// Why the returns of a program's functions are not to be watched; `None` where they may be.
pub(crate) fn harmful_in(file: impl Read) -> io::Result<Option<&'static str>> {
    if ends_sandboxed(&system::uname().release) {
        return Ok(Some(
            "on x86-64 with Linux 6.11 to 6.13 a return that is watched is a system call, and ends a \
             program whose seccomp filter does not know it",
        ));
    }
    Ok(has(file, GO)?
        .then_some("it is a program of Go, whose runtime ends it when a return is watched"))
}

/// `uretprobe` became a system call with commit ff474a78cef5 (6.11), and filters let it pass since
/// cf6cb56ef244 (6.14).
fn ends_sandboxed(release: &str) -> bool {
    let mut numbers = release.split('.').map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next(), numbers.next());
    cfg!(target_arch = "x86_64") && matches!(version, (Some(6), Some(11..=13)))
}

fn has(mut file: impl Read, bytes: &[u8]) -> io::Result<bool> {
    let mut piece = vec![0; PIECE];
    let mut kept = 0;
    loop {
        let length = file.read(&mut piece[kept..])?;
        let all = kept + length;
        if piece[..all].windows(bytes.len()).any(|window| window == bytes) {
            return Ok(true);
        }
        if length == 0 {
            return Ok(false);
        }
        // What may be the beginning of the bytes stays.
        kept = all.min(bytes.len() - 1);
        piece.copy_within(all - kept..all, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_go_is_known_wherever_its_mark_is() {
        for before in [0, 1, PIECE - 7, PIECE, 3 * PIECE - 1] {
            let file = [vec![0xff; before], GO.to_vec(), vec![0; 9]].concat();
            assert!(has(&*file, GO).unwrap(), "{before}");
        }
        assert!(!has(&GO[1..], GO).unwrap() && !has(&b""[..], GO).unwrap());
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn kernels_that_end_sandboxed_programs_are_known_by_their_release() {
        for bad in ["6.11.0", "6.12.9-amd64", "6.13"] {
            assert!(ends_sandboxed(bad), "{bad}");
        }
        for good in
            ["6.1.0-37-amd64", "6.10.11", "6.14.0-rc1", "6.18.44-fc-v595", "5.12.3", "", "7.12"]
        {
            assert!(!ends_sandboxed(good), "{good}");
        }
    }
}
