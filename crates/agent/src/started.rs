//! Starts a subject for the measurement, and waits until it is ready to be measured.
//!
//! What a subject leaves in the file system, as a socket, is its own and stays.

use std::path::Path;

use model::wire::{Refusal, StartOrder};

use crate::{
    resident::{Keep, Resident},
    session::{End, Polling, Session},
    subject,
};

/// How long a subject may take until it is ready. The clock is the access point's own.
const READY: Polling = Polling { for_ns: 20_000_000_000, every_ns: 20_000_000 };

/// How long its name may be another's: until a shell has become the program, for instance.
const NAME: Polling = Polling { for_ns: 1_000_000_000, ..READY };

/// Starts the subject in a control group and waits until it is ready: the process, and those of its
/// processes that have the name.
pub(crate) fn start(
    session: &mut Session,
    name: &str,
    how: &StartOrder,
    group: Option<&Path>,
) -> Result<(Resident, Vec<u32>), End> {
    let what = format!("cannot start the subject `{}`", how.command.join(" "));
    let refused = |why: String| Refusal::new(what.clone(), why);
    if let Some(pid) = subject::pids_of(name)?.first() {
        return Err(refused(format!("`{name}` already runs as pid {pid}")).into());
    }
    let mut resident = Resident::start(&how.command, group, Keep::Everything)
        .map_err(|error| refused(error.to_string()))?;
    if let Some(path) = &how.ready {
        let look = || match end(&mut resident) {
            None => Path::new(path).exists().then_some(Ok(())),
            Some(why) => Some(Err(refused(why))),
        };
        if session.until(READY, look)?.transpose()?.is_none() {
            let why = format!("`{path}` is not there after {} s", READY.for_ns / 1_000_000_000);
            let words = resident.last_words().map(|words| format!(": {words}"));
            return Err(refused(why + &words.unwrap_or_default()).into());
        }
    }
    let look = || match end(&mut resident) {
        None => named(name, resident.pid(), group).map(Ok),
        Some(why) => Some(Err(refused(why))),
    };
    if let Some(pids) = session.until(NAME, look)?.transpose()? {
        return Ok((resident, pids));
    }
    let names = subject::names_of(resident.pid())?.join(", ");
    Err(refused(format!("none of its processes is named `{name}`; they are: {names}")).into())
}

/// That it has ended, where it has.
fn end(resident: &mut Resident) -> Option<String> {
    resident.ended()?;
    let how = resident.obituary();
    Some(format!("it ended before it was ready ({how}); a subject must stay in the foreground"))
}

/// Those processes of a name that the started one is, has started, or has left in its group.
fn named(name: &str, root: u32, group: Option<&Path>) -> Option<Vec<u32>> {
    let members = group.and_then(|group| linux::cgroup::members(group).ok()).unwrap_or_default();
    let ours = |pid: &u32| members.contains(pid) || subject::is_of(*pid, &[root]);
    let pids: Vec<u32> = subject::pids_of(name).ok()?.into_iter().filter(ours).collect();
    (!pids.is_empty()).then_some(pids)
}
