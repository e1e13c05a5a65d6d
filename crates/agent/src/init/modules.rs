//! The kernel modules, in the order that the image gives.
//!
//! Reads `/etc/headroom/modules`, for a line to the host `/etc/headroom/modules-forward`, and for a WAN side
//! `/etc/headroom/modules-wan`: one absolute path a line, then parameters if there are any, each module behind
//! those that it needs (there is no modprobe in the guest). Two modules get a parameter from here, because it
//! follows from the topology or from the country of [`hostapd`].
//!
//! [`hostapd`]: super::hostapd

use std::{fs, path::Path};

use linux::kmod;

use super::{
    console::say,
    error::{Doing, Error},
    hostapd::COUNTRY,
    topology::Topology,
};

const LIST: &str = "/etc/headroom/modules";
/// What only a machine with a line to the host needs.
const FORWARD_LIST: &str = "/etc/headroom/modules-forward";
/// What only a machine with a WAN side needs.
const WAN_LIST: &str = "/etc/headroom/modules-wan";

pub(super) fn load(topology: &Topology) -> Result<(), Error> {
    load_all(LIST, topology)?;
    if topology.forward {
        load_all(FORWARD_LIST, topology)?;
    }
    if topology.wan {
        // One that is missing is missed by the trial that needs it, which says so; the others can be run.
        load_all(WAN_LIST, topology).unwrap_or_else(say);
    }
    Ok(())
}

fn load_all(path: &str, topology: &Topology) -> Result<(), Error> {
    let list = fs::read_to_string(path).doing(|| format!("read {path}"))?;
    for module in list.lines().filter_map(Module::from_line) {
        kmod::load(Path::new(module.path), &module.parameters(topology))
            .doing(|| format!("load the module {}", module.path))?;
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Module<'a> {
    path: &'a str,
    given: &'a str,
}

impl<'a> Module<'a> {
    fn from_line(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let (path, given) = line.split_once(' ').unwrap_or((line, ""));
        (!path.is_empty()).then_some(Self { path, given: given.trim() })
    }

    fn parameters(&self, topology: &Topology) -> String {
        let ours = match Path::new(self.path).file_stem().and_then(|stem| stem.to_str()) {
            // One radio of each pair is the access point's, the other carries its clients. A P2P
            // device would double the supplicants' interfaces.
            Some("mac80211_hwsim") => {
                format!("radios={} support_p2p_device=0", 2 * topology.radios)
            }
            // The world's rules forbid to begin a network in 5 GHz.
            Some("cfg80211") => format!("ieee80211_regdom={COUNTRY}"),
            _ => String::new(),
        };
        format!("{} {ours}", self.given).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_gets_the_parameters_of_its_line_and_of_the_plan() {
        let topology = Topology::from_command_line("headroom.radios=3").unwrap();
        for (line, expected) in [
            ("/lib/modules/6/ccm.ko", ""),
            ("/lib/modules/6/ccm.ko a=1 b=2", "a=1 b=2"),
            ("/lib/mac80211_hwsim.ko channels=1", "channels=1 radios=6 support_p2p_device=0"),
        ] {
            assert_eq!(Module::from_line(line).unwrap().parameters(&topology), expected);
        }
        assert_eq!(Module::from_line("  "), None);
    }
}
