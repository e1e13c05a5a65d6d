//! The tree of a release, as it lies below `/` once it is installed: programs, manual, completions, units, examples.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context;

use super::{
    Release,
    build::{self, Programs},
    fresh, output, succeed,
};

#[derive(Debug)]
pub(super) struct Built {
    pub(super) programs: Programs,
    /// Those for access points with another processor, below its name.
    pub(super) others: Vec<(&'static str, Programs)>,
    /// A headroom that runs here.
    pub(super) words: PathBuf,
}

/// Files of the repository and where they go.
const FILES: [(&str, &str); 9] = [
    (
        "crates/stationd/packaging/systemd/stationd.service",
        "usr/lib/systemd/system/stationd.service",
    ),
    ("crates/stationd/packaging/systemd/stationd.conf", "etc/stationd.conf"),
    ("crates/guard/packaging/systemd/guard.service", "usr/lib/systemd/system/guard.service"),
    ("crates/guard/packaging/guard.toml", "usr/share/doc/headroom/examples/guard.toml"),
    ("README.md", "usr/share/doc/headroom/README.md"),
    ("CHANGELOG.md", "usr/share/doc/headroom/CHANGELOG.md"),
    ("docs/exit-codes.md", "usr/share/doc/headroom/exit-codes.md"),
    ("LICENSE-MIT", "usr/share/doc/headroom/LICENSE-MIT"),
    ("LICENSE-APACHE", "usr/share/doc/headroom/LICENSE-APACHE"),
];

/// Folders that a tarball has for OpenWrt, next to the tree.
const OPENWRT: [(&str, &str); 3] = [
    ("crates/stationd/packaging/openwrt/files", "usr/share/headroom/openwrt/stationd"),
    ("crates/guard/packaging/openwrt/files", "usr/share/headroom/openwrt/guard"),
    ("packaging/openwrt", "usr/share/headroom/openwrt/package"),
];

/// Shells, with the file that each looks for.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/headroom"),
    ("zsh", "usr/share/zsh/vendor-completions/_headroom"),
    ("fish", "usr/share/fish/vendor_completions.d/headroom.fish"),
];

pub(super) fn lay_out(release: &Release, stage: &Path, built: &Built) -> anyhow::Result<()> {
    fresh(stage)?;
    put(&built.programs.headroom, &stage.join("usr/bin/headroom"), 0o755)?;
    // headroom looks for them there.
    let place = stage.join("usr/libexec/headroom");
    let others = built.others.iter().map(|(triple, programs)| (programs, place.join(triple)));
    let names = build::device_names(&release.root)?;
    for (programs, place) in [(&built.programs, place.clone())].into_iter().chain(others) {
        for name in &names {
            put(&programs.device.join(name), &place.join(name), 0o755)?;
        }
    }
    symlink("../libexec/headroom/stationd", stage.join("usr/bin/stationd"))?;
    for (from, to) in FILES {
        put(&release.root.join(from), &stage.join(to), 0o644)?;
    }
    for (from, to) in OPENWRT {
        put_all(&release.root.join(from), &stage.join(to))?;
    }
    for (shell, place) in SHELLS {
        let script = output(Command::new(&built.words).args(["completions", shell]))?;
        write(&stage.join(place), &format!("{script}\n"))?;
    }
    let manual = stage.join("usr/share/man/man1");
    succeed(Command::new(&built.words).arg("manual").arg(&manual))
}

/// A folder with all that is in it.
fn put_all(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => put_all(&path, &place)?,
            false => put(&path, &place, mode_of(&path)?)?,
        }
    }
    Ok(())
}

/// A script stays one, whatever else the clone's umask made of it.
fn mode_of(path: &Path) -> anyhow::Result<u32> {
    let is_script = fs::read(path)?.starts_with(b"#!");
    Ok(if is_script { 0o755 } else { 0o644 })
}

fn put(from: &Path, to: &Path, mode: u32) -> anyhow::Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(mode))?)
}

fn write(to: &Path, text: &str) -> anyhow::Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))
}
