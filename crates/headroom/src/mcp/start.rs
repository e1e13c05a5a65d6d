//! From what a client says to a command line of headroom, and to a job.
//!
//! Every word of a client stands behind a flag of its own (`--variant=NAME`) or behind `--`, so that none is taken for a flag;
//! what is wrong with a word is headroom's to say.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use lab::run_folder;
use linux::folder::Folder;
use rmcp::model::JsonObject;
use serde::Serialize;
use serde_json::Value;

use super::{
    again::Again,
    allowed::Allowed,
    answers::{Kind, Ledger, Plan, Status},
    arguments::{Compare, Profile, Study, Submission, Submit, Task},
    budget::Cost,
    job::{Job, Order},
    jobs::Jobs,
};
use crate::shipped;

/// More entries of a list, or a longer word, are nobody's who asks for a measurement.
const MOST_ENTRIES: usize = 100;
const LONGEST_WORD: usize = 500;

/// A longer diff is no change that is proposed but another program, bytes.
const LONGEST_DIFF: usize = 512 << 10;

#[derive(Debug)]
pub(super) struct Starter {
    pub(super) again: Again,
    pub(super) allowed: Allowed,
    /// The folder of all runs.
    pub(super) folder: PathBuf,
    pub(super) jobs: Arc<Jobs>,
}

impl Starter {
    pub(super) async fn plan(&self, asked: &Study) -> Result<Plan, String> {
        plan_of(&self.again.ask(&self.run_words(asked)?.dry()).await?)
    }

    pub(super) async fn run(&self, asked: &Study) -> Result<Status, String> {
        self.planned(Kind::Run, &asked.study, self.run_words(asked)?).await
    }

    pub(super) async fn compare(&self, asked: &Compare) -> Result<Status, String> {
        self.planned(Kind::Compare, &asked.study, self.compare_words(asked)?).await
    }

    /// Begins a profile. It has no plan before it begins.
    pub(super) fn profile(&self, asked: &Profile) -> Result<Status, String> {
        let what = &asked.what;
        let is_file = shipped::named(what).is_none() && shipped::is_study(what);
        let word = if is_file { self.allowed.file(what)?.into() } else { OsString::from(what) };
        let words = self.words("profile", asked, vec![word])?;
        self.begin(Order::unplanned(Kind::Profile, what), words)
    }

    /// Begins a task, a try, or an acceptance: `headroom improve` for clients.
    pub(super) fn submit(&self, asked: &Submit) -> Result<Status, String> {
        let task = self.allowed.task(&asked.task)?;
        let (kind, verb) = match asked.kind {
            Submission::Try => (Kind::Try, "improve try"),
            Submission::Accept => (Kind::Accept, "improve accept"),
            Submission::Begin => (Kind::Begin, "improve init"),
        };
        let mut words = Words { verb, rest: vec![task.into()], ..Words::default() };
        match (asked.kind, &asked.diff) {
            (Submission::Try, Some(diff)) => words.rest.push(self.written(diff)?.into()),
            (Submission::Try, None) => {
                return Err("a try is a diff; give its text as `diff`".to_owned());
            }
            (_, Some(_)) => return Err("only a try has a diff; leave it out".to_owned()),
            (_, None) => {}
        }
        self.begin(Order::unplanned(kind, &asked.task), words)
    }

    /// A diff as a file of the server's.
    fn written(&self, diff: &str) -> Result<PathBuf, String> {
        if diff.len() > LONGEST_DIFF {
            return Err(format!(
                "the diff has more than {LONGEST_DIFF} bytes; propose less at a time"
            ));
        }
        let folder = self.folder.display();
        Folder::create(&self.folder).map_err(|error| {
            format!("cannot make {folder} for the diff: {error}; start the server where files can be written")
        })?;
        // The number is ours.
        let file = PathBuf::from(format!("{folder}/job-{}.diff", self.jobs.next_number()));
        run_folder::write_whole(&file, diff.as_bytes()).map_err(|error| error.to_string())?;
        Ok(file)
    }

