//! From what a client says to a command line of headroom, and to a job.
//!
//! Every word of a client stands behind a flag of its own (`--variant=NAME`) or behind `--`, so that none is taken for a flag;
//! what is wrong with a word is headroom's to say.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use clap::ValueEnum;
use lab::run_folder;
use linux::folder::Folder;
use rmcp::model::JsonObject;
use serde_json::Value;

use super::{
    again::Again,
    allowed::Allowed,
    answers::{Ledger, Plan, Status},
    arguments::{Compare, Profile, Study, Submission, Submit, Task},
    budget::Cost,
    job::{Job, Kind, Order},
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
        let words = self.run_words(asked)?;
        let value = self.again.ask(&words.dry()).await?;
        plan_of(&value)
    }

    pub(super) async fn run(&self, asked: &Study) -> Result<Status, String> {
        let words = self.run_words(asked)?;
        self.planned(Kind::Run, &asked.study, words).await
    }

    pub(super) async fn compare(&self, asked: &Compare) -> Result<Status, String> {
        let words = self.compare_words(asked)?;
        self.planned(Kind::Compare, &asked.study, words).await
    }

    /// Begins a profile. It has no plan before it begins.
    pub(super) fn profile(&self, asked: &Profile) -> Result<Status, String> {
        let words = self.profile_words(asked)?;
        let of = asked.what.clone();
        self.begin(Order { kind: Kind::Profile, of, cost: None, estimate_s: None }, words)
    }

    /// Begins a task, a try, or an acceptance: `headroom improve` for clients.
    pub(super) fn submit(&self, asked: &Submit) -> Result<Status, String> {
        let task = self.allowed.task(&asked.task)?;
        let (kind, mut words) = match asked.kind {
            Submission::Try => (Kind::Try, Words::of("improve try")),
            Submission::Accept => (Kind::Accept, Words::of("improve accept")),
            Submission::Begin => (Kind::Begin, Words::of("improve init")),
        };
        words.rest([task.into()]);
        match (asked.kind, &asked.diff) {
            (Submission::Try, Some(diff)) => words.rest([self.written(diff)?.into()]),
            (Submission::Try, None) => {
                return Err("a try is a diff; give its text as `diff`".to_owned());
            }
            (_, Some(_)) => return Err("only a try has a diff; leave it out".to_owned()),
            (_, None) => {}
        }
        let of = asked.task.clone();
        self.begin(Order { kind, of, cost: None, estimate_s: None }, words)
    }

    /// A diff as a file of the server's.
    fn written(&self, diff: &str) -> Result<PathBuf, String> {
        if diff.len() > LONGEST_DIFF {
            let why =
                format!("the diff has more than {LONGEST_DIFF} bytes; propose less at a time");
            return Err(why);
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
        let mut words = Words::of("improve ledger");
        words.rest([self.allowed.task(&asked.task)?.into()]);
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
        let handle = self.jobs.follow(job, child);
        self.jobs.of(&handle, |job| job.status())
    }

    /// Of a verb that opens what a client names.
    fn words_of(&self, verb: &'static str) -> Words {
        let mut words = Words::of(verb);
        words.flags.extend(self.allowed.words());
        words
    }

    fn run_words(&self, asked: &Study) -> Result<Words, String> {
        let mut words = self.words_of("run");
        words.all("variant", &asked.variants)?;
        words.list("clients", &asked.clients)?;
        words.list("cell", &asked.cells)?;
        words.one("repetitions", asked.repetitions)?;
        words.one("window", asked.window.as_ref())?;
        asked.only.iter().try_for_each(|purpose| words.one("only", word(*purpose)))?;
        words.flag("perturb", asked.perturb);
        words.rest([self.allowed.study(&asked.study)?.into()]);
        Ok(words)
    }

    fn compare_words(&self, asked: &Compare) -> Result<Words, String> {
        let mut words = self.words_of("compare");
        words.one("clients", asked.clients)?;
        words.one("pairs", asked.pairs)?;
        words.one("up-to", asked.up_to)?;
        words.one("margin", asked.margin.as_ref())?;
        words.one("expect", asked.expect.and_then(word))?;
        words.one("window", asked.window.as_ref())?;
        words.all("changes", &asked.changes)?;
        words.flag("perturb", asked.perturb);
        words.flag("a-a", asked.same);
        if let Some(with) = &asked.with {
            let shape = "`with` names no build; write for instance `stationd=target/new/stationd`";
            let (program, file) = with.split_once('=').ok_or(shape)?;
            let file = self.allowed.file(file)?;
            words.one("with", Some(format!("{program}={}", file.display())))?;
        }
        if asked.variant.is_none() && asked.with.is_none() && !asked.same {
            return Err(format!(
                "what is `{}` compared with? name a `variant`, or a build with `with`, or set `same`",
                asked.base
            ));
        }
        let study = self.allowed.study(&asked.study)?.into();
        let sides = [Some(&asked.base), asked.variant.as_ref()].into_iter().flatten();
        words.rest([study].into_iter().chain(sides.map(OsString::from)));
        Ok(words)
    }

    fn profile_words(&self, asked: &Profile) -> Result<Words, String> {
        let mut words = self.words_of("profile");
        words.all("variant", &asked.variants)?;
        words.list("clients", &asked.clients)?;
        words.one("window", asked.window.as_ref())?;
        words.one("repetitions", asked.repetitions)?;
        words.one("load", asked.load.as_ref())?;
        let what = &asked.what;
        let is_file = shipped::named(what).is_none() && shipped::is_study(what);
        let what = if is_file { self.allowed.file(what)?.into() } else { OsString::from(what) };
        words.rest([what]);
        Ok(words)
    }
}

