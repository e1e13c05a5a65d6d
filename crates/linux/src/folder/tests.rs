//! What stays below a folder, what is refused in it, and who is believed.

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
        assert!(folder.path_of(name).starts_with(outside.path("in")), "{name}");
    }
    assert!(outside.is_untouched());
}

#[test]
fn an_output_that_is_no_regular_file_is_written_to_and_stays_what_it_is() {
    use std::{io::Read, os::unix::fs::FileTypeExt};
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let kind = |name: &str| fs::symlink_metadata(path(name)).unwrap().file_type();
    rustix::fs::mknodat(CWD, path("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let mut reader = fs::File::options().read(true).write(true).open(path("pipe")).unwrap();
    write_out(&path("pipe"), b"piped").unwrap();
    let mut read = [0; 5];
    reader.read_exact(&mut read).unwrap();
    assert!(&read == b"piped" && kind("pipe").is_fifo());
    // The device of /dev/null, by a name of our own.
    let null = rustix::fs::makedev(1, 3);
    let made = rustix::fs::mknodat(CWD, path("null"), FileType::CharacterDevice, Mode::RUSR, null);
    match made {
        Ok(()) => {
            write_out(&path("null"), b"gone").unwrap();
            assert!(kind("null").is_char_device() && fs::read(path("null")).unwrap().is_empty());
        }
        Err(error) => skip::skip!("no device node can be made ({error}); root can"),
    }
    fs::write(path("file"), "a longer text").unwrap();
    for (link, to) in [("link", "file"), ("ahead", "new")] {
        symlink(to, path(link)).unwrap();
        write_out(&path(link), b"text").unwrap();
        assert!(kind(link).is_symlink() && kind(to).is_file(), "{link}");
        assert_eq!(fs::read(path(to)).unwrap(), b"text", "{link}");
    }
    assert!(write_out(place.path(), b"text").is_err());
    assert!(write_out(&path("none/file"), b"text").is_err());
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
    assert!(folder.file("pipe").unwrap_err().to_string().ends_with("not a regular file"));
    assert!(folder.append("pipe").is_err());
    assert!(folder.lock_file("pipe").is_err());
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
    match root.file_in_root("/lib/libc") {
        Ok(code) => assert_eq!(file::bytes_from(code, 9).unwrap(), b"code"),
        Err(error) => skip::skip!("this kernel has no openat2 ({error})"),
    }
    assert!(root.file_in_root("/usr/up").is_err());
    assert!(root.file_in_root("/../victim").is_err());
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
fn folders_are_listed_by_name_without_links_and_files() {
    let outside = Outside::new();
    for name in ["b", "a", "b/deep"] {
        fs::create_dir(outside.path(&format!("in/{name}"))).unwrap();
    }
    fs::write(outside.path("in/file"), "x").unwrap();
    symlink(outside.path("in/a"), outside.path("in/link")).unwrap();
    assert_eq!(outside.folder.folders().unwrap(), ["a", "b"]);
    let entries = outside.folder.entries().unwrap();
    let files = entries.iter().filter(|entry| entry.is_file).map(|entry| entry.name.as_str());
    assert!(files.eq(["file"]) && entries.len() == 4);
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
}

#[test]
fn a_temporary_folder_is_removed_only_where_it_is_the_same() {
    let place = tempfile::tempdir().unwrap();
    let temporary = Temporary::below(place.path(), "trial-").unwrap();
    let path = temporary.path().to_owned();
    fs::rename(&path, place.path().join("away")).unwrap();
    fs::create_dir(&path).unwrap();
    drop(temporary);
    assert!(path.exists(), "another folder has its name");
}

#[test]
fn what_is_made_in_a_private_folder_is_one_users() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(place.path()).unwrap().private();
    folder.replace("file", b"x").unwrap();
    drop(folder.append("log").unwrap());
    drop(folder.make_folder("below").unwrap().lock_file("lock").unwrap());
    let bits = |name: &str| fs::metadata(place.path().join(name)).unwrap().mode() & 0o7777;
    assert_eq!(["file", "log", "below", "below/lock"].map(bits), [0o600, 0o600, 0o700, 0o600]);
}

#[test]
fn a_file_is_believed_only_where_no_other_user_can_have_written_it() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(place.path()).unwrap();
    fs::write(place.path().join("file"), "x").unwrap();
    let reported = || folder.trusted_file("file").map(drop).map_err(|error| error.to_string());
    assert_eq!(reported(), Ok(()));
    fs::set_permissions(place.path().join("file"), fs::Permissions::from_mode(0o620)).unwrap();
    assert_eq!(reported().unwrap_err(), "other users may write to it");
    fs::set_permissions(place.path().join("file"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(place.path().join("file"), place.path().join("other")).unwrap();
    assert!(reported().unwrap_err().contains("second name"));
}

#[test]
fn both_ways_open_the_same_and_refuse_the_same() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join("a/b")).unwrap();
    fs::write(place.path().join("a/b/file"), "x").unwrap();
    std::os::unix::fs::symlink("a", place.path().join("link")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", place.path().join("a/out")).unwrap();
    let folder = fs::File::open(place.path()).unwrap();
    for (path, opens) in
        [("a/b/file", true), ("link/b/file", false), ("a/out", false), ("a/none", false)]
    {
        let (at, path, flags) = (folder.as_fd(), Path::new(path), OFlags::RDONLY | OFlags::CLOEXEC);
        assert_eq!(open_beneath(at, path, flags).is_ok(), opens, "{path:?}");
        assert_eq!(part_by_part(at, path, flags).is_ok(), opens, "{path:?}");
    }
}

#[test]
fn only_plain_names_are_below() {
    for wrong in ["", ".", "..", "/a", "a/../../b", "./a"] {
        assert!(checked(Path::new(wrong)).is_err(), "{wrong}");
    }
    assert!(checked(Path::new("a/b.c")).is_ok());
}
