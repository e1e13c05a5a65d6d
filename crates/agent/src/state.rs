//! What is varied from pair to pair: the kernel's random numbers, and where programs' stacks begin.
//!
//! A machine that does not let us mix anything in has random numbers of its own anyway; nothing fails for that.

use std::sync::atomic::{AtomicU32, Ordering};

use linux::random;
use model::wire::State;
use sha2::{Digest, Sha256};

/// The environment's variable that is nothing but long.
pub(crate) const LAYOUT: &str = "HEADROOM_LAYOUT";

/// The kernel takes no longer string in an environment (`MAX_ARG_STRLEN`), so that more need not be made to
/// be refused.
const LONGEST: u32 = 128 * 1024;

/// Programs are started in several places, and all of them of one order.
static PADDING: AtomicU32 = AtomicU32::new(0);

/// Takes a state for everything that is started from now on; `None` takes nothing.
pub(crate) fn take(state: Option<State>) {
    PADDING.store(state.map_or(0, |state| state.padding), Ordering::Relaxed);
    if let Some(state) = state {
        // Not root, or an old kernel: the numbers are then of the machine's own drawing.
        let _ = random::mix(spread(state.seed));
    }
}

/// The value of [`LAYOUT`] for a program that is started now; `None`: it gets none.
pub(crate) fn padding() -> Option<String> {
    match PADDING.load(Ordering::Relaxed).min(LONGEST) {
        0 => None,
        bytes => Some("x".repeat(bytes as usize)),
    }
}

/// The seed in as many bytes as make the kernel's generator begin anew: it is no secret.
fn spread(seed: u64) -> [u8; random::WHOLE] {
    Sha256::digest(seed.to_le_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_spread_and_each_has_its_own_bytes() {
        assert_eq!(spread(7), spread(7));
        assert_ne!(spread(7), spread(8));
    }
}
