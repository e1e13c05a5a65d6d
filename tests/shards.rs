//! Shards: one run made by several machines is the run that one machine makes, whatever is lost on the way; and what is
//! no part of it is refused.

use std::{fs, thread, time::Duration};

use model::trial::Trial;
use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Place, RunFolder, Slurm, Study, eventually, sha256sum};

/// Six clients, polled and not, in twelve trials.
fn study() -> Study {
    let poll = "iw dev {interface} station dump";
    Study::small().window("2s").repetitions(6).idle().load("poll", poll)
}

/// The same with enough trials for three shards, one after the other.
fn few() -> Study {
    study().repetitions(4).window("1s")
}

/// Makes shards of the study one after the other, `shard-1` and so on.
fn shards(place: &Place, of: u32) -> Vec<String> {
    let made = |number: u32| {
        let (shard, folder) = (format!("{number}/{of}"), format!("shard-{number}"));
        place.call(&format!("run study.toml --shard {shard} --out {folder}")).code(0);
        folder
    };
    (1..=of).map(made).collect()
}

/// What figures are made of: every trial's name, and its subject's CPU time at both ends of the window, ns.
fn counted(run: &RunFolder) -> Vec<(String, Vec<u64>)> {
    let of = |trial: Trial| {
        let recording = trial.reading().unwrap();
        let ends = [recording.samples.first(), recording.samples.last()].into_iter().flatten();
        let times =
            ends.flat_map(|sample| sample.subject.tasks.iter().filter_map(|task| task.run_ns));
        (trial.planned.id.to_string(), times.collect())
    };
    let mut all: Vec<_> = run.trials().into_iter().map(of).collect();
    all.sort();
    all
}

#[test]
fn shards_of_one_run_become_the_run_that_one_machine_makes() {
    let place = Place::with_study(few().text());
    place.call("run study.toml --out whole").code(0);
    let folders = shards(&place, 3);
    // What names a stripped program's functions.
    let debug = "objects/00ff.debug";
    place.write(&format!("shard-2/{debug}"), "symbols");
    let merged = place.call("merge shard-1 shard-2 shard-3 --out run");
    merged.code(0).prints("merged 3 shards, 8 trials").prints("poll@6#1");
    assert_eq!(place.run().text(debug), "symbols");
    assert_eq!(counted(&place.run()), counted(&place.run_in("whole")));
    let run = place.run().run();
    assert!(run.part.is_none() && run.plan == place.run_in("whole").run().plan);
    // A run like any other.
    place.call("report run --json").code(0);
    place.resume().run().code(0);
    // Each trial but the three canaries is one shard's.
    let all: usize = folders.iter().map(|folder| place.run_in(folder).trials().len()).sum();
    assert_eq!(all, 8 + 2 * 3);
    refuses_what_is_no_part(&place);
}

/// With three shards and a whole run there.
fn refuses_what_is_no_part(place: &Place) {
    let refused = |folders: &str, code: i32, why: &str| {
        place.call(&format!("merge {folders} --out no")).code(code).says(why).in_one_line();
        assert!(!place.path("no").exists());
    };
    refused("shard-1 shard-3", 3, "missing: shard 2/3");
    refused("shard-1 whole", 2, "whole is no shard");
    refused("nowhere", 2, "nowhere");
    place.write("other.toml", few().window("2s").text());
    place.call("run other.toml --shard 2/3 --out other").code(0);
    refused("shard-1 other shard-3", 2, "its study is another");
    // A machine that counts one nanosecond more, once and always.
    let more = |trial: &mut Value| {
        let ends = trial["outcome"]["measured"]["samples"].as_array_mut().unwrap();
        let time = &mut ends.last_mut().unwrap()["subject"]["tasks"][0]["run_ns"];
        *time = (time.as_u64().unwrap() + 1).into();
    };
    rewrite(place, "shard-2", "poll@6#1", more);
    place.call("merge shard-1 shard-2 shard-3 --out once").code(0);
    ["poll@6#2", "poll@6#3"].iter().for_each(|trial| rewrite(place, "shard-2", trial, more));
    refused("shard-1 shard-2 shard-3", 3, "do not count alike");
    // Edited, and nobody says otherwise.
    let trial = place.path("shard-3/trials/poll@6#1.json");
    fs::write(&trial, fs::read_to_string(&trial).unwrap() + " ").unwrap();
    refused("shard-1 shard-3", 3, "shard-3 has no valid trial poll@6#1");
}

