//! A variant's own load, as study files write it: a table, or the text `none`.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Unexpected, Visitor, value::MapAccessDeserializer},
};

use super::Load;

/// A variant's own load, or none: `load = { run = "…" }` or `load = "none"`.
#[derive(Clone, Debug, PartialEq)]
pub enum VariantLoad {
    /// The text `none`.
    None,
    /// A load of its own.
    With(Load),
}

impl Serialize for VariantLoad {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            VariantLoad::None => serializer.serialize_str("none"),
            VariantLoad::With(load) => load.serialize(serializer),
        }
    }
}

// By hand, because a derived untagged enum forgets which key of the table was wrong.
impl<'de> Deserialize<'de> for VariantLoad {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = VariantLoad;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table as { run = \"…\" }, or \"none\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<VariantLoad, E> {
                if text == "none" {
                    return Ok(VariantLoad::None);
                }
                Err(E::invalid_value(Unexpected::Str(text), &self))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<VariantLoad, A::Error> {
                Load::deserialize(MapAccessDeserializer::new(map)).map(VariantLoad::With)
            }
        }

        deserializer.deserialize_any(Either)
    }
}
