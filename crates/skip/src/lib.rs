//! How a test says that it does not run here: a line; and a failure where `HEADROOM_NO_SKIP=1` says that nothing may be
//! left out, as in CI. What no machine of our CI can have stands in [`HONEST`].
//!
//! For tests alone. Whether something is missing is the test's to find out.

use std::{fmt, io::Write};

/// Beginnings of what may be skipped everywhere, each with what it waits for.
pub const HONEST: [(&str, &str); 0] = [];

/// Says that a test, or a part of one, does not run here, and why: `skip!("no perf here")`.
///
/// # Panics
///
/// Where `HEADROOM_NO_SKIP=1` is set and the reason is not one of [`HONEST`].
#[macro_export]
macro_rules! skip {
    ($($why:tt)+) => { $crate::said(::std::format_args!($($why)+)) };
}

/// [`skip!`] as a function.
///
/// # Panics
///
/// As [`skip!`].
pub fn said(why: fmt::Arguments<'_>) {
    let why = why.to_string();
    let must_run = std::env::var_os("HEADROOM_NO_SKIP").is_some_and(|set| set == "1");
    assert!(!must_run || is_honest(&why), "skipped, and HEADROOM_NO_SKIP=1 is set: {why}");
    // A test without listeners is skipped all the same.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

fn is_honest(why: &str) -> bool {
    HONEST.iter().any(|(beginning, _)| why.starts_with(beginning))
}
