//! Counts what stationd itself does, which the metrics show.

/// Counters since the start; each only rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Dumps of all stations of an interface.
    pub dumps: u64,
    pub surveys: u64,
    /// Of netlink messages that came in.
    pub bytes: u64,
    /// Dumps that the kernel said changed while they were read, and that were read again.
    pub interrupted: u64,
    /// Times that events or replies were lost because the socket's buffer was full; a dump healed it.
    pub overruns: u64,
    pub hostapd_requests: u64,
    /// Of them: those that it did not answer in time.
    pub hostapd_timeouts: u64,
    /// Readings that were asked for.
    pub reads: u64,
    /// Of them: those that a fresh enough reading answered, without asking the kernel.
    pub shared: u64,
}
