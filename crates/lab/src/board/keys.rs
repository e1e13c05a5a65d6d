//! Who may enter a board, and how it is known: a key for its visitor, one for the board, and ssh's words for both.
//!
//! They belong to the board and to no image: a flash changes none of them.

use std::{fs, path::Path, process::Command};

use linux::folder::Folder;

use crate::{Error, host, tool};

/// What ssh knows the board's key by, whatever its port is.
const ALIAS: &str = "headroom-board";

/// Files of the board's folder. Those of `boot` go onto its own partition.
const KEY: &str = "key";
const KNOWN_HOSTS: &str = "known_hosts";
pub(super) const SSH_CONFIG: &str = "ssh_config";
const HOST_KEY: &str = "dropbear_host_key";

pub(super) fn require_tools() -> Result<(), Error> {
    host::require("ssh-keygen", "openssh-client")?;
    host::require("dropbearkey", "dropbear-bin")
}

/// Makes both keys, in a board's folder and in what goes onto its partition.
pub(super) fn make(folder: &Folder, boot: &Folder) -> Result<(), Error> {
    let key = folder.path_of(KEY);
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", ALIAS, "-f"]).arg(&key);
    tool::run(&mut keygen)?;
    let public = key.with_extension("pub");
    let public = fs::read(&public).map_err(Error::file("read", &public))?;
    let ssh = boot.make_folder("ssh").map_err(Error::file("make", boot.path_of("ssh")))?;
    let write = |folder: &Folder, name: &'static str, bytes: &[u8]| {
        folder.replace(name, bytes).map_err(Error::file("write", folder.path_of(name)))
    };
    write(&ssh, "authorized_keys", &public)?;
    let mut keygen = Command::new("dropbearkey");
    let said = tool::run(keygen.args(["-t", "ed25519", "-f"]).arg(boot.path_of(HOST_KEY)))?.stdout;
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().find(|line| line.starts_with("ssh-ed25519 ")).unwrap_or_default();
    write(folder, KNOWN_HOSTS, format!("{ALIAS} {line}\n").as_bytes())
}

/// What ssh has to know to get there.
pub(super) fn ssh_config(folder: &Path, port: u16) -> String {
    let path = |name: &str| format!("\"{}/{name}\"", folder.display());
    format!(
        "# Written by `headroom board` each time that it raises this board.\n\
         Host *\n  HostName 127.0.0.1\n  Port {port}\n  User root\n  IdentityFile {}\n  IdentitiesOnly yes\n  \
         UserKnownHostsFile {}\n  HostKeyAlias {ALIAS}\n  StrictHostKeyChecking yes\n",
        path(KEY),
        path(KNOWN_HOSTS)
    )
}
