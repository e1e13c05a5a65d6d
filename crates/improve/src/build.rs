//! Builds a task's base, and a diff's program: applied to a copy of the base, held against what may be edited, built as
//! the base was.
//!
//! Trees go into the sandbox as archives and come out as archives. What was edited is known by content, not by what the diff
//! says of itself; the archive that was looked at is the one that is built, and the base's is the one that the ledger names.

use std::{
    fs::File,
    io::{self, Read, Seek},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use linux::{file, folder::Folder};
use model::{
    architecture::Architecture,
    name::{RelativePath, Sha256Hex},
};

use crate::{
    content::{self, Manifest},
    folder::{Error, TaskFolder},
    ledger::{Access, Ledger, Opened, What},
    outcome::{Finding, Outcome, Reason},
    sandbox::{Ended, Job, Limits, PROGRAM, Sandbox, Stop},
};

const LONGEST_PROGRAM: u64 = 512 << 20;

/// No build says more that is looked at, bytes.
const LONGEST_LOG: u64 = 64 << 20;

/// The tree as it was fetched: a folder, and the archive that is built.
const SOURCE: &str = "source";
const FETCHED: &str = "fetched.tar";

/// A tree with a diff applied, while a try is built.
const TREE: &str = "tree.tar";

/// What a try's build left, until it is stored.
const LEFT: &str = "left";

/// Puts a folder of the sandbox, or both, into an archive. What has two names is two files.
const PACK: &str = "tar --create --format=pax --sort=name --hard-dereference";

/// A processor's base in the task's folder, with its objects; and what its builds said, there and in a try's folder.
const fn names(arch: Architecture) -> (&'static str, &'static str) {
    match arch {
        Architecture::X86_64 => ("base.tar", "build.log"),
        Architecture::Arm64 => ("base-arm64.tar", "build-arm64.log"),
    }
}

/// A diff may take so long to be applied, with the unpacking of the tree.
const APPLY: Duration = Duration::from_secs(120);

/// A program that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    pub program: Sha256Hex,
    /// Its length as it is built, bytes.
    pub bytes: u64,
    /// Warnings of the compiler in the files that were edited, beyond those that the base has there.
    pub warnings: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its number in the ledger.
    pub id: u32,
    pub diff: &'a [u8],
    pub arch: Architecture,
}

/// The texts of a task, and where its file is.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    pub task: &'a str,
    pub study: &'a str,
    pub folder: &'a Path,
}

