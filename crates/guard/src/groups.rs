//! Control-group hierarchies of this device, and which processes and groups each application is.
//!
//! Finds and remembers; it writes nothing. `act` writes. Everything is read below one root, so that a folder
//! with a `proc` and a `sys` in it is a device for tests.

mod applications;
mod hierarchies;
mod processes;
mod protected;
#[cfg(test)]
mod tests;

pub use applications::{Application, Applications, Place};
pub use hierarchies::{Controller, Hierarchies, Shape, Tree};
pub(crate) use hierarchies::{controllers, enabled};
pub(crate) use processes::{born, is_realtime_stat};
pub use protected::PROTECTED;

/// How the folders of the groups that guard makes begin, in each hierarchy; the application's name follows.
///
/// They are right below the root: a weight counts among siblings only, and Wi-Fi's threads are in the root.
pub const OWN: &str = "headroom-guard.";

/// The folder of the group that Wi-Fi's threads are accounted in.
pub const OWN_WIFI: &str = "headroom-guard";

/// A rule that must not be obeyed: it would bound what keeps the device or Wi-Fi alive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("application {application} is refused: {why}")]
pub struct Refusal {
    /// The application's name in the policy.
    pub application: String,
    /// What it would bound, and what to do.
    pub why: String,
}
