//! Kernel modules: loading one from its file.
//!
//! Talks to `finit_module` (3.8). It resolves no dependencies and searches no folders: the caller knows the order.

use std::{ffi::CString, fs::File, io, path::Path};

use rustix::{io::Errno, system::finit_module};

/// Loads the module in this file; one that is there already is success.
pub fn load(path: &Path, parameters: &str) -> io::Result<()> {
    match finit_module(File::open(path)?, &CString::new(parameters)?, 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_module_or_no_parameter_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let refused = |path: &Path, parameters| load(path, parameters).unwrap_err().kind();
        assert_eq!(refused(Path::new("/nowhere/at-all.ko"), ""), io::ErrorKind::NotFound);
        assert_eq!(refused(file.path(), "a\0b"), io::ErrorKind::InvalidInput);
        assert!(load(file.path(), "").is_err());
    }
}
