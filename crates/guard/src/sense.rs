//! Readings: `/proc`, `/sys`, netlink, and the canary. Decides nothing.
