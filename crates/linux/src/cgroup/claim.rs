//! Whose a group is: a lock that ends with its holder, and a note for whoever finds the group without one.
//!
//! Talks to flock(2) on the group's folder, which holds across PID namespaces and goes with the holder however
//! that ends, and to its extended attributes (`trusted.headroom`; root alone reads and writes them). It removes
//! nothing and moves nobody.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

use rustix::fs::{XattrFlags, getxattr, setxattr};

use super::{Error, refused};

/// The attribute of a note.
const NOTE: &str = "trusted.headroom";

/// So long a note may be, bytes; what the kernel takes of an attribute's value.
const LONGEST: usize = 65_536;

/// A group that is ours. Dropping it leaves the group to whoever comes.
#[derive(Debug)]
pub struct Claim {
    _folder: File,
}

/// Takes a group; `None` where somebody who lives has it.
/// Fails with [`Error::Refused`]: there is no such group, or no lock can be had on its file system.
pub fn claim(group: &Path) -> Result<Option<Claim>, Error> {
    let folder = File::open(group).map_err(refused("claim", group))?;
    match folder.try_lock() {
        Ok(()) => Ok(Some(Claim { _folder: folder })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(refused("claim", group)(error)),
    }
}

/// Leaves a note at a group.
/// Fails with [`Error::Refused`]: the kernel keeps none for groups, the note is too long, or we are not root.
pub fn note(group: &Path, text: &str) -> Result<(), Error> {
    setxattr(group, NOTE, text.as_bytes(), XattrFlags::empty())
        .map_err(|error| refused("leave a note at", group)(error.into()))
}

/// The note at a group, where there is one.
pub fn noted(group: &Path) -> Option<String> {
    let mut text = vec![0; LONGEST];
    let length = getxattr(group, NOTE, &mut text[..]).ok()?;
    text.truncate(length);
    String::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::{Mounts, Tree, create, remove};

    #[test]
    fn a_claim_excludes_others_until_it_goes_and_a_note_stays() {
        let mounts = Mounts::find().expect("/proc is mounted");
        let trees: Vec<Tree> = [mounts.cpuacct, mounts.unified].into_iter().flatten().collect();
        let mut tried = 0;
        for tree in trees {
            let group = tree.mount.join(format!("headroom-claim.{}", std::process::id()));
            if create(&group).is_err() {
                continue;
            }
            tried += 1;
            let ours = claim(&group).expect("there is a lock").expect("nobody has it");
            assert!(claim(&group).expect("there is a lock").is_none(), "{tree:?}");
            drop(ours);
            assert!(claim(&group).expect("there is a lock").is_some(), "{tree:?}");
            assert_eq!(noted(&group), None);
            match note(&group, "7 /home\n") {
                Ok(()) => assert_eq!(noted(&group).as_deref(), Some("7 /home\n"), "{tree:?}"),
                Err(error) => skip::skip!("{}", crate::error::chain(&error)),
            }
            remove(&group).expect("it is empty");
            let reported = claim(&group).expect_err("it is gone");
            assert!(crate::error::chain(&reported).contains("headroom-claim"), "{reported:?}");
        }
        if tried == 0 {
            skip::skip!("no control group can be made here");
        }
    }
}
