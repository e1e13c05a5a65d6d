//! Measures the arms with `headroom run`, in real guests, with a stationd that has plants.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use lab::run_folder;
use model::{run::Run, trial::Trial};

use super::plants::{self, Arm, STUDY};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A run that was read.
pub(super) struct Recorded {
    pub(super) run: Run,
    pub(super) trials: Vec<Trial>,
}

pub(super) struct Bench {
    root: PathBuf,
    /// The access point's programs.
    device: PathBuf,
    /// Where runs are put.
    folder: PathBuf,
}

impl Bench {
    /// Builds the access point's programs with plants.
    pub(super) fn build(root: &Path, folder: &Path) -> Result<Self> {
        let target = root.join("target/planted");
        let packages = ["agent", "guard", "stationd", "txd", "wld-model"];
        let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--locked", "--profile", "device", "--target", TARGET])
            .args(["--features", "stationd/planted"])
            .args(packages.iter().flat_map(|package| ["--package", package]))
            .current_dir(root)
            .env("RUSTFLAGS", "-C target-feature=+crt-static")
            .env("CARGO_TARGET_DIR", &target)
            .status()
            .context("cannot run cargo")?;
        ensure!(status.success(), "the planted build failed");
        let device = target.join(TARGET).join("device");
        Ok(Self { root: root.to_owned(), device, folder: folder.to_owned() })
    }

    pub(super) fn measure(&self, name: &str, arms: &[Arm], repetitions: u32) -> Result<Recorded> {
        fs::create_dir_all(&self.folder).context("cannot make the folder of runs")?;
        let study = self.folder.join(format!("{name}.toml"));
        let shipped = fs::read_to_string(self.root.join(STUDY));
        let shipped = shipped.context("cannot read the shipped study")?;
        fs::write(&study, plants::study(&shipped, arms, repetitions)?)
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

/// Reads a run, whole or cut short.
pub(super) fn read(folder: &Path) -> Result<Recorded> {
    let recorded = run_folder::read(folder).context("cannot read the run")?;
    Ok(Recorded { run: recorded.run, trials: recorded.trials })
}
