//! `headroom improve` without a guest: what a diff may be, how a build ends, and what its books survive.

use std::{fs, path::Path, thread, time::Duration};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{Mcp, Place, binary, eventually, has, sha256sum};

const TASK: &str = r#"
question = "Can this be cheaper?"
test = "walker --version"
[source]
fetch = "mkdir src && printf 'int main(void) { return 0; }\n' >src/main.c && printf 'int other;\n' >other.c && ln -s other.c link.c"
build = "export 'MARK'; echo 'int made;' >src/made.h; if grep -q SLEEP src/main.c; then sleep 30; fi; cc -Wall -o \"$OUT/walker\" src/main.c"
program = "walker"
installs-as = "walker"
edit = ["src/"]
limit = "2s"
[asked]
study = "study.toml"
variant = "walk"
clients = 6
at-least = "2%"
[budget]
tries = 100
"#;

const STUDY: &str = r#"
question = "What does a walk cost?"
[access-point]
clients = [6]
[subject]
process = "walker"
start = "walker"
[load]
run = "iw dev {interface} station dump"
[witness]
rounds = 4
[[variant]]
name = "walk"
"#;

const NO_SANDBOX: &str = "there can be no sandbox here";

/// A place with a task; `None` where there is no sandbox.
fn with_task() -> Option<Place> {
    if ["bwrap", "patch", "cc"].iter().any(|name| !Path::new("/usr/bin").join(name).exists()) {
        skip::skip!("there is no bubblewrap, patch or compiler here");
        return None;
    }
    if !skip::has_user_namespaces() {
        return None;
    }
    let place = Place::without_guests();
    place.write("walker/task.toml", TASK.replace("MARK", &place.mark()));
    place.write("walker/study.toml", STUDY);
    Some(place)
}

fn begun() -> Option<Place> {
    let place = with_task()?;
    let ended = place.call("improve init walker/task.toml");
    if ended.stderr.contains(NO_SANDBOX) {
        skip::skip!("{}", ended.stderr.trim());
        return None;
    }
    ended.code(0).prints("Begun in improve/walker");
    Some(place)
}

/// A diff of `src/main.c` to these lines.
fn edit(lines: &str) -> String {
    let count = lines.lines().count();
    format!(
        "--- a/src/main.c\n+++ b/src/main.c\n@@ -1 +1,{count} @@\n-int main(void) {{ return 0; }}\n+{lines}\n"
    )
}

/// What becomes of a diff: outcome and reason, and the sentence.
fn tried(place: &Place, diff: &str) -> (String, String) {
    let ended = place.headroom("improve try walker/task.toml - --json").stdin(diff).run();
    let finding = ended.last_json()["finding"].clone();
    let word = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
    (format!("{} {}", word("outcome"), word("reason")), word("sentence"))
}

fn entries(place: &Place) -> Vec<Value> {
    let ledger = place.call("improve ledger walker/task.toml --json");
    ledger.code(0).json()["entries"].as_array().unwrap().clone()
}

#[test]
fn a_diff_that_is_no_change_of_what_may_be_edited_is_named_for_what_it_is() {
    let Some(place) = begun() else { return };
    let of = |path: &str, hunk: &str| format!("--- a/{path}\n+++ b/{path}\n@@ {hunk}\n");
    let new = |name: &str, mode: u32, line: &str| {
        let head = format!("diff --git \"a/{name}\" \"b/{name}\"\nnew file mode {mode}\n");
        format!("{head}--- /dev/null\n+++ \"b/{name}\"\n@@ -0,0 +1 @@\n+{line}\n")
    };
    let none = "\\ No newline at end of file";
    let link = of("link.c", &format!("-1 +1 @@\n-other.c\n{none}\n+src/main.c\n{none}"));
    let link = format!("diff --git a/link.c b/link.c\nindex 1..2 120000\n{link}");
    let mode = "diff --git a/src/main.c b/src/main.c\nold mode 100644\nnew mode 100755\n";
    let host = "#include \"/etc/passwd\"\n+int main(void) { return 0; }";
    let outside = "failed edits-outside";
    let all = [
        ("no diff at all".to_owned(), "failed does-not-apply", "does not apply"),
        (edit("int main(void) { return 0; } //"), "no-change same-program", "to the byte"),
        (edit("int main(void) { retrun 0; }"), "failed does-not-build", "error"),
        (edit("int main(void); // SLEEP"), "timed-out build-too-long", "longer than 2s"),
        (edit(host), "failed does-not-build", "No such file"),
        (of("../../ledger.jsonl", "-0,0 +1 @@\n+{}"), "failed does-not-apply", ""),
        (of("other.c", "-1 +1 @@\n-int other;\n+int another;"), outside, "`other.c`"),
        (new("src/link.c", 120_000, &format!("/etc/passwd\n{none}")), outside, "`src/link.c`"),
        (link, outside, "`link.c`"),
        (new("\\377.c", 100_644, "int x;"), outside, "`\u{fffd}.c`"),
        (new("src/run.c", 100_755, "int x;"), outside, "`src/run.c`"),
        // What a build would read as commands, and what it makes by itself.
        (new("src/cc.sh", 100_644, "int x;"), outside, "`src/cc.sh`"),
        (new("src/Makefile", 100_644, "int x;"), outside, "`src/Makefile`"),
        (of("src/made.h", "-1 +1 @@\n-int made;\n+int more;"), outside, "`src/made.h`"),
        (mode.to_owned(), outside, "`src/main.c`"),
    ];
    let count = all.len();
    for (diff, outcome, words) in all {
        let (found, sentence) = tried(&place, &diff);
        assert!(found == outcome && sentence.contains(words), "{found}: {sentence}\n{diff}");
    }
    assert_eq!(entries(&place).len(), 1 + 2 * count);
    place.call("improve status walker/task.toml").code(0).prints("Left: 85 tries");
}

