//! `headroom submit`: a study as shards on the machines of a cluster, waited for and merged.
//!
//! It remembers nothing: which jobs there are is asked of the engine, by a name made from the folder, and what they have
//! made is in the shards' folders. So the same command again continues, from whichever machine. Which trials a shard makes
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

/// A shard is given up when this many of its jobs in a row ended without one more trial.
const ATTEMPTS: u32 = 4;

const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Without a change, progress is printed this often.
const PRINT_INTERVAL: Duration = Duration::from_secs(30);

/// An engine that has not answered for this long is gone.
const PATIENCE: Duration = Duration::from_secs(600);

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
    let shards = Shards { of: flags.shards, trials, ..Shards::default() };
    let (at, name) = (folder.display(), &slurm.name);
    match wait(options, shards, &slurm, (&folder, &script)) {
        Err(Failure::Lab(lab::Error::Interrupted)) => Err(Failure::Interrupted(format!(
            "interrupted; the jobs go on (`scancel --name={name}` ends them); go on with the same command and `--out {at}`"
        ))),
        Err(failure) => Err(failure),
        Ok(true) => conclude(options, flags, &folder),
        Ok(false) if options.json => {
            output::json(&json!({"folder": folder, "jobs": name}));
            Ok(Verdict::Pass)
        }
        Ok(false) => {
            output::line(format_args!(
                "submitted as {name}; wait for it with the same command and `--out {at}`"
            ));
            Ok(Verdict::Pass)
        }
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

/// Writes what a job does: it begins its shard, or resumes it.
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
        "#!/bin/sh\n# Makes one shard of a run, or resumes it. Written by `headroom submit`.\n\
         shard={shards}\"$SLURM_ARRAY_TASK_ID\"\n\
         if [ -e \"$shard/run.json\" ]; then\n    \
         exec {program} run --resume \"$shard\" --jobs {jobs} --quiet\nfi\n\
         exec {program} {words} --shard \"$SLURM_ARRAY_TASK_ID/{of}\" --out \"$shard\" --quiet\n"
    );
    let path = below(folder, "job.sh");
    run_folder::write_whole(&path, text.as_bytes())?;
    Ok(path)
}

/// What is known of the shards.
#[derive(Debug, Default)]
struct Shards {
    of: u32,
    /// Trials of the whole run.
    trials: usize,
    queue: Queue,
    progress: BTreeMap<u32, Progress>,
    /// When the last trial had come when a shard was read last.
    read: BTreeMap<u32, Option<SystemTime>>,
    /// Jobs that were submitted here, by shard: its trials then, and how many jobs since it had another one.
    attempts: BTreeMap<u32, (usize, u32)>,
}

/// Submits jobs for shards that have none, until every shard is complete, and returns whether all are. Where Slurm requeues
/// lost jobs itself, it submits once and does not wait.
fn wait(
    options: &Options,
    mut shards: Shards,
    slurm: &Slurm<'_>,
    (folder, script): (&Path, &Path),
) -> Result<bool, Failure> {
    let (mut answered, mut trouble) = (Instant::now(), String::new());
    let mut printed: Option<([u32; 3], Instant)> = None;
    loop {
        match slurm.queue() {
            Ok(queue) => (shards.queue, answered) = (queue, Instant::now()),
            Err(error @ lab::Error::Program { .. }) if answered.elapsed() <= PATIENCE => {
                // What the engine says instead of an answer is printed once.
                let text = error.to_string();
                if text != trouble {
                    output::note(format_args!("headroom: {text}; it is asked again"));
                    trouble = text;
                }
            }
            Err(error) => return Err(error.into()),
        }
        shards.read(folder);
        let lost = shards.lost();
        if let Some(shard) = lost.iter().find(|shard| shards.in_vain(**shard) >= ATTEMPTS) {
            let (of, log) = (shards.of, log_of(folder));
            return Err(Failure::Unmeasured(format!(
                "{ATTEMPTS} jobs of shard {shard}/{of} ended without one more trial; what they said is in {}/{shard}.log",
                log.display()
            )));
        }
        if !lost.is_empty() {
            slurm.submit(script, &log_of(folder), &lost)?;
            shards.submitted(&lost);
        }
        let now = shards.counts();
        if printed.is_none_or(|(last, when)| last != now || when.elapsed() >= PRINT_INTERVAL) {
            printed = Some((now, Instant::now()));
            shards.print(options);
        }
        if shards.is_whole() || slurm.requeues {
            return Ok(shards.is_whole());
        }
        thread::sleep(POLL_INTERVAL);
        slurm.cancel.check()?;
    }
}

