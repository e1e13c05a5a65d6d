//! Radios that the kernel simulates and that nobody uses.
//!
//! Talks to `/sys/class/ieee80211`. Moves none.

use std::{
    fs,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use linux::nl80211::{Interface, InterfaceKind, Nl80211, Wiphy};

/// The kernel takes a radio back within so much time.
const RETURN: Duration = Duration::from_millis(500);

/// The numbers of simulated radios that carry no access point and no connected interface.
pub(super) fn radios(interfaces: &[Interface], wiphys: &[Wiphy]) -> Vec<u32> {
    let is_free = |wiphy: &&Wiphy| {
        let mut own = interfaces.iter().filter(|one| one.wiphy == wiphy.index);
        is_simulated(&wiphy.name) && own.all(is_idle)
    };
    wiphys.iter().filter(is_free).map(|wiphy| wiphy.index).collect()
}

/// An interface that is on no channel: hwsim gives each radio one, which nobody has set up.
fn is_idle(interface: &Interface) -> bool {
    interface.kind == InterfaceKind::Station && interface.channel.is_none()
}

/// Whether a radio is mac80211_hwsim's.
pub(super) fn is_simulated(wiphy: &str) -> bool {
    let place = Path::new("/sys/class/ieee80211").join(wiphy);
    fs::canonicalize(place).is_ok_and(|path| path.to_string_lossy().contains("mac80211_hwsim"))
}

/// Waits a moment until the kernel lists as many radios as there are in `/sys`, where it lists those of this namespace.
pub(super) fn await_return() {
    let until = Instant::now() + RETURN;
    let count = || Nl80211::open().ok()?.wiphys().ok().map(|all| all.len());
    let mut before = count();
    // Done once nothing has come for a tenth of it.
    while Instant::now() < until {
        sleep(RETURN / 10);
        let now = count();
        if now == before && before.is_some_and(|all| all > 0) {
            return;
        }
        before = now;
    }
}
