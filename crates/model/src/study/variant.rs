//! What a variant is by itself; what it takes from its study is the study's to say.

use super::{HostLoad, Variant};
use crate::name::VariantName;

impl Variant {
    /// The study's subject under the study's load.
    pub fn named(name: VariantName) -> Self {
        Self {
            name,
            about: None,
            subject: None,
            load: None,
            background: None,
            image: None,
            clients: Vec::new(),
            mode: None,
            host_load: HostLoad::default(),
            against: Vec::new(),
            changes: Vec::new(),
            pause: None,
            parity: None,
            published: None,
        }
    }

    /// Whether it is measured at so many clients.
    pub fn is_at(&self, clients: u32) -> bool {
        self.clients.is_empty() || self.clients.contains(&clients)
    }

    /// Whether a list of variants means this one; an empty list means all.
    pub fn is_meant(&self, names: &[String]) -> bool {
        names.is_empty() || names.iter().any(|name| self.name == *name)
    }
}
