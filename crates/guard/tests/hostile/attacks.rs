//! The attacks, one a row.

use std::{
    fs,
    os::unix::fs::{chown, symlink},
    path::Path,
};

use guard::journal::{Knob, Record};

use crate::device::{Device, OTHER, mode};

/// An attack, and how guard has to end.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn(&Device),
    /// The verb, and the state folder where it is another one than `state`.
    pub(crate) verb: &'static str,
    pub(crate) code: i32,
    pub(crate) says: &'static str,
    /// Whether it names files of [`GROUPS`], which are judged by what they are.
    pub(crate) by_groups: bool,
}

/// A hierarchy of version 1.
pub(crate) const GROUPS: &str = "/sys/fs/cgroup/cpu";

macro_rules! attacks {
    ($($name:literal: $verb:literal, $code:literal $says:literal $(by_groups = $groups:literal)?, $prepare:expr;)*) => {
        pub(crate) const ATTACKS: &[Attack] = &[$(Attack {
            name: $name,
            prepare: $prepare,
            verb: $verb,
            code: $code,
            says: $says,
            by_groups: false $(|| $groups)?,
        }),*];
    };
}

attacks! {
    // The folder is somebody else's, or can be exchanged.
    "a folder of another user with a forged journal": "restore shared/state", 4 "belongs to user 65534",
        |s| s.does("mkdir $S/state && cp $F $S/state/journal");
    "the same, and guard begins": "run shared/state", 4 "belongs to user 65534",
        |s| s.does("mkdir $S/state && cp $F $S/state/journal");
    "the same, with a lock that leads to the victim": "run shared/state", 4 "belongs to user 65534",
        |s| s.does("mkdir $S/state && ln -s $V $S/state/lock");
    "a link in place of the folder": "restore shared/state", 4 "is a symbolic link",
        |s| s.does("mkdir $S/real && cp $F $S/real/journal && ln -s real $S/state");
    "a link in place of a folder of root's": "run shared/state", 4 "is a symbolic link",
        |s| s.does("ln -s $D $S/state");
    "a link on the way": "run shared/way/state", 4 "is a symbolic link that others can exchange",
        |s| s.does("ln -s .. $S/way");
    "a folder of another user on the way": "run shared/way/state", 4 "belongs to user 65534",
        |s| s.does("mkdir -m 777 $S/way");
    "a link in place of a folder that is still to be made": "run shared/new", 4 "is a symbolic link",
        |s| s.does("ln -s /nonexistent/headroom $S/new");
    "a folder that its group may write to": "restore", 4 "may be written to by other users", |s| {
        chown(s.state(), None, Some(OTHER)).unwrap();
        mode(&s.state(), 0o770);
        s.journal(&[s.change(&s.victim(), "forged\n")]);
    };
    "a folder that everybody may write to": "restore", 4 "may be written to by other users", |s| {
        mode(&s.state(), 0o777);
        assert!(s.other("cp $0/forged $0/state/journal").arg(s.path("")).status().unwrap().success());
    };
    "a folder shared as /tmp is, with a lock that leads to the victim": "run shared", 4 "may be written to by other users",
        |s| s.does("ln -s $V $S/lock");
    "a folder above that others may write to": "restore above/state", 4 "may be written to by other users", |s| {
        fs::create_dir(s.path("above")).unwrap();
        mode(&s.path("above"), 0o777);
        fs::rename(s.state(), s.path("above/state")).unwrap();
        fs::create_dir(s.state()).unwrap();
        fs::copy(s.path("forged"), s.path("above/state/journal")).unwrap();
    };
    "a file in place of the folder": "run shared/state", 4 "Not a directory", |s| s.does("touch $S/state");
    "a pipe in place of the folder": "run shared/state", 4 "Not a directory", |s| s.does("mkfifo $S/state");

    // The folder was open once, and what was left in it then is still there.
    "a journal of another user": "restore", 4 "belongs to user 65534", |s| s.does("cp $F $D/journal");
    "the same, and guard begins": "run", 4 "belongs to user 65534", |s| s.does("cp $F $D/journal");
    "a watchdog's journal of another user": "restore", 4 "belongs to user 65534",
        |s| s.does("cp $F $D/journal.taken");
    "a journal that leads to a forged one": "restore", 4 "symbolic link", |s| s.does("ln -s $F $D/journal");
    "a journal that leads to no end of bytes": "restore", 4 "symbolic link",
        |s| s.does("ln -s /dev/zero $D/journal");
    "a pipe in place of the journal": "restore", 4 "not a regular file", |s| s.does("mkfifo $D/journal");
    "a folder in place of the journal": "restore", 4 "not a regular file", |s| s.does("mkdir $D/journal");
    "a device in place of the journal": "restore", 4 "not a regular file", |s| {
        let status = std::process::Command::new("mknod").arg(s.path("state/journal")).args(["c", "1", "5"]).status();
        assert!(status.unwrap().success());
    };
    "a socket in place of the journal": "restore", 4 "journal", |s| {
        drop(std::os::unix::net::UnixListener::bind(s.path("state/journal")).unwrap());
    };
    "a journal of root's that everybody may write to": "restore", 4 "other users may write to it", |s| {
        s.journal(&[]);
        mode(&s.path("state/journal"), 0o666);
        mode(&s.state(), 0o755);
        assert!(s.other("cat $0/forged > $0/state/journal").arg(s.path("")).status().unwrap().success());
    };
    "a journal with a second name": "restore", 4 "second name", |s| {
        fs::hard_link(s.path("forged"), s.path("state/journal")).unwrap();
    };
    "a lock that leads to the victim": "run", 4 "symbolic link", |s| s.does("ln -s $V $D/lock");
    "a lock that is the victim": "run", 4 "second name",
        |s| fs::hard_link(s.victim(), s.path("state/lock")).unwrap();
    "a lock that leads to a file that is not there": "run", 4 "symbolic link",
        |s| s.does("ln -s $S/made $D/lock");
    "a pipe in place of the lock": "run", 4 "not a regular file", |s| s.does("mkfifo $D/lock");
    "a record that leads to the victim": "run", 4 "symbolic link", |s| s.does("ln -s $V $D/record");
    "a record that is the victim": "run", 4 "second name",
        |s| fs::hard_link(s.victim(), s.path("state/record")).unwrap();
    "a pipe in place of the record": "run", 4 "record", |s| s.does("mkfifo $D/record");
    "a control socket that leads to the victim": "run", 4 "control", |s| s.does("ln -s $V $D/control");

    // A journal of root's that says what guard never does.
    "the victim by its name": "restore", 3 "guard changes nothing there",
        |s| s.journal(&[s.change(&s.victim(), "forged\n")]);
    "the victim by a way through a hierarchy": "restore", 3 "guard changes nothing there", |s| {
        let below = s.victim();
        let way = Path::new("/sys/fs/cgroup/cpu/../../../..").join(below.strip_prefix("/").unwrap());
        s.journal(&[s.change(&way, "forged\n")]);
    };
    "the victim by a link that is called as a control file": "restore", 3 "guard changes nothing there", |s| {
        symlink(s.victim(), s.path("cpu.shares")).unwrap();
        s.journal(&[s.change(&s.path("cpu.shares"), "forged\n")]);
    };
    "the victim by a descriptor's link": "restore", 3 "guard changes nothing there", |s| {
        let way = Path::new("/proc/self/root").join(s.victim().strip_prefix("/").unwrap());
        s.journal(&[s.change(&way, "forged\n")]);
    };
    "a switch of the kernel's": "restore", 3 "guard changes nothing there", |s| {
        let path = Path::new("/proc/sys/kernel/headroom-none");
        s.journal(&[s.change(path, "1\n")]);
    };
    "a control file that guard never changes": "restore", 3 "no such file" by_groups = true, |s| {
        let path = Path::new("/sys/fs/cgroup/cpu/release_agent");
        s.journal(&[s.change(path, "/bin/sh\n")]);
    };
    "a weight that no kernel gives": "restore", 3 "never reads such a value" by_groups = true, |s| {
        let path = Path::new("/sys/fs/cgroup/cpu/cpu.shares");
        s.journal(&[s.change(path, "99999999999999999999999\n")]);
    };
    "a nice value that no thread has": "restore", 3 "never reads such a value", |s| {
        let (old, new) = ("-100".to_owned(), "0".to_owned());
        s.journal(&[Record::Change { path: "/proc/1/nice".into(), inode: 1, knob: Knob::Nice, old, new }]);
    };
    "a group of somebody else's": "restore", 3 "not a group of guard's" by_groups = true,
        |s| s.journal(&[Record::Made { folder: "/sys/fs/cgroup/cpu/apps".into() }]);
    "a folder outside": "restore", 3 "no hierarchy is mounted there",
        |s| s.journal(&[Record::Made { folder: s.path("shared") }]);
    "letters that a terminal obeys": "restore", 3 "\\u{1b}[2J",
        |s| s.journal(&[Record::Made { folder: "/\u{1b}[2J\n/x".into() }]);

    // A journal of root's that is too much.
    "a journal of a gigabyte": "restore", 4 "larger than", |s| {
        s.journal(&[]);
        fs::File::options().write(true).open(s.path("state/journal")).unwrap().set_len(1 << 30).unwrap();
    };
    "a journal of a million entries": "restore", 4 "lines",
        |s| s.raw_journal(&b"0123456789abcdef {}\n".repeat(1_000_000));
}
