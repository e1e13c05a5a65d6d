//! The CI examples: their shell steps, as they stand in the files, on a recorded run.
//!
//! No guest and no network: steps that install or measure are left out by name, and everything after
//! them works on a run's folder, which the analysis' made-up trials fill here. GitHub's program is played by a script
//! that writes down what it is asked; GitLab's interface by a socket that curl really speaks to.

use std::{
    env, fs,
    io::{Read, Write},
    net::TcpListener,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
};

use analysis::fixture;
use lab::run_folder::RunFolder;
use model::{share::Share, study::Gates};
use serde_json::Value;

use crate::harness::{Place, Study, binary, cache, python_programs};

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
    folder: tempfile::TempDir,
    set: Vec<(&'static str, String)>,
}

impl Job {
    fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), set: Vec::new() }
    }

    fn with(limit: &str) -> Self {
        let job = Self::empty();
        let mut run = fixture::run();
        run.study.gates = Some(Gates { limits: vec![limit.to_owned()], ..Gates::default() });
        // The made-up subjects do little, and so vary much.
        run.study.compare.margin = Some(Share::of(0.1));
        let kept = RunFolder::create(&job.path("headroom-run"), &run, "").unwrap();
        fixture::trials(&run).iter().for_each(|trial| kept.keep(trial).unwrap());
        job
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a step as a CI does: bash that ends at the first command that fails.
    fn step(&self, script: &str) -> Output {
        let binary = binary();
        let programs = binary.parent().unwrap();
        let (own, played) = (programs.display(), self.path("programs"));
        let path = format!("{}:{own}:{}", played.display(), env::var("PATH").unwrap_or_default());
        Command::new("bash")
            .args(["-eo", "pipefail", "-c", script])
            .current_dir(self.folder.path())
            .env("PATH", path)
            .env("GITHUB_STEP_SUMMARY", self.path("summary.md"))
            .env("GITHUB_OUTPUT", self.path("output"))
            .envs([("GITHUB_REPOSITORY", "o/r"), ("NUMBER", "7"), ("LIMITS", ""), ("STUDY", "s")])
            .envs([("CI_COMMIT_BRANCH", "main"), ("CI_DEFAULT_BRANCH", "main")])
            .envs(self.set.iter().map(|(name, value)| (name, value)))
            .output()
            .unwrap()
    }

    /// With this in the environment of every step.
    fn with_set(mut self, name: &'static str, value: &str) -> Self {
        self.set.push((name, value.to_owned()));
        self
    }

    /// GitHub's program, played: it prints `id` where comments are listed, and writes down all that it is asked.
    fn with_github(self, id: &str) -> Self {
        let program = self.path("programs/gh");
        fs::create_dir(self.path("programs")).unwrap();
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> asked\ncase $2 in --paginate) echo '{id}' ;; esac\n"
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
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

/// A step's script, by its name.
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

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
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
        let file = text(&folder().join(name)).replace("\n.headroom:", "\nheadroom:");
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
    let job = Job::with("iw-dump: cpu <= 2%").with_github("").with_set("CODE", "0");
    // Twice: the second time there is a baseline, which the same run keeps.
    for _ in 0..2 {
        here.iter().for_each(|(_, script)| ends(&job.step(script), 0));
    }
    assert_eq!(text(&job.path("output")), "code=0\ncode=0\n");
    assert!(text(&job.path("headroom.xml")).contains("<testcase"));
    let summary = text(&job.path("summary.md"));
    assert!(summary.contains("no slower than headroom-baseline.json by 10%"), "{summary}");
    let comment = text(&job.path("headroom-comment.md"));
    assert!(comment.starts_with("<!-- headroom s -->\n") && comment.contains("no slower than"));
    let asked = text(&job.path("asked"));
    let post =
        "api --silent --method POST repos/o/r/issues/7/comments -F body=@headroom-comment.md";
    assert_eq!(asked.lines().filter(|line| *line == post).count(), 2, "{asked}");
    // A comment that is there is renewed.
    let job = Job::with("iw-dump: cpu <= 2%").with_github("41");
    ends(&job.step(&action_step("Judge")), 0);
    ends(&job.step(&action_step("Comment")), 0);
    let asked = text(&job.path("asked"));
    assert!(asked.contains("--method PATCH repos/o/r/issues/comments/41"), "{asked}");
    assert!(asked.contains("startswith(\"<!-- headroom s -->\")") && !asked.contains("POST"));
}

