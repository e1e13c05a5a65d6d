//! nl80211's readers against a kernel that is played, and against what a real one said.
//!
//! No test here needs a wireless device or a right. (`cfg(test)` tells clippy that all of this is
//! tests, functions that tests share included.)

#[cfg(test)]
#[cfg(test)]
mod dump;
#[cfg(test)]
mod kernel;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod mlme;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod recordings;
