//! Whether /dev/kvm is of use. It may open and still hang a guest, so a guest is tried.

use std::{
    fs::File,
    os::unix::process::CommandExt,
    process::Stdio,
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use super::{Accelerator, QEMU};
use crate::{host, image::Image};

/// A kernel says its first words in well under a second where KVM works.
const PATIENCE: Duration = Duration::from_secs(8);

/// What runs real-time guests here: KVM if a guest got as far as its first user-space program on it.
pub fn accelerator(image: &Image) -> Accelerator {
    static FOUND: OnceLock<Accelerator> = OnceLock::new();
    *FOUND.get_or_init(|| if kvm_works(image) { Accelerator::Kvm } else { Accelerator::Tcg })
}

fn kvm_works(image: &Image) -> bool {
    let opens = File::options().read(true).write(true).open("/dev/kvm").is_ok();
    opens && guest_ends_by_itself(image).unwrap_or(false)
}

/// Boots the kernel without a root: it must come to its panic, which ends QEMU.
fn guest_ends_by_itself(image: &Image) -> std::io::Result<bool> {
    let mut qemu = host::bound("KILL")
        .args([QEMU, "-nodefaults", "-no-user-config"])
        .args(["-display", "none", "-no-reboot", "-accel", "kvm", "-cpu", "host", "-m", "256"])
        .arg("-kernel")
        .arg(&image.kernel)
        .args(["-append", "quiet panic=-1"])
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let began = Instant::now();
    let ended = loop {
        if let Some(status) = qemu.try_wait()? {
            break status.success();
        }
        if began.elapsed() > PATIENCE {
            break false;
        }
        thread::sleep(Duration::from_millis(20));
    };
    let _ = qemu.kill();
    let _ = qemu.wait();
    Ok(ended)
}
