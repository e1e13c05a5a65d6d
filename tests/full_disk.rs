//! A full disk under the run folder: told in one line, nothing finished is lost, and the run goes on
//! when there is room again.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::harness::{Place, PrivateCache, Study};

struct Disk(PathBuf);

impl Disk {
    /// `None`, with the reason printed, where nothing can be mounted.
    fn mount(at: &Path) -> Option<Self> {
        let mounted = mount("tmpfs", at, "tmpfs", MountFlags::empty(), Some(c"size=1m"));
        let told = mounted.map_err(|errno| skip::skip!("cannot mount a small disk ({errno})"));
        told.ok().map(|()| Self(at.to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

#[test]
fn a_full_disk_under_the_cache_is_reported_by_the_snapshots_path() {
    let place = Place::with_guests();
    let cache = PrivateCache::copy(&place);
    // Far too small for a snapshot; the image beside it is untouched.
    let Some(_disk) = Disk::mount(&cache.path().join("snapshot")) else { return };
    let headroom = place.run_study(&Study::small().idle()).words("--quiet");
    let ended = headroom.env("HEADROOM_CACHE", cache.path()).run();
    ended.code(4).says("the disk is full: cannot write ").says("memory; free some space");
    ended.in_one_line();
    assert_eq!(place.left(), []);
}

#[test]
fn a_full_disk_keeps_what_is_finished_and_the_run_goes_on_when_there_is_room() {
    let place = Place::with_guests();
    let Some(disk) = Disk::mount(&place.folder("disk")) else { return };
    place.write("study.toml", Study::small().idle().repetitions(4).window("20s").text());
    let mut running = place.headroom("run study.toml --out disk/run --json --jobs 1").start();
    running.event("trial-ended");
    let mut filler = File::create(disk.0.join("filler")).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    let ended = running.end();
    ended.code(4).says("the disk is full: cannot write disk/run/").in_one_line();
    assert_eq!(place.left(), []);
    let run = place.run_in("disk/run");
    let before = run.trial_files();
    assert!((1..4).contains(&before.len()), "{:?}", before.keys());

    fs::remove_file(disk.0.join("filler")).unwrap();
    place.call("run --resume disk/run").code(0);
    let after = run.trial_files();
    assert_eq!(after.len(), 4);
    assert!(before.iter().all(|(name, bytes)| after[name] == *bytes));
    assert_eq!(run.invalid(), []);
    run.report();
}
