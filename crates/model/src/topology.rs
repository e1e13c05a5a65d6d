//! What an access point must look like before a trial, and what had to be repaired for that.

use serde::{Deserialize, Serialize};

/// What is asserted. The agent repairs what it can, and refuses where it cannot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopologyOrder {
    /// Access-point interfaces that must be there, up, and enabled; empty: those that there are.
    pub interfaces: Vec<InterfaceOrder>,
    /// Processes that must run, or must not.
    pub processes: Vec<WantedProcess>,
}

/// One access-point interface. Nothing may be left out when it is written: the stream has no names for fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct InterfaceOrder {
    pub name: String,
    /// Its primary channel's centre, MHz; `None` is not looked at.
    #[serde(default)]
    pub megahertz: Option<u32>,
}

/// A process in a wanted state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WantedProcess {
    /// Its name, as in `/proc/PID/comm`.
    pub name: String,
    pub must: Must,
    /// A command line that brings that about, where a signal cannot: starts one that must run. One that must
    /// not is otherwise stopped for the trial, and resumed after it.
    #[serde(default)]
    pub command: Option<String>,
}

/// How a process must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Must {
    #[default]
    Run,
    /// It does not run, or is stopped.
    Rest,
}

/// Something that was not as it must be, and was repaired.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Correction {
    /// What: `wlan0`, `steerd`.
    pub what: String,
    /// How it was, as `was down`.
    pub was: String,
    /// What was done, as `set up`.
    pub done: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_without_its_optional_parts_survives_the_stream() {
        let order = TopologyOrder {
            interfaces: vec![InterfaceOrder { name: "wlan0".to_owned(), megahertz: None }],
            processes: vec![WantedProcess { name: "steerd".to_owned(), ..Default::default() }],
        };
        let bytes = postcard::to_stdvec(&order).unwrap();
        assert_eq!(postcard::from_bytes(&bytes), Ok(order));
    }
}
