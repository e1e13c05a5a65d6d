//! Whether the clients that were planned were there, before the warm-up and after the window.
//!
//! Three parties count: the plan, the kernel (nl80211) and hostapd. A trial in which they disagree
//! measured something else than its name says, so it is invalid. Knows nothing of CPU time.

use model::{census::Census, plural::count, reading::Reading};

use crate::verdicts::Conclusion;

/// `Ok` where every party that counts agrees with the plan at both ends.
pub(crate) fn check(planned: u32, recording: &Reading) -> Result<(), String> {
    let Some([before, after]) = &recording.census else {
        return Err("nobody counted its clients".to_owned());
    };
    for (census, when) in [(before, "before the warm-up"), (after, "after the window")] {
        agrees(census, planned, false).map_err(|found| format!("{when} {}", found.sentence))?;
    }
    let of = |census: &Census| -> Vec<_> {
        let each = census.interfaces.iter();
        each.map(|each| (each.name.clone(), each.kernel.or(each.hostapd))).collect()
    };
    if of(before) != of(after) {
        return Err("clients moved between interfaces within the trial".to_owned());
    }
    Ok(())
}

/// Whether some interface's clients were counted by one party only.
pub(crate) fn one_sided(recording: &Reading) -> bool {
    let mut all = recording.census.iter().flatten().flat_map(|census| &census.interfaces);
    all.any(|each| each.kernel.is_none() != each.hostapd.is_none())
}

/// Whether the kernel and hostapd count this number of clients, interface by interface: both of them, or whichever counts.
pub(crate) fn agrees(census: &Census, clients: u32, both: bool) -> Result<(), Conclusion> {
    for each in &census.interfaces {
        let name = &each.name;
        let why = match (each.kernel, each.hostapd) {
            (Some(kernel), Some(hostapd)) if kernel != hostapd => {
                let kernel = count(kernel, "client");
                let why = format!("the kernel counts {kernel} on {name}, hostapd {hostapd}");
                return Err(Conclusion::fail(why));
            }
            (Some(_), Some(_)) => continue,
            (None, None) if !both => format!("the clients on {name} could not be counted"),
            _ if !both => continue,
            (None, _) => format!("the kernel did not count the clients on {name}"),
            (_, None) => format!("hostapd did not count the clients on {name}"),
        };
        return Err(Conclusion::invalid(why));
    }
    let found = count(census.clients(), "client");
    let why = || format!("{found} were associated, {clients} were expected");
    if census.clients() == clients { Ok(()) } else { Err(Conclusion::fail(why())) }
}
