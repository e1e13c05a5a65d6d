//! The cache and the disk: damage is found before use and repaired, a full disk loses nothing that is finished, images are
//! described, pruned and never exchanged under a run.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::{FileExt, symlink},
    path::{Path, PathBuf},
};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::harness::{Place, PrivateCache, Study};

fn damage(path: &Path) {
    let copy = path.with_extension("copy");
    fs::copy(path, &copy).unwrap();
    let file = File::options().read(true).write(true).open(&copy).unwrap();
    let (middle, mut byte) = (file.metadata().unwrap().len() / 2, [0]);
    file.read_exact_at(&mut byte, middle).unwrap();
    file.write_all_at(&[byte[0] ^ 1], middle).unwrap();
    fs::rename(copy, path).unwrap();
}

#[test]
fn a_damaged_image_and_a_damaged_snapshot_are_made_again() {
    let place = Place::with_guests();
    let private = PrivateCache::copy(&place);
    let snapshots = private.snapshots(6);
    assert!(!snapshots.is_empty());
    snapshots.iter().for_each(|entry| damage(&entry.join("memory")));
    private.entries("image").iter().for_each(|entry| damage(&entry.join("root.cpio")));
    // By a relative path, as a person types it: what is made now is made from there, too.
    symlink(private.path(), place.path("cache")).unwrap();
    let study = Study::small().idle().repetitions(1);
    let ended = place.run_study(&study).env("HEADROOM_CACHE", "cache").run();
    ended.code(0).says("note: damaged in the cache, made again: ");
    ended.says("memory is not what was written").says("root.cpio is not what was written");
    assert_eq!(place.run().recordings().len(), 1);
    let again = place.headroom("run study.toml --out again").env("HEADROOM_CACHE", "cache").run();
    again.code(0);
    assert!(!again.stderr.contains("damaged"), "{again}");
}

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
}

#[test]
fn a_full_disk_keeps_what_is_finished_and_the_run_goes_on_when_there_is_room() {
    let place = Place::with_guests();
    let Some(disk) = Disk::mount(&place.folder("disk")) else { return };
    place.write("study.toml", Study::small().idle().repetitions(4).window("10s").text());
    let mut running = place.headroom("run study.toml --out disk/run --json --jobs 1").start();
    running.event("trial-ended");
    let mut filler = File::create(disk.0.join("filler")).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    drop(filler);
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

#[test]
fn an_image_is_described_for_machines_and_old_ones_are_pruned() {
    let place = Place::with_guests();
    let cache = PrivateCache::copy(&place);
    let call = |words: &str| place.headroom(words).env("HEADROOM_CACHE", cache.path()).run();
    let image = call("image --json").code(0).json();
    assert!(fs::metadata(image["kernel"].as_str().unwrap()).unwrap().len() > 1_000_000);
    let packages = image["packages"].as_array().unwrap();
    assert!(packages.iter().any(|one| one.as_str().unwrap().starts_with("hostapd_")));
    assert!(packages.iter().any(|one| one.as_str().unwrap().starts_with("prometheus-node-")));

    // The base needs no program of ours.
    place.folder("empty");
    let base = call("image --base --json --device empty").code(0).json();
    let base = PathBuf::from(base["base"].as_str().unwrap());
    assert!(cache.entries("base").contains(&base), "{}", base.display());

    call("image --prune 1").code(0).prints("freed 0 MB");
    call("image --prune 0").code(0).prints("freed ");
    for kind in ["base", "image", "snapshot"] {
        assert_eq!(cache.entries(kind), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_run_is_not_resumed_on_another_image() {
    let place = Place::with_guests();
    let cache = PrivateCache::copy(&place);
    let findings = place.call("doctor --host --json").json();
    let host = findings["host"].as_array().unwrap();
    let device = host.iter().find(|finding| finding["about"] == "agent and pid 1").unwrap();
    let other = place.folder("device");
    let programs = "headroom-agent headroom-init guard stationd txd station-monitor station-floor";
    for name in programs.split(' ') {
        fs::copy(format!("{}/{name}", device["what"].as_str().unwrap()), other.join(name)).unwrap();
    }
    // What is not loaded is not in the image; another program is.
    fs::copy(other.join("station-floor"), other.join("station-monitor")).unwrap();

    place.run_study(&Study::small().idle().repetitions(1)).run().code(0);
    let resume = place.resume().words("--quiet").env("HEADROOM_DEVICE", other);
    let ended = resume.env("HEADROOM_CACHE", cache.path()).run();
    ended.code(3).says("was begun with another image").says("start a new run").in_one_line();
}
