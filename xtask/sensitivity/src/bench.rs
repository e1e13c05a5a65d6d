//! Where it is measured: `headroom run` with a stationd that has plants.
//!
//! Builds that stationd, lays it beside the device's other programs, and runs studies. It judges nothing.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use lab::run_folder;
use model::{run::Run, trial::Trial};

use super::matrix::{self, Arm};

/// The device's programs.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The program that has plants.
const PLANTED: &str = "stationd";

/// A run that was read.
pub(super) struct Recorded {
    pub(super) run: Run,
    pub(super) trials: Vec<Trial>,
}

pub(super) struct Bench {
    root: PathBuf,
    device: PathBuf,
    /// Where runs are put.
    folder: PathBuf,
}

impl Bench {
    /// Builds what is missing.
    ///
    /// # Errors
    ///
    /// Where cargo cannot build it, or `make build` has not been run.
    pub(super) fn of(root: &Path, folder: &Path) -> Result<Self> {
        let target = root.join("target/planted");
        let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--locked", "--profile", "device", "--target", TARGET])
            .args(["--package", PLANTED, "--features", "stationd/planted"])
            .current_dir(root)
            .env("RUSTFLAGS", "-C target-feature=+crt-static")
            .env("CARGO_TARGET_DIR", &target)
            .status()
            .context("cannot run cargo")?;
        ensure!(status.success(), "the planted build failed");
        let device = target.join("programs");
        fs::create_dir_all(&device).context("cannot make a folder of programs")?;
        let built = |folder: &Path| folder.join(TARGET).join("device");
        lay(&built(&root.join("target")), &device)?;
        copy(&built(&target).join(PLANTED), &device)?;
        Ok(Self { root: root.to_owned(), device, folder: folder.to_owned() })
    }

    /// Trials of these arms, all of one study.
    ///
    /// # Errors
    ///
    /// Where the run cannot be made or read.
    pub(super) fn measure(&self, name: &str, arms: &[Arm], repetitions: u32) -> Result<Recorded> {
        fs::create_dir_all(&self.folder).context("cannot make the folder of runs")?;
        let study = self.folder.join(format!("{name}.toml"));
        let of = arms.first().context("nothing is to be measured")?.subject.study;
        let shipped = self.root.join("studies").join(format!("{of}.toml"));
        let shipped = fs::read_to_string(shipped).context("cannot read the shipped study")?;
        fs::write(&study, matrix::study(&shipped, arms, repetitions)?)
            .context("cannot write a study")?;
        let run = self.folder.join(name);
        let status = Command::new(self.root.join("target/release/headroom"))
            .arg("--device")
            .arg(&self.device)
            .args(["--quiet", "run"])
            .arg(&study)
            .arg("--out")
            .arg(&run)
            .stdout(Stdio::null())
            .status()
            .context("cannot run headroom; `make build` makes it")?;
        ensure!(status.success(), "headroom run: {status}");
        read(&run)
    }
}

/// A run that is there, whole or cut short.
pub(super) fn read(folder: &Path) -> Result<Recorded> {
    let recorded = run_folder::read(folder).context("cannot read the run")?;
    Ok(Recorded { run: recorded.run, trials: recorded.trials })
}

/// Every program of a folder into another.
fn lay(from: &Path, to: &Path) -> Result<()> {
    let programs = fs::read_dir(from).context("no device programs; `make build` makes them")?;
    for program in programs {
        let path = program.context("cannot read the folder of device programs")?.path();
        if path.is_file() && path.extension().is_none() {
            copy(&path, to)?;
        }
    }
    Ok(())
}

fn copy(program: &Path, to: &Path) -> Result<()> {
    let name = program.file_name().context("a program has a name")?;
    fs::copy(program, to.join(name))
        .with_context(|| format!("cannot copy {}", program.display()))?;
    Ok(())
}
