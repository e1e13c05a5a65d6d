//! The first stage of a board's boot: from the ramdisk that U-Boot loaded with the kernel to the root of its slot.
//!
//! The root is the slot's squashfs, read only, below an overlay on the board's ext4. It becomes `/`, with `/rom` (the
//! image), `/overlay` (what was changed) and `/boot` (what belongs to the board and to no image) in it, and pid 1 begins
//! anew there. Reads `/etc/headroom/modules-slot`, which the ramdisk alone has, and the words `headroom.slot=` and
//! `headroom.overlay=` of the kernel's command line. Whatever fails here starts the machine again after its reason is
//! said, and U-Boot counts.

use std::{
    convert::Infallible,
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use linux::kmod;
use model::boot_state::Slot;
use rustix::{
    fs::sync,
    mount::{MountFlags, mount, mount_move},
    process::{chdir, chroot},
    system::{RebootCommand, reboot},
};

use super::{
    console::say,
    error::{Doing, Error},
};

/// The modules of the first stage, in load order, with their parameters.
const LIST: &str = "/etc/headroom/modules-slot";
const WATCHDOG: &str = "/dev/watchdog";
const BLOCKS: &str = "/sys/class/block";
/// Disks are found by another thread of the kernel's.
const PATIENCE: Duration = Duration::from_secs(10);
const PACE: Duration = Duration::from_millis(20);
/// So long a reason can be read before the machine starts again.
const READ: Duration = Duration::from_secs(1);

/// The places of the new root, while it is being put together.
const ROOT: &str = "/root";
const ROM: &str = "/rom";
const OVERLAY: &str = "/overlay";
/// What belongs to the board: its keys.
pub(super) const BOOT: &str = "/boot";

/// Whether this is the first stage of a board's boot.
pub(super) fn is_first_stage() -> bool {
    Path::new(LIST).exists()
}

/// Carries the first stage out: pid 1 becomes that of the slot's root.
pub(super) fn enter() -> ! {
    let Err(error) = mount_and_enter();
    say(format_args!("failed: {}", error.line()));
    restart()
}

/// Starts the machine again, once what was said can be read.
pub(super) fn restart() -> ! {
    sync();
    thread::sleep(READ);
    loop {
        if let Err(errno) = reboot(RebootCommand::Restart) {
            say(format_args!("cannot start the machine again: {errno}"));
        }
        thread::sleep(PATIENCE);
    }
}

fn mount_and_enter() -> Result<Infallible, Error> {
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        fs::create_dir_all(place).doing(|| format!("make {place}"))?;
        mount(kind, place, kind, MountFlags::empty(), None)
            .doing(|| format!("mount {kind} on {place}"))?;
    }
    let words = fs::read_to_string("/proc/cmdline").doing(|| "read /proc/cmdline".into())?;
    let (slot, overlay) = wanted(&words)?;
    load_modules()?;
    start_watchdog();
    mount_image(slot)?;
    mount_overlay(overlay)?;
    for place in [ROM, OVERLAY] {
        let to = format!("{ROOT}{place}");
        mount_move(place, &to).doing(|| format!("move {place} to {to}"))?;
    }
    mount_partition("boot", &format!("{ROOT}{BOOT}"), MountFlags::RDONLY)?;
    switch_root()
}

/// The slot and the overlay's number, as U-Boot's script says them.
fn wanted(line: &str) -> Result<(Slot, u32), Error> {
    let value = |wanted: &str| {
        line.split_ascii_whitespace().find_map(|word| word.strip_prefix(wanted)).unwrap_or("")
    };
    let slot = value("headroom.slot=").parse();
    let overlay = u32::from_str_radix(value("headroom.overlay="), 16);
    match (slot, overlay) {
        (Ok(slot), Ok(overlay)) => Ok((slot, overlay)),
        _ => Err(Error::CommandLine("U-Boot names no slot, or no overlay".into())),
    }
}

fn load_modules() -> Result<(), Error> {
    let list = fs::read_to_string(LIST).doing(|| format!("read {LIST}"))?;
    for line in list.lines() {
        let (path, parameters) = line.split_once(' ').unwrap_or((line, ""));
        kmod::load(Path::new(path), parameters)?;
    }
    Ok(())
}

/// A machine that hangs from here on is reset by its watchdog, until pid 1 ends that; one without a watchdog has to be
/// turned off and on.
fn start_watchdog() {
    if Path::new(WATCHDOG).exists() && fs::File::create(WATCHDOG).is_err() {
        say("the watchdog cannot be started");
    }
}

/// Ends the watchdog: the machine has come up.
pub(super) fn stop_watchdog() {
    // The letter that says that it is meant: the kernel's Documentation/watchdog/watchdog-api.rst, “Magic Close”.
    if Path::new(WATCHDOG).exists() && fs::write(WATCHDOG, "V").is_err() {
        say("the watchdog cannot be stopped");
    }
}

