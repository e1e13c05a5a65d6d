//! Programs of this machine that are run to their end, and what is said of one that fails.

use std::{
    io,
    process::{Command, Output, Stdio},
};

use crate::Error;

/// So many of its last lines say why one failed.
const LINES: usize = 3;

/// Runs a program; it reads nothing, unless its input was set.
///
/// # Errors
///
/// [`Error::Program`] with the end of what it said.
pub(crate) fn run(command: &mut Command) -> Result<Output, Error> {
    let output = command.stderr(Stdio::piped()).output();
    let output = output.map_err(|why| not_started(command, &why))?;
    judge(command, output)
}

/// What a program left that has ended.
///
/// # Errors
///
/// [`Error::Program`] with the end of what it said, where it failed.
pub(crate) fn judge(command: &Command, output: Output) -> Result<Output, Error> {
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().collect();
    let tail = lines[lines.len().saturating_sub(LINES)..].join("; ");
    Err(failed(command, output.status.to_string(), tail))
}

/// Of a program that could not be started.
pub(crate) fn not_started(command: &Command, why: &io::Error) -> Error {
    failed(command, "could not start".to_owned(), why.to_string())
}

fn failed(command: &Command, status: String, tail: String) -> Error {
    let program = command.get_program().to_string_lossy().into_owned();
    Error::Program { program, status, tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_what_fails_are_its_reason() {
        let script = "for line in 1 2 3 4; do echo $line >&2; done; exit 3";
        let error = run(Command::new("sh").args(["-c", script])).unwrap_err();
        assert_eq!(error.to_string(), "sh failed (exit status: 3): 2; 3; 4");
        assert!(
            run(&mut Command::new("/nowhere/at-all"))
                .unwrap_err()
                .to_string()
                .contains("could not start")
        );
        assert_eq!(run(Command::new("echo").arg("a")).unwrap().stdout, b"a\n");
    }
}
