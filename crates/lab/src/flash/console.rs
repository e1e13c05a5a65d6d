//! Reads a device's serial console while the device cannot be reached otherwise.

use std::process::{Child, Stdio};

use crate::{device_file::DeviceFile, host_command, last_words::LastWords};

/// What is kept of its end, bytes.
const KEPT: usize = 64 << 10;

const LINES: usize = 6;

/// What lines begin with that say why a device does not start: the kernel's and U-Boot's.
const MARKS: [&str; 4] =
    ["Kernel panic - not syncing", "Bad hash", "Bad Data Hash", "ERROR: can't get kernel image"];

#[derive(Debug)]
pub(super) struct Console {
    command: Child,
    shown: LastWords,
}

impl Console {
    /// Begins to read it; `None` where the device file has none, or its command cannot be started.
    pub(super) fn watch(device: &DeviceFile) -> Option<Self> {
        let console = device.console.as_ref()?;
        let mut command = host_command::in_group("sh");
        command.args(["-c", &console.command.0]).current_dir(&device.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut command = command.spawn().ok()?;
        let shown = LastWords::kept(KEPT, command.stdout.take()?);
        Some(Self { command, shown })
    }

    pub(super) fn reasons(&self) -> Vec<String> {
        reasons(&self.shown.text())
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        host_command::end(&mut self.command);
    }
}

fn reasons(shown: &str) -> Vec<String> {
    let reason = |line: &str| {
        let at = MARKS.iter().find_map(|mark| line.find(mark))?;
        Some(model::inert::line(line[at..].trim()).into_owned())
    };
    let mut lines: Vec<String> = shown.lines().filter_map(reason).collect();
    lines.dedup();
    lines.split_off(lines.len().saturating_sub(LINES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_the_lines_that_say_why_a_device_did_not_start() {
        let shown = "U-Boot 2023.01\r\n   sha256 Bad hash in FIT image!\r\nERROR: can't get kernel image!\r\n\
            [    2.1] Kernel panic - not syncing: VFS: Unable to mount root fs\r\nready\r\n";
        let expected = [
            "Bad hash in FIT image!",
            "ERROR: can't get kernel image!",
            "Kernel panic - not syncing: VFS: Unable to mount root fs",
        ];
        assert_eq!(reasons(shown), expected);
    }
}
