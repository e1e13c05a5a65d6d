//! Slurm: an array of jobs, one for each shard of a run; which of them are there; and their end.
//!
//! Drives Slurm's own clients. An array is known by the name of its jobs, so that a later call finds it again.
//! What a job makes and whether it is whole is known from its folder, not from Slurm.

use std::{collections::BTreeMap, path::Path, time::Duration};

use crate::{
    Cancel, Error,
    cache::sum,
    host,
    host_command::{finish, in_group},
};

/// The clients, and the Debian package that has them.
const CLIENTS: [&str; 3] = ["sbatch", "squeue", "scancel"];
const PACKAGE: &str = "slurm-client";

/// A controller that is restarted answers within this.
const DEADLINE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Slurm<'a> {
    pub name: String,
    /// Words for `sbatch` of the person's own, as `--partition=lab`.
    pub options: Vec<String>,
    pub cpus: u16,
    /// Whether Slurm begins a job again by itself whose node is lost, some minutes later; else the caller does at once.
    pub requeues: bool,
    pub cancel: &'a Cancel,
}

/// The jobs that Slurm has, by the number of their shard: their state and why they wait, in its words.
pub type Queue = BTreeMap<u32, String>;

/// What the jobs of the shards in this folder are called.
pub fn name_of(folder: &Path) -> String {
    let own = sum(folder.as_os_str().as_encoded_bytes());
    format!("headroom-{}", &own[..12])
}

impl Slurm<'_> {
    pub fn require() -> Result<(), Error> {
        CLIENTS.iter().try_for_each(|client| host::require(client, PACKAGE))
    }

    /// Submits a script as jobs with these numbers.
    pub fn submit(&self, script: &Path, log: &Path, shards: &[u32]) -> Result<(), Error> {
        let numbers: Vec<String> = shards.iter().map(u32::to_string).collect();
        let words = [
            format!("--array={}", numbers.join(",")),
            format!("--job-name={}", self.name),
            format!("--output={}/%a.log", log.display()),
            format!("--cpus-per-task={}", self.cpus),
            "--open-mode=append".to_owned(),
            if self.requeues { "--requeue" } else { "--no-requeue" }.to_owned(),
            "--parsable".to_owned(),
        ];
        let words = words.iter().chain(&self.options).map(String::as_str);
        let script = script.display().to_string();
        ask("sbatch", words.chain([script.as_str()]), self.cancel).map(|_| ())
    }

    /// The jobs that wait or run.
    pub fn queue(&self) -> Result<Queue, Error> {
        let name = format!("--name={}", self.name);
        let words = ["--noheader", "--array", "--me", "--format=%K %T %r"];
        let words = words.into_iter().chain([name.as_str()]);
        ask("squeue", words, self.cancel).map(|said| queue_of(&said))
    }
}

fn ask<'w>(
    client: &str,
    words: impl IntoIterator<Item = &'w str>,
    cancel: &Cancel,
) -> Result<String, Error> {
    let mut command = in_group(client);
    command.args(words);
    let ended = finish(command, DEADLINE, cancel)?;
    if ended.code() == Some(0) {
        return Ok(ended.output);
    }
    Err(ended.failure(client, DEADLINE, ended.last_line().to_owned()))
}

/// Lines as `3 PENDING Resources`; what has no number is no job of an array.
fn queue_of(said: &str) -> Queue {
    let job = |line: &str| {
        let (number, state) = line.trim().split_once(' ')?;
        Some((number.parse().ok()?, state.trim_end_matches(" None").to_lowercase()))
    };
    said.lines().filter_map(job).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_known_by_the_numbers_of_their_shards() {
        let said =
            "1 RUNNING None\n12 PENDING Resources\nN/A PENDING Priority\n\n3 COMPLETING None\n";
        let queue = queue_of(said);
        let states: Vec<_> =
            queue.iter().map(|(number, state)| (*number, state.as_str())).collect();
        assert_eq!(states, [(1, "running"), (3, "completing"), (12, "pending resources")]);
    }
}