    pub(super) async fn ledger(&self, asked: &Task) -> Result<Ledger, String> {
        let rest = vec![self.allowed.task(&asked.task)?.into()];
        let words = Words { verb: "improve ledger", rest, ..Words::default() };
        let ledger: JsonObject = serde_json::from_value(self.again.ask(&words.with([])).await?)
            .map_err(|error| format!("headroom's ledger is no object: {error}"))?;
        Ok(Ledger { task: asked.task.clone(), ledger })
    }

    async fn planned(&self, kind: Kind, of: &str, words: Words) -> Result<Status, String> {
        let plan = plan_of(&self.again.ask(&words.dry()).await?)?;
        let cost = Cost { trials: plan.trials, seconds: plan.device_seconds };
        let estimate_s = Some(plan.estimated_seconds + plan.making_seconds);
        self.begin(Order { kind, of: of.to_owned(), cost: Some(cost), estimate_s }, words)
    }

    /// Nothing waits in here, so that two calls cannot both take the last place.
    fn begin(&self, wanted: Order, words: Words) -> Result<Status, String> {
        self.jobs.admit(wanted.cost)?;
        let number = self.jobs.next_number();
        // The number is ours.
        let folder = PathBuf::from(format!("{}/job-{number}", self.folder.display()));
        let job = Job::new(number, wanted, folder);
        let out = ["--out".into(), job.folder.clone().into()];
        let out = out.into_iter().filter(|_| !job.is_of_task());
        let child = self.again.start(&words.with(out))?;
        Ok(self.jobs.follow(job, child))
    }

    /// Of a verb that opens what a client names: what it was given as flags, and the rest.
    fn words(
        &self,
        verb: &'static str,
        given: &impl Serialize,
        rest: Vec<OsString>,
    ) -> Result<Words, String> {
        let mut words = Words { verb, flags: self.allowed.words().collect(), rest };
        words.flags_of(given)?;
        Ok(words)
    }

    fn run_words(&self, asked: &Study) -> Result<Words, String> {
        self.words("run", asked, vec![self.allowed.study(&asked.study)?.into()])
    }

    fn compare_words(&self, asked: &Compare) -> Result<Words, String> {
        let sides = [Some(&asked.base), asked.variant.as_ref()].into_iter().flatten();
        let mut words = self.words("compare", asked, sides.map(OsString::from).collect())?;
        if let Some(with) = &asked.with {
            let shape = "`with` names no build; write for instance `stationd=target/new/stationd`";
            let (program, file) = with.split_once('=').ok_or(shape)?;
            let file = self.allowed.file(file)?;
            words.flag("with", &format!("{program}={}", file.display()))?;
        }
        if asked.variant.is_none() && asked.with.is_none() && !asked.same {
            return Err(format!(
                "what is `{}` compared with? name a `variant`, or a build with `with`, or set `same`",
                asked.base
            ));
        }
        words.rest.insert(0, self.allowed.study(&asked.study)?.into());
        Ok(words)
    }
}

#[derive(Clone, Debug, Default)]
struct Words {
    verb: &'static str,
    flags: Vec<OsString>,
    /// Those that are no flags, whatever they begin with.
    rest: Vec<OsString>,
}

impl Words {
    fn flag(&mut self, flag: &str, value: &str) -> Result<(), String> {
        if value.len() > LONGEST_WORD {
            return Err(format!(
                "a value for {flag} has more than {LONGEST_WORD} bytes; shorten it"
            ));
        }
        self.flags.push(format!("--{flag}={value}").into());
        Ok(())
    }

