//! The engine over a kernel and a hostapd that are played by tests, in good weather and bad.
//!
//! [`world`] holds what is true, [`kernel`] tells it as nl80211 does, [`control`] is hostapd, and
//! [`setup`] puts an engine before them. (`cfg(test)` tells clippy that all of this is tests.)

#[cfg(test)]
mod changing;
#[cfg(test)]
mod comings;
#[cfg(test)]
mod control;
#[cfg(test)]
mod counters;
#[cfg(test)]
mod crowd;
#[cfg(test)]
mod identities;
#[cfg(test)]
mod interfaces;
#[cfg(test)]
mod kernel;
#[cfg(test)]
mod losses;
#[cfg(test)]
mod parts;
#[cfg(test)]
mod setup;
#[cfg(test)]
mod sharing;
#[cfg(test)]
mod world;
