//! One question of each interface, and what the answers say together: how many clients, or all that is said of them.
//!
//! Anyone who wants to confirm stationd's values by others asks so: each station comes as it was told, on a line
//! of its own.

use std::os::fd::OwnedFd;

use serde_json::Value as Json;

use super::{
    Error, begin,
    consumer::Consumer,
    flags::{Asks, Flags},
    listening,
    reply::Got,
};

/// stationd runs, or it does not: the one that asks once does not wait for it for long.
const BEGIN_NS: u64 = 2_000_000_000;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What was asked for, with its ends of lines.
    pub text: String,
    /// What was wrong with the replies, a line each.
    pub faults: Vec<String>,
}

/// Asks once about each interface; `None` where a signal came first.
///
/// # Errors
///
/// [`Error`] where no one is there to ask.
pub fn ask(flags: &Flags, signals: &OwnedFd) -> Result<Option<Answer>, Error> {
    let mut poller = listening(signals)?;
    let Some(interfaces) = begin(flags, &mut poller, BEGIN_NS)? else { return Ok(None) };
    let mut consumer = Consumer::new(&flags.face, &interfaces, flags.reply);
    consumer.ask(flags.face.path()).map_err(|source| super::unreachable(&flags.face, source))?;
    Ok(Some(match flags.asks {
        Asks::Values => values(&mut consumer, &interfaces),
        Asks::Clients | Asks::Sense => clients(&mut consumer, &interfaces),
    }))
}

fn clients(consumer: &mut Consumer, interfaces: &[String]) -> Answer {
    let (mut clients, mut faults) = (0, Vec::new());
    consumer.hear(&mut Got::default(), |place, heard| match heard {
        Ok(stations) => clients += stations.len(),
        Err(wrong) => faults.push(format!("{}: {wrong}", interfaces[place])),
    });
    Answer { text: format!("{clients}\n"), faults }
}

fn values(consumer: &mut Consumer, interfaces: &[String]) -> Answer {
    let mut answer = Answer::default();
    consumer.hear_whole(&mut Got::default(), |place, heard| match heard {
        Ok(objects) => {
            let lines = objects.into_iter().map(|one| format!("{}\n", Json::Object(one)));
            answer.text.extend(lines);
        }
        Err(wrong) => answer.faults.push(format!("{}: {wrong}", interfaces[place])),
    });
    answer
}
