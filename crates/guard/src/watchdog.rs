//! The process that restores when guard dies without a word.
