//! What is asked: a source tree, what may be edited in it, how it is built and measured, what a win is, and the budget.
//!
//! The shape of a task file and its checks. It opens nothing: [`crate::folder`] reads the file and fixes what it says.

use model::{
    architecture::Architecture,
    name::{RelativePath, VariantName},
    share::Share,
    span::Span,
    verdict::FEWEST_PAIRS,
};
use serde::{Deserialize, Serialize};

/// What a try may change below a folder: what compilers read. What a build reads as commands has to be named as a file.
const CODE: [&str; 13] =
    ["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "inc", "S", "s", "rs", "go", "y"];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Task {
    /// What is asked, in a sentence.
    pub question: String,
    /// Shell commands that ask the program for what the load does not: they run on the access point, as root, and what
    /// they print must be what they print with the base.
    pub test: String,
    /// What is changed and built.
    pub source: Source,
    /// What is measured, and what a win is.
    pub asked: Asked,
    /// What may not get worse.
    #[serde(default)]
    pub gates: Gates,
    /// Where a win is held against what its author has not seen.
    #[serde(default)]
    pub acceptance: Acceptance,
    /// How much may be spent.
    #[serde(default)]
    pub budget: Budget,
}

/// A source tree and its build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Source {
    /// A shell command that leaves the tree in the folder that it runs in; `$TASK` is the task file's. It runs once, as
    /// the person who begins the task, and nothing of a try is in it.
    pub fetch: String,
    /// A shell command that builds the tree, in the sandbox: at its top, offline. What it makes goes below `$OUT`, where no
    /// diff reaches.
    pub build: String,
    /// The program that the build leaves, below `$OUT`.
    pub program: RelativePath,
    /// What the study calls it, as `stationd`; with a leading slash, the file of the image that it replaces.
    pub installs_as: String,
    /// Files and folders that a try may edit, below the tree; a folder ends in a slash.
    pub edit: Vec<String>,
    /// Toolchains of the person's own that the sandbox sees besides `/usr`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// A build may take so long.
    #[serde(default = "ten_minutes")]
    pub limit: Span,
    /// The same for arm64: then one cell of every acceptance is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm64: Option<OtherBuild>,
}

/// A build for another processor, of the same tree in the same sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OtherBuild {
    /// As [`Source::build`].
    pub build: String,
    /// As [`Source::program`].
    pub program: RelativePath,
}

impl Source {
    /// The processors that it has builds for.
    pub fn architectures(&self) -> impl Iterator<Item = Architecture> {
        let all = Architecture::ALL.into_iter();
        all.filter(|arch| arch.is_default() || self.arm64.is_some())
    }

    /// How it is built for a processor, and the program that is left: without a build of its own, as for the one that
    /// tries are measured on.
    pub(crate) fn recipe(&self, arch: Architecture) -> (&str, &RelativePath) {
        match (arch, &self.arm64) {
            (Architecture::Arm64, Some(OtherBuild { build, program })) => (build, program),
            _ => (&self.build, &self.program),
        }
    }
}

fn ten_minutes() -> Span {
    Span::from_secs(600)
}

/// A toolchain outside `/usr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// rustup's compilers and cargo's crates.
    Cargo,
}

/// What is measured at every try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Asked {
    /// The study file, beside the task's.
    pub study: RelativePath,
    /// The variant of it whose subject the program is.
    pub variant: VariantName,
    pub clients: u32,
    /// Less CPU than the base by at least this share is a win.
    pub at_least: Share,
    #[serde(default = "fewest_pairs")]
    pub pairs: u32,
    /// How the replies of the load are compared with the base's, beside what the kernel says of their values.
    #[serde(default)]
    pub replies: Replies,
    /// A variant that costs less than anything that does the job: cheaper than it is no win.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<VariantName>,
}

/// How replies are compared with the base's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replies {
    /// Every byte is the base's, but for values that change in time.
    #[default]
    Exact,
    /// Only the values that the kernel knows are compared, with the kernel's.
    Values,
}

fn fewest_pairs() -> u32 {
    FEWEST_PAIRS
}

/// What may not get worse by more than this share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Gates {
    /// What the load waits for the end of a round.
    pub latency: Share,
    /// Resident memory of the subject.
    pub memory: Share,
    pub size: Share,
    /// New warnings of the compiler in edited files.
    pub warnings: u32,
}

impl Default for Gates {
    fn default() -> Self {
        Self { latency: Share::of(0.1), memory: Share::of(0.05), size: Share::of(0.1), warnings: 0 }
    }
}

/// Cells that no try was measured in: drawn between these ends from a seed that is secret until the task is closed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Acceptance {
    pub cells: u32,
    /// Fewest and most clients.
    pub clients: [u32; 2],
    /// The shortest and the longest period of the load.
    pub every: [Span; 2],
}

impl Default for Acceptance {
    fn default() -> Self {
        let every = [1, 2].map(Span::from_secs);
        Self { cells: 2, clients: [9, 30], every }
    }
}

