//! How long tests may be: `make test` has what shows each claim, and `HEADROOM_LONG=1` (`make long-proofs`) what repeats it
//! or makes it large. Which tests those are stands beside that target.

use std::env;

/// Whether tests run at their whole length.
pub(crate) fn is_long() -> bool {
    env::var_os("HEADROOM_LONG").is_some_and(|set| set == "1")
}
