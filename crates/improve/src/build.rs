//! From a diff to a program: applied to a copy of the base, held against what may be edited, built as the base was.
//!
//! Works in the sandbox and on its copies. What was edited is known by content, not by what the diff says of itself.

use std::{
    fs::{self, File},
    io,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use linux::{file, folder::Folder};
use model::{
    architecture::Architecture,
    name::{RelativePath, Sha256Hex},
    span::Span,
};

use crate::{
    content::{Item, Manifest},
    folder::{Error, TaskFolder},
    outcome::{Finding, Outcome, Reason},
    sandbox::{Ended, PROGRAM, Sandbox, Stop},
};

/// No program is longer, bytes.
const LONGEST_PROGRAM: u64 = 512 << 20;

/// No build says more that is looked at, bytes.
const LONGEST_LOG: u64 = 64 << 20;

/// Where a processor's base is in the task's folder, and what its builds said, there and in a try's.
#[derive(Clone, Copy)]
struct Names {
    source: &'static str,
    out: &'static str,
    log: &'static str,
}

/// What was fetched, and built for the processor that tries are measured on.
const OWN: Names = Names { source: "source", out: "out", log: "build.log" };

impl Names {
    const fn of(arch: Architecture) -> Self {
        match arch {
            Architecture::X86_64 => OWN,
            Architecture::Arm64 => {
                Self { source: "source-arm64", out: "out-arm64", log: "build-arm64.log" }
            }
        }
    }
}

/// A diff may take so long to be applied.
const APPLY: Duration = Duration::from_secs(30);

/// A program that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// What is in it.
    pub program: Sha256Hex,
    /// Its length as it is built, bytes.
    pub bytes: u64,
    /// Warnings of the compiler in the files that were edited, beyond those that the base has there.
    pub warnings: u32,
}

/// What is built.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its number in the ledger.
    pub id: u32,
    /// What it changes.
    pub diff: &'a [u8],
    /// For which processor.
    pub arch: Architecture,
}

/// The base: what it is, and its program for each processor.
pub(crate) struct Base {
    /// Its manifest's hash.
    pub(crate) manifest: Sha256Hex,
    /// For the processor that tries are measured on.
    pub(crate) program: Sha256Hex,
    /// For arm64, where the task has a build for it.
    pub(crate) arm64: Option<Sha256Hex>,
}

impl TaskFolder {
    /// Fetches the tree and builds it.
    pub(crate) fn build_base(&self, task_folder: &Path, stop: &Stop<'_>) -> Result<Base, Error> {
        let source = self.path_of(OWN.source);
        self.fetch(&source, task_folder)?;
        let tree = self.folder.folder(OWN.source).map_err(Error::file("open", &source))?;
        let manifest = Manifest::of(&tree).map_err(Error::file("read", &source))?.sum();
        let has_arm64 = self.task.source.arm64.is_some();
        if has_arm64 {
            // Before anything was built in it.
            let names = Names::of(Architecture::Arm64);
            copy(&source, &self.path_of(names.source))?;
            let out = self.folder.new_folder(names.out);
            out.map_err(Error::file("make", self.path_of(names.out)))?;
        }
        let program = self.base_for(Architecture::X86_64, stop)?;
        let arm64 = has_arm64.then(|| self.base_for(Architecture::Arm64, stop)).transpose()?;
        Ok(Base { manifest, program, arm64 })
    }

    /// Builds the base for a processor; its program.
    fn base_for(&self, arch: Architecture, stop: &Stop<'_>) -> Result<Sha256Hex, Error> {
        let (names, recipe) = (Names::of(arch), self.task.source.recipe(arch));
        let [source, out] = [names.source, names.out].map(|name| self.path_of(name));
        let log = self.log(names.log, &self.folder)?;
        match self.build_tree(recipe.build, &self.sandbox(&source, &out, (&log, stop)))? {
            Ended::With(status) if status.success() => {}
            Ended::Stopped => return Err(Error::Interrupted),
            ended => {
                let (what, log) = ("the base's build", self.path_of(names.log));
                return Err(Error::Command { what, how: words(ended), log });
            }
        }
        let built = self.take_program(&out, recipe.program)?;
        let lost = || Error::NoProgram(recipe.program.as_ref().into());
        built.map(|(program, _)| program).ok_or_else(lost)
    }

