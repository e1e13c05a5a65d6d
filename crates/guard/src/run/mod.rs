//! The loop: sense, decide, act, report.
//!
//! [`session::Session`] is one guard from its beginning to its end; [`run`] begins it, and whatever ends it, puts
//! everything back. What is read, decided and written is other modules'; here is only when.

pub mod account;
pub mod actuator;
pub mod guard;
mod log;
mod record;
pub mod selfcare;
pub mod session;
pub mod signals;
pub mod sockets;

use std::panic::{AssertUnwindSafe, catch_unwind};

use self::{session::Session, signals::Signals};
use crate::{
    failure::{Failure, INVALID, Output},
    flags,
    journal::Report,
    output::{complain, say},
    status::words::Words,
};

/// `guard run`: begins, lives, and puts everything back.
/// Fails where it cannot begin, where its senses fail, and where something cannot be put back.
pub fn run(flags: &flags::Run, name: &str) -> Output {
    let signals = Signals::listen().map_err(|error| Failure::environment(&error))?;
    let mut session = Session::begin(flags, signals, name)?;
    let lived = catch_unwind(AssertUnwindSafe(|| session.run(flags)));
    let status = session.status();
    let ended = session.end();
    if !ended.restored.is_empty() && !flags.is_quiet() {
        say(name, &format!("ended; put back: {}", ended.restored.len()));
    }
    // What is put back is as it should be; the rest is said line by line.
    let report = Report { restored: Vec::new(), ..ended };
    for line in report.to_string().lines() {
        complain(name, line);
    }
    match lived {
        Err(_) => {
            return Err(Failure::invalid(
                "it failed because of a fault in guard, printed above; what it had changed is restored",
            ));
        }
        Ok(lived) => lived?,
    }
    if !report.failed.is_empty() {
        let line =
            "not everything could be put back: repair what is printed above, then `guard restore`";
        return Err(Failure { code: INVALID, line: line.to_owned() });
    }
    Ok(if flags.once { Words(&status).to_string() } else { String::new() })
}
