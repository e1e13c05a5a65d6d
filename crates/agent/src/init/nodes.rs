//! Device nodes, on a kernel that makes none by itself (`CONFIG_DEVTMPFS` is off in OpenWrt's usual build).
//!
//! Reads what sysfs says of each device and makes its node below `/dev`, where a file system in memory is mounted. A
//! kernel that does it by itself is left alone.

use std::{fs, io, os::unix::fs::PermissionsExt, path::Path};

use rustix::{
    fs::{CWD, Dev, FileType, Mode, makedev, mknodat},
    io::Errno,
};

use super::error::{Doing, Error};

/// Lists of devices, one folder each, named by its numbers.
const LISTS: [(&str, FileType); 2] =
    [("/sys/dev/char", FileType::CharacterDevice), ("/sys/dev/block", FileType::BlockDevice)];
const MOUNTS: &str = "/proc/mounts";
const FOLDER: &str = "/dev";
/// As the kernel's own.
const USUAL_MODE: u32 = 0o600;

/// Makes the nodes that are not there, unless the kernel does.
pub(super) fn complete() -> Result<(), Error> {
    let mounts = fs::read_to_string(MOUNTS).doing(|| format!("read {MOUNTS}"))?;
    if mounts.lines().any(is_the_kernels) {
        return Ok(());
    }
    for (list, kind) in LISTS {
        make_all(Path::new(list), kind).doing(|| format!("make the nodes of {list}"))?;
    }
    Ok(())
}

/// Whether a line says that the kernel makes the nodes of `/dev`.
fn is_the_kernels(mount: &str) -> bool {
    let mut fields = mount.split(' ').skip(1);
    (fields.next(), fields.next()) == (Some(FOLDER), Some("devtmpfs"))
}

fn make_all(list: &Path, kind: FileType) -> io::Result<()> {
    for entry in fs::read_dir(list)? {
        // A device that is gone meanwhile needs no node.
        let Ok(said) = fs::read_to_string(entry?.path().join("uevent")) else { continue };
        let Some(node) = Node::of(&said) else { continue };
        let path = Path::new(FOLDER).join(node.name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        match mknodat(CWD, &path, kind, Mode::from_raw_mode(node.mode), node.device) {
            // The process's mask took from the mode.
            Ok(()) => fs::set_permissions(&path, fs::Permissions::from_mode(node.mode))?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Node<'a> {
    name: &'a str,
    device: Dev,
    mode: u32,
}

impl<'a> Node<'a> {
    /// As the kernel says it; `None` of a device that has no node.
    fn of(said: &'a str) -> Option<Self> {
        let value = |key: &str| {
            let mut lines = said.lines();
            lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
        };
        let number = |key: &str| value(key)?.parse().ok();
        let mode = value("DEVMODE").and_then(|mode| u32::from_str_radix(mode, 8).ok());
        let device = makedev(number("MAJOR")?, number("MINOR")?);
        Some(Self { name: value("DEVNAME")?, device, mode: mode.unwrap_or(USUAL_MODE) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_what_the_kernel_says_of_its_device() {
        let said = "MAJOR=1\nMINOR=3\nDEVNAME=null\nDEVMODE=0666\n";
        let null = Node { name: "null", device: makedev(1, 3), mode: 0o666 };
        assert_eq!(Node::of(said), Some(null));
        let port = Node::of("MAJOR=248\nMINOR=1\nDEVNAME=vport1p1\n").unwrap();
        assert_eq!((port.name, port.mode), ("vport1p1", 0o600));
        assert_eq!(Node::of("DRIVER=virtio_console\n"), None);
    }

    #[test]
    fn a_kernel_that_makes_nodes_is_left_alone() {
        assert!(is_the_kernels("devtmpfs /dev devtmpfs rw,relatime 0 0"));
        assert!(!is_the_kernels("tmpfs /dev tmpfs rw 0 0"));
        assert!(!is_the_kernels("devtmpfs /mnt devtmpfs rw 0 0"));
    }
}
