//! Writes hostapd's configuration, one file a radio, and says how it is started.
//!
//! It decides no channels: [`Topology`] does.

use std::{fmt::Write as _, fs};

use super::{
    error::{Doing, Error},
    mounts::STATE,
    services::Service,
    shell,
    topology::{Channel, Topology},
};

/// The country whose radio rules hold: it allows 80 MHz at both ends of 5 GHz without radar
/// detection.
pub(super) const COUNTRY: &str = "US";
/// The key itself, so that nobody has to derive it from a passphrase (4096 rounds a client).
pub(super) const KEY: &str = "68656164726f6f6d2d6e6574776f726b68656164726f6f6d2d6e6574776f726b";
const PROGRAM: &str = "/usr/sbin/hostapd";
const SOCKETS: &str = "/run/hostapd";

pub(super) fn network_name(radio: u32) -> String {
    format!("headroom-{radio}")
}

/// Writes the configurations and says how to start hostapd on them.
pub(super) fn prepare(topology: &Topology) -> Result<Service, Error> {
    let mut files = Vec::new();
    for radio in 0..topology.radios {
        let path = format!("{STATE}/hostapd-wlan{radio}.conf");
        let text = configuration(radio, topology.channel(radio));
        fs::write(&path, text).doing(|| format!("write {path}"))?;
        files.push(path);
    }
    let program = shell::program("hostapd", PROGRAM);
    let arguments = files.into_iter().map(Into::into).collect();
    Ok(Service { arguments, ..Service::new("hostapd", program) })
}

fn configuration(radio: u32, channel: Channel) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = write!(
        text,
        "interface=wlan{radio}\n\
         driver=nl80211\n\
         ctrl_interface={SOCKETS}\n\
         logger_syslog=0\n\
         logger_stdout=-1\n\
         logger_stdout_level=2\n\
         ssid={ssid}\n\
         utf8_ssid=1\n\
         country_code={COUNTRY}\n\
         ieee80211d=1\n\
         beacon_int=100\n\
         dtim_period=2\n\
         max_num_sta=2007\n\
         wmm_enabled=1\n\
         auth_algs=1\n\
         wpa=2\n\
         wpa_key_mgmt=WPA-PSK\n\
         rsn_pairwise=CCMP\n\
         wpa_psk={KEY}\n\
         wpa_group_rekey=0\n\
         wpa_ptk_rekey=0\n\
         ap_max_inactivity=300\n\
         skip_inactivity_poll=0\n\
         disassoc_low_ack=0\n\
         channel={number}\n",
        ssid = network_name(radio),
        number = channel.number,
    );
    text.push_str(&band(channel));
    text
}

fn band(channel: Channel) -> String {
    if channel.megahertz < 3000 {
        return "hw_mode=g\nieee80211n=1\nht_capab=[SHORT-GI-20]\n".into();
    }
    let (wide, centre) = match channel.width_megahertz {
        80 => ("[HT40+]", channel.number + 6),
        40 if is_lower_half(channel.number) => ("[HT40+]", channel.number + 2),
        40 => ("[HT40-]", channel.number - 2),
        _ => ("", channel.number),
    };
    let vht_width = u32::from(channel.width_megahertz == 80);
    format!(
        "hw_mode=a\n\
         ieee80211n=1\n\
         ht_capab={wide}[SHORT-GI-20][SHORT-GI-40]\n\
         ieee80211ac=1\n\
         vht_capab=[SHORT-GI-80]\n\
         vht_oper_chwidth={vht_width}\n\
         vht_oper_centr_freq_seg0_idx={centre}\n"
    )
}

/// Whether a 5 GHz channel is the lower of the two that a 40 MHz channel joins.
fn is_lower_half(number: u32) -> bool {
    let first = if number >= 149 { 149 } else { 36 };
    ((number - first) / 4).is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(radios: u32, radio: u32) -> String {
        let line = format!("headroom.radios={radios}");
        configuration(radio, Topology::from_command_line(&line).unwrap().channel(radio))
    }

    #[test]
    fn a_radio_is_802_11n_in_2_4_ghz_or_as_wide_in_5_ghz_as_their_number_allows() {
        for (radios, radio, lines) in [
            (3, 0, &["interface=wlan0", "channel=1\nhw_mode=g\nieee80211n=1"][..]),
            (3, 1, &["channel=36\nhw_mode=a", "chwidth=1", "seg0_idx=42"]),
            (3, 2, &["channel=149\nhw_mode=a", "chwidth=1", "seg0_idx=155"]),
            (8, 5, &["channel=40\nhw_mode=a", "chwidth=0", "ht_capab=[SHORT-GI-20]"]),
        ] {
            let text = text(radios, radio);
            for line in lines {
                assert!(text.contains(line), "{line}: {text}");
            }
            assert_eq!(text.contains("ieee80211ac=1"), radio > 0);
        }
    }
}
