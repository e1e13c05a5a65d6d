//! Kernel modules: loading one from its file.
//!
//! Talks to `finit_module`. It resolves no dependencies and searches no folders: whoever calls it
//! knows the order.

use std::{
    ffi::CString,
    fs::File,
    io,
    path::{Path, PathBuf},
};

use rustix::{io::Errno, system::finit_module};

/// A module that could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to open the module {}", path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the parameters of {} hold a NUL", path.display())]
    Parameters { path: PathBuf },
    #[error("failed to load the module {}", path.display())]
    Load {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Loads the module in this file; one that is there already is success.
pub fn load(path: &Path, parameters: &str) -> Result<(), Error> {
    let file = File::open(path).map_err(|source| Error::Open { path: path.into(), source })?;
    let parameters =
        CString::new(parameters).map_err(|_| Error::Parameters { path: path.into() })?;
    match finit_module(&file, &parameters, 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(Error::Load { path: path.into(), source: errno.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_named() {
        let error = load(Path::new("/nowhere/at-all.ko"), "").unwrap_err();
        assert_eq!(error.to_string(), "failed to open the module /nowhere/at-all.ko");
    }

    #[test]
    fn parameters_with_a_nul_are_refused_before_the_kernel_sees_them() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(load(file.path(), "a\0b"), Err(Error::Parameters { .. })));
    }

    #[test]
    fn a_file_that_is_no_module_is_refused_with_its_path() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = load(file.path(), "").unwrap_err();
        assert!(matches!(error, Error::Load { .. }), "{error:?}");
    }
}
