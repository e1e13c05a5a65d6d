//! Who is associated, by the kernel and by hostapd.

use serde::{Deserialize, Serialize};

/// How many clients the kernel and hostapd count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Census {
    pub interfaces: Vec<InterfaceCensus>,
}

impl Census {
    /// All clients, as the kernel counts them, and hostapd where it does not.
    pub fn clients(&self) -> u32 {
        let counts =
            self.interfaces.iter().filter_map(|interface| interface.kernel.or(interface.hostapd));
        counts.fold(0, u32::saturating_add)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceCensus {
    pub name: String,
    /// Stations that nl80211 lists as associated, authorised ones only.
    pub kernel: Option<u32>,
    /// Stations that hostapd counts (`num_sta` of its `STATUS`); `None` where it does not answer.
    pub hostapd: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_those_that_the_kernel_counts() {
        let interface = |kernel, hostapd| InterfaceCensus { name: "wlan0".into(), kernel, hostapd };
        let interfaces =
            vec![interface(Some(3), Some(4)), interface(None, Some(2)), interface(None, None)];
        assert_eq!(Census { interfaces }.clients(), 5);
    }
}
