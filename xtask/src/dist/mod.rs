//! `cargo xtask dist`: what is given to people who do not build: a Debian package and a tarball for each architecture, and
//! their sums, in `target/dist`.
//!
//! The same commit gives the same bytes wherever it is built: times are the commit's, paths of this machine are left out,
//! archives are sorted. `--twice` builds everything a second time in another folder and compares.

mod build;
mod pack;
mod stage;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail, ensure};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Architecture {
    Amd64,
    Arm64,
}

impl Architecture {
    const ALL: [Self; 2] = [Self::Amd64, Self::Arm64];

    fn debian(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// As rustc calls it.
    fn triple(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-gnu",
            Self::Arm64 => "aarch64-unknown-linux-gnu",
        }
    }
}

/// What is packed, and when it counts as made.
#[derive(Clone, Debug)]
struct Release {
    root: PathBuf,
    version: String,
    /// The commit, with a `+` where files differ from it.
    commit: String,
    /// When the commit was made, seconds since 1970.
    epoch: String,
}

/// Builds and packs: for the architectures named, or all; twice where that is asked for.
pub(crate) fn run(root: &Path, words: &[&str]) -> anyhow::Result<bool> {
    let twice = words.contains(&"--twice");
    let architectures = asked_for(words)?;
    let release = Release::of(root)?;
    let target = root.join("target");
    let dist = target.join("dist");
    let sums = release.make(&architectures, &dist)?;
    println!("{sums}dist: {} is in target/dist", release.name());
    if !twice {
        return Ok(true);
    }
    let again = release.make(&architectures, &target.join("dist-again"))?;
    let same = sums == again;
    match same {
        true => println!("dist: built twice, in two folders, to the same bytes"),
        false => println!("dist: the second build differs:\n{again}"),
    }
    Ok(same)
}

fn asked_for(words: &[&str]) -> anyhow::Result<Vec<Architecture>> {
    let mut asked = Vec::new();
    for word in words.iter().filter(|word| **word != "--twice") {
        match Architecture::ALL.into_iter().find(|one| one.debian() == *word) {
            Some(one) => asked.push(one),
            None => bail!("`{word}` is neither amd64, arm64 nor --twice"),
        }
    }
    Ok(if asked.is_empty() { Architecture::ALL.to_vec() } else { asked })
}

impl Release {
    fn of(root: &Path) -> anyhow::Result<Self> {
        let git = |words: &[&str]| output(Command::new("git").current_dir(root).args(words));
        let differs = !git(&["--no-optional-locks", "status", "--porcelain"])?.is_empty();
        let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
        Ok(Self {
            root: root.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: format!("{commit}{}", if differs { "+" } else { "" }),
            epoch: git(&["log", "-1", "--format=%ct"])?,
        })
    }

    fn name(&self) -> String {
        format!("headroom {} ({})", self.version, self.commit)
    }

    /// Everything, into this folder; the sums of what is given away.
    fn make(&self, architectures: &[Architecture], folder: &Path) -> anyhow::Result<String> {
        let build = folder.join("build");
        let built = architectures.iter().map(|one| build::programs(self, *one, &build));
        let built: Vec<build::Programs> = built.collect::<anyhow::Result<_>>()?;
        // Manual and completions are the same for all, and only this machine's program runs here.
        let words = build::headroom_here(self, &build)?;
        for (architecture, programs) in architectures.iter().zip(&built) {
            let others = architectures.iter().zip(&built).filter(|(one, _)| *one != architecture);
            let others = others.map(|(one, programs)| (one.triple(), programs.clone())).collect();
            let stage = folder.join("stage");
            let laid = stage::Built { programs: programs.clone(), others, words: words.clone() };
            stage::lay_out(self, &stage, &laid)?;
            pack::tarball(self, *architecture, folder)?;
            pack::debian(self, *architecture, folder)?;
        }
        pack::sums(folder)
    }
}

/// Runs a command to its end.
fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().display().to_string();
    let status = command.status().with_context(|| format!("cannot run {name}"))?;
    ensure!(status.success(), "{name} failed: {status}");
    Ok(())
}

fn output(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().display().to_string();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name} failed: {}: {}", output.status, said.trim());
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// An empty folder.
fn fresh(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_asked_for_by_debians_names() {
        assert_eq!(asked_for(&["--twice"]).unwrap(), Architecture::ALL);
        assert_eq!(asked_for(&["arm64", "--twice"]).unwrap(), [Architecture::Arm64]);
        assert!(asked_for(&["x86_64"]).unwrap_err().to_string().contains("neither amd64"));
    }
}
