//! Firmware of somebody's own as the virtual access point: a root that is BusyBox alone, and the kernel of another
//! Debian release, which is fetched once and kept beside the cache.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use crate::harness::{Place, PrivateCache, Study, cache, cpu};

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
    let root = place.folder(name);
    let bin = root.join("bin");
    fs::create_dir(&bin).unwrap();
    fs::create_dir(root.join("etc")).unwrap();
    fs::write(root.join("etc/release"), name).unwrap();
    fs::write(bin.join("busybox"), busybox).unwrap();
    fs::set_permissions(bin.join("busybox"), fs::Permissions::from_mode(0o755)).unwrap();
    for applet in ["sh", "cat", "ls"] {
        symlink("busybox", bin.join(applet)).unwrap();
    }
    // As OpenWrt has it.
    symlink("tmp", root.join("var")).unwrap();
    root
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
    let study = place.run_study(&study).words(["--clients", "7", "--json"]);
    let analysis = study.run().code(0).last_json();
    let [idle, dump] = ["idle", "dump"].map(|name| cpu(&analysis, name));
    assert!(dump > 2.0 * idle, "{dump} {idle}");
    let run = place.run();
    for recording in run.recordings() {
        assert_eq!(file.rsplit_once("vmlinuz-").unwrap().1, recording.facts.kernel);
    }
    run.has_clients([3, 2, 2]);
    let firmware = run.run().lab.firmware.unwrap();
    let sum = Command::new("sha256sum").arg(&rootfs).output().unwrap().stdout;
    assert!(sum.starts_with(firmware.sums.rootfs.as_ref().unwrap().as_bytes()));
    let is_said = |text: &str| firmware.notes.iter().any(|note| note.starts_with(text));
    assert!(
        is_said("hostapd is Debian's (hostapd_") && !is_said("busybox"),
        "{:?}",
        firmware.notes
    );

    // The same access point by flags, for a verb that has no study.
    let profile = place.headroom(["profile", "hostapd", "--clients", "7", "--window", "1s"]);
    let profile = profile.words(["--load", DUMP, "--rootfs", "build/rootfs.tar.gz"]);
    profile.words(["--kernel", file, "--modules", modules, "--quiet"]).run().code(0);

    // Files that are gone are not missed, and a path that stands in a run leads nowhere: a pipe would never end.
    fs::remove_file(&rootfs).unwrap();
    assert!(Command::new("mkfifo").arg(&rootfs).status().unwrap().success());
    fs::remove_file(place.path("run/trials").join(run.trial_files().keys().next().unwrap()))
        .unwrap();
    place.resume().words(["--quiet"]).run().code(0);
    assert_eq!(place.run().trials().len(), 4);

    let other = root(&place, "other", &busybox());
    tar(&other, &place.path("other.tar"), &[]);
    let words = ["--rootfs", "other.tar", "--kernel", file, "--modules", modules, "--quiet"];
    let ended = place.resume().words(words).run();
    ended.code(3).says("was begun with another firmware (rootfs ").in_one_line();
    assert_eq!(place.left(), []);
}

#[test]
fn what_cannot_be_an_access_point_is_refused_and_nothing_is_left_of_it() {
    let Some(kernel) = other_kernel() else { return };
    let place = Place::with_guests();
    let cache = PrivateCache::copy(&place);
    let refused = |words: &[&str]| {
        let headroom = place.headroom(["image", "--quiet"]).words(words.iter().copied());
        let ended = headroom.env("HEADROOM_CACHE", cache.path()).run();
        ended.code(2);
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
    let broken = fs::read(path("good.tar.xz")).unwrap();
    fs::write(path("broken.tar.xz"), &broken[..broken.len() / 2]).unwrap();

    refused(&["--rootfs", "root.squashfs"])
        .says("it is a squashfs; make a tar of it")
        .in_one_line();
    refused(&["--rootfs", "words"]).says("it is no whole tar").in_one_line();
    refused(&["--rootfs", "nowhere.tar"]).says("cannot be read: No such file").in_one_line();
    refused(&["--rootfs", "broken.tar.xz"]).says("xz cannot unpack it").in_one_line();
    refused(&["--rootfs", "hostile.tar"]).says("leads out of its folder").in_one_line();
    refused(&["--rootfs", "arm64.tar"]).says("say --arch arm64").in_one_line();
    refused(&["--rootfs", "good.tar.xz", "--package", "lldpd"]).says("leave one").in_one_line();
    refused(&["--kernel", "words"]).says("it is no kernel for x86-64").in_one_line();
    refused(&["--modules", "good"]).says("name it with --kernel").in_one_line();

    let image =
        place.headroom(["image", "--json"]).env("HEADROOM_CACHE", cache.path()).run().json();
    let own = image["kernel"].as_str().unwrap();
    let modules = kernel.modules.to_str().unwrap();
    refused(&["--rootfs", "good.tar.xz", "--kernel", own, "--modules", modules])
        .says(&format!("and the kernel is {}", image["release"].as_str().unwrap()))
        .in_one_line();
    refused(&["--kernel", own, "--modules", "good"]).says("it has no kernel module").in_one_line();
    let ended = refused(&["--rootfs", "good.tar.xz", "--kernel", own]);
    ended.says("it lacks, and no module of it was found (--modules DIR):");
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
    assert_eq!(place.left(), []);
}
