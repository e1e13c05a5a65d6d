//! The verbs of `guard` and of `headroom guard`: which is which function, and how each ends.

use crate::{
    characterize,
    command::{
        flags::{Guard, Verb},
        print, tell, verbs,
    },
    run,
};

/// Does what was typed and says how it ended; the exit code. `name` is what the program is called in its lines.
pub fn carry_out(guard: &Guard, name: &str) -> u8 {
    let ended = match &guard.verb {
        Verb::Run(flags) => run::run(flags, name),
        Verb::Check(flags) => verbs::check(flags),
        Verb::Status(flags) => verbs::status(flags),
        Verb::Set(flags) => verbs::set(flags),
        Verb::Reload(flags) => verbs::reload(flags),
        Verb::Restore(flags) => verbs::restore(flags),
        Verb::Replay(flags) => verbs::replay(flags),
        Verb::Characterize(flags) => characterize::characterize(flags, name),
        Verb::Doctor(flags) => verbs::doctor(flags),
    };
    match ended {
        Ok(text) => print(&text),
        Err(failure) => {
            tell(name, &failure.line);
            failure.code
        }
    }
}
