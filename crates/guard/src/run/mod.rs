//! The loop: sense, decide, act, record, tell.
//!
//! [`life::Life`] is one guard from its beginning to its end; [`run`] begins it, and whatever ends it, puts
//! everything back. What is read, decided and written is other modules'; here is only when.

pub mod book;
pub mod doors;
pub mod guard;
pub mod hand;
pub mod life;
mod log;
pub mod selfcare;
pub mod signals;

use std::panic::{AssertUnwindSafe, catch_unwind};

use self::{life::Life, signals::Signals};
use crate::{
    command::{
        Ended,
        failure::{Failure, INVALID},
        flags, say, tell,
    },
    journal::Report,
    status::words::Words,
};

/// `guard run`: begins, lives, and puts everything back.
///
/// # Errors
///
/// Where it cannot begin, where its senses fail, and where something cannot be put back.
pub fn run(flags: &flags::Run, name: &str) -> Ended {
    let signals = Signals::listen().map_err(|error| Failure::environment(&error))?;
    let mut life = Life::begin(flags, signals, name)?;
    let lived = catch_unwind(AssertUnwindSafe(|| life.live(flags)));
    let status = life.status();
    let ended = life.end();
    if !ended.restored.is_empty() && !flags.once {
        say(name, &format!("ended; put back: {}", ended.restored.len()));
    }
    // What is put back is as it should be; the rest is said line by line.
    let report = Report { restored: Vec::new(), ..ended };
    for line in report.to_string().lines() {
        tell(name, line);
    }
    match lived {
        Err(_) => {
            return Err(Failure::invalid(
                "it failed by a fault of its own, told above; what it had changed is put back",
            ));
        }
        Ok(lived) => lived?,
    }
    if !report.failed.is_empty() {
        let line =
            "not everything could be put back: mend what is told above, then `guard restore`";
        return Err(Failure { code: INVALID, line: line.to_owned() });
    }
    Ok(if flags.once { Words(&status).to_string() } else { String::new() })
}
