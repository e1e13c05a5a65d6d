//! The command line, the same in `guard` and in `headroom guard`: words, ends, lines out, and verbs that end at once.
//!
//! [`flags`] has the words, [`failure`] the ends, [`verbs`] what is done at once. Which verb is which function is
//! [`crate::dispatch`]'s.

pub mod ask;
pub mod failure;
pub mod flags;
pub mod sources;
pub mod verbs;

use std::io::{self, Write};

use model::inert;

pub use flags::{Guard, Program};

use self::failure::{ENVIRONMENT, Failure, PASS};

/// To the standard output. A reader that has left is no fault of ours.
pub(crate) fn print(text: &str) -> u8 {
    match io::stdout().write_all(inert::lines(text).as_bytes()) {
        Ok(()) => PASS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => PASS,
        Err(_) => ENVIRONMENT,
    }
}

/// One line to the error output.
pub(crate) fn tell(name: &str, line: &str) {
    // Nobody is left to be told where even this fails.
    let _ = writeln!(io::stderr(), "{name}: {}", inert::lines(line));
}

/// One line to the standard output while a verb is at work. A reader that has left is no fault of ours.
pub(crate) fn say(name: &str, line: &str) {
    let _ = writeln!(io::stdout(), "{name}: {}", inert::lines(line));
}

/// What a verb gives: the text for its standard output.
pub type Ended = Result<String, Failure>;

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Program::command().debug_assert();
    }

    #[test]
    fn help_is_what_people_read() {
        let mut command = Program::command().term_width(100);
        let mut pages = vec![command.render_help().to_string()];
        for verb in command.get_subcommands_mut() {
            pages.push(verb.clone().term_width(100).render_help().to_string());
        }
        insta::assert_snapshot!(pages.join("\n────\n"));
    }

    #[test]
    fn metrics_are_not_served_to_the_network() {
        use clap::Parser;
        let parse = |address: &str| {
            Program::try_parse_from(["guard", "run", "p.toml", "--listen", address])
                .map_err(|error| error.to_string())
        };
        assert!(parse("127.0.0.1:9811").is_ok() && parse("[::1]:9811").is_ok());
        assert!(parse("0.0.0.0:9811").unwrap_err().contains("no loopback address"));
        assert!(parse("9811").unwrap_err().contains("no address"));
    }
}
