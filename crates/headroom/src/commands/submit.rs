//! `headroom submit`: a study as shards on the machines of a cluster, waited for and merged.
//!
//! It remembers nothing: which jobs there are is asked of the engine, by a name made from the folder, and what they have
//! made is in the shards' folders. So the same command again goes on, from whichever machine. Which trials a shard makes
//! is the lab's.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant, SystemTime},
};

use analysis::quantity::count;
use lab::{
    run_folder::{self, Progress},
    slurm::{self, Queue, Slurm},
};
use serde_json::{Value, json};

use super::{merge, report};
use crate::{
    failure::{Failure, Verdict},
    flags::{self, Common},
    options::{self, Options},
    output,
    run_path::RunPath,
    this_program,
};

/// A shard is given up whose jobs ended this often in a row without one more trial.
const ATTEMPTS: u32 = 4;

const LOOK: Duration = Duration::from_secs(1);

/// Without a change, progress is printed this often.
const SAY: Duration = Duration::from_secs(30);

/// An engine that has not answered for this long is gone.
const PATIENCE: Duration = Duration::from_secs(600);

/// The merged run, in the folder of its shards.
const MERGED: &str = "run";

pub(crate) fn submit(
    options: &Options,
    common: &Common,
    flags: &flags::Submit,
) -> Result<Verdict, Failure> {
    Slurm::require()?;
    let program = this_program::path()?;
    let words = words_of_run(common, flags);
    let trials = planned(&program, &words)?;
    let name = flags.study.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = options::absolute(RunPath::choose(flags.out.as_ref(), &name)?.to_path_buf());
    let folder = made(&folder)?;
    let script = script(&program, &words, &folder, flags)?;
    let cancel = options::watched()?;
    let slurm = Slurm {
        name: slurm::name_of(&folder),
        options: flags.options.clone(),
        cpus: flags.cpus,
        requeues: flags.detach,
        cancel: &cancel,
    };
    let shards = Shards { options, flags, folder: &folder, script: &script, slurm: &slurm, trials };
    match shards.wait() {
        Err(Failure::Lab(lab::Error::Interrupted)) => Err(shards.interrupted()),
        Ok(true) => conclude(options, flags, &folder),
        Ok(false) => {
            shards.say_how_to_go_on();
            Ok(Verdict::Pass)
        }
        Err(failure) => Err(failure),
    }
}

/// What every shard is begun with, but for which it is and where it goes.
fn words_of_run(common: &Common, flags: &flags::Submit) -> Vec<OsString> {
    let study = match flags.study.exists() {
        true => options::absolute(flags.study.clone()),
        // One that headroom brings.
        false => flags.study.clone(),
    };
    let mut words: Vec<OsString> = vec!["run".into(), study.into()];
    words.extend(common.words());
    words.extend(["--jobs".into(), flags.cpus.to_string().into()]);
    words.extend(flags.words.iter().cloned());
    words
}

/// How many trials the whole run has; a run cannot be shared out whose trials feel their machine.
fn planned(program: &Path, words: &[OsString]) -> Result<usize, Failure> {
    let dry = ["--shard", "1/1", "--dry-run", "--json"];
    let asked = Command::new(program).args(words).args(dry).output();
    let asked =
        asked.map_err(|error| Failure::Environment(format!("cannot start headroom: {error}")))?;
    if !asked.status.success() {
        return Err(this_program::failure(&asked));
    }
    let plan: Value = serde_json::from_slice(&asked.stdout).unwrap_or_default();
    Ok(plan["trials"].as_array().map_or(0, Vec::len))
}

/// Makes the folder and that of the jobs' logs; its path without links, which the jobs are named by.
fn made(folder: &Path) -> Result<PathBuf, Failure> {
    let cannot = |error| Failure::Environment(format!("cannot make {}: {error}", folder.display()));
    std::fs::create_dir_all(log_of(folder)).map_err(cannot)?;
    folder.canonicalize().map_err(cannot)
}

fn log_of(folder: &Path) -> PathBuf {
    below(folder, "log")
}

fn shard_of(folder: &Path, number: u32) -> PathBuf {
    below(folder, &format!("shard-{number}"))
}

fn below(folder: &Path, name: &str) -> PathBuf {
    PathBuf::from(format!("{}/{name}", folder.display()))
}

