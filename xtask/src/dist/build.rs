//! The programs of a release: static, and with nothing of this machine's paths in them.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context;

use super::{Architecture, Release, succeed};
use crate::cargo;

/// Crates whose programs run on an access point.
const DEVICE: [&str; 4] = ["agent", "guard", "stationd", "txd"];

#[derive(Clone, Debug)]
pub(super) struct Programs {
    pub(super) headroom: PathBuf,
    /// The folder with the programs for the access point.
    pub(super) device: PathBuf,
}

pub(super) fn programs(
    release: &Release,
    architecture: Architecture,
    target: &Path,
) -> anyhow::Result<Programs> {
    succeed(&mut headroom(release, architecture, target))?;
    let device = DEVICE.iter().flat_map(|name| ["--package", name]);
    succeed(build(release, architecture, target).args(["--profile", "device"]).args(device))?;
    let built = target.join(architecture.triple());
    Ok(Programs { headroom: built.join("dist/headroom"), device: built.join("device") })
}

/// A headroom that runs here: what it is asked for, its words, does not depend on the architecture.
pub(super) fn headroom_here(release: &Release, target: &Path) -> anyhow::Result<PathBuf> {
    let here = match env::consts::ARCH {
        "aarch64" => Architecture::Arm64,
        _ => Architecture::Amd64,
    };
    succeed(&mut headroom(release, here, target))?;
    Ok(target.join(here.triple()).join("dist/headroom"))
}

fn headroom(release: &Release, architecture: Architecture, target: &Path) -> Command {
    let mut command = build(release, architecture, target);
    command.args(["--profile", "dist", "--package", "headroom"]);
    command
}

fn build(release: &Release, architecture: Architecture, target: &Path) -> Command {
    let mut command = cargo(&release.root);
    command.args(["build", "--locked", "--target", architecture.triple()]);
    command.env("CARGO_TARGET_DIR", target).env("CARGO_INCREMENTAL", "0");
    command.env("SOURCE_DATE_EPOCH", &release.epoch).env("HEADROOM_COMMIT", &release.commit);
    let paths = paths(release, target);
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
    flags.extend(paths.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}")));
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")).env_remove("RUSTFLAGS");
    let c: Vec<String> =
        paths.iter().map(|(from, to)| format!("-ffile-prefix-map={from}={to}")).collect();
    command.env("CFLAGS", c.join(" "));
    if architecture == Architecture::Arm64 {
        const COMPILER: &str = "aarch64-linux-gnu-gcc";
        command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", COMPILER);
        command.env("CC_aarch64_unknown_linux_gnu", COMPILER);
    }
    command
}

/// This machine's paths and what stands for them; of two that match, rustc takes the last and gcc too.
fn paths(release: &Release, target: &Path) -> [(String, String); 3] {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = home.unwrap_or_else(|| env::home_dir().unwrap_or_default().join(".cargo"));
    [(cargo, "/cargo"), (release.root.clone(), "/headroom"), (target.to_owned(), "/target")]
        .map(|(from, to)| (from.display().to_string(), to.to_owned()))
}

/// The names of the device's programs, as cargo knows them.
pub(super) fn device_names(root: &Path) -> anyhow::Result<Vec<String>> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .current_dir(root)
        .no_deps()
        .exec()
        .context("cargo metadata")?;
    let packages = metadata.packages.iter().filter(|one| DEVICE.contains(&one.name.as_str()));
    let targets = packages.flat_map(|package| &package.targets);
    let mut names: Vec<String> =
        targets.filter(|target| target.is_bin()).map(|target| target.name.clone()).collect();
    names.sort();
    Ok(names)
}