fn mount_image(slot: Slot) -> Result<(), Error> {
    let device = partition(&format!("root_{slot}"))?;
    fs::create_dir_all(ROM).doing(|| format!("make {ROM}"))?;
    mount(&device, ROM, "squashfs", MountFlags::RDONLY, None)
        .doing(|| format!("mount {} as squashfs on {ROM}", device.display()))
}

fn mount_partition(name: &str, place: &str, flags: MountFlags) -> Result<(), Error> {
    let device = partition(name)?;
    fs::create_dir_all(place).doing(|| format!("make {place}"))?;
    mount(&device, place, "ext4", flags, None)
        .doing(|| format!("mount {} on {place}", device.display()))
}

/// An overlay that cannot be mounted is no reason not to start: what is changed is then lost with the next boot.
fn mount_overlay(number: u32) -> Result<(), Error> {
    fs::create_dir_all(OVERLAY).doing(|| format!("make {OVERLAY}"))?;
    if let Err(error) = mount_partition("overlay", OVERLAY, MountFlags::empty()) {
        say(format_args!("changes do not outlive this boot: {}", error.line()));
        mount("tmpfs", OVERLAY, "tmpfs", MountFlags::empty(), None)
            .doing(|| format!("mount tmpfs on {OVERLAY}"))?;
    }
    let folder = Path::new(OVERLAY).join(format!("{number:x}"));
    for name in ["upper", "work"] {
        let path = folder.join(name);
        fs::create_dir_all(&path).doing(|| format!("make {}", path.display()))?;
    }
    let folder = folder.display();
    let options = format!("lowerdir={ROM},upperdir={folder}/upper,workdir={folder}/work");
    let options = std::ffi::CString::new(options).unwrap_or_default();
    fs::create_dir_all(ROOT).doing(|| format!("make {ROOT}"))?;
    mount("overlay", ROOT, "overlay", MountFlags::empty(), Some(options.as_c_str()))
        .doing(|| format!("mount the overlay {folder} on {ROOT}"))
}

/// Removes the overlays that no slot has any more.
pub(super) fn remove_other_overlays(kept: [u32; 2]) -> Result<(), Error> {
    let doing = || format!("remove what is left over in {OVERLAY}");
    for entry in fs::read_dir(OVERLAY).doing(doing)?.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| u32::from_str_radix(name, 16).ok());
        if number.is_some_and(|number| !kept.contains(&number)) {
            fs::remove_dir_all(entry.path()).doing(doing)?;
        }
    }
    Ok(())
}

/// The device of the partition with this name, which may not have been found yet.
pub(super) fn partition(name: &str) -> Result<PathBuf, Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(device) = find_partition(Path::new(BLOCKS), name) {
            return Ok(Path::new("/dev").join(device));
        }
        if Instant::now() > deadline {
            return Err(Error::Unexpected(format!("there is no partition `{name}`")));
        }
        thread::sleep(PACE);
    }
}

fn find_partition(blocks: &Path, name: &str) -> Option<String> {
    let wanted = format!("PARTNAME={name}");
    fs::read_dir(blocks).ok()?.flatten().find_map(|entry| {
        let text = fs::read_to_string(entry.path().join("uevent")).ok()?;
        let is_it = text.lines().any(|line| line == wanted);
        is_it.then(|| entry.file_name().to_string_lossy().into_owned())
    })
}

/// Leaves the ramdisk, whose memory is given back, for the new root.
fn switch_root() -> Result<Infallible, Error> {
    // Nothing of it is open any more; this program's own pages live as long as it does.
    let _ = fs::remove_dir_all("/lib");
    chdir(ROOT).doing(|| format!("enter {ROOT}"))?;
    mount_move(".", "/").doing(|| format!("make {ROOT} the root"))?;
    chroot(".").doing(|| format!("make {ROOT} the root"))?;
    chdir("/").doing(|| "enter the new root".into())?;
    Err(Command::new("/init").exec()).doing(|| "run the slot's /init".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u_boots_words_are_read_and_wrong_ones_refused() {
        assert_eq!(wanted("quiet headroom.slot=b headroom.overlay=1f\n").unwrap(), (Slot::B, 31));
        for line in ["", "headroom.slot=c headroom.overlay=0", "headroom.slot=a headroom.overlay="]
        {
            assert!(wanted(line).unwrap_err().line().contains("no slot"), "{line}");
        }
    }

    #[test]
    fn a_partition_is_found_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for (device, name) in [("vda1", "boot"), ("vda4", "root_a")] {
            fs::create_dir(folder.path().join(device)).unwrap();
            let text = format!("DEVTYPE=partition\nPARTN=1\nPARTNAME={name}\n");
            fs::write(folder.path().join(device).join("uevent"), text).unwrap();
        }
        assert_eq!(find_partition(folder.path(), "root_a").as_deref(), Some("vda4"));
        assert_eq!(find_partition(folder.path(), "root"), None);
    }
}