    /// A flag for each member that is given: numbers of a list are one value, words have a flag each.
    fn flags_of(&mut self, given: &impl Serialize) -> Result<(), String> {
        let given: JsonObject = serde_json::to_value(given)
            .and_then(serde_json::from_value)
            .map_err(|error| error.to_string())?;
        for (flag, value) in &given {
            match value {
                Value::Null | Value::Bool(false) => {}
                Value::Bool(true) => self.flags.push(format!("--{flag}").into()),
                Value::Array(all) if all.len() > MOST_ENTRIES => {
                    return Err(format!("{flag} has more than {MOST_ENTRIES} entries; name fewer"));
                }
                Value::Array(all) => {
                    let mut words = all.iter().filter_map(Value::as_str);
                    words.try_for_each(|word| self.flag(flag, word))?;
                    let numbers: Vec<_> =
                        all.iter().filter(|one| one.is_number()).map(Value::to_string).collect();
                    if !numbers.is_empty() {
                        self.flag(flag, &numbers.join(","))?;
                    }
                }
                Value::String(text) => self.flag(flag, text)?,
                other => self.flag(flag, &other.to_string())?,
            }
        }
        Ok(())
    }

    fn dry(&self) -> Vec<OsString> {
        self.clone().with(["--dry-run".into()])
    }

    fn with(self, more: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
        let verb = self.verb.split(' ').map(OsString::from);
        verb.chain(self.flags).chain(more).chain(["--".into()]).chain(self.rest).collect()
    }
}

/// What a plan of the command line comes to.
fn plan_of(value: &Value) -> Result<Plan, String> {
    let number = |place: &str| value.pointer(place).and_then(Value::as_f64).unwrap_or_default();
    let trials =
        value["trials"].as_array().ok_or("headroom's plan has no trials; try it by hand")?;
    let study = &value["study"];
    let variants = study["variant"].as_array().into_iter().flatten();
    Ok(Plan {
        question: study["question"].as_str().unwrap_or_default().to_owned(),
        variants: variants.filter_map(|one| Some(one["name"].as_str()?.to_owned())).collect(),
        trials: trials.len() as u64,
        estimated_seconds: number("/estimated_seconds"),
        making_seconds: number("/not_cached/estimated_seconds"),
        device_seconds: number("/device_seconds"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_client_gives_becomes_flags_and_a_word_of_its_own_is_none() {
        let given = json!({
            "variant": ["--on=local", "b"], "clients": [1, 2], "cell": [], "perturb": true, "a-a": false, "window": null,
            "repetitions": 3, "only": ["cpu"],
        });
        let rest = vec!["--out".into()];
        let mut words = Words { verb: "improve try", rest, ..Words::default() };
        words.flags_of(&given).unwrap();
        let line: Vec<String> =
            words.dry().into_iter().map(|word| word.into_string().unwrap()).collect();
        let expected = "improve try --clients=1,2 --only=cpu --perturb --repetitions=3 --variant=--on=local --variant=b \
                        --dry-run -- --out";
        assert_eq!(line.join(" "), expected);
        for (long, why) in [
            (json!({"window": "x".repeat(501)}), "500 bytes"),
            (json!({"clients": vec![1; 101]}), "100 entries"),
        ] {
            assert!(Words::default().flags_of(&long).unwrap_err().contains(why));
        }
    }

    #[test]
    fn what_a_client_names_in_its_own_words_is_the_command_lines() {
        let compare: Compare = serde_json::from_value(json!({
            "study": "a", "base": "b", "same": true, "up_to": 9, "expect": "no-slower", "changes": ["f"],
        }))
        .unwrap();
        let study: Study =
            serde_json::from_value(json!({"study": "a", "variants": ["v"], "cells": [2]})).unwrap();
        let mut words = Words::default();
        words.flags_of(&compare).unwrap();
        words.flags_of(&study).unwrap();
        words.flags.sort();
        let expected =
            ["--a-a", "--cell=2", "--changes=f", "--expect=no-slower", "--up-to=9", "--variant=v"];
        assert_eq!(words.flags, expected);
    }
}
