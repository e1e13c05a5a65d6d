//! The plugin tried on this machine: compiled, loaded by the QEMU that is installed, and looked at for what it counted.
//!
//! Boots no access point: a firmware of a few instructions switches its machine off.

use std::{
    fs, io,
    process::{Command, Stdio},
    time::Duration,
};

use model::{
    architecture::Architecture,
    cache::{Cache, Geometry, Size},
};

use super::{Attached, LIBRARY, build, drawn, read, standing, unclear};
use crate::{
    Error, host,
    vm::{self, Platform},
};

/// So long QEMU may take for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// The length of the firmware, bytes: a PC's is 64 KiB or a multiple of it.
const FIRMWARE: usize = 64 << 10;

/// A PC begins 16 bytes before the end of its firmware: `mov dx, 0xf4`, `out dx, al`, `hlt`, and QEMU's `isa-debug-exit`
/// answers at that port.
const PC: [u8; 5] = [0xba, 0xf4, 0x00, 0xee, 0xf4];

/// `virt` begins at its beginning: SYSTEM_OFF of PSCI (Arm DEN 0022), `mov w0, #0x84000008` in two, `hvc #0`, `b .`.
const VIRT: [u32; 4] = [0x5280_0100, 0x72b0_8000, 0xd400_0002, 0x1400_0000];

/// How many instructions QEMU executed, as the plugin counted them with caches modelled.
///
/// # Errors
///
/// [`Error::MissingProgram`] without a C compiler or QEMU; [`Error::Program`] with QEMU's words where it does not take the
/// plugin; what the plugin wrote, where that is no count.
pub fn tried(architecture: Architecture) -> Result<u64, Error> {
    let platform = Platform::of(architecture);
    host::require(platform.qemu, platform.package)?;
    let folder = tempfile::tempdir().map_err(Error::file("make", std::env::temp_dir()))?;
    build(folder.path())?;
    let (firmware, counts) = (folder.path().join("firmware"), folder.path().join("counts"));
    fs::write(&firmware, firmware_of(architecture)).map_err(Error::file("write", &firmware))?;
    let model = Attached {
        library: folder.path().join(LIBRARY),
        geometry: Some(smallest()),
        counts,
        code: None,
        marks: drawn()?,
    };
    let mut command = host::bound("KILL");
    command.arg(platform.qemu).args(vm::unused_machine(architecture)).arg("-bios").arg(firmware);
    command.args(vm::plugin(model.library(), &model.words()));
    counted(platform.qemu, command, &model)
}

/// What the plugin counted until QEMU's end, which is a PC's with status 1; else what QEMU said last.
fn counted(qemu: &str, mut command: Command, model: &Attached) -> Result<u64, Error> {
    let failed = |status: String, tail: &str| Error::Program {
        program: qemu.to_owned(),
        status,
        tail: tail.to_owned(),
    };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let lost = |error: io::Error| failed("it was not run".to_owned(), &error.to_string());
    let mut child = command.spawn().map_err(lost)?;
    if !host::has_ended_within(&child, PATIENCE) {
        let _ = child.kill();
    }
    let output = child.wait_with_output().map_err(lost)?;
    let said = String::from_utf8_lossy(&output.stderr);
    read(model.counts(), executed).map_err(|unread| match said.lines().next_back() {
        Some(last) => failed(output.status.to_string(), last),
        None => failed(output.status.to_string(), &unread.to_string()),
    })
}

fn firmware_of(architecture: Architecture) -> Vec<u8> {
    let mut firmware = vec![0; FIRMWARE];
    match architecture {
        Architecture::X86_64 => firmware[FIRMWARE - 16..][..PC.len()].copy_from_slice(&PC),
        Architecture::Arm64 => {
            let code: Vec<u8> = VIRT.iter().flat_map(|word| word.to_le_bytes()).collect();
            firmware[..code.len()].copy_from_slice(&code);
        }
    }
    firmware
}

fn smallest() -> Geometry {
    let cache = Cache::new(Size::from_bytes(1 << 10), 1, 64).expect("a cache of 16 lines");
    Geometry::new(cache, cache, cache).expect("caches with lines of one length")
}

/// The instructions until QEMU's end.
fn executed(text: &str) -> Result<u64, String> {
    let end = text.lines().find_map(|line| line.strip_prefix("end "));
    let [programs, kernel] = standing(end.ok_or_else(|| unclear(text))?)?.map(|counts| counts[0]);
    match programs + kernel {
        0 => Err("it counted no instruction".to_owned()),
        instructions => Ok(instructions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_qemu_that_is_installed_takes_the_plugin_and_counts() {
        for architecture in Architecture::ALL {
            match tried(architecture) {
                Ok(instructions) => assert!((2..100).contains(&instructions), "{instructions}"),
                Err(Error::MissingProgram { program, .. }) => {
                    skip::skip!("there is no {program} here");
                }
                Err(error) => panic!("{architecture:?}: {error}"),
            }
        }
    }

    #[test]
    fn a_qemu_that_refuses_is_reported_with_its_words() {
        let mut refuses = Command::new("sh");
        refuses.args(["-c", "echo 'Could not load plugin: undefined symbol' >&2; exit 1"]);
        let folder = tempfile::tempdir().unwrap();
        let model = Attached {
            library: folder.path().join(LIBRARY),
            geometry: None,
            counts: folder.path().join("counts"),
            code: None,
            marks: drawn().unwrap(),
        };
        let said = counted("qemu", refuses, &model).unwrap_err().to_string();
        assert!(said.ends_with("Could not load plugin: undefined symbol"), "{said}");
        assert!(executed("headroom-cache-model 1 none\n").is_err());
    }
}
