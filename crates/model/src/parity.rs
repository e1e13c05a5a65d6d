//! Does a variant still do its job: the clients it knows, the values it gives, and what happens when one leaves.

use serde::{Deserialize, Serialize};

use crate::census::Census;

/// What is asked once the window has closed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParityOrder {
    /// A command that prints how many clients the subject knows: one number.
    pub clients: Option<Vec<String>>,
    /// A command that prints what the subject knows of them: lines that must be the same in every variant.
    pub values: Option<Vec<String>>,
    /// Send one client away through hostapd, and count again.
    pub leave: bool,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parity {
    /// Everybody's count before.
    pub before: Count,
    /// The lines of `values`, sorted; `None` where they were not asked for.
    pub values: Option<Vec<String>>,
    /// Who was sent away, and everybody's count after.
    pub left: Option<Left>,
}

/// Clients as each party counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// By hostapd and by the kernel.
    pub census: Census,
    /// By the subject; the text where it is not a number.
    pub subject: Option<Result<u32, String>>,
}

/// A client that was sent away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Its interface.
    pub interface: String,
    /// Its address.
    pub address: String,
    /// Everybody's count at the first moment at which all agreed, or when patience ended.
    pub after: Count,
}
