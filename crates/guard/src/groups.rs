//! Control-group hierarchies of this device, and which processes and groups each application is.
//!
//! Finds and remembers; it writes nothing. `act` writes.