    /// Has the task's author's command leave the tree in a folder.
    fn fetch(&self, source: &Path, task_folder: &Path) -> Result<(), Error> {
        const SAID: &str = "fetch.log";
        let log = self.log(SAID, &self.folder)?;
        let clone = || log.try_clone().map_err(Error::file("open", self.path_of(SAID)));
        let status = Command::new("/bin/sh")
            .args(["-euc", &self.task.source.fetch])
            .current_dir(source)
            .env("TASK", task_folder)
            .stdin(Stdio::null())
            .stdout(clone()?)
            .stderr(clone()?)
            .status()
            .map_err(Error::file("run", "/bin/sh"))?;
        if status.success() {
            return Ok(());
        }
        let (what, how, log) = ("source.fetch", status.to_string(), self.path_of(SAID));
        Err(Error::Command { what, how, log })
    }

    fn build_tree(&self, build: &str, sandbox: &Sandbox<'_>) -> Result<Ended, Error> {
        let ended = sandbox.run(build, nothing()?, self.task.source.limit.into());
        ended.map_err(Error::file("run", PROGRAM[0]))
    }

    /// The base's program, as a candidate for a comparison with itself.
    ///
    /// # Errors
    ///
    /// [`Error::File`].
    pub fn built_base(&self, program: &Sha256Hex) -> Result<Built, Error> {
        let path = self.program(program);
        let bytes = fs::metadata(&path).map_err(Error::file("read", &path))?.len();
        Ok(Built { program: program.clone(), bytes, warnings: 0 })
    }

    /// Builds a try; else why there is nothing to measure.
    ///
    /// # Errors
    ///
    /// [`Error`] of this machine, never of the try.
    pub fn build(
        &self,
        candidate: Candidate<'_>,
        stop: &Stop<'_>,
    ) -> Result<Result<Built, Finding>, Error> {
        let place = self.of_try(candidate.id)?;
        let built = self.build_in(&place, candidate, stop);
        for name in ["tree", "out"] {
            // Copies: the program and the log stay.
            let _ = place.remove_tree(name);
        }
        match built {
            Ok(built) => Ok(Ok(built)),
            Err(Unbuilt::Found(finding)) => Ok(Err(finding)),
            Err(Unbuilt::Unable(error)) => Err(error),
        }
    }

    fn build_in(
        &self,
        place: &Folder,
        candidate: Candidate<'_>,
        stop: &Stop<'_>,
    ) -> Result<Built, Unbuilt> {
        let Candidate { diff, arch, .. } = candidate;
        let (names, recipe) = (Names::of(arch), self.task.source.recipe(arch));
        let [tree, out] = ["tree", "out"].map(|name| place.path_of(name));
        for (from, to) in [(names.source, &tree), (names.out, &out)] {
            copy(&self.path_of(from), to)?;
        }
        let log = self.log(names.log, place)?;
        let sandbox = self.sandbox(&tree, &out, (&log, stop));
        if !self.applies(place, diff, &sandbox)? {
            let said = said(&place.path_of(names.log), "The diff does not apply to the base");
            return Err(failed(Reason::DoesNotApply, said).into());
        }
        let edited = self.edited(place, names)?;
        match self.build_tree(recipe.build, &sandbox)? {
            Ended::With(status) if status.success() => {}
            Ended::Stopped => return Err(Error::Interrupted.into()),
            Ended::TimedOut => return Err(too_long(self.task.source.limit).into()),
            Ended::With(_) => {
                let said = said(&place.path_of(names.log), "It does not build");
                return Err(failed(Reason::DoesNotBuild, said).into());
            }
        }
        let (program, bytes) = self.take_program(&out, recipe.program)?.ok_or_else(|| {
            let sentence = format!("Its build leaves no program `{}`.", recipe.program);
            failed(Reason::DoesNotBuild, sentence)
        })?;
        // Beyond those that the base's build has there.
        let [now, then] = [place, &self.folder].map(|folder| text(&folder.path_of(names.log)));
        let warnings = warnings(&now, &edited).saturating_sub(warnings(&then, &edited));
        Ok(Built { program, bytes, warnings })
    }

    /// Applies a diff to the copy that a sandbox is over; whether that went well.
    fn applies(&self, place: &Folder, diff: &[u8], sandbox: &Sandbox<'_>) -> Result<bool, Error> {
        const PATCH: &str =
            "patch --strip=1 --batch --forward --no-backup-if-mismatch --reject-file=-";
        let at = || place.path_of("diff");
        place.replace("diff", diff).map_err(Error::file("write", at()))?;
        let input = place.file("diff").map_err(Error::file("read", at()))?;
        match sandbox.run(PATCH, input, APPLY).map_err(Error::file("run", PROGRAM[0]))? {
            Ended::With(status) => Ok(status.success()),
            Ended::TimedOut => Ok(false),
            Ended::Stopped => Err(Error::Interrupted),
        }
    }

