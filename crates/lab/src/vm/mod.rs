//! The virtual access point: QEMU with mac80211_hwsim radios, hostapd, and real clients.
//!
//! [`Machine`] is one QEMU. It is either booted, which takes as long as its clients need to join, or
//! restored from a [`snapshot`], which takes a fraction of a second. `docs/design/lab.md` has the
//! reasons for each argument and the figures behind them.

mod arguments;
mod console;
mod failure;
mod machine;
mod platform;
mod probe;
mod qmp;
pub mod snapshot;

pub use arguments::{Accelerator, Forward, Shape, counted_arguments};
pub(crate) use arguments::{difference, plugin};
pub use failure::Failure;
pub use machine::Machine;
use machine::Start;
pub use platform::Platform;
pub use probe::{KIND as KVM_KIND, accelerator};
