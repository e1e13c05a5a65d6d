//! Shapes the help pages: examples first, then what is the verb's own.

use clap::{Arg, ArgAction, Command, CommandFactory};

use super::{Flags, LAB};

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
