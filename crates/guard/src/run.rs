//! The loop: sense, decide, act, record, tell.
