//! Whether the clients that were planned were there, before the warm-up and after the window.
//!
//! Three parties count: the plan, the kernel (nl80211) and hostapd. A trial in which they disagree
//! measured something else than its name says, so it is invalid. Knows nothing of CPU time.

use model::plural::count;
use model::{
    reading::Reading,
    wire::{Census, InterfaceCensus},
};

/// `Ok` where every party that counts agrees with the plan at both ends.
pub(crate) fn check(planned: u32, recording: &Reading) -> Result<(), String> {
    let Some([before, after]) = &recording.census else {
        return Err("nobody counted its clients".to_owned());
    };
    agree(planned, before, "before the warm-up")?;
    agree(planned, after, "after the window")?;
    let of = |census: &Census| -> Vec<_> {
        census.interfaces.iter().map(|each| (each.name.clone(), clients_of(each))).collect()
    };
    if of(before) != of(after) {
        return Err("clients moved between interfaces within the trial".to_owned());
    }
    Ok(())
}

/// Whether some interface's clients were counted by one party only.
pub(crate) fn one_sided(recording: &Reading) -> bool {
    recording
        .census
        .iter()
        .flatten()
        .flat_map(|census| &census.interfaces)
        .any(|each| each.kernel.is_none() != each.hostapd.is_none())
}

fn agree(planned: u32, census: &Census, when: &str) -> Result<(), String> {
    for each in &census.interfaces {
        interface_agrees(each, when)?;
    }
    let found = census
        .interfaces
        .iter()
        .filter_map(clients_of)
        .fold(0u32, |sum, clients| sum.saturating_add(clients));
    if found != planned {
        return Err(format!(
            "{found} were associated {when}, {planned} were planned",
            found = count(found, "client")
        ));
    }
    Ok(())
}

fn interface_agrees(each: &InterfaceCensus, when: &str) -> Result<(), String> {
    match (each.kernel, each.hostapd) {
        (Some(kernel), Some(hostapd)) if kernel != hostapd => Err(format!(
            "{when} the kernel counts {kernel} on {}, hostapd {hostapd}",
            each.name,
            kernel = count(kernel, "client")
        )),
        (None, None) => Err(format!("{when} the clients on {} could not be counted", each.name)),
        _ => Ok(()),
    }
}

fn clients_of(each: &InterfaceCensus) -> Option<u32> {
    each.kernel.or(each.hostapd)
}
