//! One guard at a time: a lock on a file of the state folder, which the kernel lets go when guard ends.

use std::{
    fs::{self, File, OpenOptions},
    io::Read,
    os::unix::fs::FileExt,
    path::Path,
};

use rustix::fs::{FlockOperation, flock};

use super::Error;

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes it, making the folder where there is none.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub(super) fn take(folder: &Path) -> Result<Self, Error> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Folder { path, source }
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let path = folder.join("lock");
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = file.map_err(failed(&path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Error::Busy { pid: pid_in(&mut file), folder: folder.to_owned() });
            }
            Err(error) => return Err(failed(&path)(error.into())),
        }
        // Only for the words about it: the lock is the kernel's.
        let _ = file.set_len(0);
        let _ = file.write_at(std::process::id().to_string().as_bytes(), 0);
        Ok(Self { _file: file })
    }
}

/// Who wrote itself in; 0 where nobody has yet.
fn pid_in(file: &mut File) -> u32 {
    let mut text = String::new();
    let _ = file.read_to_string(&mut text);
    text.trim().parse().unwrap_or(0)
}
