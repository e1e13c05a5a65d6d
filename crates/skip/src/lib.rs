//! How a test says that it does not run here: a line; and a failure where `HEADROOM_NO_SKIP=1` says that nothing may be
//! left out, as in CI. Everything that a test needs is in `packages.txt`, but for three exceptions ([`excepted`]): a toolchain of
//! rustup's has its standard library for arm64 from rustup's server, labgrid, MCP's SDK and other engines' schemas come from a
//! registry of Python's, and ubusd and libubox's source come from Rust's.
//!
//! For tests alone. Whether something is missing is the test's to find out, but for what many ask ([`has_user_namespaces`]).

use std::{fmt, io::Write, process::Command};

/// Says that a test, or a part of one, does not run here, and why: `skip!("no perf here")`.
///
/// # Panics
///
/// Where `HEADROOM_NO_SKIP=1` is set.
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
    let must_run = std::env::var_os("HEADROOM_NO_SKIP").is_some_and(|set| set == "1");
    assert!(!must_run, "skipped, and HEADROOM_NO_SKIP=1 is set: {why}");
    // A test without listeners is skipped all the same.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Says that a test does not run here, also in CI: for what no package brings. Every use is an exception that the head
/// of this file names.
pub fn excepted(why: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Whether a user namespace can be made, as bubblewrap wants: not in a chroot, nor in most containers. Where not, the test
/// is skipped.
///
/// # Panics
///
/// As [`skip!`].
pub fn has_user_namespaces() -> bool {
    let made = Command::new("unshare").args(["--user", "true"]).output();
    let why = match made {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    skip!("no user namespace can be made here: {why}");
    false
}

#[cfg(test)]
mod tests {
    use std::{env, process::Command};

    #[test]
    #[ignore = "it is run by the test below"]
    fn a_test_that_skips_itself() {
        skip!("it is only an example");
    }

    #[test]
    fn a_skip_is_a_failure_where_nothing_may_be_left_out() {
        let passes = |value: Option<&str>| {
            let mut command = Command::new(env::current_exe().unwrap());
            command.args(["--ignored", "--exact", "tests::a_test_that_skips_itself"]);
            command
                .env_remove("HEADROOM_NO_SKIP")
                .envs(value.map(|value| ("HEADROOM_NO_SKIP", value)));
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains("1 passed") || said.contains("1 failed"), "{said}");
            output.status.success()
        };
        assert_eq!([None, Some("0"), Some("1")].map(passes), [true, true, false]);
    }
}
