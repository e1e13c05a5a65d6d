//! What the guest is made of. Change anything here and the image gets another name.

use model::name::PackageName;

/// The Debian release that the guest is.
pub(super) const SUITE: &str = "bookworm";

/// The packages that it is made from, alongside what they depend on.
pub(super) const PACKAGES: [&str; 18] = [
    "bash",
    "busybox-static",
    "coreutils",
    "dash",
    "hostapd",
    "iperf3",
    "iproute2",
    "iputils-ping",
    "iw",
    "linux-image-amd64",
    "ncurses-base",
    "procps",
    "prometheus-node-exporter",
    "socat",
    "stress-ng",
    "tcpdump",
    "wireless-regdb",
    "wpasupplicant",
];

/// Kernel modules that pid 1 loads; what they depend on is found in them. The guest has no modprobe
/// helper, so the ciphers that mac80211 asks for are named here, and what tells of unix sockets.
pub(super) const MODULES: [&str; 8] = [
    "virtio_pci",
    "virtio_console",
    "aesni_intel",
    "ccm",
    "ctr",
    "cmac",
    "mac80211_hwsim",
    "unix_diag",
];

/// Modules that pid 1 loads only where the guest has a line to the host: never in a measured one.
pub(super) const FORWARD_MODULES: [&str; 1] = ["virtio_net"];

/// Modules that pid 1 loads only where the guest has a WAN side: its link, a link that is slower than the
/// radio, and translated addresses, which need a sum that their code asks for by name; and the interfaces that
/// txd drives.
pub(super) const WAN_MODULES: [&str; 7] =
    ["veth", "sch_tbf", "crc32c_generic", "nf_tables", "nft_chain_nat", "nft_masq", "tun"];

/// Our own programs, as the build names them, and where the guest has them.
pub(super) const PROGRAMS: [(&str, &str); 7] = [
    ("headroom-init", "init"),
    (AGENT, "sbin/headroom-agent"),
    ("stationd", "usr/sbin/stationd"),
    ("guard", "usr/sbin/guard"),
    ("txd", "usr/sbin/txd"),
    ("station-monitor", "usr/bin/station-monitor"),
    ("station-floor", "usr/bin/station-floor"),
];

/// The one of them that a run's identity names.
pub(super) const AGENT: &str = "headroom-agent";

/// Symbolic links that the packages' install scripts would have made.
pub(super) const LINKS: [(&str, &str); 3] = [
    ("lib/firmware/regulatory.db", "regulatory.db-upstream"),
    ("lib/firmware/regulatory.db.p7s", "regulatory.db.p7s-upstream"),
    ("var/run", "/run"),
];

/// Beginnings of paths that no program of the guest reads. The root lives in memory and in every
/// snapshot, so what is not needed costs on each trial.
pub(super) const LEFT_OUT: [&str; 21] = [
    "bin/udevadm",
    "boot/",
    "dev/",
    "headroom-scripts/",
    "lib/modules/",
    "lib/systemd/",
    "lib/udev/",
    "sbin/devlink",
    "usr/bin/dpkg",
    "usr/bin/perl",
    "usr/include/",
    "usr/lib/x86_64-linux-gnu/gconv/",
    "usr/lib/x86_64-linux-gnu/libdb-5",
    "usr/lib/x86_64-linux-gnu/libperl",
    "usr/lib/x86_64-linux-gnu/perl-base/",
    "usr/lib/x86_64-linux-gnu/perl/",
    "usr/share/",
    "usr/src/",
    "var/cache/",
    "var/lib/apt/",
    "var/lib/dpkg/",
];

/// Of these, what is kept where somebody adds packages: programs of others are linked with it.
pub(super) const KEPT_FOR_MORE: [&str; 3] =
    ["usr/lib/x86_64-linux-gnu/libdb-5", "usr/lib/x86_64-linux-gnu/libperl", "usr/share/perf"];

/// The packages of an image with more than ours.
pub(super) fn packages(more: &[PackageName]) -> Vec<&str> {
    PACKAGES.into_iter().chain(more.iter().map(PackageName::as_str)).collect()
}

/// Folders that must exist, whether a package brings them or not.
pub(super) const FOLDERS: [&str; 13] = [
    "dev",
    "etc",
    "etc/headroom",
    "mnt",
    "proc",
    "root",
    "run",
    "sbin",
    "sys",
    "tmp",
    "usr",
    "usr/sbin",
    "var",
];

/// The accounts; those that packages ask for come behind.
pub(super) const PASSWD: &str = "etc/passwd";

/// Their groups.
pub(super) const GROUP: &str = "etc/group";

/// Folders that packages ask for, for pid 1: those below `/run` would not outlive a boot.
pub(super) const PACKAGE_FOLDERS: &str = "etc/headroom/folders";

/// Files of our own that are the same in every image.
pub(super) const FILES: [(&str, &str); 3] = [
    (PASSWD, "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
    (GROUP, "root:x:0:\nadm:x:4:\nnetdev:x:101:\nnogroup:x:65534:\n"),
    ("etc/hosts", "127.0.0.1 localhost headroom\n"),
];

/// Everything above but our own programs as one text, for the base's name.
pub(super) fn text() -> String {
    format!(
        "5 {SUITE} {PACKAGES:?} {MODULES:?} {FORWARD_MODULES:?} {WAN_MODULES:?} {LEFT_OUT:?} {FOLDERS:?} {LINKS:?} {FILES:?}"
    )
}
