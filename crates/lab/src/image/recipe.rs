//! What the guest is made of. Change anything here and the image gets another name.

use model::{architecture::Architecture, name::PackageName};

pub(super) const SUITE: &str = "bookworm";

/// What differs between the images of two architectures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    pub(super) debian: &'static str,
    kernel: &'static str,
    /// The module with the processor's own instructions for the radios' cipher.
    cipher: &'static str,
    /// Debian's folder of the architecture's libraries, below `usr/lib`.
    pub(super) libraries: &'static str,
    pub(super) loader: &'static str,
    /// What else of its packages no program of the guest reads.
    unread: &'static [&'static str],
}

impl Port {
    pub(super) const fn of(architecture: Architecture) -> Self {
        match architecture {
            Architecture::X86_64 => Self {
                debian: "amd64",
                kernel: "linux-image-amd64",
                cipher: "aesni_intel",
                libraries: "x86_64-linux-gnu",
                loader: "ld-linux-x86-64.so.2",
                unread: &[],
            },
            Architecture::Arm64 => Self {
                debian: "arm64",
                kernel: "linux-image-arm64",
                cipher: "aes_ce_ccm",
                libraries: "aarch64-linux-gnu",
                loader: "ld-linux-aarch64.so.1",
                // Device trees of boards; the guest's is QEMU's own.
                unread: &["usr/lib/linux-image-"],
            },
        }
    }

    fn packages(&self) -> Vec<&'static str> {
        words(PACKAGES)
            .into_iter()
            .map(|name| if name == KERNEL { self.kernel } else { name })
            .collect()
    }

    pub(super) fn modules(&self) -> Vec<&'static str> {
        MODULES.into_iter().map(|name| if name == CIPHER { self.cipher } else { name }).collect()
    }

    /// Beginnings of paths that no program of the guest reads.
    pub(super) fn left_out(&self) -> Vec<String> {
        self.placed(&[&words(LEFT_OUT), self.unread].concat())
    }

    /// Of these, what programs of packages that a user adds are linked with.
    pub(super) fn kept_for_more(&self) -> Vec<String> {
        self.placed(&KEPT_FOR_MORE)
    }

    fn placed(&self, paths: &[&str]) -> Vec<String> {
        paths.iter().map(|path| path.replace(LIBRARIES, self.libraries)).collect()
    }

    /// All of the recipe but our own programs as one text, for the base's name.
    pub(super) fn text(&self) -> String {
        let (packages, modules, left_out) = (self.packages(), self.modules(), self.left_out());
        let folders = folders();
        format!(
            "5 {SUITE} {packages:?} {modules:?} {FORWARD_MODULES:?} {WAN_MODULES:?} {left_out:?} {folders:?} {LINKS:?} {FILES:?}"
        )
    }

    /// Whether the accounts of a package are among those of the image.
    pub(super) fn has_accounts_of(&self, package: &str) -> bool {
        words(ADDED).contains(&package) || self.packages().contains(&package)
    }

    /// Files of our own in an image with more packages than ours, or without.
    pub(super) fn files(&self, for_more: bool) -> impl Iterator<Item = (&'static str, String)> {
        let (users, groups) = if for_more { (ADDED_USERS, ADDED_GROUPS) } else { ("", "") };
        let of_more = [(PACKAGE_FOLDERS, ADDED_FOLDERS.to_owned())];
        let own = FILES.into_iter().map(move |(name, text)| match name {
            PASSWD => (name, format!("{text}{USERS}{users}")),
            GROUP => (name, format!("{text}{GROUPS}{groups}")),
            _ => (name, text.to_owned()),
        });
        own.chain(of_more.into_iter().filter(move |_| for_more))
    }

    pub(super) fn packages_with<'a>(&self, more: &'a [PackageName]) -> Vec<&'a str> {
        self.packages().into_iter().chain(more.iter().map(PackageName::as_str)).collect()
    }
}

/// Stands for what a [`Port`] has in its place.
const KERNEL: &str = "KERNEL";
const CIPHER: &str = "CIPHER";
const LIBRARIES: &str = "LIBRARIES";