#[test]
fn what_cannot_be_asked_is_refused_in_a_line_that_says_what_to_do() {
    let Some(place) = begun() else { return };
    let refused = |words: &str, code: i32, message: &str| {
        place.call(&format!("improve {words}")).code(code).says(message).in_one_line();
    };
    refused("try walker/task.toml none.diff", 2, "cannot read none.diff");
    refused("accept walker/task.toml", 2, "only a try that was kept");
    refused("try walker/task.toml - --dir elsewhere", 2, "headroom improve init");
    place.write("walker/bad.toml", TASK.replace("clients = 6", "clients = \"six\""));
    refused("init walker/bad.toml --dir bad", 2, "clients");
    place.write("walker/study.toml", STUDY.replace("[witness]\nrounds = 4\n", ""));
    refused("init walker/task.toml --dir blind", 2, "checks no replies");
    // What was fixed is fixed.
    let base = place.path("improve/walker/base.tar");
    let built = fs::read(&base).unwrap();
    fs::write(&base, [&built[..], b"more"].concat()).unwrap();
    place.write("edit.diff", edit("int main(void) { return 1; }"));
    refused("try walker/task.toml edit.diff", 4, "base.tar is not what it was");
    fs::write(&base, built).unwrap();
    place.write("improve/walker/study.toml", STUDY.replace("6", "7"));
    refused("try walker/task.toml walker/study.toml", 4, "is not what it was");
}

#[test]
fn a_ledger_that_was_changed_is_refused_and_a_closed_task_shows_its_seed() {
    let Some(place) = begun() else { return };
    tried(&place, "no diff");
    let ledger = place.path("improve/walker/ledger.jsonl");
    let text = fs::read_to_string(&ledger).unwrap();
    fs::write(&ledger, text.replacen("failed", "kept  ", 1)).unwrap();
    // No line has the last one's hash yet: only a reader who knows the head sees the change.
    assert_eq!(fs::read_to_string(&ledger).unwrap().len(), text.len());
    fs::write(&ledger, text.replacen("\"opened\"", "\"Opened\"", 1)).unwrap();
    let refused = place.call("improve status walker/task.toml");
    refused.code(4).says("the ledger was changed").in_one_line();
    fs::write(&ledger, &text).unwrap();
    let close = || place.call("improve close walker/task.toml");
    let secret = place.path("improve/walker/secret/seed");
    let drawn = fs::read_to_string(&secret).unwrap();
    fs::write(&secret, "0".repeat(64)).unwrap();
    close().code(4).says("secret/seed is not what it was").in_one_line();
    fs::write(&secret, drawn).unwrap();
    close().code(0).prints("\"seed\"");
    let seed = entries(&place).pop().unwrap()["seed"].as_str().unwrap().to_owned();
    let opened = entries(&place)[0]["seed"].as_str().unwrap().to_owned();
    assert_eq!(
        sha256sum(&place.write("seed", &seed)),
        opened,
        "the seed is the one whose hash was there first"
    );
    place.call("improve try walker/task.toml -").code(2).says("closed");
}

