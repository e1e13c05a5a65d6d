//! How headroom can end: one exit code for each kind, as `docs/exit-codes.md` promises.

use std::process::ExitCode;

use model::nearest;

use crate::output;

/// Everything was measured and nothing failed.
pub(crate) const PASS: u8 = 0;
/// A limit was not kept, or the contrary of what was to be shown is so.
pub(crate) const FAIL: u8 = 1;
/// The words or the study file are wrong.
pub(crate) const USAGE: u8 = 2;
/// It could not be measured. Never a statement about the subject.
pub(crate) const INVALID: u8 = 3;
/// This machine lacks something, or its disk is full.
pub(crate) const ENVIRONMENT: u8 = 4;
/// Somebody stopped it; the number that shells use for Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// What headroom ends with, unless something could not be printed: that is said, and counts.
pub(crate) fn unless_lost(code: ExitCode) -> ExitCode {
    let Some(error) = output::why_lost() else { return code };
    output::note(format_args!("headroom: cannot write the standard output: {error}"));
    ExitCode::from(ENVIRONMENT)
}

/// How an execution ended that came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Fail,
    Invalid,
    /// A command on the access point ended with this code.
    Command(u8),
}

impl Verdict {
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Verdict::Pass => PASS,
            Verdict::Fail => FAIL,
            Verdict::Invalid => INVALID,
            Verdict::Command(code) => code,
        })
    }
}

/// Why an execution did not come to its end.
#[derive(Debug)]
pub(crate) enum Failure {
    Lab(lab::Error),
    /// The words contradict the study.
    Usage(String),
    Environment(String),
    /// A recording of stacks cannot be read.
    Recording(String),
    /// Somebody stopped a run; what is kept of it.
    Interrupted(String),
    /// There is nothing to measure.
    Unmeasured(String),
    Page(report::Error),
}

impl From<model::verdict::Verdict> for Verdict {
    fn from(verdict: model::verdict::Verdict) -> Self {
        use model::verdict::Verdict as Decided;
        match verdict {
            Decided::Measured | Decided::Pass => Verdict::Pass,
            Decided::Fail => Verdict::Fail,
            Decided::Invalid => Verdict::Invalid,
        }
    }
}

impl From<lab::Error> for Failure {
    fn from(error: lab::Error) -> Self {
        Failure::Lab(error)
    }
}

impl Failure {
    /// A name that is none of the study's; `what` the study has such names for.
    pub(crate) fn unknown<'a>(
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let meant = nearest::or_all(name, &known, "it has");
        Failure::Usage(format!("the study has no {what} `{name}`; {meant}"))
    }

    /// Whether each of these names is one of the study's.
    pub(crate) fn unless_known<'a>(
        what: &str,
        names: impl IntoIterator<Item = &'a String>,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<(), Self> {
        let is_unknown = |name: &&String| known.clone().all(|known| known != name.as_str());
        match names.into_iter().find(is_unknown) {
            Some(unknown) => Err(Self::unknown(what, unknown, known)),
            None => Ok(()),
        }
    }

    pub(crate) fn sentence(&self) -> String {
        match self {
            Failure::Lab(error) => error.to_string(),
            Failure::Usage(text)
            | Failure::Environment(text)
            | Failure::Recording(text)
            | Failure::Interrupted(text)
            | Failure::Unmeasured(text) => text.clone(),
            Failure::Page(error) => format!("cannot make the page: {error}"),
        }
    }

    fn code(&self) -> u8 {
        match self {
            Failure::Lab(error) => lab_code(error),
            Failure::Usage(_) => USAGE,
            Failure::Recording(_) | Failure::Unmeasured(_) => INVALID,
            Failure::Environment(_) | Failure::Page(_) => ENVIRONMENT,
            Failure::Interrupted(_) => INTERRUPTED,
        }
    }

    /// One line on the error output, the console's end below it where there is one.
    pub(crate) fn print(&self) -> ExitCode {
        output::note(format_args!("headroom: {}", self.sentence()));
        if let Failure::Lab(lab::Error::Machine(failure)) = self
            && !failure.console().is_empty()
        {
            output::note(format_args!("the end of its console:"));
            failure.console().iter().for_each(|line| output::note(format_args!("  | {line}")));
        }
        if let Failure::Lab(lab::Error::FirmwareLacks { missing, .. }) = self {
            missing.iter().for_each(|line| output::note(format_args!("  - {line}")));
        }
        ExitCode::from(self.code())
    }
}

fn lab_code(error: &lab::Error) -> u8 {
    use lab::Error as E;
    match error {
        E::Usage(_) | E::FirmwareLacks { .. } | E::NotARun { .. } => USAGE,
        // An image that does not come up is a limit that it did not keep.
        E::Failed(_) => FAIL,
        E::Invalid(_) | E::Machine(_) => INVALID,
        E::Environment(_)
        | E::File { .. }
        | E::MissingProgram { .. }
        | E::Program { .. }
        | E::ImageLacks(_)
        | E::Unreachable(_)
        | E::Held { .. } => ENVIRONMENT,
        E::Interrupted => INTERRUPTED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_code() {
        let page = include_str!("../../../docs/exit-codes.md");
        let codes = [
            (PASS, "pass"),
            (FAIL, "fail"),
            (USAGE, "usage"),
            (INVALID, "invalid"),
            (ENVIRONMENT, "environment"),
            (INTERRUPTED, "interrupted"),
        ];
        for (code, word) in codes {
            assert!(page.contains(&format!("| {code} | {word} |")), "{code} {word}");
        }
    }
}