/// Changes a trial's file, and its sum with it.
fn rewrite(place: &Place, run: &str, trial: &str, change: impl FnOnce(&mut Value)) {
    let name = format!("trials/{trial}.json");
    let path = place.path(format!("{run}/{name}"));
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut value);
    fs::write(&path, serde_json::to_string(&value).unwrap()).unwrap();
    let sums = place.path(format!("{run}/SHA256SUMS"));
    let text = fs::read_to_string(&sums).unwrap();
    let lines = text.lines().map(|line| match line.ends_with(&name) {
        true => format!("{}  {name}\n", sha256sum(&path)),
        false => format!("{line}\n"),
    });
    fs::write(&sums, lines.collect::<String>()).unwrap();
}

#[test]
fn a_cluster_makes_the_same_run_although_submit_ends_and_nodes_are_lost_in_the_middle() {
    let place = Place::with_guests();
    let Some(mut cluster) = Slurm::start(&place) else { return };
    place.write("study.toml", study().text());
    place.call("run study.toml --out whole").code(0);
    is_submitted_and_left(&place, &cluster);
    let wanted = std::env::var("HEADROOM_LOST_NODES");
    let (mut left, mut round) = (wanted.map_or(1, |wanted| wanted.parse().unwrap()), 0);
    while left > 0 {
        round += 1;
        let out = format!("out-{round}");
        let words = format!("submit study.toml --shards 4 --out {out}");
        let running = cluster.headroom(&place, &words).start();
        while left > 0 && lose_one(&place, &mut cluster, &out) {
            left -= 1;
        }
        running.end().code(0).prints("merged 4 shards, 12 trials");
        assert_eq!(cluster.queue(), [] as [&str; 0]);
        let run = place.run_in(&format!("{out}/run"));
        assert_eq!(counted(&run), counted(&place.run_in("whole")), "in round {round}");
    }
    // What is there is shown again and not made again.
    cluster.headroom(&place, &format!("{SUBMIT} --json")).run().code(0);
}

const SUBMIT: &str = "submit study.toml --shards 4 --out out-1";

/// Jobs go on after submit has ended; they are ended with some of the trials.
fn is_submitted_and_left(place: &Place, cluster: &Slurm) {
    let detached = cluster.headroom(place, &format!("{SUBMIT} --detach")).run();
    detached.code(0).prints("submitted as headroom-");
    // Somebody comes back and leaves again.
    let running = cluster.headroom(place, SUBMIT).start();
    thread::sleep(Duration::from_secs(3));
    running.signal(Signal::INT);
    let said = running.end();
    said.code(130).says("the jobs go on (`scancel --name=headroom-");
    assert!(!cluster.queue().is_empty());
    cluster.cancel(said.stderr.split_once("--name=").unwrap().1.split('`').next().unwrap());
    let over = || cluster.queue().is_empty().then_some(());
    eventually(Duration::from_secs(60), over).expect("no job is left");
    let bad = cluster.headroom(place, "submit study.toml --shards 2 -- --clients none");
    bad.run().code(2).says("--clients");
}

/// Loses a node that makes a shard, once it has some trials, and raises it again; `false` where all is made.
fn lose_one(place: &Place, cluster: &mut Slurm, out: &str) -> bool {
    let trials = || {
        let shard = |number| fs::read_dir(place.path(format!("{out}/shard-{number}/trials")));
        (1..=4).filter_map(|number| Some(shard(number).ok()?.count())).sum::<usize>()
    };
    let before = trials();
    let next = || (trials() > before || place.path(format!("{out}/run")).exists()).then_some(());
    eventually(Duration::from_secs(300), next).expect("another trial");
    let running = cluster.queue().into_iter().find(|job| job.contains(" RUNNING "));
    let Some(job) = running else { return false };
    let node = usize::from(job.ends_with("two"));
    cluster.lose(node);
    cluster.raise(place, node);
    true
}
