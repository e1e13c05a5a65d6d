//! All jobs of a server: their processes, their budget, and whoever waits for them.
//!
//! A job's process is asked to stop by a signal and has time to keep what is finished; only one that does not end is killed.

use std::{
    path::Path,
    process::ExitStatus,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use lab::run_folder;
use linux::folder::Folder;
use model::event::Event;
use rmcp::model::JsonObject;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStderr, ChildStdout},
    sync::watch,
    task,
    time::timeout,
};

use super::{
    answers::Status,
    budget::{Budget, Cost},
    job::{End, Job},
};
use crate::{
    answer::Answer, code_files::SymbolFolders, commands::analysed::Analysed, flags, this_program,
};

/// A job that was asked to stop has so long for it: trials in flight end at once, a guest within seconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// Lines of a job's error output that are remembered.
const LAST_LINES: usize = 8;

#[derive(Debug)]
pub(super) struct Jobs {
    all: Mutex<Vec<Job>>,
    budget: Budget,
    at_once: usize,
    /// Where names of functions come from.
    symbols: Arc<SymbolFolders>,
    /// Changes whenever a job does.
    changes: watch::Sender<u64>,
}

impl Jobs {
    pub(super) fn new(budget: Budget, at_once: usize, symbols: SymbolFolders) -> Self {
        let symbols = Arc::new(symbols);
        Self { all: Mutex::default(), budget, at_once, symbols, changes: watch::Sender::new(0) }
    }

    fn all(&self) -> MutexGuard<'_, Vec<Job>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another job of this cost may begin.
    pub(super) fn admit(&self, wanted: Option<Cost>) -> Result<(), String> {
        let all = self.all();
        let running: Vec<&str> =
            all.iter().filter(|job| job.ended().is_none()).map(Job::handle).collect();
        if running.len() >= self.at_once {
            let most = self.at_once;
            return Err(format!(
                "{} still works, and the server runs {most} at a time; `wait` for it, or `cancel` it",
                running.join(", ")
            ));
        }
        let least = Cost { trials: 1, seconds: 0.0 };
        self.budget.allow(counted(&all), wanted.unwrap_or(least))
    }

    pub(super) fn next_number(&self) -> usize {
        self.all().len() + 1
    }

    /// Takes in a job whose process has begun, and follows it.
    pub(super) fn follow(self: &Arc<Self>, mut job: Job, child: Child) -> Status {
        job.pid = child.id();
        let (status, number) = (job.status(), job.number);
        self.all().push(job);
        task::spawn(Arc::clone(self).followed(number, child));
        status
    }

    async fn followed(self: Arc<Self>, number: usize, mut child: Child) {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (value, said) = tokio::join!(self.events(number, stdout), last_words(stderr));
        let code = child.wait().await.ok().as_ref().and_then(ExitStatus::code);
        let folder = self.with(number, |job| {
            // From here on its number may be another process's.
            job.pid = None;
            job.folder.clone()
        });
        let symbols = Arc::clone(&self.symbols);
        let answer = task::spawn_blocking(move || answered(&folder, &symbols));
        let answer = answer.await.ok().flatten();
        self.with(number, |job| {
            let value = value.filter(|_| job.is_of_task());
            job.end(End { code, said, answer, value });
        });
        self.changed();
    }

    /// Takes notice of what a job prints; the last value that is no event is its own.
    async fn events(&self, number: usize, stdout: Option<ChildStdout>) -> Option<JsonObject> {
        let mut lines = BufReader::new(stdout?).split(b'\n');
        let mut last = None;
        while let Ok(Some(line)) = lines.next_segment().await {
            let Ok(value) = serde_json::from_slice::<JsonObject>(&line) else { continue };
            if !value.contains_key("event") {
                last = Some(value);
            } else if let Ok(event) = serde_json::from_value::<Event>(Value::Object(value)) {
                self.with(number, |job| job.see(event));
                let taken = counted(&self.all());
                // One without a plan, or one whose plan was exceeded.
                if let Some(why) = self.budget.overdrawn(taken) {
                    self.interrupt(number, &why);
                }
                self.changed();
            }
        }
        last
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Acts on a job. None is ever removed, and numbers count from 1.
    fn with<T>(&self, number: usize, act: impl FnOnce(&mut Job) -> T) -> T {
        act(&mut self.all()[number - 1])
    }

    pub(super) fn of<T>(&self, handle: &str, read: impl FnOnce(&Job) -> T) -> Result<T, String> {
        let all = self.all();
        let there: Vec<&str> = all.iter().map(Job::handle).collect();
        let job = all.iter().find(|job| job.handle() == handle);
        job.map(read).ok_or_else(|| match there.as_slice() {
            [] => format!("there is no job `{handle}`, and none was begun yet; `start` begins one"),
            there => format!("there is no job `{handle}`; there are {}", there.join(", ")),
        })
    }

    /// What is read of each job.
    pub(super) fn of_each<T>(&self, read: impl FnMut(&Job) -> T) -> Vec<T> {
        self.all().iter().map(read).collect()
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Asks a job to stop, once.
    pub(super) fn interrupt(&self, number: usize, why: &str) {
        let pid = self.with(number, |job| {
            let pid = job.pid.filter(|_| !job.is_stopped());
            job.stop(why);
            pid
        });
        signal(pid, Signal::INT);
        self.changed();
    }

    /// Asks every job to stop and waits until none runs any more.
    pub(super) async fn end_all(&self) {
        for number in self.of_each(|job| job.number) {
            self.interrupt(number, "the server ended");
        }
        let mut changes = self.changes();
        let all_ended = async {
            while self.all().iter().any(|job| job.ended().is_none()) {
                if changes.changed().await.is_err() {
                    break;
                }
            }
        };
        if timeout(PATIENCE, all_ended).await.is_err() {
            // Its guests are bound to it and end with it.
            self.all().iter().for_each(|job| signal(job.pid, Signal::KILL));
        }
    }
}

/// What a run says. Its flame graphs are put beside it.
fn answered(folder: &Path, symbols: &SymbolFolders) -> Option<Answer> {
    let recorded = run_folder::read(folder).ok()?;
    let mut answer =
        Analysed::of(&recorded, symbols, &flags::Limits::default(), None).ok()?.answer(&recorded);
    let place = Folder::open(folder).ok()?;
    answer.flames.retain_mut(|flame| {
        let svg = std::mem::take(&mut flame.svg);
        run_folder::write_whole(&place.path_of(&flame.file), svg.as_bytes()).is_ok()
    });
    Some(answer)
}

fn counted(all: &[Job]) -> Cost {
    all.iter().map(Job::counted).fold(Cost::default(), Cost::and)
}

/// Sends a signal to a job's process. Its number is its own until it was waited for, and then it is forgotten.
fn signal(pid: Option<u32>, signal: Signal) {
    if let Some(pid) = pid.and_then(|pid| Pid::from_raw(pid.cast_signed())) {
        let _ = kill_process(pid, signal);
    }
}

async fn last_words(stderr: Option<ChildStderr>) -> Option<String> {
    let mut lines = BufReader::new(stderr?).split(b'\n');
    let mut last: Vec<String> = Vec::new();
    while let Ok(Some(line)) = lines.next_segment().await {
        last.push(String::from_utf8_lossy(&line).into_owned());
        if last.len() > LAST_LINES {
            last.remove(0);
        }
    }
    (!last.is_empty()).then(|| this_program::sentence(&last.join("\n")))
}
