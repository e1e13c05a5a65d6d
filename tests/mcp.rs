//! `headroom mcp` with a real client: Python's SDK of the protocol, and lines that no SDK would send.

use std::{os::unix::fs::symlink, time::Duration};

use model::event::Event;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{Mcp, Place, Process, Study, eventually, has, rows};

/// Enough of hostapd's work to meet it with samples.
const ASK: &str =
    "sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do hostapd_cli -i {interface} all_sta; done'";

const TOOLS: [&str; 10] = [
    "studies", "plan", "start", "compare", "profile", "wait", "result", "cancel", "submit",
    "ledger",
];

/// Four short trials, and two recordings of stacks.
fn small() -> Study {
    Study::small().idle().load("ask", ASK).profiles(1)
}

/// Six trials, long enough to be met at work.
fn long() -> Study {
    Study::small().idle().repetitions(6).window("20s")
}

/// A client whose first job is at work in a guest, with a finished trial.
fn at_work(place: &Place, words: &[&str]) -> Option<Mcp> {
    place.write("study.toml", long().text());
    let mut mcp = Mcp::start(place, "auto", &[words, &["--jobs", "1"]].concat())?;
    mcp.call("start", &json!({"study": "study.toml"})).value();
    let one_is_done = || {
        let status = mcp.call("wait", &json!({"handle": "job-1", "seconds": 1})).value();
        assert_eq!(status["state"], "running", "{status}");
        (status["trials_done"].as_u64().unwrap() > 0).then_some(())
    };
    eventually(Duration::from_secs(300), one_is_done).expect("a finished trial in five minutes");
    place.guest();
    Some(mcp)
}

#[test]
fn a_client_goes_from_nothing_to_a_verdict_and_its_report() {
    let place = Place::with_study(small().text());
    let Some(mut mcp) = Mcp::start(&place, "auto", &["--out", "jobs"]) else { return };
    assert_eq!(mcp.greeting["protocol"], "2026-07-28");
    let study = json!({"study": "study.toml"});
    let plan = mcp.call("plan", &study).value();
    has(&plan, &json!({"trials": 6, "device_seconds": 30.0, "variants": ["idle", "ask"]}));
    let begun = mcp.call("start", &study).value();
    has(&begun, &json!({"handle": "job-1", "state": "running"}));
    mcp.of("result", "job-1").fails("`wait` for its end");
    let ended = mcp.wait("job-1");
    has(&ended, &json!({"state": "done", "exit_code": 0}));
    let result = mcp.of("result", "job-1");
    let links = result.links();
    assert!(links.contains(&"headroom://job-1/report.html".to_owned()), "{links:?}");
    let result = result.value();
    let figures = result["answer"]["figures"].as_array().unwrap();
    let cpu = |variant: &str| {
        let is_meant = |one: &&Value| one["variant"] == variant && one["name"] == "sum";
        figures.iter().find(is_meant).unwrap()["mean"].as_f64().unwrap()
    };
    assert!(cpu("ask") > 2.0 * cpu("idle"), "{figures:?}");
    assert_eq!(result["answer"]["verdict"], "measured");
    let doubts = result["answer"]["doubts"].as_array().unwrap();
    assert!(doubts.iter().any(|doubt| doubt["advice"] != ""), "{doubts:?}");
    let mut read = |uri: &str| {
        let said = mcp.request(&json!({"method": "read", "words": {"uri": uri}}));
        said["result"]["contents"][0]["text"].as_str().expect("a text").to_owned()
    };
    let report = place.read("jobs/job-1/report.html");
    assert!(read("headroom://job-1/report.html") == report);
    assert!(read("headroom://job-1/run.json").contains("\"plan\""));
    let flame = links.iter().find(|link| link.ends_with(".svg")).expect("a flame graph");
    let flame = read(flame);
    assert!(flame.starts_with("<svg xmlns=") && flame.contains("class=\"f kernel"), "{flame}");
    mcp.leave();
}

#[test]
fn comparisons_and_profiles_are_jobs_too() {
    let place = Place::with_study(small().text());
    let Some(mut mcp) = Mcp::start(&place, "legacy", &[]) else { return };
    let words = json!({"study": "study.toml", "base": "ask", "variant": "idle", "window": "1s"});
    let begun = mcp.call("compare", &words).value();
    has(&begun, &json!({"kind": "compare", "trials_planned": 96}));
    let words =
        json!({"method": "call", "tool": "wait", "words": {"handle": "job-1", "seconds": 44}});
    let mut steps = Vec::new();
    loop {
        let said = mcp.request(&words)["result"].clone();
        let heard = said["progress"].as_array().unwrap().iter();
        steps.extend(heard.map(|step| step[0].as_f64().unwrap()));
        if said["structured_content"]["state"] == "done" {
            break;
        }
    }
    assert!(steps.len() > 3 && steps.is_sorted(), "progress was reported: {steps:?}");
    let answer = mcp.of("result", "job-1").value()["answer"].clone();
    assert_eq!(answer["verdict"], "pass", "{answer}");
    let words = json!({"what": "hostapd", "clients": [6], "window": "4s", "load": ASK});
    mcp.call("profile", &words).value();
    assert_eq!(mcp.wait("job-2")["state"], "done");
    let links = mcp.of("result", "job-2").links();
    assert!(links.iter().any(|link| link == "headroom://job-2/flame-1.svg"), "{links:?}");
    let listed = mcp.request(&json!({"method": "resources"}))["result"]["resources"].clone();
    assert!(links.iter().all(|link| listed.to_string().contains(link.as_str())), "{listed}");
    mcp.leave();
}