#[test]
fn without_user_namespaces_nothing_is_built_by_root_either() {
    let Some(place) = with_task() else { return };
    let shell = "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"";
    let mut command = place.command(Path::new("unshare"));
    command.args(["--user", "--map-root-user", "sh", "-euc", shell, "sh"]).arg(binary());
    let ended = command.args(["improve", "init", "walker/task.toml"]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    if said.contains("unshare failed") {
        skip::skip!("{}", said.trim());
        return;
    }
    assert_eq!(ended.status.code(), Some(4), "{said}");
    let line = said.lines().last().unwrap_or_default();
    assert!(line.contains(NO_SANDBOX) && line.contains("allow them"), "{said}");
    assert!(!place.path("improve/walker/base.tar").exists());
}

/// Moments of a try at which it is killed.
const MOMENTS: u64 = 16;

#[test]
fn kill_9_at_any_moment_loses_nothing_of_the_ledger_and_leaves_nothing_running() {
    let Some(place) = begun() else { return };
    let slow = edit("int main(void) { return 0; } // SLEEP");
    let mut lines = entries(&place).len();
    for moment in 0..MOMENTS {
        let running = place.headroom("improve try walker/task.toml - --json").stdin(&slow).start();
        thread::sleep(Duration::from_millis(350 * moment / MOMENTS));
        running.signal(Signal::KILL);
        drop(running);
        let is_over = || place.processes().is_empty().then_some(());
        eventually(Duration::from_secs(10), is_over).expect("the build ends with headroom");
        // Whatever had been written is there, each line whole, and what had begun has an end.
        place.headroom("improve try walker/task.toml -").stdin("no diff").run().code(1);
        let all = entries(&place);
        assert!(all.len() >= lines + 2 && all.len() <= lines + 4, "{} after {lines}", all.len());
        let began = all.iter().filter(|entry| entry["what"] == "began").count();
        let ended = all.iter().filter(|entry| entry["what"] == "ended").count();
        assert_eq!(began, ended, "at {moment}");
        lines = all.len();
    }
}

#[test]
fn a_client_begins_a_task_tries_a_change_and_reads_the_books() {
    let Some(place) = with_task() else { return };
    let Some(mut mcp) = Mcp::start(&place, "auto", &["--task", "walker/task.toml"]) else { return };
    let task = "walker/task.toml";
    let mut submit = |words: Value| {
        let handle = mcp.call("submit", &words).value()["handle"].as_str().unwrap().to_owned();
        let ended = mcp.wait(&handle);
        assert_eq!(ended["state"], "done", "{ended}");
        mcp.call("result", &json!({"handle": handle})).value()
    };
    submit(json!({"task": task, "kind": "begin"}));
    let found =
        submit(json!({"task": task, "kind": "try", "diff": edit("int main(void) { retrun 0; }")}));
    let found = &found["value"]["finding"];
    has(found, &json!({"outcome": "failed", "reason": "does-not-build"}));
    let books = mcp.call("ledger", &json!({"task": task})).value();
    let entries = books["ledger"]["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 3, "{books}");
    mcp.call("submit", &json!({"task": task, "kind": "try"})).fails("a try is a diff");
    mcp.call("submit", &json!({"task": "/etc/passwd", "kind": "begin"}))
        .fails("is no task of this server");
    mcp.leave();
}

#[test]
fn a_security_update_that_is_installed_here_is_not_looked_for_in_the_archive() {
    let place = Place::without_guests();
    let status = "Package: libssl3\nStatus: install ok installed\nMaintainer: nobody <nobody@localhost>\n\
                  Architecture: amd64\nMulti-Arch: same\nVersion: 99\nDescription: newer than the archive's\n\n";
    let status = place.write("status", status);
    place.write("apt.conf", format!("Dir::State::status \"{}\";\n", status.display()));
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/debian-archive");
    let script = "mkdir lists && . \"$1\" \"$PWD/lists\" || exit 77; apt download libssl3:amd64 && ls libssl3_3.*_amd64.deb";
    let mut command = place.command(Path::new("bash"));
    command.args(["-euc", script, "bash"]).arg(archive).env("APT_CONFIG", place.path("apt.conf"));
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    if ended.status.code() == Some(77) || said.contains("no archive of") {
        skip::skip!("the package archive does not answer: {}", said.trim());
        return;
    }
    assert!(ended.status.success(), "{said}");
}
