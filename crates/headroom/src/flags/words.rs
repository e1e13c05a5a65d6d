//! Words to flags, and what is answered where that fails: the verb that was meant, or where to begin. Shapes the help
//! pages: examples first, then what is the verb's own.

use std::{
    ffi::OsString,
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use clap::{
    Arg, ArgAction, Command, CommandFactory, Error, FromArgMatches,
    error::{ContextKind, ContextValue, ErrorKind},
};
use model::nearest::nearest;

use super::{Flags, LAB};
use crate::{
    failure::{self, USAGE},
    output,
};

const START: &str = "\
headroom: what Wi-Fi costs on an access point: measured, proved, given back

To start with:
  headroom doctor              what this machine can measure, and what it lacks
  headroom run client-scale    what each client costs: measured here, as a report
  headroom up                  a shell on an access point with 18 clients

`headroom studies` lists the other studies, `headroom --help` everything.";

impl Flags {
    /// Reads the words of the command line, the program's name first.
    pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, ExitCode> {
        let words: Vec<OsString> = words.into_iter().collect();
        if words.len() < 2 {
            START.lines().for_each(output::note);
            return Err(ExitCode::from(USAGE));
        }
        parsed(&words).map_err(|error| {
            let error = with_what_was_meant(error, &words);
            print(&error);
            failure::unless_lost(ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE)))
        })
    }
}

fn parsed(words: &[OsString]) -> Result<Flags, Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(words)?;
    Flags::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Prints a help page, or an error: clap breaks the lines of the first alone.
fn print(error: &Error) {
    if error.use_stderr() && io::stderr().is_terminal() {
        let text = error.render();
        let text = if output::wants_colours() { text.ansi().to_string() } else { text.to_string() };
        // Where it cannot be written there is no one left to read it.
        let _ = writeln!(io::stderr().lock(), "{}", output::folded(text.trim_end()));
    } else if let Err(error) = error.print() {
        output::lost(error);
    }
}

/// clap names a verb only where much of it is right.
fn with_what_was_meant(mut error: Error, words: &[OsString]) -> Error {
    let command = command();
    let verbs: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    // Behind a verb it is a verb of that one's.
    let is_first = !words.iter().any(|word| verbs.iter().any(|verb| word == verb));
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    if error.kind() == ErrorKind::InvalidSubcommand
        && error.get(ContextKind::SuggestedSubcommand).is_none()
        && is_first
        && let Some(meant) = nearest(wrong, &verbs)
    {
        let meant = ContextValue::Strings(vec![meant.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
    error
}

const PAGE: &str = "{about}{after-help}\n\n{usage-heading} {usage}\n\n{all-args}";

/// A verb's page leaves out the options that every verb takes.
const VERB_PAGE: &str = "{about}{after-help}\n\n{usage-heading} {usage}\n\n{all-args}\n\n\
                         Options of the virtual access point: headroom --help";

/// The whole command line, built.
pub(crate) fn command() -> Command {
    let mut command = Flags::command();
    command.build();
    shaped(command, PAGE).mut_subcommands(verb)
}

fn verb(command: Command) -> Command {
    let takes_lab = command.get_arguments().any(is_of_lab);
    shaped(command, if takes_lab { VERB_PAGE } else { PAGE })
        .mut_args(|arg| if is_of_lab(&arg) { arg.hide(true) } else { arg })
        .mut_subcommands(verb)
}

fn is_of_lab(arg: &Arg) -> bool {
    arg.get_help_heading() == Some(LAB)
}

/// `--help` prints what `-h` does: one page has everything.
fn shaped(command: Command, page: &'static str) -> Command {
    command.help_template(page).mut_args(|arg| match arg.get_action() {
        ArgAction::Help => arg.action(ArgAction::HelpShort).help("Print help"),
        _ => arg,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &str) -> String {
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        with_what_was_meant(parsed(&words).unwrap_err(), &words).to_string()
    }

    #[test]
    fn a_misspelt_verb_is_answered_with_the_one_that_was_meant() {
        for (wrong, meant) in [("rn", "run"), ("comapre", "compare"), ("studys", "studies")] {
            let said = said(&format!("headroom {wrong} x"));
            assert!(said.contains(&format!("'{meant}'")), "{wrong}: {said}");
        }
        assert!(!said("headroom weather").contains("similar"));
        assert!(!said("headroom guard rn").contains("'run'"));
    }
}