/// A tool, its arguments, and the error.
const WRONG: &str = r#"
plan | {"study": "client-scle"} | did you mean `client-scale`
plan | {"study": "../study.toml"} | name a regular file below
plan | {"study": "/etc/passwd"} | name a regular file below
plan | {"study": "none.toml"} | name a regular file below
plan | {"study": "link.toml"} | name a regular file below
compare | {"study": "client-scale", "base": "idle", "with": "hostapd=."} | name a regular file below
plan | {"study": "inside/../../x.toml"} | name a regular file below
plan | {"study": "/dev/zero"} | name a regular file below
plan | {"study": "broken.toml"} | broken.toml
plan | {"study": "client-scale", "variants": ["--on=local"]} | the study has no variant
plan | {"study": "client-scale", "window": "soon"} | window
plan | {"study": "client-scale", "on": "local"} | unknown field `on`
start | {} | missing field `study`
compare | {"study": "client-scale", "base": "idle", "variant": "idel"} | idel
compare | {"study": "client-scale", "base": "idle"} | what is `idle` compared with? name a `variant`
compare | {"study": "client-scale", "base": "idle", "with": "hostapd=/bin/true"} | name a regular file below
wait | {"handle": "job-1"} | none was begun yet
wait | {"handle": "../../etc"} | there is no job
result | {"handle": ""} | there is no job
cancel | {"handle": "job-99999999999999999999"} | there is no job
"#;

#[test]
fn what_a_client_says_wrong_is_answered_with_what_to_do() {
    let place = Place::without_guests();
    place.write("broken.toml", "question = 1\n");
    let mine = place.write("inside/mine.toml", small().text());
    symlink("inside/mine.toml", place.path("link.toml")).unwrap();
    let Some(mut mcp) = Mcp::start(&place, "auto", &[]) else { return };
    let tools = mcp.request(&json!({"method": "tools"}))["result"]["tools"].clone();
    let tools = tools.as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.starts_with(&TOOLS), "{names:?}");
    assert!(tools.iter().all(|tool| tool["output_schema"]["type"] == "object"));
    let studies = mcp.call("studies", &json!({}));
    assert!(studies.text().contains("client-scale: What does each associated client cost"));
    for study in ["inside/mine.toml", mine.to_str().unwrap()] {
        assert_eq!(mcp.call("plan", &json!({"study": study})).value()["trials"], 6);
    }
    for [tool, words, says] in rows(WRONG) {
        mcp.call(tool, &serde_json::from_str(words).unwrap()).fails(says);
    }
    for uri in ["headroom://job-1/report.html", "file:///etc/passwd", "headroom://job-1/../../x"] {
        let said = mcp.request(&json!({"method": "read", "words": {"uri": uri}}));
        assert!(said["error"].as_str().unwrap().contains("there is no resource"), "{said}");
    }
    let said = mcp.request(&json!({"method": "call", "tool": "sudo"}));
    assert!(said["error"].as_str().unwrap().contains("there is no tool `sudo`; there are studies"));
    mcp.leave();
    assert!(!place.path("runs").exists(), "nothing was begun, and nothing is left");
}

#[test]
fn a_study_of_a_client_names_no_file_outside_of_what_is_allowed() {
    let place = Place::without_guests();
    place.folder("inside");
    let naming = |line: &str| {
        small().text().replace("[access-point]\n", &format!("[access-point]\n{line}\n"))
    };
    let secret = place.write("secret", "none of a client's business\n").display().to_string();
    symlink(&secret, place.path("inside/link")).unwrap();
    let paths = ["../secret", "link", &secret, "/bin/true"];
    for (number, path) in paths.iter().enumerate() {
        let study = naming(&format!("programs = [\"{path}\"]"));
        place.write(&format!("inside/program-{number}.toml"), &study);
    }
    let firmware = naming("firmware = { rootfs = \"../secret\" }");
    place.write("inside/firmware.toml", &firmware);
    let limit = "\n[gates]\nlimits = [\"no slower than ../secret by 1%\"]\n";
    place.write("inside/baseline.toml", format!("{}{limit}", small().text()));
    place.write("inside/mine", "#!/bin/sh\n");
    place.write("inside/own.toml", naming("programs = [\"mine\"]"));
    let Some(mut mcp) = Mcp::start(&place, "auto", &["--allow", "inside"]) else { return };
    for number in 0..paths.len() {
        for tool in ["plan", "start"] {
            let study = json!({"study": format!("program-{number}.toml")});
            mcp.call(tool, &study).fails("name a regular file below");
        }
    }
    for (study, says) in
        [("firmware.toml", "names no firmware"), ("baseline.toml", "names no baseline")]
    {
        mcp.call("start", &json!({"study": study})).fails(says);
    }
    assert_eq!(mcp.call("plan", &json!({"study": "own.toml"})).value()["trials"], 6);
    mcp.leave();
}