const PACKAGES: &str = "bash busybox-static coreutils dash hostapd iperf3 iproute2 iputils-ping iw KERNEL ncurses-base \
    procps prometheus-node-exporter socat stress-ng tcpdump wireless-regdb wpasupplicant";

/// Kernel modules that pid 1 loads; what they depend on is found in them. The guest has no modprobe
/// helper, so the ciphers that mac80211 asks for are named here, and what tells of unix sockets.
const MODULES: [&str; 8] =
    ["virtio_pci", "virtio_console", CIPHER, "ccm", "ctr", "cmac", "mac80211_hwsim", "unix_diag"];

/// Modules that pid 1 loads only where the guest has a line to the host: never in a measured one.
pub(super) const FORWARD_MODULES: [&str; 1] = ["virtio_net"];

/// Modules that pid 1 loads only where the guest has a WAN side: its link, a link that is slower than the
/// radio, and translated addresses, which need a sum that their code asks for by name; and the interfaces that
/// txd drives.
pub(super) const WAN_MODULES: [&str; 7] =
    ["veth", "sch_tbf", "crc32c_generic", "nf_tables", "nft_chain_nat", "nft_masq", "tun"];

/// Our own programs, as the build names them, and where the guest has them.
pub(super) const PROGRAMS: [(&str, &str); 7] = [
    (INIT, "init"),
    (AGENT, "sbin/headroom-agent"),
    ("stationd", "usr/sbin/stationd"),
    ("guard", "usr/sbin/guard"),
    ("txd", "usr/sbin/txd"),
    ("station-monitor", "usr/bin/station-monitor"),
    ("station-floor", "usr/bin/station-floor"),
];

pub(super) const INIT: &str = "headroom-init";
/// How many of them, the first, replace what a user's own root has there.
pub(super) const ALWAYS_OURS: usize = 2;

/// The one of them that a run's identity names.
pub(super) const AGENT: &str = "headroom-agent";

/// Programs of Debian's that an access point has beside a root that has none of their name: what a person, a study or
/// the agent calls, where it lies in the packages, and the package.
pub(super) const TOOLS: [(&str, &str, &str); 10] = [
    ("hostapd", "usr/sbin/hostapd", "hostapd"),
    ("hostapd_cli", "usr/sbin/hostapd_cli", "hostapd"),
    ("iw", "sbin/iw", "iw"),
    ("ip", "bin/ip", "iproute2"),
    ("iperf3", "usr/bin/iperf3", "iperf3"),
    ("socat", "usr/bin/socat", "socat"),
    ("stress-ng", "usr/bin/stress-ng", "stress-ng"),
    ("tcpdump", "usr/bin/tcpdump", "tcpdump"),
    ("prometheus-node-exporter", "usr/bin/prometheus-node-exporter", "prometheus-node-exporter"),
    BUSYBOX,
];
/// The one of them that needs no library, and is the shell where there is no other.
pub(super) const BUSYBOX: (&str, &str, &str) = ("busybox", "bin/busybox", "busybox-static");

/// What the clients are, whatever the access point is: devices of other people's.
pub(super) const CLIENTS: (&str, &str, &str) =
    ("wpa_supplicant", "sbin/wpa_supplicant", "wpasupplicant");

/// The rules of the air, as the kernel asks for them, and where the packages have them.
pub(super) const REGULATIONS: [(&str, &str); 2] = [
    ("lib/firmware/regulatory.db", "lib/firmware/regulatory.db-upstream"),
    ("lib/firmware/regulatory.db.p7s", "lib/firmware/regulatory.db.p7s-upstream"),
];

/// Symbolic links that the packages' install scripts would have made.
pub(super) const LINKS: [(&str, &str); 3] = [
    ("lib/firmware/regulatory.db", "regulatory.db-upstream"),
    ("lib/firmware/regulatory.db.p7s", "regulatory.db.p7s-upstream"),
    ("var/run", "/run"),
];

