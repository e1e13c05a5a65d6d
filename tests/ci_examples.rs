//! The CI examples: their shell steps, as they stand in the files, on a recorded run.
//!
//! No guest and no network: steps that install or measure are left out by name, and everything after
//! them works on a run's folder, which the analysis' made-up trials fill here. `gh` and curl are played by a script
//! that writes down what it is asked.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use model::{share::Share, study::Gates};
use serde_json::Value;

use crate::harness::{Place, Study, binary, cache, made_up, python_programs};

const ACTION: &str = "github/action.yml";
const WORKFLOW: &str = "github/workflow.yml";
const TEMPLATE: &str = "gitlab/headroom.yml";

/// Each file, its service's schema, and a key that it would be wrong without.
const FILES: [[&str; 3]; 6] = [
    [ACTION, "vendor.github-actions", "shell:"],
    [WORKFLOW, "vendor.github-workflows", "runs-on:"],
    ["github/shards.yml", "vendor.github-workflows", "runs-on:"],
    [TEMPLATE, "vendor.gitlab-ci", "script:"],
    ["gitlab/gitlab-ci.yml", "vendor.gitlab-ci", "include:"],
    ["gitlab/shards.yml", "vendor.gitlab-ci", "parallel:"],
];

/// Steps that need a network or a guest.
const NOT_HERE: [&str; 2] = ["Install", "Measure"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/ci")
}

/// An example, as the services' readers see it.
fn example(name: &str) -> Value {
    let file = folder().join(name);
    let script = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)";
    let output = Command::new("python3").args(["-c", script]).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A folder with a run in it, as a job has it once it has measured.
struct Job {
    place: Place,
    set: Vec<(&'static str, String)>,
}

impl Job {
    fn empty() -> Self {
        Self { place: Place::without_guests(), set: Vec::new() }
    }

    fn with(limit: &str) -> Self {
        let job = Self::empty();
        made_up(&job.place.path("headroom-run"), |run| {
            run.study.gates = Some(Gates { limits: vec![limit.to_owned()], ..Gates::default() });
            // The made-up subjects do little, and so vary much.
            run.study.compare.margin = Some(Share::of(0.1));
        });
        job
    }

    /// Runs a step as a CI does: bash that ends at the first command that fails.
    fn step(&self, script: &str) -> Output {
        let (binary, played) = (binary(), self.place.path("programs"));
        let own = binary.parent().unwrap().display();
        let path = format!("{}:{own}:{}", played.display(), env::var("PATH").unwrap_or_default());
        let mut bash = self.place.command(Path::new("bash"));
        bash.args(["-eo", "pipefail", "-c", script]).env("PATH", path);
        bash.env("GITHUB_STEP_SUMMARY", self.place.path("summary.md"));
        bash.env("GITHUB_OUTPUT", self.place.path("output"));
        bash.envs([("GITHUB_REPOSITORY", "o/r"), ("NUMBER", "7"), ("LIMITS", ""), ("STUDY", "s")]);
        bash.envs([("CI_COMMIT_BRANCH", "main"), ("CI_DEFAULT_BRANCH", "main")]);
        bash.envs(self.set.iter().map(|(name, value)| (name, value))).output().unwrap()
    }

    fn with_set(mut self, name: &'static str, value: &str) -> Self {
        self.set.push((name, value.to_owned()));
        self
    }

