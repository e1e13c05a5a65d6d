//! `cargo xtask`: the developer's commands.
//!
//! `cargo xtask check` checks the repository against its own rules. What needs no Rust is in the Makefile and in
//! `scripts/`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer reads this")]

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
  sensitivity    what comparisons find, and how often they raise false alarms, in runs of
                 xtask/sensitivity/planted.toml (CONTRIBUTING.md says how to make one)
  site           the documentation as a site in target/site/html, with every link of it followed
  help           this text

Exit codes: 0 in order, 1 not in order, 2 no such command.";

/// Tools of the toolchain that check: the verb with its arguments, and Debian's package.
const TOOLS: [(&str, &str); 2] = [
    ("fmt --all -- --check", "rustfmt-web"),
    ("clippy --locked --workspace --all-targets -- -D warnings", "rust-web-clippy"),
];

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        [] | ["help" | "-h" | "--help"] => {
            println!("{HELP}");
            Ok(true)
        }
        ["check"] => check(),
        ["check", "--rules"] => check_rules(),
        ["sensitivity", words @ ..] => package("sensitivity", words),
        ["site"] => package("site", &[]),
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

/// Checks our rules, with the tools, and the documentation; returns whether all is in order. Everything runs even if
/// the first part fails, so that one call reports everything.
fn check() -> Result<bool> {
    let mut fine = check_rules()?;
    for (words, package) in TOOLS {
        let words: Vec<&str> = words.split(' ').collect();
        let verb = words[0];
        let version = cargo(&root()).args([verb, "--version"]).output();
        if !version.with_context(|| format!("cannot run cargo {verb}"))?.status.success() {
            println!(
                "check: cargo {verb} skipped: install it with `rustup component add`, or Debian's {package}"
            );
            continue;
        }
        println!("check: cargo {verb}");
        let status = cargo(&root()).args(words).status();
        fine &= status.with_context(|| format!("cannot run cargo {verb}"))?.success();
    }
    println!("check: the documentation");
    Ok(fine & package("site", &[])?)
}

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

/// Runs a crate of its own, so that `xtask` is built without what that crate depends on.
fn package(name: &str, words: &[&str]) -> Result<bool> {
    // Paths on the command line are relative to here.
    let mut cargo = cargo(&env::current_dir().context("cannot find the current folder")?);
    cargo.args(["run", "--quiet", "--locked", "--package", name, "--"]).args(words);
    Ok(cargo.status().context("cannot run cargo")?.success())
}

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
