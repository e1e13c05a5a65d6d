//! Work that does nothing: a cost of known size in every reply, so that the lab can show what it finds.
//!
//! Only in builds with the feature `planted`, of which none ships. The size comes from the environment, so
//! that both sides of a comparison are one program.

use std::{env, hint::black_box, sync::OnceLock};

/// Rounds of work in each reply.
const VARIABLE: &str = "STATIOND_PLANT";

/// Does it.
pub(crate) fn work() {
    static ROUNDS: OnceLock<u64> = OnceLock::new();
    let read = || env::var(VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    for round in 0..*ROUNDS.get_or_init(read) {
        black_box(round);
    }
}
