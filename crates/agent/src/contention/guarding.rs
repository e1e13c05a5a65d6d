//! guard as a control: the device's own program, run with the policy of the order beside the bout.
//!
//! It is looked for beside the agent, in the path, and where headroom puts files. It runs in the router's
//! namespace, at the usual priority. Once a second a thread of ours asks for its status at its socket; what it
//! decided, whether the target was held and what it wrote is read from those answers. At the end it is asked to
//! end by TERM, and every file of the group must be as before.

use std::{
    env,
    fs::File,
    io::{self, Read, Write},
    os::unix::{fs::FileExt, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use linux::{place::Place, proc, system::monotonic_ns};
use model::{contention::Guarding as Told, wire::Refusal};
use rustix::{
    fs::{MemfdFlags, memfd_create},
    process::{Pid, Signal, kill_process},
};

use super::{group::Group, refused, road::Road};

/// Where headroom puts files.
const PUT: &str = "/run/headroom/put";

/// Between two questions.
const EVERY: Duration = Duration::from_secs(1);

/// So long an answer may take.
const PATIENCE: Duration = Duration::from_secs(4);

/// So long it may take to open its socket, and to restore.
const BEGINS: Duration = Duration::from_secs(10);
const RESTORES: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// guard at work. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Guarding {
    child: Child,
    said: File,
    program: PathBuf,
    before: Vec<(PathBuf, Vec<u8>)>,
    asking: Option<JoinHandle<Vec<Answer>>>,
    over: Arc<AtomicBool>,
}

/// What one status told.
#[derive(Clone, Debug, Default, PartialEq)]
struct Answer {
    at_ns: u64,
    kept: Option<f64>,
    target: f64,
    reason: Option<String>,
    reason_age_s: f64,
    writes: u64,
    resident_kib: u64,
}

impl Guarding {
    /// Starts it with a policy and waits until it answers.
    ///
    /// # Errors
    ///
    /// [`Refusal::Contention`] where its program is nowhere, or refuses the policy.
    pub(super) fn start(
        policy: &str,
        group: Option<&Group>,
        (road, folder): (Option<&Road>, &Path),
    ) -> Result<Self, Refusal> {
        let what = "cannot run guard";
        let program = program().ok_or_else(|| Refusal::Contention {
            what: what.to_owned(),
            why: format!("there is no program `guard` beside the agent, in the path or in {PUT}"),
        })?;
        let path = group.map_or("/headroom-none", Group::path);
        let interface = road.map_or("lo", |road| road.protected.as_str());
        let text = policy.replace("{group}", path).replace("{interface}", interface);
        let (file, state) = (folder.join("guard.toml"), folder.join("guard"));
        std::fs::write(&file, text).map_err(refused(what))?;
        let before = group.map(Group::bounds).unwrap_or_default();
        let said = memfd_create("guard", MemfdFlags::CLOEXEC).map_err(io::Error::from);
        let said = File::from(said.map_err(refused(what))?);
        let output = || said.try_clone().map_err(refused(what));
        let mut command = Command::new(&program);
        command.arg("run").arg(&file).arg("--state").arg(&state);
        command.stdin(Stdio::null()).stdout(output()?).stderr(output()?);
        let child = place(road, group)?.start(command).map_err(refused(what))?;
        let over = Arc::new(AtomicBool::new(false));
        let mut guarding = Self { child, said, program, before, asking: None, over };
        let socket = state.join("control");
        guarding.await_socket(&socket)?;
        let over = guarding.over.clone();
        guarding.asking = Some(thread::spawn(move || ask_again_and_again(&socket, &over)));
        Ok(guarding)
    }

    fn await_socket(&mut self, socket: &Path) -> Result<(), Refusal> {
        let until = Instant::now() + BEGINS;
        while UnixStream::connect(socket).is_err() {
            let ended = !matches!(self.child.try_wait(), Ok(None));
            if ended || Instant::now() > until {
                let why = if ended { self.last_words() } else { "it does not answer".to_owned() };
                return Err(Refusal::Contention { what: "guard does not run".to_owned(), why });
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    fn last_words(&self) -> String {
        let mut bytes = vec![0; 4096];
        let length = self.said.read_at(&mut bytes, 0).unwrap_or_default();
        let said = String::from_utf8_lossy(&bytes[..length]).into_owned();
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        last.map_or_else(|| "it said nothing".to_owned(), |line| line.trim().to_owned())
    }

    /// Refuses where it has ended by itself.
    ///
    /// # Errors
    ///
    /// [`Refusal::Contention`] with its last words.
    pub(super) fn look(&mut self) -> Result<(), Refusal> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(Refusal::Contention {
                what: "guard ended by itself".to_owned(),
                why: self.last_words(),
            }),
        }
    }

    /// Its processes: whoever runs its program, the watchdog too.
    pub(super) fn pids(&self) -> Vec<u32> {
        let runs = |pid: &u32| {
            std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == self.program)
        };
        proc::pids().unwrap_or_default().into_iter().filter(runs).collect()
    }

    /// Ends it, and tells what it did: in a window, and since the application began, ns of the monotonic clock.
    pub(super) fn finish(
        mut self,
        group: Option<&Group>,
        ((opens_ns, closes_ns), began_ns): ((u64, u64), u64),
    ) -> Told {
        self.over.store(true, Ordering::Relaxed);
        let answers = self.asking.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        self.end();
        let after = group.map(Group::bounds).unwrap_or_default();
        let at = |moment: u64| answers.iter().take_while(|answer| answer.at_ns <= moment).last();
        let writes = |moment| at(moment).map_or(0, |answer: &Answer| answer.writes);
        Told {
            ran_ns: 0,
            resident_kib: at(closes_ns).map_or(0, |answer| answer.resident_kib),
            writes: writes(closes_ns).saturating_sub(writes(opens_ns)),
            protect_ms: protected(&answers, began_ns),
            decisions: decisions(&answers, began_ns),
            restored: after == self.before,
        }
    }

    /// Asks it to end, and kills it where it does not.
    fn end(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // One that has ended takes none.
        let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
        let until = Instant::now() + RESTORES;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Guarding {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.asking.take().map(JoinHandle::join);
        self.end();
    }
}

/// Beside the agent, in the path, or where headroom puts files.
fn program() -> Option<PathBuf> {
    let beside = env::current_exe().ok().and_then(|own| Some(own.parent()?.join("guard")));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).map(|folder| folder.join("guard")).collect::<Vec<_>>();
    let mut all = beside.into_iter().chain(folders).chain([Path::new(PUT).join("guard")]);
    all.find(|path| path.is_file()).and_then(|path| path.canonicalize().ok())
}

fn place(road: Option<&Road>, group: Option<&Group>) -> Result<Place, Refusal> {
    let what = "cannot place guard";
    let roots = group.map(|group| group.roots().collect::<Vec<_>>()).unwrap_or_default();
    let place = Place::default().groups(roots).map_err(refused(what))?;
    // It restores when it is told to end; its watchdog does when it is killed.
    match road.and_then(|road| road.router.as_ref()) {
        Some(router) => {
            Ok(place.network(router).map_err(refused(what))?.own_devices().ends_with_us())
        }
        None => Ok(place.ends_with_us()),
    }
}

fn ask_again_and_again(socket: &Path, over: &AtomicBool) -> Vec<Answer> {
    let mut answers = Vec::new();
    let mut next = Instant::now();
    while !over.load(Ordering::Relaxed) {
        if let Ok(text) = ask(socket) {
            answers.push(Answer { at_ns: monotonic_ns(), ..read(&text) });
        }
        next += EVERY;
        while Instant::now() < next && !over.load(Ordering::Relaxed) {
            thread::sleep((next - Instant::now()).min(Duration::from_millis(100)));
        }
    }
    answers
}

fn ask(socket: &Path) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"status\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// What of a status is used.
fn read(text: &str) -> Answer {
    let number = |name: &str| value(text, name).and_then(|value| value.parse::<f64>().ok());
    let count = |name: &str| number(name).map_or(0, |number| number as u64);
    Answer {
        at_ns: 0,
        kept: number("kept"),
        target: number("target").unwrap_or(1.0),
        reason: value(text, "reason").filter(|value| *value != "null").map(unquoted),
        reason_age_s: number("reason_age_s").unwrap_or_default(),
        writes: count("writes"),
        resident_kib: count("rss_kib"),
    }
}

/// The value behind the first key of this name: a string with its quotes, or what stands before the next comma
/// or bracket. The status is flat where it is read, and no text in it holds a quoted key.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let key = format!("\"{name}\":");
    let rest = text[text.find(&key)? + key.len()..].trim_start();
    let end = match rest.strip_prefix('"') {
        Some(inside) => {
            let mut escaped = false;
            let end = inside.find(|sign| {
                let ends = sign == '"' && !escaped;
                escaped = sign == '\\' && !escaped;
                ends
            });
            end? + 2
        }
        None => rest.find([',', '}', ']', '\n'])?,
    };
    Some(rest[..end].trim())
}