#[test]
fn a_budget_that_is_spent_is_refused() {
    let place = Place::without_guests();
    place.write("study.toml", small().text());
    for (words, says) in [
        (["--budget-trials", "5"], "5 of 5 trials left and this takes 6; ask for fewer"),
        (["--budget-seconds", "11"], "11 of 11 seconds on access points left and this takes 30"),
    ] {
        let Some(mut mcp) = Mcp::start(&place, "auto", &words) else { return };
        let refused = mcp.call("start", &json!({"study": "study.toml"}));
        refused.fails(&format!("the budget has {says}"));
        mcp.leave();
    }
}

#[test]
fn a_job_without_a_plan_is_stopped_where_the_budget_ends() {
    let place = Place::with_guests();
    let words = ["--budget-trials", "2", "--jobs", "1"];
    let Some(mut mcp) = Mcp::start(&place, "auto", &words) else { return };
    let profile = json!({"what": "hostapd", "clients": [6], "repetitions": 5, "window": "10s"});
    mcp.call("profile", &profile).value();
    let ended = mcp.wait("job-1");
    has(&ended, &json!({"state": "cancelled", "trials_done": 2}));
    assert!(ended["said"].as_str().unwrap().starts_with("the budget of 2 trials is spent"));
    mcp.call("profile", &profile).fails("the budget has 0 of 2 trials left and this takes 1");
    mcp.leave();
}

#[test]
fn one_job_runs_at_a_time_and_a_cancelled_one_has_what_it_finished() {
    let place = Place::with_guests();
    let Some(mut mcp) = at_work(&place, &["--budget-trials", "7"]) else { return };
    mcp.call("start", &json!({"study": "study.toml"})).fails("job-1 still works");
    // A call that a client gives up is no end of the job.
    let words = json!({"handle": "job-1", "seconds": 40});
    let call = json!({"method": "call", "tool": "wait", "words": words, "give_up_after": 0.5});
    let said = mcp.request(&call);
    assert!(said["error"].is_string(), "{said}");
    let status = mcp.call("wait", &json!({"handle": "job-1", "seconds": 0})).value();
    assert_eq!(status["state"], "running", "{status}");
    let stopping = mcp.of("cancel", "job-1").value();
    assert_eq!(stopping["state"], "stopping");
    let ended = mcp.wait("job-1");
    has(&ended, &json!({"state": "cancelled", "exit_code": 130}));
    let done = ended["trials_done"].as_u64().unwrap();
    let result = mcp.of("result", "job-1").value();
    assert!(!result["answer"]["figures"].as_array().unwrap().is_empty(), "{result}");
    let left = format!("the budget has {} of 7 trials left", 7 - done);
    mcp.call("start", &json!({"study": "study.toml", "repetitions": 8})).fails(&left);
    mcp.leave();
}

#[test]
fn whatever_ends_the_server_ends_its_jobs_and_their_guests() {
    for signal in [None, Some(Signal::KILL)] {
        let place = Place::with_guests();
        let Some(mcp) = at_work(&place, &["--out", "jobs"]) else { return };
        let server = Pid::from_raw(mcp.server(&place)).unwrap();
        match signal {
            None => mcp.leave(),
            Some(signal) => {
                kill_process(server, signal).unwrap();
                // The client goes on, and is no part of what is looked for.
                let is_client = |one: &Process| one.name.starts_with("python");
                let others = || place.processes().iter().all(is_client).then_some(());
                eventually(Duration::from_secs(30), others).expect("jobs end with their server");
            }
        }
        let run = place.run_in("jobs/job-1");
        assert!((1..6).contains(&run.trial_files().len()), "{signal:?}");
        let ended = run.events().pop().unwrap();
        assert!(
            matches!(ended, Event::RunEnded { interrupted: true, .. }),
            "{signal:?}: {ended:?}"
        );
    }
}

#[test]
fn lines_that_are_no_protocol_are_survived() {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let call = |id: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"studies"}}}}"#
        )
    };
    let deep = "[".repeat(100_000);
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"{}"}}"#,
        "x".repeat(100 << 20)
    );
    let garbage = ["", "{", "null", "[]", "\u{0}\u{1b}[31m", r#"{"jsonrpc":"2.0"}"#, &deep, &long];
    let before = call(2);
    let last = call(3);
    let lines = [&[hello, ready, &before], &garbage[..], &[&last]].concat().join("\n") + "\n";
    let place = Place::without_guests();
    let ended = place.headroom("mcp").stdin(&lines).run();
    ended.code(0);
    let answers: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answered = |id: u32| answers.iter().any(|one| one["id"] == id && one["result"].is_object());
    assert!(answered(1) && answered(2) && answered(3), "{ended}");
    assert!(answers.iter().all(|one| one["jsonrpc"] == "2.0"));
}
