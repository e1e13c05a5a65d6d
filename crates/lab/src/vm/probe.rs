//! Whether /dev/kvm is of use. It may open and still hang a guest, so a guest is tried, and what came of it is kept in
//! the cache until this machine boots again, or has another QEMU or kernel in the image. It is of no use for guests of
//! another architecture than the host's.

use std::{
    fs::{self, File},
    sync::OnceLock,
    time::{Duration, Instant},
};

use linux::file;
use model::{event::Event, study::Mode};

use super::{Accelerator, Platform};
use crate::{
    Error, Lab,
    cache::{self, Name},
    host_command,
    image::Image,
};

/// A kernel says its first words in well under a second where KVM works.
const PATIENCE: Duration = Duration::from_secs(8);

pub const KIND: &str = "kvm";

/// The file of such an entry, and the longest that it can be, bytes.
const FOUND: &str = "accelerator";
const LONGEST: u64 = 16;

/// What runs guests of this mode here. For real time it is KVM, if a guest came to its end on it.
pub fn accelerator(lab: &Lab, image: &Image, mode: Mode) -> Accelerator {
    static FOUND: OnceLock<Accelerator> = OnceLock::new();
    match mode {
        Mode::Counted => Accelerator::Tcg,
        Mode::RealTime if lab.settings.arch.is_own() => *FOUND.get_or_init(|| found(lab, image)),
        Mode::RealTime => Accelerator::Tcg,
    }
}

fn found(lab: &Lab, image: &Image) -> Accelerator {
    if File::options().read(true).write(true).open("/dev/kvm").is_err() {
        return Accelerator::Tcg;
    }
    // A cache that cannot keep the result costs the time of another try, and nothing else.
    remembered(lab, image).or_else(|_| tried(lab, image)).unwrap_or(Accelerator::Tcg)
}

/// What a try found since this machine was booted, tried now where none was made.
fn remembered(lab: &Lab, image: &Image) -> Result<Accelerator, Error> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let key = cache::key([boot.trim(), &lab.qemu, &image.release]);
    let entry = lab.cache.obtain(Name { kind: KIND, key: &key }, |folder| {
        let path = folder.join(FOUND);
        fs::write(&path, tried(lab, image)?.name()).map_err(Error::file("write", path))
    })?;
    let path = entry.path.join(FOUND);
    let name = file::bytes(&path, LONGEST).map_err(Error::file("read", &path))?;
    let is_kvm = name == Accelerator::Kvm.name().as_bytes();
    Ok(if is_kvm { Accelerator::Kvm } else { Accelerator::Tcg })
}

fn tried(lab: &Lab, image: &Image) -> Result<Accelerator, Error> {
    let began = Instant::now();
    lab.emit(Event::KvmStarted);
    let works = guest_ends_by_itself(lab, image)?;
    lab.emit(Event::KvmTried { works, took_ms: began.elapsed().as_millis() as u64 });
    Ok(if works { Accelerator::Kvm } else { Accelerator::Tcg })
}

/// Boots the kernel without a root: it must come to its panic, which ends QEMU.
fn guest_ends_by_itself(lab: &Lab, image: &Image) -> Result<bool, Error> {
    let platform = Platform::of(lab.settings.arch);
    let mut qemu = host_command::in_group(platform.qemu);
    qemu.args(["-machine", platform.machine, "-nodefaults", "-no-user-config", "-display", "none"])
        .args(["-no-reboot", "-accel", "kvm", "-cpu", "host", "-m", "256", "-kernel"])
        .arg(&image.kernel)
        .args(["-append", "quiet panic=-1"]);
    Ok(host_command::finish(qemu, PATIENCE, &lab.cancel)?.code() == Some(0))
}