/// Writes what a job does: it begins its shard, or goes on with it.
fn script(
    program: &Path,
    words: &[OsString],
    folder: &Path,
    flags: &flags::Submit,
) -> Result<PathBuf, Failure> {
    let no_word = |_| Failure::Usage("a word holds a zero byte, which no shell takes".to_owned());
    let quoted = |word: &OsString| {
        let text = word.to_string_lossy();
        shlex::try_quote(&text).map(|quoted| quoted.into_owned()).map_err(no_word)
    };
    let program = quoted(&program.as_os_str().to_owned())?;
    let words = words.iter().map(quoted).collect::<Result<Vec<_>, _>>()?.join(" ");
    let shards = quoted(&below(folder, "shard-").into_os_string())?;
    let (of, jobs) = (flags.shards, flags.cpus);
    let text = format!(
        "#!/bin/sh\n# Makes one shard of a run, or goes on with it. Written by `headroom submit`.\n\
         shard={shards}\"$SLURM_ARRAY_TASK_ID\"\n\
         if [ -e \"$shard/run.json\" ]; then\n    \
         exec {program} run --resume \"$shard\" --jobs {jobs} --quiet\nfi\n\
         exec {program} {words} --shard \"$SLURM_ARRAY_TASK_ID/{of}\" --out \"$shard\" --quiet\n"
    );
    let path = below(folder, "job.sh");
    run_folder::write_whole(&path, text.as_bytes())?;
    Ok(path)
}

/// The shards, and who makes them.
struct Shards<'a> {
    options: &'a Options,
    flags: &'a flags::Submit,
    folder: &'a Path,
    script: &'a Path,
    slurm: &'a Slurm<'a>,
    /// Trials of the whole run.
    trials: usize,
}

#[derive(Debug, Default)]
struct Known {
    queue: Queue,
    progress: BTreeMap<u32, Progress>,
    /// When a trial had come last, when a shard was read last.
    read: BTreeMap<u32, Option<SystemTime>>,
    /// Jobs that were submitted here, by shard: since how many trials, and how often since.
    attempts: BTreeMap<u32, (usize, u32)>,
}

impl Shards<'_> {
    /// Submits what is missing until all is there; `false` where nobody waits for it.
    fn wait(&self) -> Result<bool, Failure> {
        let (mut known, mut said) = (Known::default(), Said::default());
        let mut answered = Instant::now();
        loop {
            match self.slurm.queue() {
                Ok(queue) => (known.queue, answered) = (queue, Instant::now()),
                Err(error @ lab::Error::Program { .. }) if answered.elapsed() > PATIENCE => {
                    return Err(error.into());
                }
                Err(error @ lab::Error::Program { .. }) => said.trouble(&error),
                Err(error) => return Err(error.into()),
            }
            self.look(&mut known);
            if known.is_whole(self.flags.shards) {
                said.say(self, &known);
                return Ok(true);
            }
            let lost = known.lost(self.flags.shards);
            if let Some(shard) = lost.iter().find(|shard| known.in_vain(**shard) >= ATTEMPTS) {
                return Err(self.given_up(*shard));
            }
            if !lost.is_empty() {
                self.slurm.submit(self.script, &log_of(self.folder), &lost)?;
                known.submitted(&lost);
            }
            said.say(self, &known);
            if self.flags.detach {
                return Ok(false);
            }
            thread::sleep(LOOK);
            self.slurm.cancel.check()?;
        }
    }

    /// Reads the shards again that may be further. One that a job still makes is read when a trial has come.
    fn look(&self, known: &mut Known) {
        for shard in 1..=self.flags.shards {
            let folder = shard_of(self.folder, shard);
            let changed = run_folder::changed(&folder);
            let is_same =
                known.queue.contains_key(&shard) && known.read.get(&shard) == Some(&changed);
            if known.is_done(shard) || is_same {
                continue;
            }
            known.read.insert(shard, changed);
            known.progress.extend(run_folder::progress(&folder).map(|progress| (shard, progress)));
        }
    }

    fn given_up(&self, shard: u32) -> Failure {
        let log = log_of(self.folder);
        Failure::Unmeasured(format!(
            "{ATTEMPTS} jobs of shard {shard}/{} ended without one more trial; what they said is in {}/{shard}.log",
            self.flags.shards,
            log.display()
        ))
    }

    fn interrupted(&self) -> Failure {
        Failure::Interrupted(format!(
            "interrupted; the jobs go on (`scancel --name={}` ends them); go on with the same command and `--out {}`",
            self.slurm.name,
            self.folder.display()
        ))
    }

    fn say_how_to_go_on(&self) {
        if self.options.json {
            output::json(&json!({"folder": self.folder, "jobs": self.slurm.name}));
        } else {
            let (folder, name) = (self.folder.display(), &self.slurm.name);
            output::line(format_args!(
                "submitted as {name}; wait for it with the same command and `--out {folder}`"
            ));
        }
    }
}

impl Known {
    fn is_done(&self, shard: u32) -> bool {
        self.progress.get(&shard).is_some_and(Progress::is_whole)
    }

