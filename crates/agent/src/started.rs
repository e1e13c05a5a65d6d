//! A subject that is started for the measurement, and when it is ready to be measured.
//!
//! Talks to [`crate::resident`], which starts and ends it, and to `/proc` for its name. While it waits
//! it hears orders and signals like every other wait of the agent. What a subject leaves behind in the
//! file system, as a socket, is the subject's own and stays.

use std::path::Path;

use linux::system::monotonic_ns;
use model::wire::{Refusal, StartOrder};

use crate::{
    resident::{Keep, Resident},
    session::{End, Session, Woken},
    subject,
};

/// So long a subject may take until it is ready, ns. The clock is the access point's own.
const READY_NS: u64 = 20_000_000_000;

/// So long its name may be another's: until a shell has become the program, for instance.
const NAME_NS: u64 = 1_000_000_000;

/// Between two looks, ns.
const LOOK_NS: u64 = 20_000_000;

/// Starts the subject in a control group and waits until it is ready: the process, and those of its
/// processes that have the name.
///
/// # Errors
///
/// [`Refusal::Start`] where a process of that name runs already, the program cannot be started, ends,
/// does not get ready in time, or has another name; [`End`] of an order or a signal meanwhile.
pub(crate) fn start(
    session: &mut Session,
    (name, how): (&str, &StartOrder),
    group: Option<&Path>,
) -> Result<(Resident, Vec<u32>), End> {
    let refused = |why| Refusal::Start { command: how.command.join(" "), why };
    if let Some(pid) = subject::pids_of(name)?.first() {
        return Err(refused(format!("`{name}` already runs as pid {pid}")).into());
    }
    let resident = Resident::start(&how.command, group, Keep::Everything)
        .map_err(|error| refused(error.to_string()))?;
    let mut starting = Starting { session, resident };
    if let Some(path) = &how.ready {
        let exists = |_: &Resident| Path::new(path).exists().then_some(());
        let ready = starting.until(READY_NS, exists).map_err(|end| end.told(refused))?;
        if ready.is_none() {
            let why = format!("`{path}` is not there after {} s", READY_NS / 1_000_000_000);
            return Err(refused(starting.with_last_words(why)).into());
        }
    }
    let named = |resident: &Resident| named(name, resident.pid(), group);
    match starting.until(NAME_NS, named).map_err(|end| end.told(refused))? {
        Some(pids) => Ok((starting.resident, pids)),
        None => {
            let names = subject::names_of(starting.resident.pid())?.join(", ");
            Err(refused(format!("none of its processes is named `{name}`; they are: {names}"))
                .into())
        }
    }
}

/// Those processes of a name that the started one is, has started, or has left in its group.
fn named(name: &str, root: u32, group: Option<&Path>) -> Option<Vec<u32>> {
    let members = group.and_then(|group| linux::cgroup::members(group).ok()).unwrap_or_default();
    let ours = |pid: &u32| members.contains(pid) || subject::is_of(*pid, &[root]);
    let pids: Vec<u32> = subject::pids_of(name).ok()?.into_iter().filter(ours).collect();
    (!pids.is_empty()).then_some(pids)
}

/// What ended a wait for a sign of readiness.
enum Cut {
    /// The subject ended: how, and its last words.
    Ended(String),
    /// Something else.
    Other(End),
}

impl Cut {
    fn told(self, refused: impl FnOnce(String) -> Refusal) -> End {
        match self {
            Self::Ended(why) => refused(why).into(),
            Self::Other(end) => end,
        }
    }
}

/// A subject on its way.
struct Starting<'a> {
    session: &'a mut Session,
    resident: Resident,
}

impl Starting<'_> {
    /// Looks for a sign again and again; `None` when patience is over.
    fn until<T>(
        &mut self,
        patience_ns: u64,
        look: impl Fn(&Resident) -> Option<T>,
    ) -> Result<Option<T>, Cut> {
        let until = monotonic_ns() + patience_ns;
        loop {
            if self.resident.ended().is_some() {
                return Err(Cut::Ended(format!(
                    "it ended before it was ready ({}); a subject must stay in the foreground",
                    self.resident.obituary()
                )));
            }
            if let Some(seen) = look(&self.resident) {
                return Ok(Some(seen));
            }
            let now = monotonic_ns();
            if now >= until {
                return Ok(None);
            }
            match self.session.wait(Some(now + LOOK_NS), &[]) {
                Ok(Woken::Order(order)) => return Err(Cut::Other(End::Order(order.into()))),
                Ok(Woken::Due | Woken::Child | Woken::Ended(_) | Woken::Ring) => {}
                Err(stop) => return Err(Cut::Other(stop.into())),
            }
        }
    }

    fn with_last_words(&self, why: String) -> String {
        match self.resident.last_words() {
            Some(words) => format!("{why}: {words}"),
            None => why,
        }
    }
}
