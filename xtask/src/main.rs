//! xtask: the developer's commands.
//!
//! `cargo xtask check` holds the repository against its own rules. What needs no Rust (packages, the
//! build's order) is in the Makefile; what the user runs is `headroom`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer reads this")]

mod check;
mod dist;
mod fault;
mod fuzz;
mod lexer;
mod rules;
mod workspace;

use std::{env, path::PathBuf, process::ExitCode};

use anyhow::Context;

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

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["help" | "-h" | "--help"] => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        ["check"] => exit_code(check::everything(&root())),
        ["sensitivity", words @ ..] => exit_code(package("sensitivity", words)),
        ["site"] => exit_code(package("site", &[])),
        ["dist", words @ ..] => exit_code(dist::run(&root(), words)),
        ["fuzz", target, seconds] => exit_code(fuzz::run(&root(), target, seconds)),
        ["check", "--but-lints"] => exit_code(check::all_but_lints(&root())),
        ["check", "--rules"] => exit_code(check::rules(&root())),
        _ => {
            eprintln!("xtask: no command `{}`; `cargo xtask help` lists them", words.join(" "));
            ExitCode::from(2)
        }
    }
}

/// A program of its own, because of all that it is made of: the check is built before anything else.
fn package(name: &str, words: &[&str]) -> anyhow::Result<bool> {
    // A run is named as it is seen from here.
    let mut cargo = check::cargo(&env::current_dir().context("cannot find the current folder")?);
    cargo.args(["run", "--quiet", "--locked", "--package", name, "--"]).args(words);
    Ok(cargo.status().context("cannot run cargo")?.success())
}

/// One line for a failure, and the exit code.
fn exit_code(outcome: anyhow::Result<bool>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The repository: cargo says where this crate is, and it lies one folder below.
fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    here.and_then(|here| here.parent().map(PathBuf::from)).unwrap_or_else(|| PathBuf::from("."))
}
