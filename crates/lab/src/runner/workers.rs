//! Runs work on several threads, and stress-ng beside it.

use std::{
    collections::VecDeque,
    os::unix::process::CommandExt,
    process::{Child, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use crate::{Error, host};

/// Works a queue off until it is empty or something fails.
pub(crate) fn take_all<T, R>(
    queue: &Mutex<VecDeque<T>>,
    mut work: impl FnMut(T) -> Result<R, Error>,
) -> Result<Vec<R>, Error> {
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let mut results = Vec::new();
    while let Some(item) = next() {
        match work(item) {
            Ok(result) => results.push(result),
            Err(error) => {
                // The others finish what they have and find nothing more to do.
                queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
                return Err(error);
            }
        }
    }
    Ok(results)
}

/// Runs the same work on several threads; the first failure is the one that is reported.
pub(crate) fn side_by_side<R: Send>(
    threads: usize,
    work: impl Fn() -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        let results: Vec<_> = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        results.into_iter().collect()
    })
}

pub(super) struct Stress(Child);

impl Stress {
    pub(super) fn start() -> Result<Self, Error> {
        host::require("stress-ng", "stress-ng")?;
        let workers = (2 * host::cores()).to_string();
        let child = host::bound("TERM")
            .args(["stress-ng", "--quiet", "--cpu", &workers])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::file("start", "stress-ng"))?;
        // Its workers need a moment before they load the host.
        thread::sleep(Duration::from_millis(300));
        Ok(Self(child))
    }
}

impl Drop for Stress {
    fn drop(&mut self) {
        // stress-ng ends its workers itself when it is asked to; a kill would leave them.
        host::ask_to_end(&mut self.0);
    }
}
