//! What is recorded, with what: the study's variant, the product, and a symbol table for both recorders.
//!
//! The daemon on the access point has no symbols. Both sides get the same file with its symbol table and
//! nothing else: inlined functions, which only debug information knows, are then in neither list.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

const STUDY: &str = "studies/station-stats.toml";
const VARIANT: &str = "found";
const CLIENTS: &str = "114";

/// Symbols, and what else is a name of the same address.
pub(super) type Aliases = BTreeMap<String, Vec<String>>;

/// The subject, and everything that recording it needs.
pub(super) struct Subject {
    root: PathBuf,
    headroom: PathBuf,
    folder: TempDir,
    /// How it is started, when it is ready, and what asks it.
    pub(super) start: String,
    pub(super) ready: String,
    pub(super) load: String,
}

impl Subject {
    pub(super) fn of(root: &Path) -> Result<Self> {
        let built = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let places = [built, Some(root.join("target"))];
        let headroom = places.into_iter().flatten().map(|place| place.join("release/headroom"));
        let headroom = headroom.into_iter().find(|path| path.is_file());
        let headroom =
            headroom.context("target/release/headroom is not there; run `make build`")?;
        let text =
            fs::read_to_string(root.join(STUDY)).with_context(|| format!("cannot read {STUDY}"))?;
        let study: toml::Table = text.parse().with_context(|| format!("cannot read {STUDY}"))?;
        let word = |table: &str, key: &str| word(&study, table, key);
        let subject = Self {
            start: word("subject", "start")?,
            ready: word("subject", "ready")?,
            load: word("load", "run")?,
            root: root.to_owned(),
            headroom,
            folder: tempfile::tempdir().context("cannot make a temporary folder")?,
        };
        subject.cut_symbols()?;
        Ok(subject)
    }

    pub(super) fn about(&self) -> String {
        format!("`{}` with {CLIENTS} clients, asked by `{}`; counted mode", self.start, self.load)
    }

    /// A verb of headroom, on a guest that has perf, about this subject.
    pub(super) fn headroom(&self, verb: &[&str]) -> Result<String> {
        let mut command = self.command();
        command.args(verb).args(["--clients", CLIENTS]);
        self.said(&mut command, "")
    }

    /// A verb with the study and the variant.
    pub(super) fn on_study(&self, verb: &[&str]) -> Result<String> {
        let mut words = verb.to_vec();
        words.extend(["--variant", VARIANT]);
        self.headroom(&words)
    }

    /// The report of a run, named by the symbol table alone.
    pub(super) fn report(&self, run: &Path) -> Result<String> {
        let mut command = self.command();
        command.args(["--json", "report"]).arg(run);
        command.arg("--out").arg(self.path("page.html")).arg("--device").arg(self.path("symbols"));
        self.said(&mut command, "")
    }

    /// What a script prints on an access point with the clients.
    pub(super) fn script(&self, script: &str) -> Result<String> {
        let mut command = self.command();
        command.args(["up", "--mode", "counted", "--clients", CLIENTS]);
        self.said(&mut command, script)
    }

    /// A place that is gone when the command ends.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The study's path.
    pub(super) fn study(&self) -> &'static str {
        STUDY
    }

    /// The symbol table, packed, as text that a terminal takes.
    pub(super) fn packed_symbols(&self) -> Result<String> {
        let mut command = Command::new("sh");
        command.args(["-c", "gzip -9c \"$1\" | base64", "sh"]).arg(self.path("symbols/stationd"));
        self.said(&mut command, "")
    }

    /// Names of one address in the daemon: each recorder takes another one of them.
    pub(super) fn aliases(&self) -> Result<Aliases> {
        let mut command = Command::new("nm");
        let listed = self.said(command.arg(self.path("symbols/stationd")), "")?;
        let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for line in listed.lines() {
            let mut words = line.split_whitespace();
            let (Some(address), Some(kind), Some(name)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            if "tTwWiI".contains(kind) {
                places.entry(address).or_default().push(name);
            }
        }
        let mut aliases = Aliases::new();
        for names in places.values().filter(|names| names.len() > 1) {
            for name in names {
                let others =
                    names.iter().filter(|other| *other != name).map(|other| (*other).to_owned());
                aliases.entry((*name).to_owned()).or_default().extend(others);
            }
        }
        Ok(aliases)
    }

    /// The daemon's symbol table, in a file of the same build.
    fn cut_symbols(&self) -> Result<()> {
        let whole = self.root.join("target/x86_64-unknown-linux-gnu/device/stationd");
        fs::create_dir(self.path("symbols")).context("cannot make a temporary folder")?;
        for (arguments, from, to) in [
            ("--strip-debug", whole, self.path("named")),
            ("--only-keep-debug", self.path("named"), self.path("symbols/stationd")),
        ] {
            let mut command = Command::new("objcopy");
            self.said(command.arg(arguments).arg(from).arg(to), "")?;
        }
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.headroom);
        command.args(["--quiet", "--package", "linux-perf"]).current_dir(&self.root);
        command
    }

    /// Runs a program to its end, with this on its standard input.
    fn said(&self, command: &mut Command, input: &str) -> Result<String> {
        let name = format!("{command:?}");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot run {name}"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input has ended before; its status says why.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().with_context(|| format!("cannot run {name}"))?;
        ensure!(output.status.success(), "{name}: {}", output.status);
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// A word of the variant's tables.
fn word(study: &toml::Table, table: &str, key: &str) -> Result<String> {
    let variants = study.get("variant").and_then(|variants| variants.as_array());
    let named = |variant: &&toml::Value| {
        variant.get("name").and_then(|name| name.as_str()) == Some(VARIANT)
    };
    let variant = variants.and_then(|variants| variants.iter().find(named));
    let word = variant.and_then(|variant| variant.get(table)?.get(key)?.as_str());
    word.map(str::to_owned)
        .with_context(|| format!("{STUDY}: variant {VARIANT} has no {table}.{key}"))
}
