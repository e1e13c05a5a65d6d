//! Firmware of somebody's own as the virtual access point: a root that is BusyBox alone, and the kernel of another
//! Debian release, which is fetched once and kept beside the cache.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use crate::harness::{Place, PrivateCache, Study, cache, cpu, sha256sum};

const DUMP: &str = "iw dev {interface} station dump";
/// The release whose kernel is another than the image's.
const SUITE: &str = "trixie";

/// A kernel and its modules, as a build leaves them.
struct Kernel {
    file: PathBuf,
    modules: PathBuf,
}

/// That of the other release, with modules that are packed; `None` where it cannot be fetched. One test fetches it.
fn other_kernel() -> Option<&'static Kernel> {
    static KERNEL: OnceLock<Option<Kernel>> = OnceLock::new();
    KERNEL.get_or_init(fetched).as_ref()
}

fn fetched() -> Option<Kernel> {
    let folder = cache().with_file_name(format!("kernel-of-{SUITE}"));
    if !folder.is_dir() {
        let partial = tempfile::tempdir_in(folder.parent().unwrap()).unwrap();
        let mirror = std::env::var("HEADROOM_MIRROR").unwrap_or_default();
        let script = r#"set -o pipefail; mmdebstrap --quiet --variant=extract --format=tar --include=linux-image-amd64 "$1" - $3 |
            tar --extract --directory "$2" ./boot ./usr/lib/modules"#;
        let words = ["-c", script, "fetch", SUITE, partial.path().to_str().unwrap(), &mirror];
        let fetched = Command::new("bash").args(words).output().unwrap();
        if !fetched.status.success() {
            let said = String::from_utf8_lossy(&fetched.stderr).into_owned();
            skip::skip!("the kernel of {SUITE} cannot be fetched: {said}");
            return None;
        }
        fs::rename(partial.keep(), &folder).unwrap();
    }
    let boot = fs::read_dir(folder.join("boot")).unwrap().flatten().map(|entry| entry.path());
    let is_kernel =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("vmlinuz-");
    let file = boot.into_iter().find(is_kernel).unwrap();
    Some(Kernel { file, modules: folder.join("usr/lib/modules") })
}

/// A root in a folder: this program as BusyBox, and links to it.
fn root(place: &Place, name: &str, busybox: &[u8]) -> PathBuf {
    place.write(&format!("{name}/etc/release"), name);
    let bin = place.write(&format!("{name}/bin/busybox"), busybox);
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o755)).unwrap();
    for applet in ["sh", "cat", "ls"] {
        symlink("busybox", bin.with_file_name(applet)).unwrap();
    }
    // As OpenWrt has it.
    symlink("tmp", place.path(name).join("var")).unwrap();
    place.path(name)
}

/// A tar of a folder; its name says how it is packed.
fn tar(folder: &Path, tar: &Path, words: &[&str]) {
    let mut command = Command::new("tar");
    command.args(["--auto-compress", "--create", "--file"]).arg(tar).arg("--directory").arg(folder);
    assert!(command.args(words).arg(".").status().unwrap().success());
}

fn busybox() -> Vec<u8> {
    fs::read("/bin/busybox").expect("busybox-static is in packages.txt")
}

