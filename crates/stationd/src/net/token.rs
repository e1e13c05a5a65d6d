//! What a ready descriptor is, in the 64 bits that the kernel keeps for it: a kind, and below it a connection's place.

/// The pipe that signals are reported through.
pub const SIGNAL: u64 = 0;
pub const ENGINE: u64 = 1 << 32;
/// The connection to ubus's broker.
pub const BROKER: u64 = 2 << 32;
pub const RPC_LISTENER: u64 = 3 << 32;
pub const HTTP_LISTENER: u64 = 4 << 32;
/// Connections of consumers, each with its place.
pub const RPC: u64 = 5 << 32;
pub const HTTP: u64 = 6 << 32;
