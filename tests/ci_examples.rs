//! The CI examples: their shell steps, as they stand in the files, on a recorded run.
//!
//! No guest and no network: steps that install or measure are left out by name, and everything after
//! them works on a run's folder, which the analysis' made-up trials fill here.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use analysis::fixture;
use lab::run_folder::RunFolder;
use model::{share::Share, study::Gates};

use crate::harness::binary;

const GITHUB: &str = include_str!("../examples/ci/github-actions.yml");
const GITLAB: &str = include_str!("../examples/ci/gitlab-ci.yml");

/// Steps that need a network or a guest.
const NOT_HERE: [&str; 2] = ["Install", "Measure"];

/// A folder with a run in it, as a job has it once it has measured.
struct Job {
    folder: tempfile::TempDir,
}

impl Job {
    fn with(limit: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut run = fixture::run();
        run.study.gates = Some(Gates { limits: vec![limit.to_owned()], ..Gates::default() });
        // The made-up subjects do little, and so vary much.
        run.study.compare.margin = Share::of(0.1);
        let kept = RunFolder::create(&folder.path().join("headroom-run"), &run, "").unwrap();
        fixture::trials(&run).iter().for_each(|trial| kept.keep(trial).unwrap());
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a step as a CI does: bash that ends at the first command that fails.
    fn step(&self, script: &str) -> Output {
        let binary = binary();
        let programs = binary.parent().unwrap();
        let path = format!("{}:{}", programs.display(), env::var("PATH").unwrap_or_default());
        Command::new("bash")
            .args(["-eo", "pipefail", "-c", script])
            .current_dir(self.folder.path())
            .env("PATH", path)
            .env("RUN", "headroom-run")
            .env("GITHUB_STEP_SUMMARY", self.path("summary.md"))
            .env("CI_COMMIT_BRANCH", "main")
            .env("CI_DEFAULT_BRANCH", "main")
            .output()
            .unwrap()
    }
}

/// Name and script of every step with a block of shell: `- name: NAME` and the next `run: |`.
fn github_steps() -> Vec<(String, String)> {
    let mut steps = Vec::new();
    let mut name = String::new();
    let lines: Vec<&str> = GITHUB.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        if let Some(found) = line.trim().strip_prefix("- name: ") {
            found.clone_into(&mut name);
        }
        if line.trim() == "run: |" {
            steps.push((name.clone(), block(&lines, at)));
        }
    }
    steps
}

/// The blocks of shell of one GitLab job: `- |` below its `script:`.
fn gitlab_script(job: &str) -> Vec<String> {
    let lines: Vec<&str> = GITLAB.lines().collect();
    let from = lines.iter().position(|line| *line == format!("{job}:")).unwrap();
    let until =
        lines[from + 1..].iter().position(|line| !line.is_empty() && !line.starts_with(' '));
    let until = until.map_or(lines.len(), |rows| from + 1 + rows);
    let starts = (from..until).filter(|at| lines[*at].trim() == "- |");
    starts.map(|at| block(&lines, at)).collect()
}

/// The lines that are indented more than the one that opens the block.
fn block(lines: &[&str], opens: usize) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let inner = lines[opens + 1..].iter();
    let inner = inner.take_while(|line| line.is_empty() || indent(line) > indent(lines[opens]));
    inner.map(|line| format!("{}\n", line.trim())).collect()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

#[track_caller]
fn ends(output: &Output, expected: i32) {
    let said =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert_eq!(code(output), expected, "{}", said.join("\n"));
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_steps_for_github_judge_a_run_and_keep_a_baseline() {
    let steps = github_steps();
    let here: Vec<_> =
        steps.iter().filter(|(name, _)| !NOT_HERE.contains(&name.as_str())).collect();
    assert_eq!(steps.len() - here.len(), NOT_HERE.len(), "{steps:?}");
    assert_eq!(here.len(), 2, "{steps:?}");
    let job = Job::with("iw-dump: cpu <= 2%");
    // Twice: the second time there is a baseline, which the same run keeps.
    for _ in 0..2 {
        here.iter().for_each(|(_, script)| ends(&job.step(script), 0));
    }
    assert!(text(&job.path("headroom.xml")).contains("<testcase"));
    let summary = text(&job.path("summary.md"));
    assert!(summary.contains("no slower than baseline.json by 10%"), "{summary}");
}

#[test]
fn the_scripts_for_gitlab_judge_a_run_and_keep_a_baseline() {
    let scripts = gitlab_script("judge");
    assert_eq!(scripts.len(), 2);
    let job = Job::with("iw-dump: cpu <= 2%");
    for _ in 0..2 {
        scripts.iter().for_each(|script| ends(&job.step(script), 0));
    }
    assert!(text(&job.path("headroom.xml")).contains("failures=\"0\""));
    assert!(job.path("baseline.json").is_file() && job.path("summary.md").is_file());
}

#[test]
fn a_step_fails_where_a_limit_is_not_kept_and_ends_otherwise_where_it_cannot_be_judged() {
    let (_, judge) = github_steps().into_iter().find(|(name, _)| name == "Judge").unwrap();
    let broken = Job::with("iw-dump: sum at 114 clients <= 1%");
    ends(&broken.step(&judge), 1);
    assert!(text(&broken.path("headroom.xml")).contains("<failure"));
    let unknown = Job::with("transactions <= 1/s");
    ends(&unknown.step(&judge), 3);
    assert!(text(&unknown.path("headroom.xml")).contains("<error type=\"invalid\""));
}

#[test]
fn a_run_with_an_edited_or_a_missing_trial_is_invalid() {
    let check = "headroom check headroom-run";
    let job = Job::with("iw-dump: cpu <= 2%");
    ends(&job.step(check), 0);
    let trial = job.path("headroom-run/trials/iw-dump@18#1.json");
    let edited = text(&trial).replacen("\"usage_ns\": 4", "\"usage_ns\": 3", 1);
    assert_ne!(edited, text(&trial));
    fs::write(&trial, edited).unwrap();
    let output = job.step(check);
    ends(&output, 3);
    let said = String::from_utf8_lossy(&output.stdout).replace("\n         ", " ");
    assert!(said.contains("iw-dump@18#1 is not valid: its file was edited since"), "{said}");
    fs::remove_file(&trial).unwrap();
    ends(&job.step(check), 3);
}

#[test]
fn what_is_wrong_with_a_limit_or_a_baseline_is_reported_in_one_line() {
    let job = Job::with("iw-dump: cpu <= 2%");
    fs::write(job.path("later.json"), "{\"format\": 9, \"news\": 1}").unwrap();
    let cases = [
        ("--gate 'cpu'", "no <= and no >= in it"),
        (
            "--gate 'bulk: cpu <= 2%'",
            "unknown variant `bulk`; known are idle, iw-dump, hostapd-cli",
        ),
        ("--gate 'cpu at 7 clients <= 2%'", "7 clients are not among the study's"),
        ("--gate 'transactions <= 1/s'", "unknown figure `transactions`; known are cpu"),
        ("--baseline gone.json", "cannot read the baseline gone.json: No such file"),
        ("--baseline later.json", "has format 9, this headroom reads 2; save it again"),
        ("--baseline headroom-run/run.json", "run.json"),
    ];
    for (words, expected) in cases {
        let output = job.step(&format!("headroom check headroom-run {words}"));
        ends(&output, 2);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(expected), "{words}: {said}");
    }
}
