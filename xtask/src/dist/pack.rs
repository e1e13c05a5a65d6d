//! A laid-out tree to what is given away: a tarball by tar, a Debian package by cargo-deb, and the sums of both.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, ensure};

use super::{Architecture, Release, output, succeed};
use crate::cargo;

/// The cargo-deb that the package was tried with.
const CARGO_DEB: &str = "3.8.0";

/// `headroom-VERSION-ARCHITECTURE.tar.gz`: the tree below a folder of that name.
pub(super) fn tarball(
    release: &Release,
    architecture: Architecture,
    folder: &Path,
) -> anyhow::Result<()> {
    let name = format!("headroom-{}-{}", release.version, architecture.debian());
    let tar = folder.join(format!("{name}.tar"));
    let mut command = Command::new("tar");
    command.args(["--create", "--sort=name", "--format=gnu", "--owner=0", "--group=0"]);
    command.args(["--numeric-owner", &format!("--mtime=@{}", release.epoch)]);
    command.arg(format!("--transform=s,^\\.,{name},S")).arg("--file").arg(&tar);
    succeed(command.arg("--directory").arg(folder.join("stage")).arg("."))?;
    succeed(Command::new("gzip").args(["--no-name", "--best", "--force"]).arg(&tar))
}

/// `headroom_VERSION_ARCHITECTURE.deb`.
pub(super) fn debian(
    release: &Release,
    architecture: Architecture,
    folder: &Path,
) -> anyhow::Result<()> {
    let tools = release.root.join("target").join("tools");
    let program = tools.join("bin/cargo-deb");
    if !program.is_file() {
        let mut install = cargo(&release.root);
        install.args(["install", "--locked", "--no-default-features", "--root"]).arg(&tools);
        succeed(install.args(["cargo-deb", "--version", CARGO_DEB]))?;
    }
    // The manifest names the tree by its place; of a second build, it is brought there.
    let place = release.root.join("target/dist/stage");
    let stage = folder.join("stage");
    let aside = release.root.join("target/dist/stage-first");
    if stage != place {
        fs::rename(&place, &aside).context("cannot lay the first tree aside")?;
        fs::rename(&stage, &place).context("cannot lay out the second tree")?;
    }
    let name = format!("headroom_{}_{}.deb", release.version, architecture.debian());
    let mut command = Command::new(&program);
    command.current_dir(&release.root).env("SOURCE_DATE_EPOCH", &release.epoch);
    command.args(["deb", "--quiet", "--no-build", "--no-strip", "--deb-revision", ""]);
    command.args(["--package", "headroom", "--target", architecture.triple()]);
    let made = succeed(command.arg("--output").arg(folder.join(name)));
    if stage != place {
        fs::rename(&place, &stage).context("cannot put the second tree back")?;
        fs::rename(&aside, &place).context("cannot put the first tree back")?;
    }
    made
}

/// Writes `SHA256SUMS` of what was packed, and gives its text.
pub(super) fn sums(folder: &Path) -> anyhow::Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".deb") || name.ends_with(".tar.gz") {
            names.push(name);
        }
    }
    ensure!(!names.is_empty(), "nothing was packed into {}", folder.display());
    names.sort();
    let sums = output(Command::new("sha256sum").current_dir(folder).args(&names))? + "\n";
    fs::write(folder.join("SHA256SUMS"), &sums).context("cannot write SHA256SUMS")?;
    Ok(sums)
}
