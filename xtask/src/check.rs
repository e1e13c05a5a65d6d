//! Everything that is checked, in the order in which it is reported: our rules, formatting, lints, the links of the
//! documentation.
//!
//! All of it runs even where the first part fails, so that one call reports everything.

use std::{path::Path, process::Command};

use anyhow::{Context, Result};

use crate::{rules, workspace::Workspace};

/// A tool of the toolchain, and where Debian has it.
struct Tool {
    verb: &'static str,
    arguments: &'static [&'static str],
    package: &'static str,
}

const FORMAT: Tool =
    Tool { verb: "fmt", arguments: &["--all", "--", "--check"], package: "rustfmt-web" };
const LINTS: Tool = Tool {
    verb: "clippy",
    arguments: &["--locked", "--workspace", "--all-targets", "--", "-D", "warnings"],
    package: "rust-web-clippy",
};

/// Our rules, the tools of the toolchain, the documentation; whether all is in order.
pub(crate) fn everything(root: &Path) -> Result<bool> {
    all_of(root, &[FORMAT, LINTS])
}

/// The same without lints, which `make test` has of its build.
pub(crate) fn all_but_lints(root: &Path) -> Result<bool> {
    all_of(root, &[FORMAT])
}

fn all_of(root: &Path, tools: &[Tool]) -> Result<bool> {
    let mut fine = rules(root)?;
    for tool in tools {
        fine &= tool.run(root)?;
    }
    println!("check: the documentation");
    Ok(fine & crate::package("site", &[])?)
}

/// Our rules alone; whether all are kept.
pub(crate) fn rules(root: &Path) -> Result<bool> {
    let faults = rules::faults(&Workspace::read(root)?);
    faults.iter().for_each(|fault| println!("{fault}"));
    match faults.len() {
        0 => println!("check: the rules are kept"),
        1 => println!("check: 1 fault"),
        many => println!("check: {many} faults"),
    }
    Ok(faults.is_empty())
}

impl Tool {
    /// Runs it; a toolchain without it is reported, and is no fault of the repository.
    fn run(&self, root: &Path) -> Result<bool> {
        let Self { verb, arguments, package } = self;
        let there = cargo(root).args([verb, "--version"]).output();
        if !there.with_context(|| format!("cannot run cargo {verb}"))?.status.success() {
            println!(
                "check: cargo {verb} skipped: this toolchain has none (rustup component add, or \
                 Debian's package {package})"
            );
            return Ok(true);
        }
        println!("check: cargo {verb}");
        let status = cargo(root).arg(verb).args(*arguments).status();
        Ok(status.with_context(|| format!("cannot run cargo {verb}"))?.success())
    }
}

/// The cargo that runs us.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}