    /// A job may still write the end of its report.
    fn is_whole(&self, shards: u32) -> bool {
        (1..=shards).all(|shard| self.is_done(shard) && !self.queue.contains_key(&shard))
    }

    /// Shards that nobody makes.
    fn lost(&self, shards: u32) -> Vec<u32> {
        let is_lost = |shard: &u32| !self.is_done(*shard) && !self.queue.contains_key(shard);
        (1..=shards).filter(is_lost).collect()
    }

    /// Trials of all shards together, of a run of so many: a shard has more than its part of them, which shows once it has
    /// begun.
    fn all(&self, shards: u32, trials: usize) -> usize {
        let begun: usize = self.progress.values().map(|progress| progress.planned).sum();
        let rest = shards as usize - self.progress.len();
        begun + trials * rest / shards.max(1) as usize
    }

    fn made(&self, shard: u32) -> usize {
        self.progress.get(&shard).map_or(0, |progress| progress.made)
    }

    /// Jobs of a shard that brought it no further.
    fn in_vain(&self, shard: u32) -> u32 {
        let tried = self.attempts.get(&shard).filter(|(made, _)| *made == self.made(shard));
        tried.map_or(0, |(_, jobs)| *jobs)
    }

    fn submitted(&mut self, shards: &[u32]) {
        for shard in shards {
            let tried = (self.made(*shard), self.in_vain(*shard) + 1);
            self.attempts.insert(*shard, tried);
            self.queue.insert(*shard, "submitted".to_owned());
        }
    }
}

/// What was said of the progress.
#[derive(Default)]
struct Said {
    last: String,
    when: Option<Instant>,
    trouble: String,
}

impl Said {
    /// Says how far it is, where that changed or nothing was said for a while.
    fn say(&mut self, run: &Shards<'_>, known: &Known) {
        let shards = run.flags.shards;
        let done = (1..=shards).filter(|shard| known.is_done(*shard)).count() as u32;
        let is_running = |state: &&String| state.starts_with("running");
        let running = known.queue.values().filter(is_running).count() as u32;
        let waiting = known.queue.len() as u32 - running;
        let now = format!("{done} {running} {waiting}");
        if now == self.last && self.when.is_some_and(|when| when.elapsed() < SAY) {
            return;
        }
        (self.last, self.when) = (now, Some(Instant::now()));
        let made: usize = known.progress.values().map(|progress| progress.made).sum();
        let all = known.all(shards, run.trials);
        if run.options.json {
            let event = json!({"event": "shards", "done": done, "running": running, "waiting": waiting,
                "shards": shards, "trials": made, "planned": all});
            output::json(&event);
        } else if !run.options.quiet {
            output::note(format_args!(
                "{done} of {} done, {running} running, {waiting} waiting; {made} of {}",
                count(shards, "shard"),
                count(all as u32, "trial"),
            ));
        }
    }

    /// What the engine says in place of an answer, once.
    fn trouble(&mut self, error: &lab::Error) {
        let text = error.to_string();
        if text != self.trouble {
            output::note(format_args!("headroom: {text}; it is asked again"));
            self.trouble = text;
        }
    }
}

fn conclude(options: &Options, flags: &flags::Submit, folder: &Path) -> Result<Verdict, Failure> {
    let shards: Vec<PathBuf> = (1..=flags.shards).map(|shard| shard_of(folder, shard)).collect();
    let merged = below(folder, MERGED);
    if !run_folder::is_one(&merged) {
        let (_, what) = merge::together(&shards, Some(&merged))?;
        merge::say(options, &what);
    }
    let stacks = flags::Stacks { run: Some(merged), ..Default::default() };
    report::write(options, &flags::Report { stacks, ..Default::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_what_nobody_makes_and_is_not_whole() {
        let whole = Progress { made: 3, planned: 3 };
        let half = Progress { made: 1, planned: 3 };
        let mut known = Known {
            queue: Queue::from([(2, "running".to_owned())]),
            progress: BTreeMap::from([(1, whole), (2, half), (3, half)]),
            ..Known::default()
        };
        assert_eq!(known.lost(4), [3, 4]);
        known.submitted(&[3, 4]);
        assert_eq!((known.lost(4), known.in_vain(3), known.in_vain(1)), (Vec::new(), 1, 0));
        assert!(!known.is_whole(4));
        assert_eq!(known.all(4, 8), 9 + 2);
        // One more trial, and nothing was in vain.
        known.progress.insert(3, Progress { made: 2, planned: 3 });
        assert_eq!((known.in_vain(3), known.in_vain(4)), (0, 1));
        known.queue.clear();
        known.progress = (1..=4).map(|shard| (shard, whole)).collect();
        assert!(known.is_whole(4));
    }
}
