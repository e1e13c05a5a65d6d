//! What leads out of a folder, and what is in it that is no file, for every way to open it.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

struct Outside {
    place: tempfile::TempDir,
    folder: Folder,
}

impl Outside {
    /// A folder `in`, beside a file `victim` that must stay as it is.
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("victim"), "precious").unwrap();
        let folder = Folder::create(place.path().join("in")).unwrap();
        Self { place, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn is_untouched(&self) -> bool {
        fs::read(self.path("victim")).unwrap() == b"precious"
            && fs::read_dir(self.place.path()).unwrap().count() == 2
    }
}

#[test]
fn what_leads_out_of_a_folder_is_refused_by_everything() {
    let outside = Outside::new();
    let folder = &outside.folder;
    symlink(outside.path(""), outside.path("in/link")).unwrap();
    let absolute = outside.path("victim");
    for name in ["../victim", absolute.to_str().unwrap(), "a/../../victim", "link/victim", ""] {
        assert!(folder.file(name).is_err(), "{name}");
        assert!(folder.append(name).is_err(), "{name}");
        assert!(folder.new_file(name).is_err(), "{name}");
        assert!(folder.lock_file(name).is_err(), "{name}");
        assert!(folder.replace(name, b"x").is_err(), "{name}");
        assert!(folder.remove_file(name).is_err(), "{name}");
        assert!(folder.remove_tree(name).is_err(), "{name}");
        assert!(folder.make_folder(name).is_err(), "{name}");
        assert!(folder.new_folder(name).is_err(), "{name}");
        assert!(folder.rename(name, "mine").is_err(), "{name}");
        assert!(!folder.has(name), "{name}");
    }
    assert!(outside.is_untouched());
}

#[test]
fn a_link_is_replaced_or_refused_and_never_followed() {
    let outside = Outside::new();
    for name in ["log", "lock", "run.json", "console"] {
        symlink(outside.path("victim"), outside.path("in").join(name)).unwrap();
    }
    let folder = &outside.folder;
    let refused = folder.append("log").unwrap_err().to_string();
    assert_eq!(refused, "it is a symbolic link");
    assert!(folder.lock_file("lock").is_err());
    assert!(folder.file("run.json").is_err());
    folder.replace("run.json", b"{}").unwrap();
    folder.new_file("console").unwrap().write_all(b"boot").unwrap();
    assert_eq!(folder.read("console", 10).unwrap(), b"boot");
    assert!(outside.is_untouched());
}

#[test]
fn a_file_with_a_second_name_is_not_appended_to() {
    let outside = Outside::new();
    fs::hard_link(outside.path("victim"), outside.path("in/log")).unwrap();
    let refused = outside.folder.append("log").unwrap_err().to_string();
    assert!(refused.contains("hard link"), "{refused}");
}

#[test]
fn pipes_and_devices_neither_block_nor_fill() {
    let outside = Outside::new();
    let pipe = outside.path("in/pipe");
    rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .unwrap();
    let folder = &outside.folder;
    assert_eq!(folder.file("pipe").unwrap_err().to_string(), "not a regular file");
    assert!(folder.append("pipe").is_err());
    assert!(folder.lock_file("pipe").is_err());
    assert_eq!(read_regular(&pipe, 9).unwrap_err().to_string(), "not a regular file");
    let endless = read_regular(Path::new("/dev/zero"), 9).unwrap_err().to_string();
    assert_eq!(endless, "not a regular file");
}

#[test]
fn a_file_is_read_up_to_its_limit() {
    let outside = Outside::new();
    outside.folder.replace("file", b"12345").unwrap();
    assert_eq!(outside.folder.read("file", 5).unwrap(), b"12345");
    let refused = outside.folder.read("file", 4).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
    assert_eq!(outside.folder.read_text("file", 5).unwrap(), "12345");
}

#[test]
fn a_root_folder_keeps_its_links_inside() {
    let outside = Outside::new();
    fs::create_dir_all(outside.path("in/usr/lib")).unwrap();
    fs::write(outside.path("in/usr/lib/libc"), "code").unwrap();
    symlink("/usr/lib", outside.path("in/lib")).unwrap();
    symlink("../../../victim", outside.path("in/usr/up")).unwrap();
    let root = &outside.folder;
    match root.read_in_root("/lib/libc", 9) {
        Ok(code) => assert_eq!(code, b"code"),
        Err(error) => eprintln!("skipped: this kernel has no openat2 ({error})"),
    }
    assert!(root.read_in_root("/usr/up", 99).is_err());
    assert!(root.read_in_root("/../victim", 99).is_err());
}

#[test]
fn a_tree_goes_without_what_its_links_lead_to() {
    let outside = Outside::new();
    fs::create_dir_all(outside.path("in/tree/deep")).unwrap();
    symlink(outside.path(""), outside.path("in/tree/deep/link")).unwrap();
    symlink(outside.path(""), outside.path("in/link")).unwrap();
    outside.folder.remove_tree("tree").unwrap();
    outside.folder.remove_tree("link").unwrap();
    outside.folder.remove_tree("none").unwrap();
    assert_eq!(outside.folder.entries().unwrap(), []);
    assert!(outside.is_untouched());
}

#[test]
fn a_temporary_folder_is_new_and_of_one_user() {
    let place = tempfile::tempdir().unwrap();
    let path = {
        let temporary = Temporary::below(place.path(), "trial-").unwrap();
        temporary.folder().replace("file", b"x").unwrap();
        let metadata = temporary.folder().metadata().unwrap();
        assert_eq!(metadata.permissions().mode() & 0o7777, 0o700);
        assert_eq!(metadata.uid(), rustix::process::geteuid().as_raw());
        temporary.path().to_owned()
    };
    assert!(!path.exists());
    let kept = Temporary::below(place.path(), "trial-").unwrap().keep();
    assert!(kept.is_dir());
}