#[derive(Clone, Debug)]
struct Words {
    verb: &'static str,
    flags: Vec<OsString>,
    /// Those that are no flags, whatever they begin with.
    rest: Vec<OsString>,
}

impl Words {
    fn of(verb: &'static str) -> Self {
        Self { verb, flags: Vec::new(), rest: Vec::new() }
    }

    fn one(&mut self, flag: &str, value: Option<impl ToString>) -> Result<(), String> {
        let Some(value) = value.map(|value| value.to_string()) else { return Ok(()) };
        if value.len() > LONGEST_WORD {
            return Err(format!(
                "a value for {flag} has more than {LONGEST_WORD} bytes; shorten it"
            ));
        }
        self.flags.push(format!("--{flag}={value}").into());
        Ok(())
    }

    fn all(&mut self, flag: &str, values: &[impl ToString]) -> Result<(), String> {
        few(flag, values)?;
        values.iter().try_for_each(|value| self.one(flag, Some(value.to_string())))
    }

    fn list(&mut self, flag: &str, values: &[u32]) -> Result<(), String> {
        few(flag, values)?;
        let texts: Vec<String> = values.iter().map(u32::to_string).collect();
        self.one(flag, (!texts.is_empty()).then(|| texts.join(",")))
    }

    fn flag(&mut self, flag: &str, is_set: bool) {
        self.flags.extend(is_set.then(|| OsString::from(format!("--{flag}"))));
    }

    fn rest(&mut self, words: impl IntoIterator<Item = OsString>) {
        self.rest.extend(words);
    }

    fn dry(&self) -> Vec<OsString> {
        self.clone().with(["--dry-run".into()])
    }

    fn with(self, more: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
        let verb = self.verb.split(' ').map(OsString::from);
        verb.chain(self.flags).chain(more).chain(["--".into()]).chain(self.rest).collect()
    }
}

/// A value as the command line has it.
fn word(value: impl ValueEnum) -> Option<String> {
    Some(value.to_possible_value()?.get_name().to_owned())
}

fn few<T>(what: &str, values: &[T]) -> Result<(), String> {
    if values.len() > MOST_ENTRIES {
        return Err(format!("{what} has more than {MOST_ENTRIES} entries; name fewer"));
    }
    Ok(())
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
    use super::*;

    #[test]
    fn a_word_of_a_client_is_never_a_flag() {
        let mut words = Words::of("run");
        words.all("variant", &["--on=local"]).unwrap();
        words.rest(["--out".into()]);
        let line: Vec<String> =
            words.dry().into_iter().map(|word| word.into_string().unwrap()).collect();
        assert_eq!(line, ["run", "--variant=--on=local", "--dry-run", "--", "--out"]);
    }

    #[test]
    fn long_words_and_lists_are_refused() {
        let mut words = Words::of("run");
        assert!(words.one("window", Some("x".repeat(501))).unwrap_err().contains("500 bytes"));
        assert!(words.list("clients", &[1; 101]).unwrap_err().contains("100 entries"));
    }
}