#[test]
fn a_busybox_root_on_another_releases_kernel_is_measured_and_known_by_its_content() {
    let Some(kernel) = other_kernel() else { return };
    let place = Place::with_guests();
    let folder = root(&place, "root", &busybox());
    let rootfs = place.folder("build").join("rootfs.tar.gz");
    tar(&folder, &rootfs, &[]);
    let (file, modules) = (kernel.file.to_str().unwrap(), kernel.modules.to_str().unwrap());
    let keys = format!(
        "firmware = {{ rootfs = \"build/rootfs.tar.gz\", kernel = \"{file}\", modules = \"{modules}\" }}"
    );
    let study = Study::small().access_point(&keys).unperturbed().idle().load("dump", DUMP);
    // Seven on three radios: an uneven spread comes out as planned, too.
    let study = place.run_study(&study).words("--clients 7 --json");
    let analysis = study.run().code(0).last_json();
    let [idle, dump] = ["idle", "dump"].map(|name| cpu(&analysis, name));
    assert!(dump > 2.0 * idle, "{dump} {idle}");
    let run = place.run();
    for recording in run.recordings() {
        assert_eq!(file.rsplit_once("vmlinuz-").unwrap().1, recording.facts.kernel);
    }
    run.has_clients([3, 2, 2]);
    let firmware = run.run().lab.firmware.unwrap();
    assert_eq!(sha256sum(&rootfs), firmware.sums.rootfs.as_ref().unwrap().as_str());
    let is_said = |text: &str| firmware.notes.iter().any(|note| note.starts_with(text));
    assert!(
        is_said("hostapd is Debian's (hostapd_") && !is_said("busybox"),
        "{:?}",
        firmware.notes
    );

    // The same access point by flags, for a verb that has no study.
    let files = format!("--kernel {file} --modules {modules} --quiet");
    let profile = place.headroom("profile hostapd --clients 7 --window 1s").words(&files);
    profile.words(&format!("--load '{DUMP}' --rootfs build/rootfs.tar.gz")).run().code(0);

    // Files that are gone are not missed, and a path that stands in a run leads nowhere: a pipe would never end.
    fs::remove_file(&rootfs).unwrap();
    place.pipe("build/rootfs.tar.gz");
    fs::remove_file(place.path("run/trials").join(run.trial_files().keys().next().unwrap()))
        .unwrap();
    place.resume().words("--quiet").run().code(0);
    assert_eq!(place.run().trials().len(), 4);

    let other = root(&place, "other", &busybox());
    tar(&other, &place.path("other.tar"), &[]);
    let ended = place.resume().words(&files).words("--rootfs other.tar").run();
    ended.code(3).says("was begun with another firmware (rootfs ").in_one_line();
}

#[test]
fn what_cannot_be_an_access_point_is_refused_and_nothing_is_left_of_it() {
    let Some(kernel) = other_kernel() else { return };
    let place = Place::with_guests();
    let cache = PrivateCache::copy(&place);
    let refused = |words: &str, says: &str| {
        let headroom = place.headroom("image --quiet").words(words);
        let ended = headroom.env("HEADROOM_CACHE", cache.path()).run();
        ended.code(2).says(says);
        ended
    };
    let good = root(&place, "good", &busybox());
    let path = |name: &str| place.path(name);
    tar(&good, &path("good.tar.xz"), &[]);
    tar(&good, &path("hostile.tar"), &["--transform", "s,^./etc,../etc,"]);
    let mut arm64 = busybox()[..64].to_vec();
    arm64[18..20].copy_from_slice(&183_u16.to_le_bytes());
    tar(&root(&place, "foreign", &arm64), &path("arm64.tar"), &[]);
    place.write("root.squashfs", "hsqs and what follows");
    place.write("words", "no kernel at all");
    let whole = fs::read(path("good.tar.xz")).unwrap();
    place.write("broken.tar.xz", &whole[..whole.len() / 2]);

    let image = place.headroom("image --json").env("HEADROOM_CACHE", cache.path()).run().json();
    let own = image["kernel"].as_str().unwrap();
    let other = format!(
        "--rootfs good.tar.xz --kernel {own} --modules {}",
        kernel.modules.to_str().unwrap()
    );
    for (words, says) in [
        ("--rootfs root.squashfs", "it is a squashfs; make a tar of it"),
        ("--rootfs words", "it is no whole tar"),
        ("--rootfs nowhere.tar", "cannot be read: No such file"),
        ("--rootfs broken.tar.xz", "xz cannot unpack it"),
        ("--rootfs hostile.tar", "leads out of its folder"),
        ("--rootfs arm64.tar", "say --arch arm64"),
        ("--rootfs good.tar.xz --package lldpd", "leave one"),
        ("--kernel words", "it is no kernel for x86-64"),
        ("--modules good", "name it with --kernel"),
        (&other, &format!("and the kernel is {}", image["release"].as_str().unwrap())),
        (&format!("--kernel {own} --modules good"), "it has no kernel module"),
    ] {
        refused(words, says).in_one_line();
    }
    let lacks = "it lacks, and no module of it was found (--modules DIR):";
    let ended = refused(&format!("--rootfs good.tar.xz --kernel {own}"), lacks);
    for what in ["virtio_console for", "mac80211_hwsim for simulated radios", "cfg80211 for Wi-Fi"]
    {
        ended.says(what);
    }
    let modules = r#"clients = [6] => clients = [6]\nfirmware = { modules = "good" } | run study.toml | modules are of a kernel; name it as well"#;
    place.refuses(&Study::small().idle().text(), modules);

    assert_eq!(cache.entries("firmware"), Vec::<PathBuf>::new());
    let left = fs::read_dir(cache.path().join("firmware")).unwrap().flatten();
    let left: Vec<_> = left.filter(|entry| entry.path().is_dir()).collect();
    assert!(left.is_empty(), "{left:?}");
}