    /// What the diff did to the tree, by content; else what it may not have done.
    fn edited(&self, place: &Folder, base: Names) -> Result<Vec<String>, Unbuilt> {
        let manifest = |folder: &Folder, name: &str| {
            let tree = folder.folder(name);
            tree.and_then(|tree| Manifest::of(&tree))
                .map_err(Error::file("read", folder.path_of(name)))
        };
        let (base, tree) = (manifest(&self.folder, base.source)?, manifest(place, "tree")?);
        let changed = base.changed(&tree);
        let is_outside = |(path, item): &(&&str, &Option<&Item>)| {
            !self.task.may_edit(path) || matches!(item, Some(Item::Other))
        };
        if let Some((path, _)) = changed.iter().find(is_outside) {
            let may = self.task.source.edit.join(", ");
            let sentence =
                format!("It changes `{path}`; a try may edit files of {may} and nothing else.");
            return Err(failed(Reason::EditsOutside, sentence).into());
        }
        Ok(changed.into_keys().map(str::to_owned).collect())
    }

    /// The program that a build left, stored; `None` where there is none.
    fn take_program(
        &self,
        out: &Path,
        name: &RelativePath,
    ) -> Result<Option<(Sha256Hex, u64)>, Error> {
        let folder = Folder::open(out).map_err(Error::file("open", out))?;
        // A link would lead out of the folder: it is no program.
        let Ok(program) = folder.read(name, LONGEST_PROGRAM) else { return Ok(None) };
        Ok(Some((self.store_program(&program)?, program.len() as u64)))
    }

    fn sandbox<'a>(
        &'a self,
        source: &'a Path,
        out: &'a Path,
        over: (&'a File, &'a Stop<'a>),
    ) -> Sandbox<'a> {
        let (log, stop) = over;
        Sandbox { source, out, tools: &self.task.source.tools, log, stop }
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
    let names = |line: &str| files.iter().any(|file| names(line, file));
    let lines: Vec<&str> = log.lines().collect();
    let gcc = lines.iter().filter(|line| line.contains(": warning: ") && names(line)).count();
    let is_rustc = |pair: &&[&str]| {
        pair[0].starts_with("warning") && pair[1].trim_start().starts_with("--> ") && names(pair[1])
    };
    (gcc + lines.windows(2).filter(is_rustc).count()) as u32
}

/// Whether a line names a file of the tree, which compilers may name from a folder of it.
fn names(line: &str, file: &str) -> bool {
    let last = file.rsplit('/').next().unwrap_or(file);
    line.split([' ', ':', '('])
        .any(|word| word == file || word.ends_with(&format!("/{last}")) || word == last)
}

/// Why there is nothing to measure: for a reason of the try's, or of this machine's.
enum Unbuilt {
    Found(Finding),
    Unable(Error),
}

impl From<Finding> for Unbuilt {
    fn from(finding: Finding) -> Self {
        Self::Found(finding)
    }
}

impl From<Error> for Unbuilt {
    fn from(error: Error) -> Self {
        Self::Unable(error)
    }
}

fn too_long(limit: Span) -> Finding {
    let sentence = format!("Its build takes longer than {limit}, which is what the task allows.");
    Finding::of(Outcome::TimedOut, Reason::BuildTooLong, sentence)
}

fn failed(reason: Reason, sentence: String) -> Finding {
    Finding::of(Outcome::Failed, reason, sentence)
}

fn words(ended: Ended) -> String {
    match ended {
        Ended::With(status) => status.to_string(),
        Ended::TimedOut => "its time over".to_owned(),
        Ended::Stopped => "an interruption".to_owned(),
    }
}

fn nothing() -> Result<File, Error> {
    File::open("/dev/null").map_err(Error::file("open", "/dev/null"))
}

/// Copies a tree with its times: builds go by them.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    if to.exists() {
        fs::remove_dir_all(to).map_err(Error::file("remove", to))?;
    }
    let copied = Command::new("cp").args(["-a", "--reflink=auto", "--"]).args([from, to]).output();
    let copied = copied.map_err(Error::file("run", "cp"))?;
    if copied.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&copied.stderr).into_owned();
    Err(Error::file("copy to", to)(io::Error::other(why.trim().to_owned())))
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