fn unquoted(value: &str) -> String {
    let inside = value.trim_matches('"');
    inside.replace("\\\"", "\"").replace("\\\\", "\\")
}

/// From the application's start to the first answer in which the target was held, ms.
fn protected(answers: &[Answer], began_ns: u64) -> Option<u64> {
    let held = |answer: &&Answer| {
        answer.at_ns >= began_ns && answer.kept.is_some_and(|kept| kept >= answer.target)
    };
    answers.iter().find(held).map(|answer| (answer.at_ns - began_ns) / 1_000_000)
}

/// Each reason once, with when it was given, ms from the application's start.
fn decisions(answers: &[Answer], began_ns: u64) -> Vec<(i64, String)> {
    let mut told: Vec<(i64, String)> = Vec::new();
    for answer in answers {
        let Some(reason) = &answer.reason else { continue };
        let age_ns = (answer.reason_age_s * 1e9) as i64;
        let at_ms = (answer.at_ns as i64 - age_ns - began_ns as i64) / 1_000_000;
        // The same reason is told again with each answer; its moment wavers by what an answer takes.
        let same = |(at, text): &(i64, String)| text == reason && at.abs_diff(at_ms) < 500;
        if !told.last().is_some_and(same) {
            told.push((at_ms, reason.clone()));
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = r#"done
{"version":"0.1.0","condition":"starved","kept":0.62,"target":0.95,
 "reason":"the \"app\" holds ksoftirqd back","reason_age_s":1.5,"now":"x",
 "own":{"cpu_s":0.01,"cpu_share":0.001,"rss_kib":2300,"ticks":9,"writes":4,"writes_last_minute":4}}"#;

    #[test]
    fn a_status_is_read() {
        let answer = read(STATUS);
        assert_eq!((answer.kept, answer.target), (Some(0.62), 0.95));
        assert_eq!(answer.reason.as_deref(), Some("the \"app\" holds ksoftirqd back"));
        assert_eq!((answer.writes, answer.resident_kib), (4, 2300));
        let idle = read(r#"{"kept":null,"target":0.9,"reason":null}"#);
        assert_eq!((idle.kept, idle.reason), (None, None));
        assert_eq!(read("nonsense").writes, 0);
    }

    #[test]
    fn a_decision_is_told_once_with_its_moment() {
        let second = 1_000_000_000;
        let at = |s: u64, age: f64| Answer { at_ns: s * second, reason_age_s: age, ..read(STATUS) };
        let told = decisions(&[at(11, 0.5), at(12, 1.5), at(13, 0.2)], 10 * second);
        assert_eq!(told.iter().map(|(ms, _)| *ms).collect::<Vec<_>>(), [500, 2800]);
    }

    #[test]
    fn protection_counts_from_the_applications_start() {
        let answer =
            |at_ns, kept| Answer { at_ns, kept: Some(kept), target: 0.95, ..Answer::default() };
        let answers = [answer(5, 1.0), answer(2_000_000, 0.6), answer(9_000_000, 0.97)];
        assert_eq!(protected(&answers, 1_000_000), Some(8));
        assert_eq!(protected(&answers[..2], 1_000_000), None);
    }
}
