//! Nice values of the threads that carry packets: NAPI's and `ksoftirqd`. [`crate::undo`] restores them.

use std::io;

use model::wire::Refusal;
use rustix::process::{Pid, getpriority_process, setpriority_process};

use super::{counting, refused};

/// A thread and its nice value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nice {
    tid: u32,
    value: i32,
}

impl Nice {
    /// Sets it.
    pub(crate) fn set(self) -> io::Result<()> {
        Ok(setpriority_process(Some(pid(self.tid)?), self.value)?)
    }

    /// As a word of a command line.
    pub(super) fn word(self) -> String {
        format!("{}={}", self.tid, self.value)
    }

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        let (tid, value) = word.split_once('=')?;
        Some(Self { tid: tid.parse().ok()?, value: value.parse().ok()? })
    }
}

fn pid(tid: u32) -> io::Result<Pid> {
    let tid = i32::try_from(tid).ok().and_then(Pid::from_raw);
    tid.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Every thread that carries packets, as nice as it is now.
pub(super) fn packet_threads() -> Vec<Nice> {
    let as_it_is = |tid| {
        let value = getpriority_process(Some(pid(tid).ok()?)).ok()?;
        Some(Nice { tid, value })
    };
    counting::carriers().into_iter().filter_map(as_it_is).collect()
}

/// Gives all of them one nice value.
pub(super) fn set_all(value: i32) -> Result<(), Refusal> {
    let threads = packet_threads();
    if threads.is_empty() {
        return Err(Refusal::new(
            "cannot make packet threads nicer",
            "this machine has neither ksoftirqd nor NAPI threads",
        ));
    }
    let set = |one: Nice| Nice { value, ..one }.set();
    let all = threads.into_iter().try_for_each(set);
    all.map_err(refused(format!("cannot give packet threads nice {value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_and_its_value_are_a_word() {
        let nice = Nice { tid: 17, value: -10 };
        assert_eq!(Nice::of_word(&nice.word()), Some(nice));
        assert_eq!(Nice::of_word("/headroom-trial-17"), None);
    }
}
