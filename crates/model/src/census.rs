//! Who is associated, by the kernel and by hostapd.

use serde::{Deserialize, Serialize};

/// How many clients the kernel and hostapd count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Census {
    /// One entry for each access-point interface.
    pub interfaces: Vec<InterfaceCensus>,
}

/// One interface's clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceCensus {
    /// The interface.
    pub name: String,
    /// Stations that nl80211 lists as associated, authorised ones only.
    pub kernel: Option<u32>,
    /// Stations that hostapd counts (`num_sta` of its `STATUS`); `None` where it does not answer.
    pub hostapd: Option<u32>,
}
