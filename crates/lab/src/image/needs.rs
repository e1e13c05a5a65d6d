//! What a kernel must have to be a virtual access point's, as far as its file and its modules say.
//!
//! What is built in shows by a text that only the code in question has. A boot is still the last word: pid 1 says what
//! it could not do.

use super::{kernel::Kernel, modules::Index};

#[derive(Clone, Copy)]
struct Need {
    /// The module that has it; empty where it can be none.
    module: &'static str,
    /// A text of the code, in a kernel that has it built in; empty where only a module will do.
    text: &'static str,
    option: &'static str,
    what: &'static str,
}

const fn need(
    module: &'static str,
    text: &'static str,
    option: &'static str,
    what: &'static str,
) -> Need {
    Need { module, text, option, what }
}

/// Each in the order in which its absence would stop a boot. The simulated radios must be a module: their
/// number is set when it is loaded.
const NEEDS: [Need; 8] = [
    need("", "unpack rootfs image as initramfs", "CONFIG_BLK_DEV_INITRD", "a root in memory"),
    need("", "cgroup2", "CONFIG_CGROUPS", "CPU time of groups"),
    need("virtio_pci", "virtio-pci", "CONFIG_VIRTIO_PCI", "QEMU's devices"),
    need("virtio_console", "virtio-ports", "CONFIG_VIRTIO_CONSOLE", "the agent's port"),
    need("mac80211_hwsim", "", HWSIM, "simulated radios"),
    need("cfg80211", "regulatory.db", "CONFIG_CFG80211; OpenWrt: kmod-cfg80211", "Wi-Fi"),
    need("ccm", "cbcmac", "CONFIG_CRYPTO_CCM; OpenWrt: kmod-crypto-ccm", "the radios' cipher"),
    need("ctr", "rfc3686", "CONFIG_CRYPTO_CTR; OpenWrt: kmod-crypto-ctr", "the radios' cipher"),
];
const HWSIM: &str = "CONFIG_MAC80211_HWSIM=m; OpenWrt: kmod-mac80211-hwsim";

/// What an access point can do without, and what is not seen then.
const WISHES: [Need; 1] =
    [need("unix_diag", "unix_diag", "CONFIG_UNIX_DIAG", "who talks to whom by unix sockets")];

pub(super) fn missing(kernel: &Kernel, modules: &Index) -> Vec<String> {
    lacking(&NEEDS, kernel, modules).map(|need| need.line()).collect()
}

pub(super) fn unseen(kernel: &Kernel, modules: &Index) -> Vec<String> {
    let unseen = |Need { module, what, .. }: &Need| {
        format!("the kernel has no {module}: {what} is not seen")
    };
    let mut notes: Vec<String> = lacking(&WISHES, kernel, modules).map(unseen).collect();
    if kernel.has("").is_none() {
        notes.push("the kernel is packed in a way that is not known here, and slow to boot: what is built in was not looked at".to_owned());
    }
    notes
}

fn lacking<'a>(
    needs: &'a [Need],
    kernel: &Kernel,
    modules: &Index,
) -> impl Iterator<Item = &'a Need> {
    let has = |Need { module, text, .. }: &Need| {
        // What cannot be looked at is taken to be there: the boot will show it.
        modules.contains_key(*module) || !text.is_empty() && kernel.has(text).unwrap_or(true)
    };
    needs.iter().filter(move |need| !has(need)).collect::<Vec<_>>().into_iter()
}

impl Need {
    fn line(&self) -> String {
        let Self { module, text, option, what } = self;
        match (*module, *text) {
            ("", _) => format!("{what} ({option})"),
            (_, "") => format!("{module} for {what} ({option}), as a module"),
            _ => format!("{module} for {what} ({option}), neither built in nor a module"),
        }
    }
}
