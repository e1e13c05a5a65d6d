//! This headroom as a program that is started again, for jobs of a server and for shards: where it is, and what one said
//! that failed. How one is started is whose jobs they are.

use std::{env, path::PathBuf};

use crate::failure::Failure;

/// Where this program is.
///
/// # Errors
///
/// [`Failure::Environment`] where it is gone.
pub(crate) fn path() -> Result<PathBuf, Failure> {
    env::current_exe().map_err(|error| {
        Failure::Environment(format!("cannot find this program to start it again: {error}"))
    })
}

/// What headroom said last, without its name.
pub(crate) fn sentence(said: &str) -> String {
    // clap's own lines go on with usage and where its help is.
    let is_reason = |line: &&str| line.starts_with("headroom: ") || line.starts_with("error: ");
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    let line = said.lines().find(is_reason).or(last);
    let line = line.unwrap_or("headroom ended without a word; try it by hand");
    line.trim_start_matches("headroom: ").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_found_among_other_lines() {
        assert_eq!(sentence("headroom: no study\nthe end of its console:\n  | x\n"), "no study");
        let clap = "error: unexpected argument\n\nFor more information, try '--help'.\n";
        assert_eq!(sentence(clap), "unexpected argument");
        assert!(sentence("").contains("without a word"));
    }
}