impl Shards {
    /// Reads the shards again that may be further. One that a job still makes is read when a trial has come.
    fn read(&mut self, folder: &Path) {
        for shard in 1..=self.of {
            let folder = shard_of(folder, shard);
            let changed = run_folder::changed(&folder);
            let is_same =
                self.queue.contains_key(&shard) && self.read.get(&shard) == Some(&changed);
            if !self.is_done(shard) && !is_same {
                self.read.insert(shard, changed);
                let progress = run_folder::progress(&folder);
                self.progress.extend(progress.map(|progress| (shard, progress)));
            }
        }
    }

    fn is_done(&self, shard: u32) -> bool {
        self.progress.get(&shard).is_some_and(Progress::is_whole)
    }

    /// A job may still write the end of its report.
    fn is_whole(&self) -> bool {
        self.queue.is_empty() && (1..=self.of).all(|shard| self.is_done(shard))
    }

    /// Shards that are not whole and that no job makes.
    fn lost(&self) -> Vec<u32> {
        let is_lost = |shard: &u32| !self.is_done(*shard) && !self.queue.contains_key(shard);
        (1..=self.of).filter(is_lost).collect()
    }

    /// Trials of all shards together: a shard has more than its part of the run's, which shows once it has begun.
    fn all(&self) -> usize {
        let begun: usize = self.progress.values().map(|progress| progress.planned).sum();
        let rest = self.of as usize - self.progress.len();
        begun + self.trials * rest / self.of.max(1) as usize
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

    /// How many shards are done, are being made, and wait.
    fn counts(&self) -> [u32; 3] {
        let done = (1..=self.of).filter(|shard| self.is_done(*shard)).count();
        let running = self.queue.values().filter(|state| state.starts_with("running")).count();
        [done, running, self.queue.len() - running].map(|count| count as u32)
    }

    fn print(&self, options: &Options) {
        let [done, running, waiting] = self.counts();
        let made: usize = self.progress.values().map(|progress| progress.made).sum();
        let all = self.all();
        if options.json {
            let event = json!({"event": "shards", "done": done, "running": running, "waiting": waiting,
                "shards": self.of, "trials": made, "planned": all});
            output::json(&event);
        } else if !options.quiet {
            let (shards, trials) = (count(self.of, "shard"), count(all as u32, "trial"));
            output::note(format_args!(
                "{done} of {shards} done, {running} running, {waiting} waiting; {made} of {trials}"
            ));
        }
    }
}

fn conclude(options: &Options, flags: &flags::Submit, folder: &Path) -> Result<Verdict, Failure> {
    let shards: Vec<PathBuf> = (1..=flags.shards).map(|shard| shard_of(folder, shard)).collect();
    let merged = below(folder, "run");
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
    fn what_is_lost_is_what_no_job_makes_and_is_not_whole() {
        let whole = Progress { made: 3, planned: 3 };
        let half = Progress { made: 1, planned: 3 };
        let mut shards = Shards {
            of: 4,
            trials: 8,
            queue: Queue::from([(2, "running".to_owned())]),
            progress: BTreeMap::from([(1, whole), (2, half), (3, half)]),
            ..Shards::default()
        };
        assert_eq!(shards.lost(), [3, 4]);
        shards.submitted(&[3, 4]);
        assert_eq!((shards.lost(), shards.in_vain(3), shards.in_vain(1)), (Vec::new(), 1, 0));
        assert!(!shards.is_whole());
        assert_eq!((shards.all(), shards.counts()), (9 + 2, [1, 1, 2]));
        // One more trial, and nothing was in vain.
        shards.progress.insert(3, Progress { made: 2, planned: 3 });
        assert_eq!((shards.in_vain(3), shards.in_vain(4)), (0, 1));
        shards.queue.clear();
        shards.progress = (1..=4).map(|shard| (shard, whole)).collect();
        assert!(shards.is_whole());
    }
}