    /// A service's program, played: it writes down all that it is asked, and prints this where that has the word.
    fn playing(self, program: &str, word: &str, prints: &str) -> Self {
        let script = format!("case \"$*\" in *'{word}'*) printf '%s\\n' '{prints}' ;; esac");
        let script = format!("#!/bin/sh\necho \"$@\" >> asked\n{script}\n");
        self.place.script(&format!("programs/{program}"), &script);
        self
    }
}

/// Name and script of every step of the action that is shell, in order.
fn action_steps() -> Vec<(String, String)> {
    let action = example(ACTION);
    let steps = action["runs"]["steps"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let shell = steps.filter(|step| step.get("run").is_some());
    shell.map(|step| (text(&step["name"]), text(&step["run"]))).collect()
}

fn action_step(name: &str) -> String {
    action_steps().into_iter().find(|(own, _)| own == name).unwrap().1
}

/// The template's script without its first part, which measures: one shell runs all of it.
fn template_script() -> String {
    let template = example(TEMPLATE);
    let parts = template[".headroom"]["script"].as_array().unwrap();
    assert_eq!(parts.len(), 5);
    let parts = parts[1..].iter().map(|part| part.as_str().unwrap());
    parts.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn ends(output: &Output, expected: i32) {
    let said =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert_eq!(output.status.code(), Some(expected), "{}", said.join("\n"));
}

/// By a validator that is not ours: `scripts/setup test` installs it.
#[test]
fn the_files_fit_their_services_schemas() {
    let Some(programs) = python_programs("schemas", "test") else { return };
    let place = Place::without_guests();
    for [name, schema, key] in FILES {
        let fits = |text: &str| {
            let mut validator = Command::new(programs.join("check-jsonschema"));
            validator.args(["--builtin-schema", schema]).arg(place.write("file.yml", text));
            if schema.contains("gitlab") {
                validator.args(["--data-transform", "gitlab-ci"]);
            }
            let output = validator.output().unwrap();
            eprintln!("{name}: {}", String::from_utf8_lossy(&output.stdout));
            output.status.success()
        };
        // No schema looks into a hidden job.
        let file =
            fs::read_to_string(folder().join(name)).unwrap().replace("\n.headroom:", "\nheadroom:");
        assert!(file.contains(key) && fits(&file), "{name}");
        assert!(!fits(&file.replacen(key, &format!("x{key}"), 1)), "{name} may have x{key}");
    }
}

#[test]
fn the_action_has_the_inputs_that_are_asked_for_and_files_name_each_other() {
    let (action, workflow) = (example(ACTION), example(WORKFLOW));
    let inputs = action["inputs"].as_object().unwrap();
    let steps = action["runs"]["steps"].to_string();
    let asked = steps.split("inputs.").skip(1).map(|rest| rest.split([' ', '}']).next().unwrap());
    let used = workflow["jobs"]["headroom"]["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(used["uses"], "./examples/ci/github");
    let given = used["with"].as_object().unwrap();
    let names = asked.chain(given.keys().map(String::as_str));
    names.for_each(|name| assert!(inputs.contains_key(name), "{name}"));
    assert!(given.contains_key("study"));
    assert_eq!(workflow["permissions"]["pull-requests"], "write");
    let pipeline = example("gitlab/gitlab-ci.yml");
    assert_eq!(pipeline["include"][0]["local"], format!("examples/ci/{TEMPLATE}"));
    assert_eq!(pipeline["headroom"]["extends"], ".headroom");
}

#[test]
fn the_steps_for_github_judge_a_run_keep_a_baseline_and_comment() {
    let steps = action_steps();
    let here: Vec<_> =
        steps.iter().filter(|(name, _)| !NOT_HERE.contains(&name.as_str())).collect();
    assert_eq!(steps.len() - here.len(), NOT_HERE.len(), "{steps:?}");
    assert_eq!(here.len(), 4, "{steps:?}");
    let gh = |id: &str| Job::with("iw-dump: cpu <= 2%").playing("gh", "--paginate", id);
    let job = gh("").with_set("CODE", "0");
    // Twice: the second time there is a baseline, which the same run keeps.
    for _ in 0..2 {
        here.iter().for_each(|(_, script)| ends(&job.step(script), 0));
    }
    assert_eq!(job.place.read("output"), "code=0\ncode=0\n");
    assert!(job.place.read("headroom.xml").contains("<testcase"));
    let summary = job.place.read("summary.md");
    assert!(summary.contains("no slower than headroom-baseline.json by 10%"), "{summary}");
    let comment = job.place.read("headroom-comment.md");
    assert!(comment.starts_with("<!-- headroom s -->\n") && comment.contains("no slower than"));
    let asked = job.place.read("asked");
    let post =
        "api --silent --method POST repos/o/r/issues/7/comments -F body=@headroom-comment.md";
    assert_eq!(asked.lines().filter(|line| *line == post).count(), 2, "{asked}");
    // A comment that is there is renewed.
    let job = gh("41");
    ends(&job.step(&action_step("Judge")), 0);
    ends(&job.step(&action_step("Comment")), 0);
    let asked = job.place.read("asked");
    assert!(asked.contains("--method PATCH repos/o/r/issues/comments/41"), "{asked}");
    assert!(asked.contains("startswith(\"<!-- headroom s -->\")") && !asked.contains("POST"));
}

#[test]
fn the_script_for_gitlab_judges_a_run_keeps_a_baseline_and_writes_a_note() {
    let script = template_script();
    let job = Job::with("iw-dump: cpu <= 2%");
    // Without a merge request there is no note; the second time there is a baseline.
    for _ in 0..2 {
        ends(&job.step(&script), 0);
    }
    assert!(job.place.read("headroom.xml").contains("failures=\"0\""));
    assert!(job.place.path("headroom-baseline.json").is_file());
    let ours = r#"[{"id":8,"body":"thanks"},{"id":9,"body":"<!-- headroom s -->\nold"}]"#;
    for (there, asks) in [("[]", "POST NOTES"), (ours, "PUT NOTES/9")] {
        let job = Job::with("iw-dump: cpu <= 2%").playing("curl", "/notes?", there);
        let job = job.with_set("CI_API_V4_URL", "http://gitlab/api").with_set("CI_PROJECT_ID", "3");
        let job = job.with_set("CI_MERGE_REQUEST_IID", "7").with_set("HEADROOM_TOKEN", "secret");
        ends(&job.step(&script), 0);
        let notes = "http://gitlab/api/projects/3/merge_requests/7/notes";
        let asked = job.place.read("asked").replace(notes, "NOTES");
        let sends = asks.replace(' ', " --data-urlencode body@headroom-note.md ");
        assert!(asked.contains("--header PRIVATE-TOKEN: secret NOTES?per_page=100\n"), "{asked}");
        assert!(asked.ends_with(&format!(" --request {sends}\n")), "{asked}");
        assert!(job.place.read("headroom-note.md").starts_with("<!-- headroom s -->\n"));
    }
}

#[test]
fn the_last_step_ends_as_the_verdict_does() {
    let judge = action_step("Judge");
    for (limit, code, element) in [
        ("iw-dump: sum at 114 clients <= 1%", "1", "<failure"),
        ("transactions <= 1/s", "3", "<error type=\"invalid\""),
    ] {
        let job = Job::with(limit).with_set("CODE", code);
        ends(&job.step(&judge), 0);
        assert_eq!(job.place.read("output"), format!("code={code}\n"));
        assert!(job.place.read("headroom.xml").contains(element));
        ends(&job.step(&action_step("Verdict")), code.parse().unwrap());
        ends(&job.step(&template_script()), code.parse().unwrap());
    }
    // Limits of the workflow's own, one a line.
    let job = Job::with("iw-dump: cpu <= 2%").with_set("LIMITS", "iw-dump: cpu <= 1us\n\n");
    ends(&job.step(&judge), 0);
    assert_eq!(job.place.read("output"), "code=1\n");
}

#[test]
fn the_shards_of_other_engines_become_one_run() {
    let place = Place::with_guests();
    let study = Study::small().window("1s").repetitions(1).load("poll", "iw dev").idle();
    let study = place.write("study.toml", study.text()).display().to_string();
    let (github, gitlab) = (example("github/shards.yml"), example("gitlab/shards.yml"));
    let step = |job: &str, name: &str| {
        let mut steps = github["jobs"][job]["steps"].as_array().unwrap().iter();
        let step = steps.find(|step| step["name"] == name).unwrap();
        step["run"].as_str().unwrap().to_owned()
    };
    let script = |job: &str| gitlab[job]["script"][0].as_str().unwrap().to_owned();
    for [shard, merge] in [
        [step("shard", "Measure"), step("merge", "Merge")],
        [script("headroom-shard"), script("headroom-merge")],
    ] {
        let mut job = Job::empty().with_set("STUDY", &study).with_set("CI_NODE_TOTAL", "2");
        symlink(cache(), job.place.path(".headroom-cache")).unwrap();
        for number in ["2", "1"] {
            job = job.with_set("SHARD", &format!("{number}/2")).with_set("CI_NODE_INDEX", number);
            ends(&job.step(&shard), 0);
        }
        ends(&job.step(&merge), 0);
        assert!(job.place.path("headroom-run/report.html").is_file());
    }
}