/// GitLab's interface, played: every request is answered with these notes and written down.
fn gitlab(notes: &'static str) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/api", listener.local_addr().unwrap());
    let asked = thread::spawn(move || {
        (0..2).map(|_| answer(&mut listener.accept().unwrap().0, notes)).collect()
    });
    (address, asked)
}

fn answer(stream: &mut (impl Read + Write), body: &str) -> String {
    let (mut request, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut piece).unwrap();
        request.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            if read == 0 || rest.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                let length = body.len();
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
                )
                .unwrap();
                return text;
            }
        }
    }
}

#[test]
fn the_script_for_gitlab_judges_a_run_keeps_a_baseline_and_writes_a_note() {
    let script = template_script();
    let job = Job::with("iw-dump: cpu <= 2%");
    // Without a merge request there is no note; the second time there is a baseline.
    for _ in 0..2 {
        ends(&job.step(&script), 0);
    }
    assert!(text(&job.path("headroom.xml")).contains("failures=\"0\""));
    assert!(job.path("headroom-baseline.json").is_file());
    let notes = [
        ("[]", "POST /api/projects/3/merge_requests/7/notes HTTP"),
        (
            r#"[{"id":8,"body":"thanks"},{"id":9,"body":"<!-- headroom s -->\nold"}]"#,
            "PUT /api/projects/3/merge_requests/7/notes/9 HTTP",
        ),
    ];
    for (notes, expected) in notes {
        let (address, asked) = gitlab(notes);
        let job = Job::with("iw-dump: cpu <= 2%").with_set("CI_API_V4_URL", &address);
        let job = job.with_set("CI_PROJECT_ID", "3").with_set("CI_MERGE_REQUEST_IID", "7");
        ends(&job.with_set("HEADROOM_TOKEN", "secret").step(&script), 0);
        let asked = asked.join().unwrap();
        assert!(asked[0].starts_with("GET ") && asked[0].contains("PRIVATE-TOKEN: secret"));
        assert!(asked[1].starts_with(expected), "{}", asked[1]);
        // Older curls write a space as +.
        let body = asked[1].replace('+', "%20");
        assert!(body.contains("body=%3C%21--%20headroom%20s%20--%3E"), "{body}");
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
        assert_eq!(text(&job.path("output")), format!("code={code}\n"));
        assert!(text(&job.path("headroom.xml")).contains(element));
        ends(&job.step(&action_step("Verdict")), code.parse().unwrap());
        ends(&job.step(&template_script()), code.parse().unwrap());
    }
    // Limits of the workflow's own, one a line.
    let job = Job::with("iw-dump: cpu <= 2%").with_set("LIMITS", "iw-dump: cpu <= 1us\n\n");
    ends(&job.step(&judge), 0);
    assert_eq!(text(&job.path("output")), "code=1\n");
}

#[test]
fn the_shards_of_other_engines_become_one_run() {
    let place = Place::with_guests();
    let study = Study::small().window("1s").repetitions(1).load("poll", "iw dev").idle();
    let study = place.write("study.toml", &study.text()).display().to_string();
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
        let job = Job::empty().with_set("STUDY", &study).with_set("CI_NODE_TOTAL", "2");
        let mut job = job.with_set("HEADROOM_CACHE", &cache().display().to_string());
        symlink(cache(), job.path(".headroom-cache")).unwrap();
        for number in ["2", "1"] {
            job = job.with_set("SHARD", &format!("{number}/2")).with_set("CI_NODE_INDEX", number);
            ends(&job.step(&shard), 0);
        }
        ends(&job.step(&merge), 0);
        assert!(job.path("headroom-run/report.html").is_file());
    }
}
