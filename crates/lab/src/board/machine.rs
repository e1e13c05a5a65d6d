//! The machine of a board: one QEMU from its start to its end, which is a power cut.

use std::{
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use model::architecture::Architecture;

use super::Shape;
use crate::{
    Error, host,
    last_words::LastWords,
    vm::{Failure, Platform},
};

/// Files of the board's folder.
pub(super) const DISK: &str = "disk.img";
pub(super) const CONSOLE: &str = "console.sock";
pub(super) const CONSOLE_LOG: &str = "console.log";

/// Debian's U-Boot for this machine.
const U_BOOT: &str = "/usr/lib/u-boot/qemu_arm64/u-boot.bin";

/// A QEMU that cannot start has ended by then.
const GLANCE: Duration = Duration::from_millis(200);

pub(super) fn require_tools() -> Result<(), Error> {
    let platform = Platform::of(Architecture::Arm64);
    host::require(platform.qemu, platform.package)?;
    if Path::new(U_BOOT).exists() {
        return Ok(());
    }
    let (program, package) = (U_BOOT.to_owned(), "u-boot-qemu".to_owned());
    Err(Error::MissingProgram { program, package })
}

/// A machine that is on.
#[derive(Debug)]
pub(super) struct Machine {
    qemu: Child,
    said: Option<LastWords>,
}

impl Machine {
    /// Turns it on: it works in the board's folder.
    pub(super) fn start(folder: &Path, shape: Shape, port: u16) -> Result<Self, Error> {
        let mut command = host::bound("KILL");
        command
            .arg(Platform::of(Architecture::Arm64).qemu)
            .args(arguments(shape, port))
            .current_dir(folder)
            // Ctrl-C on the terminal is for headroom alone.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut qemu = command.spawn().map_err(Failure::Start)?;
        let said = qemu.stderr.take().map(LastWords::of);
        let mut machine = Self { qemu, said };
        thread::sleep(GLANCE);
        match machine.ended() {
            Some(why) => Err(Error::Board { path: folder.to_owned(), why }),
            None => Ok(machine),
        }
    }

    /// Why it is off, where it turned itself off or died.
    pub(super) fn ended(&mut self) -> Option<String> {
        let status = self.qemu.try_wait().ok().flatten()?;
        let said = self.said.as_ref().map(LastWords::message).unwrap_or_default();
        Some(match (status.success(), said.as_str()) {
            (true, "") => "it turned itself off".to_owned(),
            _ => format!("QEMU ended ({status}): {said}"),
        })
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

/// QEMU's words. Its clock counts instructions, 2 ns each, so that no figure depends on what else the host does. The network is the one of `vm`'s line to the host: pid 1 has the address.
fn arguments(Shape { clients, .. }: Shape, port: u16) -> Vec<String> {
    let platform = Platform::of(Architecture::Arm64);
    let memory = (512 + clients).div_ceil(128) * 128;
    let text = format!(
        "-nodefaults -no-user-config -display none -machine virt,gic-version=2 -cpu {cpu} -accel tcg,thread=single -icount shift=1,sleep=on -smp 2 \
         -m {memory} -bios {U_BOOT} \
         -drive if=none,id=disk,format=raw,file={DISK} -device virtio-blk-pci,drive=disk \
         -netdev user,id=line,restrict=on,ipv6=off,net=192.168.76.0/24,hostfwd=tcp:127.0.0.1:{port}-192.168.76.15:22 \
         -device virtio-net-pci,netdev=line,romfile= \
         -chardev socket,id=console,path={CONSOLE},server=on,wait=off,logfile={CONSOLE_LOG},logappend=on \
         -serial chardev:console -device i6300esb -action watchdog=reset",
        cpu = platform.emulated,
    );
    text.split_ascii_whitespace().map(str::to_owned).collect()
}
