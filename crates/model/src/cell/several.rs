//! A value or a list of values, as study files write what a study multiplies by.

use std::{fmt, marker::PhantomData, ops::Deref};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, IntoDeserializer, SeqAccess, Visitor, value::SeqAccessDeserializer},
};

/// `on = "vm"` or `on = ["vm", "host"]`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Several<T>(pub Vec<T>);

impl<T> Several<T> {
    /// Each of them, or nothing once.
    pub fn or_none(&self) -> Vec<Option<&T>> {
        if self.0.is_empty() { vec![None] } else { self.0.iter().map(Some).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for Several<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Deref for Several<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

// By hand, because a derived untagged enum forgets which value was wrong.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Several<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = Several<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a list of values")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Several<T>, E> {
                T::deserialize(text.into_deserializer()).map(|one| Several(vec![one]))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Several<T>, E> {
                T::deserialize(number.into_deserializer()).map(|one| Several(vec![one]))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Several<T>, E> {
                T::deserialize(number.into_deserializer()).map(|one| Several(vec![one]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Several<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Several)
            }
        }

        deserializer.deserialize_any(Either(PhantomData))
    }
}
