//! What a kernel must have to be a virtual access point's, as far as its file and its modules say.
//!
//! What is built in shows by a text that only the code in question has. A boot is still the last word: pid 1 says what
//! it could not do.

use super::{kernel::Kernel, modules::Index};

struct Need {
    /// The module that has it, where it can be one.
    module: Option<&'static str>,
    /// A text of the code, in a kernel that has it built in; none where only a module will do.
    text: Option<&'static str>,
    /// How a kernel gets it.
    option: &'static str,
    what: &'static str,
}

const fn need(
    module: Option<&'static str>,
    text: Option<&'static str>,
    option: &'static str,
    what: &'static str,
) -> Need {
    Need { module, text, option, what }
}

/// Each in the order in which its absence would stop a boot.
const NEEDS: [Need; 8] = [
    need(
        None,
        Some("unpack rootfs image as initramfs"),
        "CONFIG_BLK_DEV_INITRD",
        "a root in memory",
    ),
    need(None, Some("cgroup2"), "CONFIG_CGROUPS", "CPU time of groups"),
    need(Some("virtio_pci"), Some("virtio-pci"), "CONFIG_VIRTIO_PCI", "QEMU's devices"),
    need(Some("virtio_console"), Some("virtio-ports"), "CONFIG_VIRTIO_CONSOLE", "the agent's port"),
    need(
        Some("mac80211_hwsim"),
        // It is told how many radios it has when it is loaded.
        None,
        "CONFIG_MAC80211_HWSIM=m; OpenWrt: kmod-mac80211-hwsim",
        "simulated radios",
    ),
    need(
        Some("cfg80211"),
        Some("regulatory.db"),
        "CONFIG_CFG80211; OpenWrt: kmod-cfg80211",
        "Wi-Fi",
    ),
    need(
        Some("ccm"),
        Some("cbcmac"),
        "CONFIG_CRYPTO_CCM; OpenWrt: kmod-crypto-ccm",
        "the radios' cipher",
    ),
    need(
        Some("ctr"),
        Some("rfc3686"),
        "CONFIG_CRYPTO_CTR; OpenWrt: kmod-crypto-ctr",
        "the radios' cipher",
    ),
];

/// What an access point can do without, and what is not seen then.
const WISHES: [Need; 1] = [need(
    Some("unix_diag"),
    Some("unix_diag"),
    "CONFIG_UNIX_DIAG",
    "who talks to whom by unix sockets",
)];

pub(super) fn missing(kernel: &Kernel, modules: &Index) -> Vec<String> {
    lacking(&NEEDS, kernel, modules).map(|need| need.line()).collect()
}

/// What is not seen on an access point with this kernel, one line each.
pub(super) fn unseen(kernel: &Kernel, modules: &Index) -> Vec<String> {
    let unseen =
        |need: &Need| format!("the kernel has no {}: {} is not seen", need.name(), need.what);
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
    let has = |need: &&Need| {
        let is_module = need.module.is_some_and(|module| modules.contains_key(module));
        // What cannot be looked at is taken to be there: the boot will show it.
        is_module || need.text.is_some_and(|text| kernel.has(text).unwrap_or(true))
    };
    needs.iter().filter(move |need| !has(need)).collect::<Vec<_>>().into_iter()
}

impl Need {
    fn name(&self) -> &'static str {
        self.module.or(self.text).unwrap_or_default()
    }

    fn line(&self) -> String {
        let Self { module, text, option, what } = self;
        match (module, text) {
            (Some(module), Some(_)) => {
                format!("{module} for {what} ({option}), neither built in nor a module")
            }
            (Some(module), None) => format!("{module} for {what} ({option}), as a module"),
            (None, _) => format!("{what} ({option})"),
        }
    }
}
