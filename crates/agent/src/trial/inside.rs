//! Doing something in another network namespace: on a thread of its own, because entering is for good.

use std::thread;

use linux::link::{self, Links};
use linux::namespace::{self, Network};
use model::wire::Refusal;

use super::refused;
use crate::init::without_ipv6;

/// Does something in a namespace, with a `/sys` that shows its devices.
pub(super) fn inside<T: Send>(
    network: &Network,
    work: impl FnOnce() -> Result<T, Refusal> + Send,
) -> Result<T, Refusal> {
    apart(|| {
        network.enter().map_err(refused("cannot enter a network namespace"))?;
        namespace::see_own_devices().map_err(refused("cannot mount a sysfs of the namespace"))?;
        work()
    })
}

/// A new namespace whose loopback is up.
pub(super) fn new_network() -> Result<Network, Refusal> {
    apart(|| {
        link::enter_new_network_namespace()
            .map_err(refused("cannot make a network namespace (the agent must run as root)"))?;
        // Where it fails the road has IPv6, which moves a little on an idle link.
        let _ = without_ipv6();
        let up = Links::open().and_then(|mut links| links.set_up(1));
        up.map_err(refused("cannot bring the loopback up"))?;
        Network::of_this_thread().map_err(refused("cannot hold a network namespace"))
    })
}

fn apart<T: Send>(work: impl FnOnce() -> Result<T, Refusal> + Send) -> Result<T, Refusal> {
    let panicked = || Refusal::plain("a thread of the trial panicked");
    thread::scope(|scope| scope.spawn(work).join().map_err(|_| panicked()))?
}
