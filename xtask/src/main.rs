//! xtask: the developer's commands.
//!
//! `cargo xtask check` holds the repository against its own rules. What needs no Rust (packages, the
//! build's order) is in the Makefile; what the user runs is `headroom`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer reads this")]

mod dist;
mod fuzz;
mod rules;
mod workspace;

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use self::workspace::Workspace;

const HELP: &str = "\
cargo xtask COMMAND

Commands:
  check          the rules of CONTRIBUTING.md, formatting, lints, and the documentation
  check --rules  the rules alone, in a second
  check --but-lints  all but lints
  sensitivity [N] what comparisons find, and how often they cry wolf, from N pairs (needs `make build`);
                 --of RUN: from a run that is there
  site           the documentation as a site in target/site/html, with every link of it followed
  dist [ARCH…] [--twice]  packages, tarballs and their sums in target/dist, for amd64 and arm64 or those
                 named; --twice builds a second time and compares
  fuzz T SECONDS builds the fuzz targets and runs target T (fuzz/fuzz_targets)
  help           this text

Exit codes: 0 in order, 1 not in order, 2 no such command.";

/// Tools of the toolchain that check: the verb, its arguments, and Debian's package.
const FORMAT: (&str, &[&str], &str) = ("fmt", &["--all", "--", "--check"], "rustfmt-web");
const LINTS: (&str, &[&str], &str) = (
    "clippy",
    &["--locked", "--workspace", "--all-targets", "--", "-D", "warnings"],
    "rust-web-clippy",
);

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        [] | ["help" | "-h" | "--help"] => {
            println!("{HELP}");
            Ok(true)
        }
        ["check"] => check(&[FORMAT, LINTS]),
        // `make test` has the lints of its build.
        ["check", "--but-lints"] => check(&[FORMAT]),
        ["check", "--rules"] => check_rules(),
        ["sensitivity", words @ ..] => package("sensitivity", words),
        ["site"] => package("site", &[]),
        ["dist", words @ ..] => dist::run(&root(), words),
        ["fuzz", target, seconds] => fuzz::run(&root(), target, seconds),
        _ => {
            eprintln!("xtask: no command `{}`; `cargo xtask help` lists them", words.join(" "));
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Our rules, these tools, the documentation; whether all is in order. All of it runs even where the first part fails,
/// so that one call reports everything.
fn check(tools: &[(&str, &[&str], &str)]) -> Result<bool> {
    let mut fine = check_rules()?;
    for (verb, arguments, package) in tools {
        let mut cargo = cargo(&root());
        let there = cargo.args([verb, "--version"]).output();
        if !there.with_context(|| format!("cannot run cargo {verb}"))?.status.success() {
            println!(
                "check: cargo {verb} skipped: this toolchain has none (rustup component add, or \
                 Debian's package {package})"
            );
            continue;
        }
        println!("check: cargo {verb}");
        let status = self::cargo(&root()).arg(verb).args(*arguments).status();
        fine &= status.with_context(|| format!("cannot run cargo {verb}"))?.success();
    }
    println!("check: the documentation");
    Ok(fine & package("site", &[])?)
}

/// Our rules alone; whether all are kept.
fn check_rules() -> Result<bool> {
    let faults = rules::faults(&Workspace::read(&root())?);
    faults.iter().for_each(|fault| println!("{fault}"));
    match faults.len() {
        0 => println!("check: the rules are kept"),
        1 => println!("check: 1 fault"),
        many => println!("check: {many} faults"),
    }
    Ok(faults.is_empty())
}

/// A program of its own, because of all that it is made of: the check is built before anything else.
fn package(name: &str, words: &[&str]) -> Result<bool> {
    // A run is named as it is seen from here.
    let mut cargo = cargo(&env::current_dir().context("cannot find the current folder")?);
    cargo.args(["run", "--quiet", "--locked", "--package", name, "--"]).args(words);
    Ok(cargo.status().context("cannot run cargo")?.success())
}

/// The cargo that runs us.
fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder);
    command
}

/// The repository: cargo says where this crate is, and it lies one folder below.
fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    here.and_then(|here| here.parent().map(PathBuf::from)).unwrap_or_else(|| PathBuf::from("."))
}
