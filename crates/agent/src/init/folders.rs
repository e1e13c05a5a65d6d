//! The folders that the image's packages ask for, where there are such packages.
//!
//! Reads `/etc/headroom/folders`, one a line: `make` or, for what is only changed where it is there, `keep`; mode in
//! octal, numbers of user and group, and path; `-` for what stays as it is. One that cannot be made is reported on the
//! console; a subject that misses it says so itself.

use std::{
    fs,
    io::{self, ErrorKind},
    os::unix::fs::{PermissionsExt, chown},
    path::Path,
};

use super::{
    console::say,
    error::{Doing, Error},
};

const LIST: &str = "/etc/headroom/folders";

pub(super) fn make() -> Result<(), Error> {
    let list = match fs::read_to_string(LIST) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        list => list.doing(|| format!("read {LIST}"))?,
    };
    for line in list.lines() {
        if let Err(error) = one(Path::new("/"), line) {
            say(format_args!("cannot make `{line}` of {LIST}: {error}"));
        }
    }
    Ok(())
}

/// A folder of the list, below a root.
fn one(root: &Path, line: &str) -> io::Result<()> {
    let fields: Vec<&str> = line.splitn(5, ' ').collect();
    let [verb, mode, user, group, path] = fields[..] else {
        return Err(ErrorKind::InvalidData.into());
    };
    let path = root.join(path.trim_start_matches('/'));
    match (path.exists(), verb) {
        (true, _) => {}
        (false, "make") => fs::create_dir_all(&path)?,
        (false, _) => return Ok(()),
    }
    let (user, group) = (user.parse().ok(), group.parse().ok());
    if user.is_some() || group.is_some() {
        chown(&path, user, group)?;
    }
    // After the owner: a change of that takes away set-uid and set-gid.
    match u32::from_str_radix(mode, 8) {
        Ok(mode) => fs::set_permissions(&path, fs::Permissions::from_mode(mode)),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_folder_gets_what_its_line_says() {
        let root = tempfile::tempdir().unwrap();
        let (user, group) =
            (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        one(root.path(), &format!("make 2750 {user} {group} /run/some/a b")).unwrap();
        one(root.path(), "make - - - /run/some").unwrap();
        one(root.path(), "keep 755 - - /run/other").unwrap();
        assert!(!root.path().join("run/other").exists());
        let made = fs::metadata(root.path().join("run/some/a b")).unwrap();
        assert_eq!((made.mode() & 0o7777, made.uid(), made.gid()), (0o2750, user, group));
        assert!(one(root.path(), "make 755 0 0").is_err());
    }
}
