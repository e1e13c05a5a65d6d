//! This headroom as a program that is started again, for jobs of a server and for shards: where it is, and what one said
//! that failed. How one is started is whose jobs they are.

use std::{env, path::PathBuf, process::Output};

use crate::failure::{self, Failure};

pub(crate) fn path() -> Result<PathBuf, Failure> {
    env::current_exe().map_err(|error| {
        Failure::Environment(format!("cannot find this program to start it again: {error}"))
    })
}

/// What headroom said last, without its name.
pub(crate) fn sentence(said: &str) -> String {
    // clap lists what it speaks of, one a line, and prints usage and help after an empty line.
    if let Some(at) = said.lines().position(|line| line.starts_with("error: ")) {
        let reason = said.lines().skip(at).take_while(|line| !line.trim().is_empty());
        let reason: Vec<&str> = reason.map(str::trim).collect();
        return reason.join(" ").trim_start_matches("error: ").to_owned();
    }
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    let line = said.lines().find(|line| line.starts_with("headroom: ")).or(last);
    let line = line.unwrap_or("headroom ended without a word; try it by hand");
    line.trim_start_matches("headroom: ").to_owned()
}

/// Why one failed, as a failure of the same kind.
pub(crate) fn failure(ended: &Output) -> Failure {
    let said = sentence(&String::from_utf8_lossy(&ended.stderr));
    let code = ended.status.code().and_then(|code| u8::try_from(code).ok());
    match code {
        Some(failure::USAGE) => Failure::Usage(said),
        Some(failure::INVALID) => Failure::Unmeasured(said),
        Some(failure::INTERRUPTED) => Failure::Interrupted(said),
        _ => Failure::Environment(said),
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

    use super::*;

    #[test]
    fn a_failure_is_of_the_kind_that_its_code_says() {
        let ended = |code: i32| {
            let stderr = b"headroom: cannot write there\n".to_vec();
            failure(&Output { status: ExitStatus::from_raw(code << 8), stdout: Vec::new(), stderr })
        };
        assert!(matches!(ended(2), Failure::Usage(said) if said == "cannot write there"));
        assert!(matches!(ended(3), Failure::Unmeasured(_)));
        assert!(matches!(ended(4), Failure::Environment(_)));
        assert!(matches!(ended(101), Failure::Environment(_)));
    }

    #[test]
    fn the_reason_is_found_among_other_lines() {
        assert_eq!(sentence("headroom: no study\nthe end of its console:\n  | x\n"), "no study");
        let clap = "error: unexpected argument\n\nFor more information, try '--help'.\n";
        assert_eq!(sentence(clap), "unexpected argument");
        let lacks = "error: the following required arguments were not provided:\n  <VARIANT>\n  --load\n\nUsage: x\n";
        let says = "the following required arguments were not provided: <VARIANT> --load";
        assert_eq!(sentence(lacks), says);
        assert!(sentence("").contains("without a word"));
    }
}