/// Begins a task in a folder that is not there yet: fetches the tree, builds the base, draws the seed, and records all of
/// it before the first try. Where that fails, the folder is left for a look at what its commands said.
pub fn begin(
    path: &Path,
    texts: Texts<'_>,
    now: u64,
    stop: &Stop<'_>,
) -> Result<(TaskFolder, Ledger), Error> {
    let mut folder = TaskFolder::create(path, texts.task, texts.study)?;
    Sandbox::possible(Limits::usual())?;
    let source = folder.path_of(SOURCE);
    folder.shell("source.fetch", &folder.task.source.fetch, (&source, texts.folder))?;
    let pack = format!("exec {PACK} --file={FETCHED} {SOURCE}");
    folder.shell("packing what was fetched", &pack, (folder.path(), texts.folder))?;
    let source = Manifest::of(folder.open_file(FETCHED)?);
    let source = source.map_err(Error::file("read", folder.path_of(FETCHED)))?.sum();
    let (program, built) = folder.base_for(Architecture::X86_64, stop)?;
    let arm64 = folder.task.source.arm64.as_ref();
    let arm64 = arm64.map(|_| folder.base_for(Architecture::Arm64, stop)).transpose()?;
    let (arm64, built_arm64) = arm64.unzip();
    let opened = Opened {
        question: folder.task.question.clone(),
        task: content::sum(texts.task.as_bytes()),
        study: content::sum(texts.study.as_bytes()),
        source,
        program,
        arm64,
        built: Some(built),
        built_arm64,
        seed: content::sum(folder.seed()?.as_bytes()),
        headroom: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let mut ledger = Ledger::open(&folder.folder, Access::Write)?;
    ledger.append(now, What::Opened(Box::new(opened.clone())))?;
    folder.opened = Some(opened);
    Ok((folder, ledger))
}

impl TaskFolder {
    /// Builds the base for a processor: its program, and the archive of the tree and the output that tries begin with.
    fn base_for(
        &self,
        arch: Architecture,
        stop: &Stop<'_>,
    ) -> Result<(Sha256Hex, Sha256Hex), Error> {
        let ((base, log_name), (build, program)) = (names(arch), self.task.source.recipe(arch));
        let log = self.log(log_name, &self.folder)?;
        let sandbox = self.sandbox(&log, stop);
        let result = self.new_file(&self.folder, base)?;
        let job = Job {
            command: &format!("{}\ncd /\n{PACK} source out >&3", built(build)),
            archives: &[(&self.open_file(FETCHED)?, SOURCE)],
            input: None,
            result: (&result, 3 * sandbox.limits.space),
            limit: self.task.source.limit.into(),
        };
        let how = match run(&sandbox, &job)? {
            Ended::With(status) if status.success() => None,
            Ended::With(status) => Some(status.to_string()),
            Ended::TimedOut => Some("its time over".to_owned()),
            Ended::OutOfMemory => Some("its memory spent".to_owned()),
            Ended::Stopped => return Err(Error::Interrupted),
        };
        if let Some(how) = how {
            let (what, log) = ("the base's build", self.path_of(log_name));
            return Err(Error::Command { what, how, log });
        }
        let unreadable = || Error::file("read", self.path_of(base));
        let found = program_in(self.open_file(base)?, program).map_err(unreadable())?;
        let found = found.ok_or_else(|| Error::NoProgram(program.as_ref().into()))?;
        let archive = content::sum_of(self.open_file(base)?).map_err(unreadable())?;
        Ok((self.store("programs", &found)?, archive))
    }

    /// Runs a command of the task's author, or of ours, as the person who begins the task: in a folder, for the task of another
    /// one.
    fn shell(
        &self,
        what: &'static str,
        command: &str,
        (folder, task): (&Path, &Path),
    ) -> Result<(), Error> {
        const SAID: &str = "fetch.log";
        let open = || self.folder.append(SAID).map_err(Error::file("open", self.path_of(SAID)));
        let mut shell = Command::new("/bin/sh");
        shell.args(["-euc", command]).current_dir(folder).env("TASK", task);
        shell.stdin(Stdio::null()).stdout(open()?).stderr(open()?);
        let status = shell.status().map_err(Error::file("run", "/bin/sh"))?;
        let (how, log) = (status.to_string(), self.path_of(SAID));
        status.success().then_some(()).ok_or(Error::Command { what, how, log })
    }

    /// Builds a try; else why there is nothing to measure.
    /// Fails with [`Error`] of this machine, never of the try.
    pub fn build(
        &self,
        candidate: Candidate<'_>,
        stop: &Stop<'_>,
    ) -> Result<Result<Built, Finding>, Error> {
        Sandbox::possible(Limits::usual())?;
        let place = self.of_try(candidate.id)?;
        let built = self.build_in(&place, candidate, stop);
        for name in [TREE, LEFT] {
            // The program and the log stay.
            let _ = place.remove_file(name);
        }
        built
    }

    fn build_in(
        &self,
        place: &Folder,
        candidate: Candidate<'_>,
        stop: &Stop<'_>,
    ) -> Result<Result<Built, Finding>, Error> {
        let Candidate { diff, arch, .. } = candidate;
        let ((_, log_name), (build, program)) = (names(arch), self.task.source.recipe(arch));
        let base = self.base_archive(arch)?;
        let log = self.log(log_name, place)?;
        let sandbox = self.sandbox(&log, stop);
        if !self.applies(place, (diff, &base), &sandbox)? {
            let said = said(&place.path_of(log_name), "The diff does not apply to the base");
            return Ok(Err(failed(Reason::DoesNotApply, said)));
        }
        let tree = file_in(place, TREE)?;
        let edited = match self.edited(&base, &tree)? {
            Ok(edited) => edited,
            Err(finding) => return Ok(Err(finding)),
        };
        let job = Job {
            command: &format!("{}\n{}", built(build), left(program)),
            archives: &[(&base, "out"), (&tree, SOURCE)],
            input: None,
            result: (&self.new_file(place, LEFT)?, LONGEST_PROGRAM),
            limit: self.task.source.limit.into(),
        };
        match run(&sandbox, &job)? {
            Ended::With(status) if status.success() => {}
            Ended::Stopped => return Err(Error::Interrupted),
            Ended::TimedOut => {
                let limit = self.task.source.limit;
                let sentence =
                    format!("Its build takes longer than {limit}, which is what the task allows.");
                return Ok(Err(Finding::of(Outcome::TimedOut, Reason::BuildTooLong, sentence)));
            }
            Ended::OutOfMemory => {
                let most = sandbox.limits.memory_kib >> 10;
                let sentence = format!("Its build takes more memory than {most} MiB.");
                return Ok(Err(failed(Reason::DoesNotBuild, sentence)));
            }
            Ended::With(_) => {
                let said = said(&place.path_of(log_name), "It does not build");
                return Ok(Err(failed(Reason::DoesNotBuild, said)));
            }
        }
        let content = place.read(LEFT, LONGEST_PROGRAM);
        let content = content.map_err(Error::file("read", place.path_of(LEFT)))?;
        if content.is_empty() {
            let sentence = format!("Its build leaves no program `{program}`.");
            return Ok(Err(failed(Reason::DoesNotBuild, sentence)));
        }
        // Beyond those that the base's build has there.
        let [now, then] = [place, &self.folder].map(|folder| text(&folder.path_of(log_name)));
        let warnings = warnings(&now, &edited).saturating_sub(warnings(&then, &edited));
        let program = self.store("programs", &content)?;
        Ok(Ok(Built { program, bytes: content.len() as u64, warnings }))
    }

    /// The base with its objects, if it is what the ledger says.
    fn base_archive(&self, arch: Architecture) -> Result<File, Error> {
        let (name, _) = names(arch);
        let opened = self.opened.as_ref();
        let then = opened.and_then(|opened| match arch {
            Architecture::X86_64 => opened.built.as_ref(),
            Architecture::Arm64 => opened.built_arm64.as_ref(),
        });
        let archive = self.open_file(name)?;
        let now = content::sum_of(&archive).map_err(Error::file("read", self.path_of(name)))?;
        if then == Some(&now) { Ok(archive) } else { Err(Error::Changed(self.path_of(name))) }
    }

    /// Applies a diff to the base's tree; whether that went well. The tree is left in the try's folder.
    fn applies(
        &self,
        place: &Folder,
        over: (&[u8], &File),
        sandbox: &Sandbox<'_>,
    ) -> Result<bool, Error> {
        const PATCH: &str =
            "patch --strip=1 --batch --forward --no-backup-if-mismatch --reject-file=- 3>&-";
        let (diff, base) = over;
        place.replace("diff", diff).map_err(Error::file("write", place.path_of("diff")))?;
        let job = Job {
            command: &format!("{PATCH}\ncd /\n{PACK} {SOURCE} >&3"),
            archives: &[(base, SOURCE)],
            input: Some(&file_in(place, "diff")?),
            result: (&self.new_file(place, TREE)?, 3 * sandbox.limits.space),
            limit: APPLY,
        };
        match run(sandbox, &job)? {
            Ended::With(status) => Ok(status.success()),
            Ended::TimedOut | Ended::OutOfMemory => Ok(false),
            Ended::Stopped => Err(Error::Interrupted),
        }
    }

    /// What the diff did to the tree, by content; else what it may not have done.
    fn edited(&self, base: &File, tree: &File) -> Result<Result<Vec<String>, Finding>, Error> {
        let manifest = |archive: &File| {
            let manifest = (&mut &*archive).rewind().and_then(|()| Manifest::of(archive));
            manifest.map_err(Error::file("read", self.path_of("an archive")))
        };
        let fetched = manifest(&self.open_file(FETCHED)?)?;
        if self.opened.as_ref().is_none_or(|opened| opened.source != fetched.sum()) {
            return Err(Error::Changed(self.path_of(FETCHED)));
        }
        let (base, tree) = (manifest(base)?, manifest(tree)?);
        let mut edited = Vec::new();
        for (path, item) in base.changed(&tree) {
            let before = base.get(path);
            let is_made = before.is_some() && fetched.get(path).is_none();
            let is_plain = item.is_none_or(|item| item.is_file() && !item.is_otherwise(before));
            let text = String::from_utf8_lossy(path).into_owned();
            if is_made || !is_plain || !self.task.may_edit(&text) {
                let may = self.task.source.edit.join(", ");
                let sentence = format!(
                    "It changes `{text}`; a try may edit code of {may} and nothing else: no link, no file's rights, \
                     nothing that the build makes or reads as commands."
                );
                return Ok(Err(failed(Reason::EditsOutside, sentence)));
            }
            edited.push(text);
        }
        Ok(Ok(edited))
    }

    fn sandbox<'a>(&'a self, log: &'a File, stop: &'a Stop<'a>) -> Sandbox<'a> {
        Sandbox { tools: &self.task.source.tools, log, stop, limits: Limits::usual() }
    }

    fn open_file(&self, name: &'static str) -> Result<File, Error> {
        file_in(&self.folder, name)
    }

    /// A file that is not there yet.
    fn new_file(&self, folder: &Folder, name: &'static str) -> Result<File, Error> {
        let _ = folder.remove_file(name);
        folder.new_file(name).map_err(Error::file("make", folder.path_of(name)))
    }

    fn log(&self, name: &'static str, folder: &Folder) -> Result<File, Error> {
        let _ = folder.remove_file(name);
        folder.append(name).map_err(Error::file("open", folder.path_of(name)))
    }
}

/// A sentence, and the first error or else the last line of what a build said.
fn said(log: &Path, what: &str) -> String {
    let text = text(log);
    let errors = text.lines().filter(|line| line.contains("error") || line.contains("FAILED"));
    let last = errors.chain(text.lines().rev().take(1)).next().unwrap_or_default();
    let last: String = last.chars().filter(|sign| !sign.is_control()).take(200).collect();
    format!("{what}: {last}")
}

fn text(log: &Path) -> String {
    let bytes = file::bytes(log, LONGEST_LOG).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Warnings that a compiler gives for these files: gcc's are lines of their own, rustc's name the file in the line below.
fn warnings(log: &str, files: &[String]) -> u32 {
    let names = |line: &str| files.iter().any(|file| is_named(line, file));
    let lines: Vec<&str> = log.lines().collect();
    let gcc = lines.iter().filter(|line| line.contains(": warning: ") && names(line)).count();
    let is_rustc = |pair: &&[&str]| {
        pair[0].starts_with("warning") && pair[1].trim_start().starts_with("--> ") && names(pair[1])
    };
    (gcc + lines.windows(2).filter(is_rustc).count()) as u32
}

/// Whether a line names a file of the tree, which compilers may name from a folder of it.
fn is_named(line: &str, file: &str) -> bool {
    let last = file.rsplit('/').next().unwrap_or(file);
    line.split([' ', ':', '('])
        .any(|word| word == file || word.ends_with(&format!("/{last}")) || word == last)
}

fn failed(reason: Reason, sentence: String) -> Finding {
    Finding::of(Outcome::Failed, reason, sentence)
}

fn run(sandbox: &Sandbox<'_>, job: &Job<'_>) -> Result<Ended, Error> {
    sandbox.run(job).map_err(Error::file("run", PROGRAM[0]))
}

fn file_in(folder: &Folder, name: &'static str) -> Result<File, Error> {
    folder.file(name).map_err(Error::file("read", folder.path_of(name)))
}

/// A task's build, which may end its own shell and does not see what comes out.
fn built(build: &str) -> String {
    format!("(\n{build}\n) 3>&-")
}

/// What has a program come out, where a build left one. A link is none.
fn left(program: &RelativePath) -> String {
    let quoted = program.as_str().replace('\'', r"'\''");
    format!("left=\"$OUT\"/'{quoted}'\nif [[ -f $left && ! -L $left ]]; then cat \"$left\" >&3; fi")
}

/// The program in what the base's build left.
fn program_in(archive: File, program: &RelativePath) -> io::Result<Option<Vec<u8>>> {
    let wanted = format!("out/{program}");
    for entry in tar::Archive::new(archive).entries()? {
        let entry = entry?;
        if *entry.path_bytes() == *wanted.as_bytes() && entry.header().entry_type().is_file() {
            let mut bytes = Vec::new();
            entry.take(LONGEST_PROGRAM).read_to_end(&mut bytes)?;
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_both_compilers_count_in_edited_files_alone() {
        let gcc =
            "../src/ap/sta.c:12:3: warning: unused variable\n../src/ap/other.c:1:1: warning: x\n";
        let rustc = "warning: unused import\n  --> crates/a/src/lib.rs:3:5\n   |\nwarning: `a` generated 1 warning\n";
        let files = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(warnings(gcc, &files(&["src/ap/sta.c"])), 1);
        assert_eq!(warnings(rustc, &files(&["crates/a/src/lib.rs"])), 1);
        assert_eq!(warnings(&format!("{gcc}{rustc}"), &files(&["src/main.rs"])), 0);
    }
}