/// Beginnings of paths that no program of the guest reads. The root lives in memory and in every
/// snapshot, so what is not needed costs on each trial.
const LEFT_OUT: &str = "bin/udevadm boot/ dev/ headroom-scripts/ lib/modules/ lib/systemd/ lib/udev/ sbin/devlink \
    usr/bin/dpkg usr/bin/perl usr/include/ usr/lib/LIBRARIES/gconv/ usr/lib/LIBRARIES/libdb-5 usr/lib/LIBRARIES/libperl \
    usr/lib/LIBRARIES/perl-base/ usr/lib/LIBRARIES/perl/ usr/share/ usr/src/ var/cache/ var/lib/apt/ var/lib/dpkg/";

/// Of these, what a user's own packages may need.
const KEPT_FOR_MORE: [&str; 3] =
    ["usr/lib/LIBRARIES/libdb-5", "usr/lib/LIBRARIES/libperl", "usr/share/perf"];

const FOLDERS: &str = "dev etc etc/headroom mnt proc root run sbin sys tmp usr usr/sbin var";

pub(super) fn folders() -> Vec<&'static str> {
    words(FOLDERS)
}

fn words(list: &'static str) -> Vec<&'static str> {
    list.split_ascii_whitespace().collect()
}

const PASSWD: &str = "etc/passwd";
const GROUP: &str = "etc/group";

/// The list of folders that pid 1 makes: those below `/run` would not outlive a boot.
const PACKAGE_FOLDERS: &str = "etc/headroom/folders";

/// Accounts that the install scripts of our packages would have made. They do not run.
const USERS: &str = "\
iperf3:x:110:110::/nonexistent:/bin/false
prometheus:x:112:112::/var/lib/prometheus:/bin/false
tcpdump:x:113:113::/nonexistent:/bin/false
";
const GROUPS: &str = "\
iperf3:x:110:
shadow:x:111:
prometheus:x:112:
tcpdump:x:113:
input:x:114:
sgx:x:115:
kvm:x:116:
render:x:117:
";

/// Packages that come with ours, or that studies add, and whose install scripts make accounts and folders: these.
const ADDED: &str =
    "dbus-system-bus-common dnsmasq-base lldpd openssh-client openssh-server passwd snmpd udev";
pub(super) const ADDED_USERS: &str = "\
_lldpd:x:120:120::/run/lldpd:/bin/false
sshd:x:121:121::/run/sshd:/bin/false
Debian-snmp:x:122:122::/var/lib/snmp:/bin/false
dnsmasq:x:123:123::/var/lib/misc:/bin/false
messagebus:x:124:124::/nonexistent:/bin/false
";
const ADDED_GROUPS: &str = "\
_lldpd:x:120:
sshd:x:121:
Debian-snmp:x:122:
dnsmasq:x:123:
messagebus:x:124:
_ssh:x:125:
";
pub(super) const ADDED_FOLDERS: &str = "\
make - - - /run/agentx
make - - - /run/dbus
make - 123 65534 /run/dnsmasq
make 755 - - /run/sshd
keep - 112 112 /var/lib/prometheus
keep - 122 122 /var/lib/snmp
keep - 122 122 /var/lib/snmp/snmpd.conf
";

/// Files of our own that are the same in every image.
pub(super) const FILES: [(&str, &str); 3] = [
    (PASSWD, "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
    (GROUP, "root:x:0:\nadm:x:4:\nnetdev:x:101:\nnogroup:x:65534:\n"),
    ("etc/hosts", "127.0.0.1 localhost headroom\n"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache;

    /// Bases that people have stay theirs: another text would be another name.
    #[test]
    fn the_recipe_of_x86_64_has_the_name_that_it_had() {
        let text = Port::of(Architecture::X86_64).text();
        assert_eq!(cache::key([&*text]), "83f6b7f70bdb4c2658671963bdcb0fcd");
    }

    #[test]
    fn nothing_of_one_architecture_is_in_the_recipe_of_another() {
        let text = Port::of(Architecture::Arm64).text();
        assert!(
            text.contains("linux-image-arm64") && text.contains("usr/lib/aarch64-linux-gnu/perl/")
        );
        for word in ["amd64", "x86", "aesni", KERNEL, CIPHER, LIBRARIES] {
            assert!(!text.contains(word), "{word}");
        }
    }
}
