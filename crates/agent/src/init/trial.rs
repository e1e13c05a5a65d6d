//! The end of a board's trial: once the access point and ssh are up, the slot that was started is the one that stays.
//!
//! Reads and writes the two copies of [`BootState`] in the partition `state`. U-Boot reads them at the next start; an image
//! that never comes so far is given up there.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    os::unix::fs::{FileExt, PermissionsExt},
    thread,
    time::{Duration, Instant},
};

use model::boot_state::{BootState, COPIES, COPY};
use rustix::mount::mount_bind;

use super::{
    console::say,
    error::{Doing, Error},
    services::{Ending, Output, Service},
    shell, slot,
};

const SSH: &str = "/usr/sbin/dropbear";
const SSH_PORT: u16 = 22;
/// Where it looks for whom it lets in, and where they are: in memory, so that no overlay has them.
const SSH_FOLDER: &str = "/root/.ssh";
const VISITORS: &str = "/run/headroom/ssh";
/// So long ssh is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
const PACE: Duration = Duration::from_millis(100);

/// The server of ssh, with the board's own key and whom the board lets in: both outlive every image.
pub(super) fn ssh() -> Result<Service, Error> {
    let visitors = format!("{}/ssh/authorized_keys", slot::BOOT);
    let doing = || format!("copy {visitors} below {VISITORS}");
    // The partition's files are whoever's who made it, and ssh believes root's alone.
    fs::create_dir_all(VISITORS).doing(doing)?;
    fs::write(format!("{VISITORS}/authorized_keys"), fs::read(&visitors).doing(doing)?)
        .doing(doing)?;
    for place in [SSH_FOLDER, VISITORS] {
        fs::create_dir_all(place).doing(doing)?;
        fs::set_permissions(place, fs::Permissions::from_mode(0o700)).doing(doing)?;
    }
    mount_bind(VISITORS, SSH_FOLDER).doing(|| format!("show {VISITORS} as {SSH_FOLDER}"))?;
    let port = SSH_PORT.to_string();
    let host_key = format!("{}/dropbear_host_key", slot::BOOT);
    // In the foreground, its log on its output; with keys only, and no forwarding.
    let words = ["-F", "-E", "-s", "-j", "-k", "-p", &port, "-r", &host_key];
    Ok(Service::new("dropbear", SSH)
        .arguments(words)
        .environment("PATH", shell::search_path())
        .output(Output::Log)
        .ending(Ending::StartAgain))
}

/// Confirms the slot that runs, where it is on trial, and ends the watchdog.
pub(super) fn pass() -> Result<(), Error> {
    wait_for_ssh()?;
    let path = slot::partition("state")?;
    let doing = || format!("read and write the boot state in {}", path.display());
    let file = OpenOptions::new().read(true).write(true).open(&path).doing(doing)?;
    if let Some(state) = confirm(&file).doing(doing)? {
        slot::remove_other_overlays(state.overlays)?;
        say(format_args!("slot {} is confirmed", state.slot));
    }
    slot::stop_watchdog();
    Ok(())
}

/// The end of a start that failed: a slot on trial is started again, until U-Boot gives it up; another one stays as it is,
/// to be looked at.
pub(super) fn fail() {
    if is_on_trial() {
        slot::restart();
    }
    slot::stop_watchdog();
}

fn is_on_trial() -> bool {
    let read = || -> Option<BootState> {
        let file = File::open(slot::partition("state").ok()?).ok()?;
        Some(newest(&file).ok()??.0)
    };
    read().is_some_and(|state| state.on_trial)
}

fn newest(file: &File) -> io::Result<Option<(BootState, usize)>> {
    let mut copies = [[0; COPY]; 2];
    for (copy, at) in copies.iter_mut().zip(COPIES) {
        file.read_exact_at(copy, at)?;
    }
    let [first, second] = &copies;
    Ok(BootState::newest([first, second]))
}

/// Writes that the slot on trial stays; `None` where none is on trial.
fn confirm(file: &File) -> io::Result<Option<BootState>> {
    let Some((state, other)) = newest(file)?.filter(|(state, _)| state.on_trial) else {
        return Ok(None);
    };
    let state = state.confirmed();
    file.write_all_at(&state.encode(), COPIES[other])?;
    file.sync_all()?;
    Ok(Some(state))
}

fn wait_for_ssh() -> Result<(), Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match greeting() {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() > deadline => {
                return Err(error).doing(|| "be greeted by ssh".into());
            }
            Err(_) => thread::sleep(PACE),
        }
    }
}

/// Whether ssh greets who comes: RFC 4253, section 4.2.
fn greeting() -> io::Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, SSH_PORT));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut said = [0; 4];
    stream.read_exact(&mut said)?;
    if &said == b"SSH-" { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

#[cfg(test)]
mod tests {
    use model::boot_state::Slot;

    use super::*;

    fn partition(copies: [&BootState; 2]) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        for (copy, at) in copies.iter().zip(COPIES) {
            file.write_all_at(&copy.encode(), at).unwrap();
        }
        file
    }

    #[test]
    fn a_trial_is_confirmed_once_in_the_older_copy() {
        let trial = BootState::NEW.with_trial(Slot::B, false);
        let file = partition([&BootState::NEW, &trial]);
        let confirmed = confirm(&file).unwrap().unwrap();
        assert_eq!((confirmed.slot, confirmed.on_trial), (trial.slot, false));
        assert_eq!(newest(&file).unwrap(), Some((confirmed, 1)));
        assert_eq!(confirm(&file).unwrap(), None);
    }

    #[test]
    fn a_board_whose_state_is_nowhere_has_nothing_to_confirm() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        assert_eq!(confirm(&file).unwrap(), None);
    }
}
