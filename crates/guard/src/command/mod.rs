//! The verbs, the same in `guard` and in `headroom guard`: parse, dispatch, print, exit code.
//!
//! [`crate::flags`] has the words, [`crate::failure`] the ends; each verb is a function of its own here or in
//! [`verbs`], and what it does is another module's.

pub mod verbs;

pub use crate::flags::{Guard, Program};
use crate::{
    failure::USAGE,
    flags::Verb,
    output::{complain, ended, print},
    run,
};

/// Does what was typed and tells how it ended; the exit code. `name` is what the program is called in its lines.
pub fn carry_out(guard: &Guard, name: &str) -> u8 {
    let outcome = match &guard.verb {
        Verb::Run(flags) => run::run(flags, name),
        Verb::Check(flags) => verbs::check(flags),
        Verb::Status(flags) => verbs::status(flags),
        Verb::Set(flags) => verbs::set(flags),
        Verb::Reload(flags) => verbs::reload(flags),
        Verb::Restore(flags) => verbs::restore(flags),
    };
    match outcome {
        Ok(text) => print(name, &text),
        Err(failure) => {
            complain(name, &failure.line);
            failure.code
        }
    }
}

/// Prints help, the version or what is wrong with the words; the exit code.
pub fn answer(words: &clap::Error, name: &str) -> u8 {
    ended(name, words.print(), u8::try_from(words.exit_code()).unwrap_or(USAGE))
}

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
        assert!(parse("0.0.0.0:9811").unwrap_err().contains("not a loopback address"));
        assert!(parse("9811").unwrap_err().contains("not an address"));
    }
}
