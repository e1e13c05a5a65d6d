//! The networks of the machine's own simulated access points, as clients must know them.
//!
//! Name and channel are the kernel's words; the key is read where hostapd read it: in the file that its command line names, or
//! where systems put those files. Nothing of it leaves the machine.

use std::{
    fs,
    path::{Path, PathBuf},
};

use linux::nl80211::{Interface, InterfaceKind, Wiphy};

use super::spare;
use crate::{
    subject,
    supplicant::{Key, Network},
};

/// A network that a client can join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Joinable(pub(super) Network);

/// Where systems put what they start hostapd with, whatever its command line says: OpenWrt's is told by ubus.
const FOLDERS: [&str; 3] = ["/var/run", "/run/headroom", "/etc/hostapd"];

/// The networks of all access points on simulated radios, one a radio, in the kernel's order.
///
/// # Errors
///
/// That there is none, or that a key is not known.
pub(super) fn joinable(
    interfaces: &[Interface],
    wiphys: &[Wiphy],
) -> Result<Vec<Joinable>, String> {
    let simulated = |index: u32| {
        let mut own = wiphys.iter().filter(|wiphy| wiphy.index == index);
        own.any(|wiphy| spare::is_simulated(&wiphy.name))
    };
    let mut all: Vec<(u32, Joinable)> = Vec::new();
    let texts = configurations();
    for one in interfaces.iter().filter(|one| one.kind == InterfaceKind::AccessPoint) {
        let (Some(ssid), Some(channel)) = (&one.ssid, one.channel) else { continue };
        if !simulated(one.wiphy) || all.iter().any(|(wiphy, _)| *wiphy == one.wiphy) {
            continue;
        }
        let key = texts.iter().find_map(|text| key_of(text, &one.name));
        let key = key.ok_or_else(|| {
            format!(
                "no configuration of hostapd was found that says how a client gets into {}",
                one.name
            )
        })?;
        let network = Network { ssid: ssid.clone(), megahertz: channel.frequency_mhz, key };
        all.push((one.wiphy, Joinable(network)));
    }
    if all.is_empty() {
        return Err(
            "no access point is on the air on a simulated radio (mac80211_hwsim)".to_owned()
        );
    }
    Ok(all.into_iter().map(|(_, network)| network).collect())
}

/// The texts that hostapd may have read.
fn configurations() -> Vec<String> {
    let pids = subject::pids_of("hostapd").unwrap_or_default();
    let named = pids.iter().flat_map(|pid| named_by(*pid));
    let usual = FOLDERS.iter().flat_map(|folder| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.starts_with("hostapd") && name.ends_with(".conf")
        })
    });
    named.chain(usual).filter_map(|path| fs::read_to_string(path).ok()).collect()
}

/// The files that a process's command line names.
fn named_by(pid: u32) -> Vec<PathBuf> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let folder = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    let words = words.split(|byte| *byte == 0).skip(1);
    let words = words.map(|word| String::from_utf8_lossy(word).into_owned());
    words
        .filter(|word| !word.is_empty() && !word.starts_with('-'))
        .map(|word| folder.join(Path::new(&word)))
        .collect()
}

/// What lets a client into an interface's network, by a configuration of hostapd: keys belong to the `interface=` or `bss=` above
/// them. `None` where it does not name the interface, or asks for what clients of ours cannot.
fn key_of(text: &str, interface: &str) -> Option<Key> {
    let mut is_own = false;
    let (mut found, mut wpa, mut suites) = (false, false, String::new());
    let (mut psk, mut phrase, mut password) = (None, None, None);
    for line in text.lines() {
        let Some((key, value)) = line.trim_start().split_once('=') else { continue };
        match key {
            "interface" | "bss" => {
                is_own = value == interface;
                found |= is_own;
            }
            _ if !is_own => {}
            "wpa" => wpa = value.trim() != "0",
            "wpa_key_mgmt" => suites = value.to_owned(),
            "wpa_psk" => psk = Some(value.trim().to_owned()),
            "wpa_passphrase" => phrase = Some(value.to_owned()),
            "sae_password" => {
                password = Some(value.split('|').next().unwrap_or_default().to_owned())
            }
            _ => {}
        }
    }
    let has = |suite: &str| suites.split_whitespace().any(|one| one == suite);
    match (found, wpa, psk, phrase) {
        (false, ..) => None,
        (true, false, ..) => Some(Key::Open),
        (true, true, Some(psk), _) if suites.is_empty() || has("WPA-PSK") => Some(Key::Psk(psk)),
        (true, true, _, Some(phrase)) if suites.is_empty() || has("WPA-PSK") => {
            Some(Key::Passphrase(phrase))
        }
        (true, true, _, phrase) if has("SAE") => password.or(phrase).map(Key::Sae),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_belongs_to_the_interface_above_it() {
        let text = "interface=wlan0\nssid=a\nwpa=2\nwpa_key_mgmt=WPA-PSK\nwpa_passphrase=a secret = one\n\
                    bss=wlan0-1\nssid=guests\n\
                    bss=wlan0-2\nwpa=2\nwpa_key_mgmt=SAE\nsae_password=three|mac=ff:ff:ff:ff:ff:ff\n\
                    bss=wlan0-3\nwpa=2\nwpa_key_mgmt=WPA-EAP\n";
        assert_eq!(key_of(text, "wlan0"), Some(Key::Passphrase("a secret = one".to_owned())));
        assert_eq!(key_of(text, "wlan0-1"), Some(Key::Open));
        assert_eq!(key_of(text, "wlan0-2"), Some(Key::Sae("three".to_owned())));
        assert_eq!(key_of(text, "wlan0-3"), None, "nobody of ours has a certificate");
        assert_eq!(key_of(text, "wlan1"), None);
        let key = "00ff".repeat(16);
        let text = format!("# ours\ninterface=wlan0\nwpa=2\nwpa_psk={key}\n");
        assert_eq!(key_of(&text, "wlan0"), Some(Key::Psk(key)));
    }
}
