//! Debian packages to one tar, by mmdebstrap. Nothing of the packages is executed on the host.

use std::{
    fs::File,
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
};

use model::name::PackageName;

use super::recipe::{self, Port};
use crate::{Cancel, Error, Lab, host};

/// Lists the package files into the root, because an extracted root has no package database.
const LIST: &str = r#"--extract-hook=ls "$1/var/cache/apt/archives" > "$1/headroom-packages""#;

/// Lays the packages' install scripts alongside it. They are looked at and never run.
const SCRIPTS: &str = r#"--extract-hook=mkdir "$1/headroom-scripts"; for deb in "$1"/var/cache/apt/archives/*.deb; do dpkg-deb --ctrl-tarfile "$deb" | tar --extract --to-stdout --wildcards ./postinst > "$1/headroom-scripts/$(basename "$deb")" 2>/dev/null || true; done"#;

/// Runs mmdebstrap and hands a TERM on to all of its process group. mmdebstrap itself would wait for
/// apt, and that for a mirror. The TERM is ours, or the kernel's after a `kill -9` of headroom; either
/// way mmdebstrap removes its temporary folder.
const GUARD: &str = r#"trap 'trap : TERM; kill -TERM 0; wait' TERM; mmdebstrap "$@" & wait $!"#;

pub(super) const LIST_FILE: &str = "headroom-packages";

pub(super) const SCRIPT_FOLDER: &str = "headroom-scripts/";

pub(super) fn fetch(lab: &Lab, tar: &Path, port: Port, more: &[PackageName]) -> Result<(), Error> {
    host::require("mmdebstrap", "mmdebstrap")?;
    let mode = if rustix::process::geteuid().is_root() { "root" } else { "unshare" };
    if mode == "unshare" {
        host::require("newuidmap", "uidmap")?;
    }
    let output = File::create(tar).map_err(Error::file("write", tar))?;
    let mut command = host::bound("TERM");
    command
        .args(["sh", "-c", GUARD, "mmdebstrap"])
        .args(["--variant=extract", "--format=tar", &format!("--mode={mode}"), LIST, SCRIPTS])
        .arg(format!("--architectures={}", port.debian))
        .arg(format!("--include={}", port.packages_with(more).join(",")))
        .args([recipe::SUITE, "-"])
        .args(lab.settings.mirror.as_deref())
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::piped());
    run(command, &lab.cancel)
}

fn run(mut command: Command, cancel: &Cancel) -> Result<(), Error> {
    let spawn_failed = |source: io::Error| Error::Program {
        program: "mmdebstrap".to_owned(),
        status: "could not start".to_owned(),
        tail: source.to_string(),
    };
    let mut child = command.spawn().map_err(spawn_failed)?;
    let said = child.stderr.take();
    let reader = std::thread::spawn(move || said.map(io::read_to_string).transpose());
    let status = loop {
        if let Some(status) = child.try_wait().map_err(spawn_failed)? {
            break status;
        }
        if cancel.is_stopped() {
            // mmdebstrap then removes its temporary folder itself.
            host::ask_to_end(&mut child);
            return Err(Error::Interrupted);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let said = reader.join().ok().and_then(Result::ok).flatten().unwrap_or_default();
    if status.success() {
        return Ok(());
    }
    Err(Error::Program {
        program: "mmdebstrap".to_owned(),
        status: status.to_string(),
        tail: tail(&said),
    })
}

fn tail(said: &str) -> String {
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("E: ")).collect();
    let lines = if errors.is_empty() { said.lines().collect() } else { errors };
    lines[lines.len().saturating_sub(3)..].join("; ")
}