/// What a task may cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Budget {
    pub tries: u32,
    /// Acceptances: the error that is allowed is spent over them.
    pub acceptances: u32,
    /// Time that passes on access points.
    pub device: Span,
}

impl Default for Budget {
    fn default() -> Self {
        Self { tries: 40, acceptances: 3, device: Span::from_secs(6 * 3600) }
    }
}

impl Task {
    /// Fails with what is wrong, its key first, and what to write.
    pub fn read(text: &str) -> Result<Self, String> {
        let task: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        task.check()?;
        Ok(task)
    }

    fn check(&self) -> Result<(), String> {
        let wrong = |key, why: &str| Err(format!("{key}: {why}"));
        let [fewest, most] = self.acceptance.clients;
        let [shortest, longest] = self.acceptance.every;
        match self {
            _ if self.question.trim().is_empty() => wrong("question", "say what is asked"),
            _ if self.test.trim().is_empty() => {
                wrong("test", "write commands that ask for what the load does not")
            }
            _ if self.source.edit.is_empty() => {
                wrong("source.edit", "name what a try may edit, as [\"src/\"]")
            }
            _ if self.source.edit.iter().any(|path| !is_plain(path)) => wrong(
                "source.edit",
                "write paths below the tree, without `..`; a folder ends in a slash",
            ),
            _ if self.asked.pairs < FEWEST_PAIRS => {
                wrong("asked.pairs", "6 is the least that decides")
            }
            _ if self.asked.at_least.get() >= 1.0 => {
                wrong("asked.at-least", "write less than 100%")
            }
            _ if self.acceptance.cells == 0 => wrong("acceptance.cells", "1 is the least"),
            _ if fewest == 0 || fewest > most => {
                wrong("acceptance.clients", "write the fewest and the most, as [9, 30]")
            }
            _ if shortest.as_nanos() == 0 || shortest > longest => {
                wrong("acceptance.every", "write the shortest and the longest, as [\"1s\", \"2s\"]")
            }
            _ if self.budget.acceptances == 0 => wrong("budget.acceptances", "1 is the least"),
            _ => Ok(()),
        }
    }

    /// Whether a try may edit this file of the tree: one that is named, or code below a folder that is.
    pub fn may_edit(&self, path: &str) -> bool {
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        let allows = |allowed: &String| match allowed.ends_with('/') {
            true => path.starts_with(allowed.as_str()) && CODE.contains(&extension),
            false => path == allowed,
        };
        self.source.edit.iter().any(allows)
    }

    /// The error that one acceptance is allowed: what a whole task is allowed, in equal parts (Bonferroni).
    pub fn level(&self) -> f64 {
        analysis::judge::ERROR / f64::from(self.budget.acceptances.max(1))
    }
}

fn is_plain(path: &str) -> bool {
    let path = path.strip_suffix('/').unwrap_or(path);
    !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const TASK: &str = r#"
question = "Can a walk be cheaper?"
test = "walker --version"
[source]
fetch = "cp -a $TASK/tree/. ."
build = "make"
program = "walker"
installs-as = "walker"
edit = ["src/", "Makefile.inc"]
[asked]
study = "study.toml"
variant = "walk"
clients = 9
at-least = "2%"
"#;

    #[test]
    fn what_a_task_does_not_say_has_a_value() {
        let task = Task::read(TASK).unwrap();
        assert_eq!((task.asked.pairs, task.budget.acceptances), (6, 3));
        assert_eq!(task.asked.replies, Replies::Exact);
        assert!((task.level() - 0.05 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_try_edits_what_is_named_and_nothing_else() {
        let task = Task::read(TASK).unwrap();
        for path in ["src/walk.c", "src/deep/er.c", "Makefile.inc"] {
            assert!(task.may_edit(path), "{path}");
        }
        for path in
            ["src", "srcs/walk.c", "Makefile", "Makefile.include", "build.rs", "src/Makefile"]
        {
            assert!(!task.may_edit(path), "{path}");
        }
    }

    #[test]
    fn a_task_that_makes_no_sense_is_refused_by_its_key() {
        let wrong = |from: &str, to: &str| {
            let text = TASK.replace(from, to);
            assert_ne!(text, TASK, "{from}");
            Task::read(&text).unwrap_err()
        };
        for (from, to, key) in [
            ("\"src/\"", "\"../src/\"", "source.edit: "),
            ("\"src/\"", "\"/etc/\"", "source.edit: "),
            ("2%", "100%", "asked.at-least: "),
            ("clients = 9", "clients = 9\npairs = 5", "asked.pairs: "),
            ("Can a walk be cheaper?", " ", "question"),
            ("walker --version", " ", "test: "),
        ] {
            assert!(wrong(from, to).starts_with(key), "{to}");
        }
        assert!(wrong("test = \"walker --version\"\n", "").contains("missing field `test`"));
        assert!(wrong("[asked]", "[asked]\nspeed = 1").contains("speed"));
    }
}
