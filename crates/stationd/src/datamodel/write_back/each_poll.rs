//! The way of the field: a station is written when it has been read since it was written last.
//!
//! The gate compares two clocks, not two values. Each reading moves one of them, so it is always open:
//! one transaction with all static parameters for each station at each reading.

/// Whether the last reading is another than the one that was written last; both in ns since boot.
pub(super) fn is_due(written_ns: Option<u64>, read_ns: Option<u64>) -> bool {
    written_ns != read_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_is_a_clock_that_every_reading_moves() {
        assert!(is_due(None, Some(1)));
        assert!(is_due(Some(1), Some(2)));
        assert!(!is_due(Some(2), Some(2)), "the same reading, shared by another consumer");
    }
}
